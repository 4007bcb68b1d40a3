//! Counters of the kernel half: calls, lost records, and runs of each instrument with their
//! overhead.

use super::decode::Seen;
use super::runs::{CALL_NS, COUNT_NS, EachNs, InstrumentRuns, TIMING_NS};
use super::wire::{self, DENSE};
use crate::sources::arguments;
use aya::Ebpf;
use aya::maps::{PerCpuArray, PerCpuValues};
use model::recording::{COUNTING, Cost, UnitsFollowed};
use model::{Call, CallResults, CallStats, Ns, PathsAsked};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use zerocopy::{transmute, transmute_ref};

// `analyse` uses the same buckets.
const _: () = assert!(wire::BUCKETS == stats::histogram::BUCKETS);
const _: () = assert!(wire::SIZES == CallResults::SIZE_MAX as usize + 1);

/// A value of a per-CPU map for aya: words.
type CpuWords = [u64; size_of::<wire::Cpu>() / 8];
type StatsWords = [u64; size_of::<wire::Stats>() / 8];

/// The kernel half's counters for each CPU.
pub(super) fn of_cpus(ebpf: &Ebpf) -> Option<Vec<wire::Cpu>> {
    let map = PerCpuArray::<_, CpuWords>::try_from(ebpf.map("cpus")?).ok()?;
    let counts = map.get(&0, 0).ok()?;
    Some(counts.iter().map(|words| transmute!(*words)).collect())
}

/// The calls that returned, summed over CPUs.
pub(super) fn calls(ebpf: &Ebpf) -> Vec<CallStats> {
    let mut calls: BTreeMap<Call, CallStats> = BTreeMap::new();
    let map = ebpf.map("stats").and_then(|map| PerCpuArray::<_, StatsWords>::try_from(map).ok());
    let mut empty = 0;
    for entry in 0..DENSE {
        let Some(values) = map.as_ref().and_then(|map| map.get(&entry, 0).ok()) else { break };
        // Entries are allocated in order, but one may be allocated and not yet used.
        let mut used = values.iter().map(stats_in).filter(|stats| stats.calls > 0).peekable();
        empty = if used.peek().is_some() { 0 } else { empty + 1 };
        if empty > 8 {
            break;
        }
        used.for_each(|stats| add(&mut calls, stats));
    }
    calls.into_values().collect()
}

fn stats_in(words: &StatsWords) -> &wire::Stats {
    transmute_ref!(words)
}

/// Resets the counts of calls: finding existing threads takes some time, and their calls in that
/// time are not part of the window.
pub(super) fn forget_calls(ebpf: &mut Ebpf) {
    let map = ebpf.map_mut("stats").map(PerCpuArray::<_, StatsWords>::try_from);
    let Some(Ok(mut map)) = map else { return };
    for entry in 0..DENSE {
        let Ok(counted) = map.get(&entry, 0) else { return };
        let zero = vec![[0; size_of::<wire::Stats>() / 8]; counted.len()];
        if counted.iter().any(|words| stats_in(words).calls > 0)
            && let Ok(zero) = PerCpuValues::try_from(zero)
        {
            // If it fails, there are a few too many.
            let _ = map.set(entry, zero, 0);
        }
    }
}

fn add(calls: &mut BTreeMap<Call, CallStats>, stats: &wire::Stats) {
    let call = Call(stats.call as u16);
    let sum = calls.entry(call).or_insert_with(|| CallStats {
        call,
        calls: 0,
        errors: 0,
        timed: Some(0),
        total_ns: 0,
        cpu_ns: 0,
        max_ns: 0,
        histogram: Vec::new(),
        results: None,
    });
    sum.calls += stats.calls;
    sum.errors += stats.errors;
    *sum.timed.get_or_insert(0) += stats.timed;
    sum.total_ns += stats.total_ns;
    sum.cpu_ns += on_cpu_ns(stats);
    sum.max_ns = sum.max_ns.max(stats.max_ns);
    let mut histogram: BTreeMap<u16, u64> = sum.histogram.iter().copied().collect();
    for (bucket, count) in (0..).zip(stats.histogram).filter(|(_, count)| *count > 0) {
        *histogram.entry(bucket).or_default() += u64::from(count);
    }
    sum.histogram = histogram.into_iter().collect();
    add_results(sum.results.get_or_insert_default(), call, stats);
}

