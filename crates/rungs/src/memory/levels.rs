//! `l1 l2 l3 dram`: a load that waits for the one before, out of each level, and what the level
//! gives when it is read through.

use crate::bench::{Bench, interrupted};
use crate::memory::order::{Random, one_cycle};
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use model::Seen;
use model::ladder::{Cache, Machine};
use std::io::ErrorKind;
use sys::chase::Chase;
use sys::clock::monotonic_ns;
use sys::loops;
use sys::pages::{Obtained, PageKind, Pages};

/// Where the kernel does not state a line: that of all x86_64 and most aarch64 CPUs.
pub(crate) const LINE_BYTES: u64 = 64;
/// The chase through a cache takes this many times the cache below: with random replacement that
/// one then gives 2 in 100 loads, and with others none. Never more than half of it: beyond, pages
/// whose addresses happen to meet push each other out.
const BELOW_TIMES: u64 = 4;
/// The chase for `dram` takes this many times the last cache: at most this fraction of the loads
/// still finds its data there.
const DRAM_TIMES: u64 = 8;
const DRAM_LEAST: u64 = 64 << 20;
const DRAM_MOST: u64 = 1 << 30;
/// The most of free memory that is used.
const FREE_PART: u64 = 4;
/// Bytes of a huge page.
pub(crate) const HUGE_BYTES: u64 = 2 << 20;
/// One part in this many of the time is for the bandwidth.
const BANDWIDTH_PART: u64 = 4;

const METHOD: &str = "a chase of pointers in one random cycle, one to a line, through four times the cache below or half of \
                      the cache, whichever is less; pages of 2 MiB where there are any; bandwidth: one core reads the same \
                      memory from first to last";
const SOURCE: &str = "lmbench's lat_mem_rd, multichase; S. Sattolo 1986 for the order";

pub(crate) fn rungs() -> Vec<Rung> {
    let level = |id: &str, level: u32, what: &str| Rung {
        about: RungDescription {
            excludes:
                "loads that do not wait for each other, which overlap, and places that a prefetcher foresees"
                    .into(),
            method: METHOD.into(),
            source: SOURCE.into(),
            needs: "the size of the cache, from /sys".into(),
            ..about(id, RungGroup::Memory, what)
        },
        parts: 1.0,
        watch_cycle: true,
        measure: Box::new(move |bench| of_cache(bench, level)),
    };
    let dram = Rung {
        about: RungDescription {
            excludes: "loads that do not wait for each other, which overlap, and memory that others keep busy (see dram-loaded)"
                .into(),
            method: format!("the same through memory of {DRAM_TIMES} times the last cache, within {} of what is free", "a quarter"),
            source: SOURCE.into(),
            needs: "up to 1 GiB of free memory".into(),
            ..about("dram", RungGroup::Memory, "a dependent load from memory")
        },
        parts: 2.0,
        watch_cycle: true,
        measure: Box::new(of_dram),
    };
    vec![
        level("l1", 1, "a dependent load from the first-level cache"),
        level("l2", 2, "a dependent load from the second-level cache"),
        level("l3", 3, "a dependent load from the third-level cache"),
        dram,
    ]
}

fn of_cache(bench: &Bench<'_>, level: u32) -> Result<Samples, Unmeasured> {
    let machine = bench.machine;
    let Some(cache) = machine.caches.iter().find(|cache| cache.level == level) else {
        return Err(if machine.caches.is_empty() {
            Unmeasured::Unseen("the kernel does not state the sizes of caches".into())
        } else {
            Unmeasured::Absent(format!("no cache of level {level}"))
        });
    };
    let below = machine.caches.iter().filter(|other| other.level < level).map(|other| other.bytes).max();
    let half = cache.bytes / 2;
    if below.is_some_and(|below| half <= below) {
        return Err(Unmeasured::Unseen("half of it is not more than the cache below".into()));
    }
    let bytes = below.map_or(half, |below| half.min(below * BELOW_TIMES));
    if bytes > most_bytes(machine)? {
        return Err(too_little_memory(bytes));
    }
    let mut samples = chase_and_read(bench, bytes, line_bytes(Some(cache)))?;
    if let Some(below) = below.filter(|below| bytes < below * BELOW_TIMES) {
        let times = bytes as f64 / below as f64;
        samples.limits.push(format!(
            "half of it is {times:.1} times the cache below, which may still give some of the loads"
        ));
    }
    if cache.shared_by > 1 {
        samples.limits.push(format!("the cache is shared by {} CPUs", cache.shared_by));
    }
    Ok(samples)
}

fn of_dram(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let bytes = dram_bytes(bench.machine)?;
    let mut samples = chase_and_read(bench, bytes, line_bytes(bench.machine.caches.last()))?;
    samples.limits.extend(small_for_dram(bench.machine, bytes));
    Ok(samples)
}

/// How much memory counts as memory and not as a cache.
pub(crate) fn dram_bytes(machine: &Machine) -> Result<u64, Unmeasured> {
    let last = machine.caches.last().map_or(0, |cache| cache.bytes);
    let most = most_bytes(machine)?;
    let wanted = (last * DRAM_TIMES).clamp(DRAM_LEAST, DRAM_MOST);
    // With twice the cache or more, most loads come from memory.
    let least = (last * 2).max(DRAM_LEAST / 2);
    if most < least { Err(too_little_memory(least)) } else { Ok(whole(wanted.min(most))) }
}

/// As many whole huge pages as fit: more would be another size's figure.
pub(crate) fn whole(bytes: u64) -> u64 {
    bytes / HUGE_BYTES * HUGE_BYTES
}

