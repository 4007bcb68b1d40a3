//! Reads and writes that the page cache answers, and the flush that makes a write stay.

use super::site::{BLOCK_BYTES, Made, Site};
use super::{about, rung};
use crate::bench::Bench;
use crate::memory::order::Random;
use crate::{Rung, RungDescription, Unmeasured};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use sys::clock::monotonic_ns;

/// The file that is read and written.
const FILE_BYTES: u64 = 1 << 20;

pub(super) fn read(site: &Rc<Site>) -> Rung {
    let about = RungDescription {
        excludes: "the disk; and part of the way to memory, since 1 MiB may be in the CPU's caches".into(),
        method: "pread of 4 KiB at random places of a file of 1 MiB that was just written".into(),
        source: "lmbench's bw_file_rd, with a small block".into(),
        ..about("read-cached", "reading 4 KiB of a file that is in the page cache")
    };
    rung(site, about, |made, bench| {
        let (file, mut blocks) = written(made, bench)?;
        let mut block = [0; BLOCK_BYTES];
        bench.sample(|ops| {
            (0..ops)
                .try_for_each(|_| file.read_exact_at(&mut block, blocks.any()))
                .map_err(|error| made.refused("read a file", error))
        })
    })
}

pub(super) fn write(site: &Rc<Site>) -> Rung {
    let about = RungDescription {
        excludes: "getting it onto the disk, which the kernel does later, and room for a file that grows"
            .into(),
        method: "pwrite of 4 KiB at random places of a file of 1 MiB that was just written".into(),
        source: "fio's randwrite, buffered".into(),
        ..about("write", "writing 4 KiB of a file to the page cache")
    };
    rung(site, about, |made, bench| {
        let (file, mut blocks) = written(made, bench)?;
        let block = [1; BLOCK_BYTES];
        bench.sample(|ops| {
            (0..ops)
                .try_for_each(|_| file.write_all_at(&block, blocks.any()))
                .map_err(|error| made.refused("write a file", error))
        })
    })
}

pub(super) fn fsync(site: &Rc<Site>) -> Rung {
    let about = RungDescription {
        excludes:
            "the write itself, room for a file that grows, and whether the device keeps what it says it has"
                .into(),
        method: "pwrite of 4 KiB at a random place of a file of 1 MiB, then fsync; only the fsync is timed"
            .into(),
        source: "fio with fsync=1, which reports the two apart too".into(),
        ..about("fsync", "fsync after a write of 4 KiB")
    };
    rung(site, about, |made, bench| {
        made.on_disk()?;
        let (file, mut blocks) = written(made, bench)?;
        let mut block = [0u8; BLOCK_BYTES];
        bench.sample_timed(|ops| {
            let mut took = 0;
            for _ in 0..ops {
                block[0] = block[0].wrapping_add(1);
                file.write_all_at(&block, blocks.any())
                    .map_err(|error| made.refused("write a file", error))?;
                let from = monotonic_ns();
                file.sync_all().map_err(|error| made.refused("flush a file", error))?;
                took += monotonic_ns() - from;
            }
            Ok(took)
        })
    })
}

/// Random places of a file.
struct Blocks {
    random: Random,
    count: u32,
}

impl Blocks {
    /// Where one begins.
    fn any(&mut self) -> u64 {
        u64::from(self.random.below(self.count)) * BLOCK_BYTES as u64
    }
}

/// A file with no name, written and on the disk, so that its own way there disturbs nothing later.
fn written(made: &Made, bench: &Bench<'_>) -> Result<(File, Blocks), Unmeasured> {
    let bytes = made.cached_room(bench, FILE_BYTES, 4 * BLOCK_BYTES as u64)?;
    let file = made.nameless("cached")?;
    let mut random = Random::new();
    for at in (0..bytes).step_by(BLOCK_BYTES) {
        let block: Vec<u8> = (0..BLOCK_BYTES / 8).flat_map(|_| random.next().to_le_bytes()).collect();
        file.write_all_at(&block, at).map_err(|error| made.refused("write a file", error))?;
    }
    file.sync_all().map_err(|error| made.refused("flush a file", error))?;
    Ok((file, Blocks { random, count: (bytes / BLOCK_BYTES as u64) as u32 }))
}