/// Time on a CPU in these calls. Where tracing of calls goes off while a thread is on its way out,
/// one call may look shorter than what it waited: less than nothing is nothing.
fn on_cpu_ns(stats: &wire::Stats) -> u64 {
    if stats.cpu_ns > stats.total_ns { 0 } else { stats.cpu_ns }
}

fn add_results(sum: &mut CallResults, call: Call, stats: &wire::Stats) {
    // Of calls that are counted together some may move bytes.
    if call == Call::OTHER || arguments::moves_bytes(call) {
        *sum.bytes.get_or_insert(0) += stats.bytes;
    }
    sum.zeros += stats.zeros;
    if !arguments::has_path(call) {
        *sum.repeats.get_or_insert(0) += stats.repeats;
    }
    if arguments::asks_for_path(call) {
        let paths = sum.paths.get_or_insert_with(PathsAsked::default);
        paths.sample += stats.asked_sample;
        paths.calls += stats.asked;
        paths.again += stats.asked_again;
        paths.again_failed += stats.asked_again_failed;
    }
    let mut sizes: BTreeMap<u8, u64> = sum.sizes.iter().copied().collect();
    for (octave, count) in (0..).zip(stats.sizes).filter(|(_, count)| *count > 0) {
        *sizes.entry(octave).or_default() += u64::from(count);
    }
    sum.sizes = sizes.into_iter().collect();
    let mut errors: BTreeMap<u16, u64> = sum.errors.iter().copied().collect();
    for error in stats.by_error.iter().filter(|error| error.calls > 0) {
        *errors.entry(error.error as u16).or_default() += u64::from(error.calls);
    }
    sum.errors = errors.into_iter().collect();
    sum.errors.sort_by_key(|(_, calls)| Reverse(*calls));
}

/// Runs of each instrument.
pub(super) fn ran(ebpf: &Ebpf, seen: Seen) -> InstrumentRuns {
    let cpus = of_cpus(ebpf).unwrap_or_default();
    let (calls, counted) =
        cpus.iter().fold((0, 0), |(calls, counted), cpu| (calls + cpu.timed, counted + cpu.calls));
    let Seen { switches, wakes, samples, faults, sends } = seen;
    InstrumentRuns { calls, counted, switches, wakes, samples, faults, sends, timed: None }
}

/// Of what was measured once: the least and the most it is over the whole run.
const MEASURED: (f64, f64) = (0.6, 1.4);
/// Of what attaching and detaching takes of a CPU: the tree may have had none, or two.
const ATTACHING: (f64, f64) = (0.5, 2.0);

