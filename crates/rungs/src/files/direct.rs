//! Reads and writes of the device itself, past the page cache: one at a time, 32 at a time, and in
//! sequence. All on one working file without a name.
//!
//! 32 at a time are 32 threads: io_uring would be lighter, but containers and hardened hosts mostly
//! refuse it, and then figures of two methods would have to be kept apart. Switching between
//! threads costs microseconds, which matters with the fastest devices only; the rung says so.

use super::many::with_rate;
use super::site::{BLOCK_BYTES, Made, Site};
use super::{about, rung};
use crate::bench::{Bench, interrupted};
use crate::memory::order::Random;
use crate::{Rung, RungDescription, Samples, Unmeasured};
use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate, fcntl_getfl, fcntl_setfl};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use sys::clock::monotonic_ns;

/// The working file, where there is room and time to write it: more than the caches of most disks.
const FILE_BYTES: u64 = 256 << 20;
/// Smaller than this it would say nothing of a device.
const FILE_BYTES_MIN: u64 = 8 << 20;
/// The size of sequential reads and writes.
const PIECE_BYTES: usize = 1 << 20;
/// Writing the working file takes no longer.
const WRITE_NS: u64 = 2_000_000_000;
const WRITE_NS_QUICK: u64 = 400_000_000;
const DEPTH: usize = 32;

/// The working file, which the first of these rungs makes.
type Shared = Rc<OnceCell<Result<Working, Unmeasured>>>;

pub(super) fn rungs(site: &Rc<Site>) -> [Rung; 4] {
    let shared: Shared = Rc::default();
    let cache = "what the device's own cache, a controller or a hypervisor's host answers in its place";
    let of = |id: &str, what: &str, excludes: &str, method: &str, source: &str| RungDescription {
        excludes: excludes.into(),
        method: method.into(),
        source: source.into(),
        ..about(id, what)
    };
    [
        on(
            site,
            &shared,
            of(
                "direct-read",
                "reading 4 KiB at a random place of the disk",
                cache,
                "pread with O_DIRECT at random places of the working file, one after another",
                "fio's randread with direct=1 and iodepth=1; ioping -D",
            ),
            random_reads,
        ),
        on(
            site,
            &shared,
            of(
                "direct-read-32",
                "the same with 32 reads in flight: how long each takes",
                "the switches between the threads that make the reads are in it",
                "pread with O_DIRECT at random places of the working file, in 32 threads, each timed by itself; the rate is \
                 of all together",
                "fio's randread with direct=1 and numjobs=32",
            ),
            reads_at_once,
        ),
        on(
            site,
            &shared,
            of(
                "sequential-read",
                "reading 1 MiB of the disk in sequence",
                cache,
                "pread of 1 MiB with O_DIRECT, one after another, through the working file and again",
                "fio's read with direct=1 and bs=1M",
            ),
            |working, made, bench| in_sequence(working, made, bench, Working::read),
        ),
        on(
            site,
            &shared,
            of(
                "sequential-write",
                "writing 1 MiB to the disk in sequence",
                "the flush: what is written may still be in the device's own cache; and room for a file that grows",
                "pwrite of 1 MiB with O_DIRECT over what is there, one after another, through the working file and again",
                "fio's write with direct=1 and bs=1M",
            ),
            |working, made, bench| in_sequence(working, made, bench, Working::write),
        ),
    ]
}

