//! Copies memory and verifies it by checksums, as stressapptest does.
//!
//! The memory is cut into pages of 1 MiB; three fifths of them hold a pattern. A worker takes one
//! of these and a free one, copies block by block, and compares the checksum with the pattern's.
//! The copy then holds the pattern, so every page is written, rests, and is read again.

use crate::room::enough_memory;
use crate::spec::BYTES_PER_THREAD;
use crate::team::{STACK_BYTES, Stop, together};
use crate::{RunLimit, Tally, Work, while_doing};
use model::wake::load::{Load, Mismatch};
use rustix::thread::sched_getcpu;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope, yield_now};
use std::time::Duration;
use sys::copy::{BLOCK_BYTES, Checksum, copy_summed, publish, sum};
use sys::pages::{PageKind, Pages};

const PAGE_BYTES: usize = 1 << 20;
/// The size of one allocation; the load can be ended between two.
const CHUNK_BYTES: usize = 256 << 20;
/// Pages out of five that hold a pattern.
const VALID_OF_FIVE: usize = 3;

pub(crate) fn run(threads: u32, asked_bytes: u64, mut limit: RunLimit<'_>) -> io::Result<(Load, Tally)> {
    let least = u64::from(threads) * BYTES_PER_THREAD;
    let room = enough_memory(&format!("memory with {threads} threads"), least, "fewer threads")?;
    refuse_more_than(asked_bytes, host::identity(host::here()).memory_bytes.value().copied())?;
    let bytes = asked_bytes.min(room) / PAGE_BYTES as u64 * PAGE_BYTES as u64;
    let mut memory = obtain(bytes as usize, &mut limit)?;
    let patterns = patterns();
    let mut pool = Pool::default();
    for chunk in &mut memory {
        for page in chunk.as_mut_slice().chunks_exact_mut(PAGE_BYTES) {
            limit.check_wanted(Duration::ZERO)?;
            pool.fill(page, &patterns);
        }
    }
    let mut tally = together("memory", (0..u64::from(threads)).collect(), limit, &|| {}, &|seed, stop| {
        Ok(copy_pages(&pool, &patterns, seed, stop))
    })?;
    tally.work.add(pool.check(&patterns, threads));
    if asked_bytes > room {
        tally.work.limits.push(format!(
            "{} MiB instead of {}: the host and its cgroups have no more free",
            bytes >> 20,
            asked_bytes >> 20
        ));
    }
    Ok((Load::Memory { threads, bytes }, tally))
}

/// Refuses more than the host has at all. Of less, what is free is taken.
fn refuse_more_than(asked_bytes: u64, all_bytes: Option<u64>) -> io::Result<()> {
    match all_bytes.filter(|all| asked_bytes > *all) {
        None => Ok(()),
        Some(all) => Err(io::Error::other(format!(
            "memory of {} MiB is more than the {} MiB that this host has\ntry: size={}MiB",
            asked_bytes >> 20,
            all >> 20,
            (all >> 21).max(1)
        ))),
    }
}

/// Allocates memory in chunks. Reserved huge pages are not used: they are kept for other programs
/// and do not count as free.
fn obtain(bytes: usize, limit: &mut RunLimit<'_>) -> io::Result<Vec<Pages>> {
    let mut chunks = Vec::new();
    for from in (0..bytes).step_by(CHUNK_BYTES) {
        limit.check_wanted(Duration::ZERO)?;
        let chunk = Pages::obtain(CHUNK_BYTES.min(bytes - from), PageKind::Transparent);
        let what = || format!("cannot get {} MiB of memory", bytes >> 20);
        chunks.push(chunk.map_err(|error| while_doing(&what(), &error))?);
    }
    Ok(chunks)
}

/// A pattern and its checksum.
struct Pattern {
    block: Vec<u8>,
    sum: Checksum,
}

/// The patterns: words that change all, few or other bits from one to the next, and their
/// complements.
fn patterns() -> Vec<Pattern> {
    let mut state = 0x0123_4567_89ab_cdef_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 29)
    };
    let words = BLOCK_BYTES as u64 / 8;
    let mut plain: Vec<Vec<u64>> = vec![
        vec![0; words as usize],
        (0..words).map(|at| if at % 2 == 0 { 0 } else { u64::MAX }).collect(),
        vec![0x5555_5555_5555_5555; words as usize],
        (0..words)
            .map(|at| if at % 2 == 0 { 0x5555_5555_5555_5555 } else { 0xaaaa_aaaa_aaaa_aaaa })
            .collect(),
        (0..words).map(|_| random()).collect(),
    ];
    // A walking bit in words of 8, 16, 32 or 64.
    for (width, ones) in
        [(8, 0x0101_0101_0101_0101), (16, 0x0001_0001_0001_0001), (32, 0x1_0000_0001), (64, 1)]
    {
        plain.push((0..words).map(|at| ones << (at % width)).collect());
    }
    let opposite: Vec<Vec<u64>> =
        plain.iter().map(|words| words.iter().map(|word| !word).collect()).collect();
    let pattern = |words: Vec<u64>| {
        let block: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Pattern { sum: sum(&block), block }
    };
    plain.into_iter().chain(opposite).map(pattern).collect()
}

