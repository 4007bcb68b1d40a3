//! Wake-up latency: from what the measuring threads counted to percentiles, caveats, the causes of
//! spikes and the verdict. Measuring is `wakes`, pages are `report`.

mod comparable;
pub mod import;
mod limits;
mod spikes;
mod verdict;
mod words;

pub use comparable::{comparable, comparable_sheet};
pub use spikes::spike;
pub use verdict::{clean_ns, too_short};

use crate::identity;
use model::wake::{
    Bin, LatencyBlock, SCHEMA_WAKE, Settings, ThreadMeasured, WakeMeasurements, WakeMode, Wakes, Wakeups,
};
use model::{Ns, Origin, Seen};
use std::collections::BTreeMap;

/// The result that follows from a measurement.
pub fn wakeups(measured: &WakeMeasurements) -> Wakeups {
    let mode = measured.asked.mode;
    let threads: Vec<Wakes> = measured.threads.iter().map(|thread| of_thread(thread, mode)).collect();
    let all = together(&measured.threads, mode);
    let mut wakeups = Wakeups {
        schema: SCHEMA_WAKE.to_owned(),
        host: measured.host.clone(),
        environment: measured.environment.clone(),
        started_at: measured.started_at.clone(),
        origin: Origin { id: None, machine_number: measured.machine_number.clone() },
        dwell: measured.dwell.clone(),
        took_ns: measured.took_ns,
        settings: Settings {
            asked: measured.asked.clone(),
            in_force: measured.threads.iter().map(|thread| thread.in_force.clone()).collect(),
        },
        limits: limits::limits(measured, &all),
        loads: measured.loads.clone(),
        verdict: verdict::verdict(measured, &all, &threads),
        all,
        threads,
        spikes: spikes::spikes(measured),
        interrupted: measured.interrupted,
    };
    wakeups.origin.id = Some(identity::of_wakeups(&wakeups));
    wakeups
}

fn of_thread(thread: &ThreadMeasured, mode: WakeMode) -> Wakes {
    let mut wakes = figures(thread.histogram.clone(), thread.min_ns, thread.max_ns, thread.sum_ns);
    wakes.cpu = Some(thread.cpu);
    wakes.missed = Seen::Value(thread.missed);
    wakes.elsewhere = Some(thread.elsewhere).filter(|wakes| *wakes > 0);
    wakes.timeline = thread.blocks.clone();
    if wakes.cycles > 0 {
        wakes.max_at_ns = Seen::Value(thread.max_at_ns);
        wakes.cpu_per_cycle_ns = cpu_per_cycle(thread.cpu_ns, wakes.cycles, mode);
    }
    wakes
}

/// The figures of all threads together.
fn together(threads: &[ThreadMeasured], mode: WakeMode) -> Wakes {
    let woken = || threads.iter().filter(|thread| thread.cycles > 0);
    let worst = woken().max_by_key(|thread| thread.max_ns);
    let mut wakes = figures(
        merged(threads.iter().map(|thread| &thread.histogram[..])),
        woken().map(|thread| thread.min_ns).min().unwrap_or(0),
        worst.map_or(0, |thread| thread.max_ns),
        threads.iter().map(|thread| thread.sum_ns).sum(),
    );
    wakes.missed = Seen::Value(threads.iter().map(|thread| thread.missed).sum());
    wakes.elsewhere = Some(threads.iter().map(|thread| thread.elsewhere).sum()).filter(|wakes| *wakes > 0);
    wakes.timeline = timeline(threads.iter().map(|thread| &thread.blocks[..]));
    if let Some(worst) = worst {
        wakes.max_at_ns = Seen::Value(worst.max_at_ns);
        let cpu_ns = threads.iter().map(|thread| thread.cpu_ns).sum();
        wakes.cpu_per_cycle_ns = cpu_per_cycle(cpu_ns, wakes.cycles, mode);
    }
    wakes
}