/// The caveat of memory that is not many times the last-level cache.
pub(crate) fn small_for_dram(machine: &Machine, bytes: u64) -> Option<String> {
    let last = machine.caches.last()?.bytes;
    (bytes < last * DRAM_TIMES).then(|| {
        let share = 100 * last / bytes.max(1);
        format!("up to {share} % of the loads are still found in the last cache")
    })
}

fn too_little_memory(bytes: u64) -> Unmeasured {
    Unmeasured::Unseen(format!("it needs {} MiB, and a quarter of what is free is less", bytes >> 20))
}

/// What may be taken.
pub(crate) fn most_bytes(machine: &Machine) -> Result<u64, Unmeasured> {
    Ok(free_memory_bytes(machine)? / FREE_PART)
}

/// Memory that is free, where that is known: no memory is taken on a guess.
pub(crate) fn free_memory_bytes(machine: &Machine) -> Result<u64, Unmeasured> {
    let unknown = |why: &str| Unmeasured::Unseen(format!("how much memory is free is not known: {why}"));
    match &machine.memory_free_bytes {
        Seen::Value(bytes) => Ok(*bytes),
        Seen::Absent => Err(unknown("the kernel does not state it")),
        Seen::Unseen(why) => Err(unknown(why)),
    }
}

/// The line of a cache, also where it is not stated.
pub(crate) fn line_bytes(cache: Option<&Cache>) -> u64 {
    cache.map_or(LINE_BYTES, |cache| cache.line_bytes).clamp(16, 4096)
}

/// Memory in pages as wanted.
pub(crate) fn obtain(bench: &Bench<'_>, bytes: u64, wanted: PageKind) -> Result<Pages, Unmeasured> {
    obtain_while(bytes, wanted, &|| !bench.stopped())
}

/// The same for a thread of a rung's own.
pub(crate) fn obtain_while(
    bytes: u64,
    wanted: PageKind,
    go_on: &dyn Fn() -> bool,
) -> Result<Pages, Unmeasured> {
    Pages::obtain_while(bytes as usize, wanted, go_on).map_err(|error| match error.kind() {
        ErrorKind::Interrupted => interrupted(),
        _ => Unmeasured::Unseen(format!("{} MiB of memory could not be allocated: {error}", bytes >> 20)),
    })
}

/// One random cycle through the first `bytes` of the pages, one pointer to a line.
pub(crate) fn chase(bench: &Bench<'_>, pages: Pages, bytes: u64, line: u64) -> Result<Chase, Unmeasured> {
    let go_on = || !bench.stopped();
    let next = one_cycle((bytes / line) as u32, &mut Random::new(), &go_on).ok_or_else(interrupted)?;
    Chase::link_while(pages, &next, |place| place * line as usize, &go_on).ok_or_else(interrupted)
}

/// Chases through `bytes`, then reads them through.
fn chase_and_read(bench: &Bench<'_>, bytes: u64, line: u64) -> Result<Samples, Unmeasured> {
    let chase_ns = bench.budget_ns - bench.budget_ns / BANDWIDTH_PART;
    // Also what is smaller lies in one huge page: many small ones miss the first TLB before they
    // miss the cache.
    let pages = obtain(bench, bytes.next_multiple_of(HUGE_BYTES), PageKind::Huge)?;
    let mut chase = chase(bench, pages, bytes, line)?;
    let mut samples = bench.with_budget(chase_ns).sample(|hops| {
        chase.hop(hops);
        Ok(())
    })?;
    samples.limits.push(size_said(bytes));
    let pages = chase.into_pages();
    samples.limits.extend(small_pages(&pages));
    let read = &pages.as_slice()[..bytes as usize];
    samples.bytes_per_s = bandwidth(&bench.with_budget(bench.budget_ns / BANDWIDTH_PART), read)?;
    Ok(samples)
}

/// The caveat with the size, needed to repeat the measurement. `cargo xtask bench ladder` reads it.
fn size_said(bytes: u64) -> String {
    format!("chased through {} KiB", bytes >> 10)
}

/// The caveat about pages that are not huge.
pub(crate) fn small_pages(pages: &Pages) -> Option<String> {
    match pages.obtained() {
        Ok(Obtained { bytes, huge_bytes, .. }) if huge_bytes >= bytes => None,
        Ok(Obtained { bytes, huge_bytes, .. }) => Some(format!(
            "only {} % of the memory is in huge pages: misses of the TLB are in the figure\n\
             try: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
            100 * huge_bytes / bytes.max(1)
        )),
        Err(_) => Some("which pages the memory is in cannot be seen".into()),
    }
}

/// What one core reads of `bytes` in a second, of each sample.
fn bandwidth(bench: &Bench<'_>, bytes: &[u8]) -> Result<Vec<f64>, Unmeasured> {
    // A piece at a time, so that a sample of memory is short.
    let piece = bytes.len().min(1 << 20) / loops::READ_BYTES * loops::READ_BYTES;
    if piece == 0 {
        return Ok(Vec::new());
    }
    let mut at = 0;
    let samples = bench.sample_timed(|pieces| {
        let from = monotonic_ns();
        for _ in 0..pieces {
            loops::read(&bytes[at..at + piece]);
            at = if at + 2 * piece <= bytes.len() { at + piece } else { 0 };
        }
        Ok(monotonic_ns() - from)
    })?;
    let cost = samples.clock_cost_ns / samples.ops_per_sample as f64;
    let rate = |ns: &f64| piece as f64 * 1e9 / (ns - cost).max(1e-3);
    Ok(samples.per_op_ns.iter().map(rate).collect())
}
