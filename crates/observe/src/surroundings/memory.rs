//! Memory, from `/proc/meminfo`, `/proc/vmstat` and `/proc/pressure/memory`.

use super::kept::PolledFile;
use host::fields;
use model::{Seen, surroundings};
use std::path::Path;

/// The three files.
#[derive(Debug)]
pub(super) struct Memory {
    meminfo: PolledFile,
    vmstat: PolledFile,
    pressure: PolledFile,
}

impl Memory {
    pub(super) fn new(proc: &Path) -> Self {
        let open = |name| PolledFile::open(proc.join(name));
        Self { meminfo: open("meminfo"), vmstat: open("vmstat"), pressure: open("pressure/memory") }
    }

    pub(super) fn look(&mut self) -> Result<surroundings::MemoryCounters, String> {
        let meminfo = self.meminfo.text()?;
        let vmstat = self.vmstat.text()?;
        let pressure_ns = match self.pressure.text() {
            Ok(text) => pressure(&text),
            Err(why) => Seen::unseen(format!(
                "{why} (the kernel has no pressure stall information: boot it with psi=1)"
            )),
        };
        parse(&meminfo, &vmstat, pressure_ns)
    }
}

pub(super) fn parse(
    meminfo: &str,
    vmstat: &str,
    pressure_ns: Seen<u64>,
) -> Result<surroundings::MemoryCounters, String> {
    let bytes = |name: &str| fields::kib(meminfo, name);
    let count = |name: &str| fields::number(vmstat, name).unwrap_or(0);
    let or = |name: &str| bytes(name).ok_or_else(|| format!("/proc/meminfo has no {name}"));
    Ok(surroundings::MemoryCounters {
        total_bytes: or("MemTotal:")?,
        available_bytes: or("MemAvailable:")?,
        free_bytes: or("MemFree:")?,
        cache_bytes: or("Cached:")? + bytes("Buffers:").unwrap_or(0),
        dirty_bytes: bytes("Dirty:").unwrap_or(0) + bytes("Writeback:").unwrap_or(0),
        swap_bytes: bytes("SwapTotal:").unwrap_or(0).saturating_sub(bytes("SwapFree:").unwrap_or(0)),
        faults: (count("pgfault"), count("pgmajfault")),
        swapped_pages: (count("pswpin"), count("pswpout")),
        pressure_ns,
    })
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
fn pressure(text: &str) -> Seen<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "));
    let total =
        some.and_then(|line| line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total=")));
    match total.and_then(|total| total.parse::<u64>().ok()) {
        Some(us) => Seen::Value(us * 1000),
        None => Seen::unseen("/proc/pressure/memory is not as expected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::tests::Kernel;

    const MEMINFO: &str = "\
MemTotal:       16303428 kB
MemFree:          412332 kB
MemAvailable:    9120312 kB
Buffers:          210120 kB
Cached:          8012332 kB
SwapCached:         1208 kB
Dirty:             12012 kB
Writeback:           128 kB
SwapTotal:       2097148 kB
SwapFree:        1988004 kB
";
    const VMSTAT: &str =
        "nr_free_pages 103083\npswpin 312\npswpout 20712\npgfault 912331233\npgmajfault 40211\n";

    #[test]
    fn a_host_with_swap_and_pressure() {
        let pressure = "some avg10=0.12 avg60=0.03 avg300=0.00 total=8123311\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";
        let files = [("proc/meminfo", MEMINFO), ("proc/vmstat", VMSTAT), ("proc/pressure/memory", pressure)];
        let kernel = Kernel::new(&files);
        let memory = Memory::new(kernel.roots().proc).look().unwrap();
        assert_eq!(memory.available_bytes, 9_120_312 * 1024);
        assert_eq!(memory.cache_bytes, (8_012_332 + 210_120) * 1024);
        assert_eq!(memory.dirty_bytes, 12_140 * 1024);
        assert_eq!(memory.swap_bytes, (2_097_148 - 1_988_004) * 1024);
        assert_eq!((memory.faults, memory.swapped_pages), ((912_331_233, 40_211), (312, 20_712)));
        assert_eq!(memory.pressure_ns, Seen::Value(8_123_311_000));
    }

    #[test]
    fn a_kernel_without_pressure_says_so_and_the_rest_is_there() {
        let kernel = Kernel::new(&[("proc/meminfo", MEMINFO), ("proc/vmstat", VMSTAT)]);
        let memory = Memory::new(kernel.roots().proc).look().unwrap();
        assert_eq!(memory.free_bytes, 412_332 * 1024);
        assert!(matches!(&memory.pressure_ns, Seen::Unseen(why) if why.contains("psi=1")), "{memory:?}");
    }
}