/// A rung on the working file, which says how large it is.
fn on(
    site: &Rc<Site>,
    shared: &Shared,
    about: RungDescription,
    measure: impl Fn(&Working, &Made, &Bench<'_>) -> Result<Samples, Unmeasured> + 'static,
) -> Rung {
    let shared = Rc::clone(shared);
    rung(site, about, move |made, bench| {
        made.on_disk()?;
        let working = shared.get_or_init(|| Working::made(made, bench)).as_ref().map_err(Clone::clone)?;
        let mut samples = measure(working, made, bench)?;
        samples.limits.push(working.said());
        Ok(samples)
    })
}

/// A buffer that begins at a multiple of a block, as O_DIRECT wants it.
struct Aligned {
    bytes: Vec<u8>,
    from: usize,
}

impl Aligned {
    /// Of random bytes: a disk that packs or that knows zeros would do less for others.
    fn random(len: usize) -> Self {
        let mut random = Random::new();
        let words = (len + BLOCK_BYTES) / 8;
        let bytes: Vec<u8> = (0..words).flat_map(|_| random.next().to_le_bytes()).collect();
        let from = bytes.as_ptr().align_offset(BLOCK_BYTES);
        Self { bytes, from }
    }

    fn get(&mut self, len: usize) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + len]
    }

    /// Makes each block one that was not written before.
    fn stamp(&mut self, at: u64) {
        for (index, block) in self.get(PIECE_BYTES).chunks_mut(BLOCK_BYTES).enumerate() {
            block[..8]
                .copy_from_slice(&(at + index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        }
    }
}

/// The working file.
struct Working {
    file: File,
    bytes: u64,
    /// Whether the page cache is passed by. Where not, each page is dropped from it before it is
    /// read.
    direct: bool,
    /// Writing took too long for all of it.
    slow: bool,
}

impl Working {
    fn made(made: &Made, bench: &Bench<'_>) -> Result<Self, Unmeasured> {
        let wanted = if bench.asked.quick { FILE_BYTES / 4 } else { FILE_BYTES };
        Self::of(made, bench, wanted, true)
    }

    /// Made, really written, and on the disk.
    fn of(made: &Made, bench: &Bench<'_>, wanted: u64, direct: bool) -> Result<Self, Unmeasured> {
        let room = made.room(wanted, FILE_BYTES_MIN)? / PIECE_BYTES as u64 * PIECE_BYTES as u64;
        let file = made.nameless("working")?;
        let mut working = Self { file, bytes: room, direct, slow: false };
        let mut buffer = Aligned::random(PIECE_BYTES);
        // Some filesystems refuse it at once, some when it comes to writing.
        working.direct = direct
            && working.pass_by(true).is_ok()
            && working.file.write_all_at(buffer.get(BLOCK_BYTES), 0).is_ok();
        if !working.direct {
            working.pass_by(false).map_err(|error| made.refused("write with O_DIRECT", error))?;
            working.bytes =
                made.cached_room(bench, room, FILE_BYTES_MIN)? / PIECE_BYTES as u64 * PIECE_BYTES as u64;
        }
        let refused = |error: io::Error| made.refused("write a file", error);
        match fallocate(&working.file, FallocateFlags::empty(), 0, working.bytes) {
            // Not every filesystem can.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(made.refused("allocate space", error)),
        }
        let until = monotonic_ns() + if bench.asked.quick { WRITE_NS_QUICK } else { WRITE_NS };
        let mut at = 0;
        while at < working.bytes {
            if bench.stopped() {
                return Err(interrupted());
            }
            if monotonic_ns() > until && at >= FILE_BYTES_MIN {
                working.slow = true;
                working.bytes = at;
            } else {
                buffer.stamp(at);
                working.file.write_all_at(buffer.get(PIECE_BYTES), at).map_err(refused)?;
                at += PIECE_BYTES as u64;
            }
        }
        working.file.set_len(working.bytes).map_err(refused)?;
        working.file.sync_all().map_err(refused)?;
        if !working.direct {
            fadvise(&working.file, 0, None, Advice::Random).map_err(|error| refused(error.into()))?;
            working.forget(0, working.bytes).map_err(refused)?;
        }
        Ok(working)
    }

    fn pass_by(&self, cache: bool) -> io::Result<()> {
        let flags = fcntl_getfl(&self.file)?;
        Ok(fcntl_setfl(&self.file, if cache { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT })?)
    }

    fn said(&self) -> String {
        let mut said = format!(
            "the working file has {} MiB: a cache on the way to the disk that holds it would answer",
            self.bytes >> 20
        );
        if self.slow {
            said += "; writing more of it would have taken too long";
        }
        if !self.direct {
            said += "; O_DIRECT is refused here, so pages are dropped from the page cache before each read, and flushed after each write";
        }
        said
    }

    fn forget(&self, at: u64, len: u64) -> io::Result<()> {
        Ok(fadvise(&self.file, at, NonZeroU64::new(len), Advice::DontNeed)?)
    }

    /// A random block.
    fn any(&self, random: &mut Random) -> u64 {
        u64::from(random.below((self.bytes / BLOCK_BYTES as u64) as u32)) * BLOCK_BYTES as u64
    }

    /// Reads at an offset; gives the time it took.
    fn read(&self, into: &mut [u8], at: u64) -> io::Result<u64> {
        if !self.direct {
            self.forget(at, into.len() as u64)?;
        }
        let from = monotonic_ns();
        self.file.read_exact_at(into, at)?;
        Ok(monotonic_ns() - from)
    }

    /// Writes at a place; gives how long that took.
    fn write(&self, bytes: &mut [u8], at: u64) -> io::Result<u64> {
        let from = monotonic_ns();
        self.file.write_all_at(bytes, at)?;
        if !self.direct {
            self.file.sync_data()?;
        }
        Ok(monotonic_ns() - from)
    }
}

fn random_reads(working: &Working, made: &Made, bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let (mut random, mut buffer) = (Random::new(), Aligned::random(BLOCK_BYTES));
    bench.sample_timed(|ops| {
        (0..ops)
            .map(|_| working.read(buffer.get(BLOCK_BYTES), working.any(&mut random)))
            .sum::<io::Result<u64>>()
            .map_err(|error| made.refused("read a file", error))
    })
}

fn in_sequence(
    working: &Working,
    made: &Made,
    bench: &Bench<'_>,
    act: fn(&Working, &mut [u8], u64) -> io::Result<u64>,
) -> Result<Samples, Unmeasured> {
    let (mut buffer, mut at) = (Aligned::random(PIECE_BYTES), 0);
    let samples = bench.sample_timed(|ops| {
        let mut took = 0;
        for _ in 0..ops {
            let one = act(working, buffer.get(PIECE_BYTES), at);
            took += one.map_err(|error| made.refused("read or write a file", error))?;
            at = (at + PIECE_BYTES as u64) % working.bytes;
        }
        Ok(took)
    })?;
    Ok(with_rate(samples, PIECE_BYTES))
}

/// Reads in many threads, each timing its own reads; the rate is of all together.
fn reads_at_once(working: &Working, made: &Made, bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    const LOOK: Duration = Duration::from_millis(20);
    let (over, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = monotonic_ns();
    let (warm, until) = (begun + bench.budget_ns / 8, begun + bench.budget_ns);
    let cpus = &bench.machine.cpus_allowed;
    let reader = || -> io::Result<Vec<f64>> {
        // The measuring thread, whose child this is, is bound to one CPU.
        spread(cpus);
        let (mut random, mut buffer) = (Random::new(), Aligned::random(BLOCK_BYTES));
        let mut times = Vec::new();
        while !over.load(Relaxed) {
            let took = working.read(buffer.get(BLOCK_BYTES), working.any(&mut random))?;
            done.fetch_add(1, Relaxed);
            if monotonic_ns() > warm {
                times.push(took as f64);
            }
        }
        Ok(times)
    };
    let mut bytes_per_s = Vec::new();
    let times = thread::scope(|scope| {
        let started: io::Result<Vec<_>> =
            (0..DEPTH).map(|_| thread::Builder::new().spawn_scoped(scope, reader)).collect();
        let mut last = (monotonic_ns(), done.load(Relaxed));
        while started.is_ok() && monotonic_ns() < until && !bench.stopped() {
            thread::sleep(LOOK);
            let now = (monotonic_ns(), done.load(Relaxed));
            if last.0 > warm {
                let bytes = (now.1 - last.1) as f64 * BLOCK_BYTES as f64;
                bytes_per_s.push(bytes * 1e9 / (now.0 - last.0) as f64);
            }
            last = now;
        }
        // Also where not all could be started: those that were would read for ever.
        over.store(true, Relaxed);
        let mut times = Vec::new();
        for reader in started? {
            times.extend(reader.join().map_err(|_| io::Error::other("a reading thread ended early"))??);
        }
        Ok::<_, io::Error>(times)
    });
    let times = times.map_err(|error| made.refused("read a file in 32 threads", error))?;
    if times.is_empty() {
        return Err(if bench.stopped() {
            interrupted()
        } else {
            Unmeasured::Unseen("no read ended within the time of this rung".into())
        });
    }
    let clock_cost_ns = bench.clock_cost_ns;
    Ok(Samples { per_op_ns: times, ops_per_sample: 1, clock_cost_ns, bytes_per_s, ..Samples::default() })
}

/// Lets the calling thread run on all of these.
fn spread(cpus: &[u32]) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    // Where that is refused, the threads share a CPU, and wait for the disk anyway.
    let _ = sched_setaffinity(None, &set);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LadderRequest, machine};

    fn with_bench<T>(of: impl FnOnce(&Bench<'_>) -> T) -> T {
        let (machine, asked) = (machine(), LadderRequest { quick: true, ..LadderRequest::default() });
        of(&Bench::new(&machine, &asked, 50_000_000, 30.0, &|| false))
    }

    #[test]
    fn a_buffer_begins_where_the_device_wants_it() {
        let mut buffer = Aligned::random(PIECE_BYTES);
        assert_eq!(buffer.get(PIECE_BYTES).as_ptr() as usize % BLOCK_BYTES, 0);
        buffer.stamp(0);
        let one = buffer.get(PIECE_BYTES).to_vec();
        buffer.stamp(PIECE_BYTES as u64);
        let same =
            one.chunks(BLOCK_BYTES).zip(buffer.get(PIECE_BYTES).chunks(BLOCK_BYTES)).filter(|(a, b)| a == b);
        assert_eq!(same.count(), 0, "each block is new");
    }

    #[test]
    fn where_the_page_cache_cannot_be_passed_by_pages_are_dropped_from_it() {
        let below = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let site = Site::new(below.path().to_str().unwrap());
        with_bench(|bench| {
            let made = site.made().unwrap();
            let (direct, dropped) = (
                Working::of(made, bench, FILE_BYTES_MIN, true).unwrap(),
                Working::of(made, bench, FILE_BYTES_MIN, false).unwrap(),
            );
            assert_eq!((direct.bytes, dropped.bytes), (FILE_BYTES_MIN, FILE_BYTES_MIN));
            assert!(!dropped.direct && dropped.said().contains("O_DIRECT is refused"), "{}", dropped.said());
            let mut cached = [0; BLOCK_BYTES];
            let ns = |samples: Samples| {
                let mut ns = samples.per_op_ns;
                ns.sort_unstable_by(f64::total_cmp);
                ns[ns.len() / 2]
            };
            let plain = ns(bench
                .sample(|ops| {
                    (0..ops).for_each(|_| dropped.file.read_exact_at(&mut cached, 0).unwrap());
                    Ok(())
                })
                .unwrap());
            for working in [&direct, &dropped] {
                let from_disk = ns(random_reads(working, made, bench).unwrap());
                assert!(from_disk > plain * 3.0, "{from_disk} ns past the cache, {plain} ns from it");
            }
        });
    }
}