/// The overhead of each instrument. `attached` for windows of tracing: how often, and the calls
/// before. `each` is what the kernel timed, with what attaching takes of a CPU.
pub(super) fn of_instruments(
    calls: &[CallStats],
    attached: Option<(u64, u64)>,
    (each, attach_ns): (Option<EachNs>, f64),
    (seen, counted): (Seen, u64),
    units: Option<UnitsFollowed>,
) -> Vec<Cost> {
    let all: u64 = calls.iter().map(|call| call.calls).sum();
    let calls: u64 = calls.iter().map(|call| call.timed.unwrap_or(call.calls)).sum();
    let (windows, before) = attached.unwrap_or((0, calls));
    let of = |(lo, hi): (f64, f64), ns: f64| ((lo * ns) as Ns, (hi * ns) as Ns);
    // Where it is not measured: from a loop that does nothing else to a program that sleeps in
    // between, so that nothing is in a cache.
    // What ran too seldom to be timed still has its typical cost.
    let range = |what: fn(&EachNs) -> f64, not_measured: (Ns, Ns)| match &each {
        Some(each) if what(each) != what(&EachNs::TYPICAL) => of(MEASURED, what(each)),
        _ => not_measured,
    };
    // A hypervisor sets the timer, or the counter, for each of them.
    let (samples_ns, counted_ns) = match host::under_hypervisor(host::here().proc) {
        Ok(Some(true)) => ((5_000, 30_000), (2_000, 15_000)),
        Ok(Some(false)) => ((500, 3_000), (300, 2_000)),
        Ok(None) | Err(_) => ((500, 30_000), (300, 15_000)),
    };
    [
        ("calls", before, range(|each| each.call, (CALL_NS.0 as Ns, 600))),
        ("calls in windows", calls.saturating_sub(before), range(|each| each.call + TIMING_NS, (190, 700))),
        (COUNTING, all.saturating_sub(calls), range(|each| each.count, (COUNT_NS.0 as Ns, COUNT_NS.2 as Ns))),
        ("attaching for windows", windows, of(ATTACHING, attach_ns)),
        ("switches", seen.switches, range(|each| each.switch, (80, 900))),
        ("wakes", seen.wakes, range(|each| each.wake, (60, 600))),
        ("sends and their packets", seen.sends, range(|each| each.send, (200, 1500))),
        ("samples", seen.samples, samples_ns),
        ("fault samples", seen.faults, (4_000, 15_000)),
        ("counter samples", counted, counted_ns),
    ]
    .into_iter()
    .chain(units.map(|units| ("probes of --unit", units.times, of(MEASURED, units.each_ns as f64))))
    .map(|(what, times, each_ns)| Cost { what: what.into(), times, each_ns })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ErrorCount;
    use zerocopy::FromZeros;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn cpus_add_up_and_errors_are_sorted() {
        let mut calls = BTreeMap::new();
        for cpu in 1..=2 {
            let mut stats = wire::Stats::new_zeroed();
            (stats.calls, stats.bytes, stats.zeros, stats.repeats) = (10, 100 * cpu, cpu, 1);
            stats.sizes[6] = 2;
            // Each CPU has them in the order in which they occurred there.
            let found = if cpu == 1 { [(2, 1), (11, 4)] } else { [(11, 1), (4, 3)] };
            for (place, (error, calls)) in stats.by_error.iter_mut().zip(found) {
                *place = ErrorCount { error, calls };
            }
            add(&mut calls, &stats);
        }
        let results = calls[&Call(0)].results.clone().expect("they were counted");
        let expected = CallResults {
            bytes: Some(300),
            sizes: vec![(6, 4)],
            zeros: 3,
            repeats: Some(2),
            errors: vec![(11, 5), (4, 3), (2, 1)],
            paths: None,
        };
        assert_eq!(results, expected);
        let mut stats = wire::Stats::new_zeroed();
        (stats.call, stats.calls, stats.bytes, stats.repeats) = (257, 1, 7, 7);
        (stats.asked_sample, stats.asked, stats.asked_again, stats.asked_again_failed) = (3, 24, 16, 8);
        add(&mut calls, &stats);
        add(&mut calls, &stats);
        let opens = calls[&Call(257)].results.clone().expect("they were counted");
        assert_eq!((opens.bytes, opens.repeats), (None, None), "an openat gives a descriptor of a path");
        let paths = PathsAsked { sample: 6, calls: 48, again: 32, again_failed: 16, most: Vec::new() };
        assert_eq!(opens.paths, Some(paths));
    }

    #[test]
    fn a_call_that_looks_shorter_than_its_wait_had_no_cpu() {
        let mut calls = BTreeMap::new();
        for (total_ns, cpu_ns) in [(1000, 400), (10, 0_u64.wrapping_sub(90))] {
            let mut stats = wire::Stats::new_zeroed();
            (stats.calls, stats.timed, stats.total_ns, stats.cpu_ns) = (1, 1, total_ns, cpu_ns);
            add(&mut calls, &stats);
        }
        assert_eq!((calls[&Call(0)].total_ns, calls[&Call(0)].cpu_ns), (1010, 400));
    }
}