fn cpu_per_cycle(cpu_ns: Ns, cycles: u64, mode: WakeMode) -> Seen<Ns> {
    match mode {
        WakeMode::Timer => Seen::Value(cpu_ns / cycles),
        // A busy loop takes all of its CPU.
        WakeMode::Gap => Seen::Absent,
    }
}

/// Histograms added up.
pub(crate) fn merged<'a>(histograms: impl Iterator<Item = &'a [Bin]>) -> Vec<Bin> {
    let mut counts: BTreeMap<(Ns, Ns), u64> = BTreeMap::new();
    for bin in histograms.flatten() {
        let count = counts.entry((bin.from_ns, bin.to_ns)).or_default();
        *count = count.saturating_add(bin.count);
    }
    counts.into_iter().map(|((from_ns, to_ns), count)| Bin { from_ns, to_ns, count }).collect()
}

/// The number of values in all. A file of another tool may hold any number, so sums saturate.
pub(crate) fn counted(histogram: &[Bin]) -> u64 {
    histogram.iter().fold(0, |sum, bin| sum.saturating_add(bin.count))
}

/// The maximum of all threads in each block.
fn timeline<'a>(blocks: impl Iterator<Item = &'a [LatencyBlock]>) -> Vec<LatencyBlock> {
    let mut all: BTreeMap<Ns, LatencyBlock> = BTreeMap::new();
    for block in blocks.flatten() {
        let sum = all.entry(block.at_ns).or_insert(LatencyBlock { cycles: 0, max_ns: 0, ..*block });
        sum.cycles += block.cycles;
        sum.max_ns = sum.max_ns.max(block.max_ns);
    }
    all.into_values().collect()
}

/// The figures that follow from a histogram and from minimum, maximum and sum, which are exact.
pub(crate) fn figures(histogram: Vec<Bin>, min_ns: Ns, max_ns: Ns, sum_ns: Ns) -> Wakes {
    const NONE: &str = "no wake-up was measured";
    let cycles = counted(&histogram);
    let exact = |ns: Ns| if cycles > 0 { Seen::Value(ns) } else { Seen::unseen(NONE) };
    let at = |one_in: u64| {
        if cycles < one_in {
            let wanted = words::count(one_in);
            return Seen::unseen(format!(
                "{} wake-ups measured, at least {wanted} needed",
                words::count(cycles)
            ));
        }
        Seen::Value(percentile(&histogram, cycles, one_in).clamp(min_ns, max_ns))
    };
    Wakes {
        cpu: None,
        cycles,
        missed: Seen::unseen("not counted"),
        elsewhere: None,
        min_ns: exact(min_ns),
        avg_ns: exact(sum_ns / cycles.max(1)),
        p50_ns: at(2),
        p99_ns: at(100),
        p999_ns: at(1_000),
        p9999_ns: at(10_000),
        p99999_ns: at(100_000),
        p999999_ns: at(1_000_000),
        max_ns: exact(max_ns),
        max_at_ns: Seen::unseen(NONE),
        timeline: Vec::new(),
        cpu_per_cycle_ns: Seen::unseen(NONE),
        histogram,
    }
}

/// The smallest value that at most one in `one_in` values exceed (R. J. Hyndman, Y. Fan, "Sample
/// quantiles in statistical packages", 1996, their definition 1), as the middle of its bin.
fn percentile(histogram: &[Bin], cycles: u64, one_in: u64) -> Ns {
    // Rounded down: `cycles / one_in` values may be above.
    let rank = cycles - cycles / one_in;
    let mut upto = 0;
    let bin = histogram.iter().find(|bin| {
        upto = bin.count.saturating_add(upto);
        upto >= rank
    });
    bin.or(histogram.last()).map_or(0, |bin| bin.from_ns + (bin.to_ns - bin.from_ns).saturating_sub(1) / 2)
}

#[cfg(test)]
pub(crate) mod tests;
