//! Disks, from `/proc/diskstats`: counters of whole devices that ever had a request.

use super::kept::{PolledFile, numbers};
use host::Roots;
use model::surroundings::DiskCounters;
use rustc_hash::FxHashMap;
use std::path::PathBuf;

const MS_NS: u64 = 1_000_000;
/// The sector size of `/proc/diskstats`, whatever the disk's own is.
const SECTOR_BYTES: u64 = 512;

/// The disks, with the last reported counters of each.
#[derive(Debug)]
pub(super) struct Disks {
    stats: PolledFile,
    devices: PathBuf,
    /// By device number; none for a partition.
    told: FxHashMap<u32, Option<DiskCounters>>,
}

impl Disks {
    pub(super) fn new(roots: Roots<'_>) -> Self {
        Self {
            stats: PolledFile::open(roots.proc.join("diskstats")),
            devices: roots.sys.join("dev/block"),
            told: FxHashMap::default(),
        }
    }

    /// The disks that were active since the last snapshot.
    pub(super) fn look(&mut self) -> Result<Vec<DiskCounters>, String> {
        let text = self.stats.text()?;
        let mut moved = Vec::new();
        for disk in text.lines().filter_map(parse) {
            let told = self.told.entry(disk.dev).or_insert_with(|| {
                let number = format!("{}:{}", disk.dev >> 20, disk.dev & 0xf_ffff);
                let partition = self.devices.join(number).join("partition").exists();
                // Differs from any disk that has been active.
                (!partition).then(|| DiskCounters { requests: (u64::MAX, u64::MAX), ..disk.clone() })
            });
            if let Some(told) = told
                && *told != disk
            {
                told.clone_from(&disk);
                moved.push(disk);
            }
        }
        Ok(moved)
    }
}

/// One line; none for a device that never had a request (unused loop and RAM disks).
///
/// Documentation/admin-guide/iostats.rst: major, minor, name, then for reads and for writes:
/// completed, merged, sectors, ms; requests in flight; ms with a request in flight; ms weighted by
/// requests in flight. Later kernels add more.
pub(super) fn parse(line: &str) -> Option<DiskCounters> {
    let mut fields = line.split_ascii_whitespace();
    let major: u32 = fields.next()?.parse().ok()?;
    let minor: u32 = fields.next()?.parse().ok()?;
    let name = fields.next()?.to_owned();
    let numbers = numbers(fields);
    let [reads, _, read_sectors, read_ms, writes, _, written_sectors, write_ms, _, busy_ms, queue_ms] =
        *numbers.first_chunk()?;
    // A count beyond all time stays one, and is no panic.
    let [bytes, ns] = [SECTOR_BYTES, MS_NS].map(|unit| move |count: u64| count.saturating_mul(unit));
    (reads > 0 || writes > 0).then(|| DiskCounters {
        name,
        dev: (major << 20) | (minor & 0xf_ffff),
        requests: (reads, writes),
        bytes: (bytes(read_sectors), bytes(written_sectors)),
        request_ns: (ns(read_ms), ns(write_ms)),
        busy_ns: ns(busy_ms),
        queue_ns: ns(queue_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::tests::Kernel;

    /// A server with two NVMe disks, a SATA one, partitions, LVM upon them and an optical drive
    /// without a disc. The third disk's line is in the format of Linux 4.14, without discards and
    /// flushes.
    const SERVER: &str = "\
 259       0 nvme0n1 1204381 2210 96340432 310233 880213 412309 71203344 1201223 0 402120 1511456 0 0 0 0 88211 0
 259       1 nvme0n1p1 312 0 24114 88 2 0 2 0 0 60 88 0 0 0 0 0 0
 259       2 nvme0n1p2 1204011 2210 96314222 310122 880211 412309 71203342 1201223 2 402101 1511345 0 0 0 0 0 0
 259       3 nvme1n1 9911 0 812332 3012 0 0 0 0 0 2311 3012 0 0 0 0 0 0
   8       0 sda 88123 1021 9120332 1320112 4312 9932 118231 88123 1 912331 1408221
   8       1 sda1 88101 1021 9120112 1320098 4312 9932 118231 88123 0 912320 1408207
  11       0 sr0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 253       0 dm-0 1203900 0 96313110 331212 1292520 0 71203340 2212312 2 402412 2543524 0 0 0 0 0 0
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
   7       1 loop1 43 0 712 11 0 0 0 0 0 12 11 0 0 0 0 0 0
";

    #[test]
    fn whole_devices_with_traffic_are_told_and_only_when_they_did_something() {
        let kernel = Kernel::new(&[("proc/diskstats", SERVER)]);
        for partition in ["259:1", "259:2", "8:1"] {
            kernel.write(&format!("sys/dev/block/{partition}/partition"), "1\n");
        }
        let mut disks = Disks::new(kernel.roots());
        let first = disks.look().unwrap();
        let names: Vec<_> = first.iter().map(|disk| disk.name.as_str()).collect();
        assert_eq!(names, ["nvme0n1", "nvme1n1", "sda", "dm-0", "loop1"]);
        let sda = &first[2];
        assert_eq!(sda.dev, 8 << 20);
        assert_eq!((sda.requests, sda.bytes), ((88_123, 4_312), (9_120_332 * 512, 118_231 * 512)));
        assert_eq!(sda.request_ns, (1_320_112 * MS_NS, 88_123 * MS_NS));
        assert_eq!((sda.busy_ns, sda.queue_ns), (912_331 * MS_NS, 1_408_221 * MS_NS));
        assert_eq!(disks.look().unwrap(), []);
        kernel.write("proc/diskstats", &SERVER.replace("sda 88123", "sda 88124").replace("sr0 0", "sr0 1"));
        let moved: Vec<_> = disks.look().unwrap().into_iter().map(|disk| disk.name).collect();
        assert_eq!(moved, ["sda", "sr0"]);
    }

    #[test]
    fn lines_that_are_none_are_passed_over() {
        for line in ["", "8", "8 0 sda", "8 0 sda 1 2 3", "x 0 sda 1 2 3 4 5 6 7 8 9 10 11"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_host_that_shows_no_disks_says_why() {
        let kernel = Kernel::new(&[]);
        let why = Disks::new(kernel.roots()).look().unwrap_err();
        assert!(why.contains("diskstats"), "{why}");
    }
}