/// A page that holds a pattern.
struct FilledPage<'a> {
    bytes: &'a mut [u8],
    /// The index of its pattern.
    pattern: usize,
}

/// Pages that no worker uses now.
#[derive(Default)]
struct Pool<'a> {
    valid: Mutex<Vec<FilledPage<'a>>>,
    empty: Mutex<Vec<&'a mut [u8]>>,
}

impl<'a> Pool<'a> {
    /// Adds a page, with the next pattern or empty.
    fn fill(&mut self, page: &'a mut [u8], patterns: &[Pattern]) {
        let (mut valid, mut empty) = (lock(&self.valid), lock(&self.empty));
        if (valid.len() + empty.len()) % 5 < VALID_OF_FIVE {
            let pattern = valid.len() % patterns.len();
            page.chunks_exact_mut(BLOCK_BYTES)
                .for_each(|block| block.copy_from_slice(&patterns[pattern].block));
            valid.push(FilledPage { bytes: page, pattern });
        } else {
            empty.push(page);
        }
    }

    /// Reads all filled pages again, with `threads` threads.
    fn check(&self, patterns: &[Pattern], threads: u32) -> Work {
        let all = Mutex::new(Work::default());
        let next = || lock(&self.valid).pop();
        let part = || {
            let mut work = Work::default();
            while let Some(page) = next() {
                let pattern = &patterns[page.pattern];
                for block in page.bytes.chunks_exact_mut(BLOCK_BYTES) {
                    let seen = sum(block);
                    if seen != pattern.sum {
                        blame(&mut [block], pattern, seen, &mut work);
                    }
                }
            }
            lock(&all).add(work);
        };
        scope(|scope| {
            for _ in 1..threads {
                // If a thread cannot be started, the others do its share.
                let helper = Builder::new().name("load-check".to_owned()).stack_size(STACK_BYTES);
                let _ = helper.spawn_scoped(scope, part);
            }
            part();
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a random one.
fn take<T>(from: &Mutex<Vec<T>>, random: u64) -> Option<T> {
    let mut from = lock(from);
    let at = (random % from.len().max(1) as u64) as usize;
    (at < from.len()).then(|| from.swap_remove(at))
}

fn copy_pages(pool: &Pool<'_>, patterns: &[Pattern], seed: u64, stop: &Stop) -> Work {
    let mut work = Work::default();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    while !stop.is_set() {
        let Some(empty) = take(&pool.empty, random()) else {
            yield_now();
            continue;
        };
        let Some(valid) = take(&pool.valid, random()) else {
            lock(&pool.empty).push(empty);
            yield_now();
            continue;
        };
        let pattern = &patterns[valid.pattern];
        let blocks = valid.bytes.chunks_exact_mut(BLOCK_BYTES).zip(empty.chunks_exact_mut(BLOCK_BYTES));
        for (from, to) in blocks {
            let seen = copy_summed(from, to);
            if seen != pattern.sum {
                publish();
                blame(&mut [from, to], pattern, seen, &mut work);
            }
        }
        publish();
        lock(&pool.valid).push(FilledPage { bytes: empty, pattern: valid.pattern });
        lock(&pool.empty).push(valid.bytes);
        work.done += PAGE_BYTES as u64;
        // So that all workers progress if there are more than CPUs.
        yield_now();
    }
    work
}

/// Finds the wrong words of the blocks and repairs them, so that each flip is reported once.
fn blame(blocks: &mut [&mut [u8]], pattern: &Pattern, seen: Checksum, work: &mut Work) {
    let cpu = sched_getcpu() as u32;
    let mut found = false;
    // The first is the source; its copy is wrong as well and is not reported again.
    let read = &blocks[0];
    for (at, (word, right)) in
        read.as_chunks::<8>().0.iter().zip(pattern.block.as_chunks::<8>().0).enumerate()
    {
        if word != right {
            found = true;
            work.mismatch(Mismatch {
                at: read[at * 8..].as_ptr().addr() as u64,
                expected: u64::from_le_bytes(*right),
                actual: u64::from_le_bytes(*word),
                cpu,
            });
        }
    }
    if !found {
        // The memory is right when read again: the error was in transfer or in a cache.
        work.mismatch(Mismatch {
            at: read.as_ptr().addr() as u64,
            expected: pattern.sum.folded(),
            actual: seen.folded(),
            cpu,
        });
        work.limits.push("a checksum was wrong, but the memory was right when read again".to_owned());
    }
    blocks.iter_mut().for_each(|block| block.copy_from_slice(&pattern.block));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overseer;
    use std::time::Duration;

    struct NeverEnds;

    impl Overseer for NeverEnds {
        fn ended(&mut self, wait: Duration) -> bool {
            std::thread::sleep(wait);
            false
        }
    }

    #[test]
    fn more_than_the_host_has_is_refused_at_once() {
        assert!(refuse_more_than(1 << 30, Some(1 << 30)).is_ok() && refuse_more_than(1 << 60, None).is_ok());
        let said = refuse_more_than(1000 << 30, Some(8 << 30)).unwrap_err().to_string();
        assert_eq!(
            said,
            "memory of 1024000 MiB is more than the 8192 MiB that this host has\ntry: size=4096MiB"
        );
    }

    #[test]
    fn patterns_have_different_checksums() {
        let patterns = patterns();
        for (at, pattern) in patterns.iter().enumerate() {
            assert_eq!(pattern.block.len(), BLOCK_BYTES);
            assert!(patterns[..at].iter().all(|other| other.sum != pattern.sum), "{at}");
        }
    }

    /// The work on memory that was changed after it had been filled.
    fn worked(tamper: impl FnOnce(&mut Vec<FilledPage<'_>>)) -> (u64, Work) {
        let mut memory = Pages::obtain(10 * PAGE_BYTES, PageKind::Small).unwrap();
        let base = memory.as_slice().as_ptr().addr() as u64;
        let patterns = patterns();
        let mut pool = Pool::default();
        memory.as_mut_slice().chunks_exact_mut(PAGE_BYTES).for_each(|page| pool.fill(page, &patterns));
        tamper(&mut lock(&pool.valid));
        let limit = RunLimit { overseer: &mut NeverEnds, length: Duration::from_millis(300) };
        let tally = together("memory", vec![1, 2], limit, &|| {}, &|seed, stop| {
            Ok(copy_pages(&pool, &patterns, seed, stop))
        });
        let mut work = tally.unwrap().work;
        work.add(pool.check(&patterns, 2));
        (base, work)
    }

    #[test]
    fn memory_that_keeps_what_it_is_given_has_no_mismatch() {
        let (_, work) = worked(|_| {});
        assert!(work.done >= PAGE_BYTES as u64);
        assert_eq!((work.mismatches_total, work.limits), (0, Vec::<String>::new()));
    }

    #[test]
    fn a_flipped_bit_is_found_once_with_its_place() {
        let mut planted = (0, 0);
        let (_, work) = worked(|valid| {
            let page = &mut valid[2];
            page.bytes[777_777] ^= 0x10;
            let word = 777_777 / 8 * 8;
            planted = (page.bytes[word..].as_ptr().addr() as u64, page.pattern);
        });
        assert_eq!(work.mismatches_total, 1, "{:?}", work.mismatches);
        let found = &work.mismatches[0];
        let right = &patterns()[planted.1].block;
        let at = 777_777 / 8 * 8 % BLOCK_BYTES;
        assert_eq!(found.expected.to_le_bytes(), right[at..at + 8]);
        // The first copy from there finds it, before it spreads.
        assert_eq!(found.at, planted.0);
        assert_eq!((found.expected ^ found.actual).to_le_bytes()[777_777 % 8], 0x10);
        assert_eq!((found.expected ^ found.actual).count_ones(), 1);
    }

    #[test]
    fn flips_that_were_not_copied_are_found_at_the_end_each_once() {
        let mut memory = Pages::obtain(30 * PAGE_BYTES, PageKind::Small).unwrap();
        let patterns = patterns();
        let mut pool = Pool::default();
        memory.as_mut_slice().chunks_exact_mut(PAGE_BYTES).for_each(|page| pool.fill(page, &patterns));
        let valid = lock(&pool.valid).len();
        assert_eq!((valid, lock(&pool.empty).len()), (18, 12));
        lock(&pool.valid).iter_mut().for_each(|page| page.bytes[4_321] ^= 1);
        let work = pool.check(&patterns, 3);
        assert_eq!((work.mismatches_total, lock(&pool.valid).len()), (valid as u64, 0));
    }

    /// Ends the load at the n-th poll.
    struct EndsAtPoll(u32);

    impl Overseer for EndsAtPoll {
        fn ready(&mut self) {
            panic!("it started");
        }

        fn ended(&mut self, _: Duration) -> bool {
            self.0 -= 1;
            self.0 == 0
        }
    }

    #[test]
    fn filling_ends_early_when_the_load_ends() {
        for look in [1, 2, 9] {
            let limit = RunLimit { overseer: &mut EndsAtPoll(look), length: Duration::from_secs(300) };
            let error = run(1, 16 << 20, limit).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{error}");
        }
    }

    #[test]
    fn more_memory_than_free_is_refused() {
        let limit = RunLimit { overseer: &mut NeverEnds, length: Duration::from_millis(1) };
        let error = run(u32::MAX, u64::MAX, limit).unwrap_err().to_string();
        assert!(error.contains("of what is free"), "{error}");
    }
}
