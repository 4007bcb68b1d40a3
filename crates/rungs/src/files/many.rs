//! The same bytes in one file and in a thousand: the cost of a file besides its data.

use super::site::{Made, Site};
use super::{about, rung};
use crate::bench::Bench;
use crate::{Rung, RungDescription, Samples, Unmeasured};
use model::Ns;
use rustix::fd::OwnedFd;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::rc::Rc;
use sys::clock::monotonic_ns;

const LARGE_BYTES: usize = 10_000_000;
const SMALL_BYTES: usize = 10_000;
const SMALL_FILES: usize = LARGE_BYTES / SMALL_BYTES;
/// A large file is read and written in pieces of this size, as cp(1) does.
const PIECE_BYTES: usize = 256 << 10;

pub(super) fn rungs(site: &Rc<Site>) -> [Rung; 4] {
    let cached = "getting it onto the disk, which the kernel does later";
    let read = "the disk: all of it is in the page cache";
    let source = "lmbench's lat_fs; the comparison is dwell's own";
    let of = |id: &str, what: &str, excludes: &str, method: &str| RungDescription {
        excludes: excludes.into(),
        method: method.into(),
        source: source.into(),
        ..about(id, what)
    };
    [
        rung(
            site,
            of(
                "large-file-write",
                "writing a file of 10 MB",
                cached,
                "open of a new file, writes of 256 KiB, close; it is removed before the next, which is not timed",
            ),
            |made, bench| write(made, bench, LARGE_BYTES, 1),
        ),
        rung(
            site,
            of(
                "small-file-write",
                "writing one of 1,000 files of 10 kB",
                cached,
                "open of a new file, one write, close, in a directory with up to 1,000 of them; they are removed between \
                 two rounds, which is not timed",
            ),
            |made, bench| write(made, bench, SMALL_BYTES, SMALL_FILES),
        ),
        rung(
            site,
            of(
                "large-file-read",
                "reading a file of 10 MB",
                read,
                "open, reads of 256 KiB to the end, close",
            ),
            |made, bench| read_all(made, bench, LARGE_BYTES, 1),
        ),
        rung(
            site,
            of(
                "small-file-read",
                "reading one of 1,000 files of 10 kB",
                read,
                "open, reads to the end, close, of each in turn",
            ),
            |made, bench| read_all(made, bench, SMALL_BYTES, SMALL_FILES),
        ),
    ]
}

/// Files of one size that are written and removed.
struct Files<'a> {
    made: &'a Made,
    content: Vec<u8>,
    /// How many there are now.
    count: Cell<usize>,
}

impl<'a> Files<'a> {
    fn none(made: &'a Made, bench: &Bench<'_>, bytes: usize, files: usize) -> Result<Self, Unmeasured> {
        made.cached_room(bench, (bytes * files) as u64, (bytes * files) as u64 / 4096 * 4096)?;
        made.room_for_files(files as u64)?;
        // Bytes that differ: a filesystem that packs would write next to nothing of zeros.
        let mut random = crate::memory::order::Random::new();
        let content = std::iter::repeat_with(|| (random.next() >> 32) as u8).take(bytes).collect();
        Ok(Self { made, content, count: Cell::new(0) })
    }

    /// Writes one more, as users' programs do.
    fn add(&self) -> Result<(), Unmeasured> {
        let write = |file: OwnedFd| -> io::Result<()> {
            let mut file = File::from(file);
            self.content.chunks(PIECE_BYTES).try_for_each(|piece| file.write_all(piece))
        };
        let name = self.count.get().to_string();
        let file = self.made.create(&name).map_err(|error| self.made.refused("make a file", error))?;
        self.count.set(self.count.get() + 1);
        write(file).map_err(|error| self.made.refused("write a file", error))
    }

    /// Reads a file; gives its length.
    fn read(&self, which: usize, piece: &mut [u8]) -> Result<usize, Unmeasured> {
        let mut read = || -> io::Result<usize> {
            let mut file = File::from(self.made.open(&which.to_string())?);
            let mut bytes = 0;
            loop {
                match file.read(piece)? {
                    0 => return Ok(bytes),
                    more => bytes += more,
                }
            }
        };
        read().map_err(|error| self.made.refused("read a file", error))
    }

    fn clear(&self) -> Result<(), Unmeasured> {
        for which in 0..self.count.replace(0) {
            let removed = self.made.remove(&which.to_string());
            removed.map_err(|error| self.made.refused("remove a file", error))?;
        }
        Ok(())
    }
}

fn write(made: &Made, bench: &Bench<'_>, bytes: usize, round: usize) -> Result<Samples, Unmeasured> {
    let files = Files::none(made, bench, bytes, round)?;
    let samples = bench.sample_timed(|ops| {
        let mut took: Ns = 0;
        for _ in 0..ops {
            if files.count.get() == round {
                files.clear()?;
            }
            let from = monotonic_ns();
            files.add()?;
            took += monotonic_ns() - from;
        }
        Ok(took)
    });
    files.clear()?;
    Ok(with_rate(samples?, bytes))
}

fn read_all(made: &Made, bench: &Bench<'_>, bytes: usize, count: usize) -> Result<Samples, Unmeasured> {
    let files = Files::none(made, bench, bytes, count)?;
    for _ in 0..count {
        if bench.stopped() {
            files.clear()?;
            return Err(crate::bench::interrupted());
        }
        files.add()?;
    }
    let (mut next, mut piece) = (0, vec![0; PIECE_BYTES]);
    let samples = bench.sample(|ops| {
        for _ in 0..ops {
            let read = files.read(next, &mut piece)?;
            if read != bytes {
                return Err(Unmeasured::Unseen(format!(
                    "a file of {bytes} bytes had {read} when it was read"
                )));
            }
            next = (next + 1) % count;
        }
        Ok(())
    });
    files.clear()?;
    Ok(with_rate(samples?, bytes))
}

/// With what the same place moves: so that a large and a small file can be compared.
pub(super) fn with_rate(mut samples: Samples, bytes: usize) -> Samples {
    samples.bytes_per_s = samples.per_op_ns.iter().map(|ns| bytes as f64 * 1e9 / ns).collect();
    samples
}
