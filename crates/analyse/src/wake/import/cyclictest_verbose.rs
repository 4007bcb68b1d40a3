//! The output of `cyclictest --verbose`: a line for each wake-up, with the number of the thread, of
//! the wake-up, and its latency: `       0:     126:       9`.

use super::{Error, Thread, bin, comparable, whole_microseconds};
use model::Ns;
use model::compare::wake::{Comparable, MeasurementOrigin};
use std::collections::BTreeMap;

/// Latencies are microseconds, rounded down.
const UNIT_NS: Ns = 1_000;
/// More threads are those of no machine.
const THREADS_MAX: u64 = 65_536;

/// The thread and the latency of a line; none of any other line.
fn wake_up(line: &str) -> Option<(u64, u64)> {
    let mut figures = line.split(':').map(|word| word.trim().parse::<u64>().ok());
    let (thread, _, latency) = (figures.next()??, figures.next()??, figures.next()??);
    (figures.next().is_none() && thread < THREADS_MAX).then_some((thread, latency))
}

pub(super) fn is_one(text: &str) -> bool {
    text.lines().any(|line| wake_up(line).is_some())
}

pub(super) fn import(text: &str) -> Result<Comparable, Error> {
    let mut latencies: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
    for (thread, latency) in text.lines().filter_map(wake_up) {
        *latencies.entry(thread).or_default().entry(latency).or_default() += 1;
    }
    let cap = latencies.values().flat_map(|of| of.keys()).max().map_or(0, |most| most.saturating_add(1));
    let thread = |of: &BTreeMap<u64, u64>| {
        let cycles: u64 = of.values().sum();
        let sum: f64 = of.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
        let ns = |value: &u64| value.saturating_mul(UNIT_NS);
        Thread {
            cpu: None,
            cycles,
            bins: of.iter().filter_map(|(value, count)| bin(*value, 1, UNIT_NS, *count)).collect(),
            min_ns: of.keys().next().map(ns),
            avg_ns: Some(sum / cycles.max(1) as f64 * UNIT_NS as f64),
            max_ns: of.keys().next_back().map(ns),
        }
    };
    let origin = MeasurementOrigin {
        host: String::new(),
        kernel: String::new(),
        started_at: String::new(),
        tool: "cyclictest".to_owned(),
    };
    let threads = latencies.values().map(thread).collect();
    let settings = (Vec::new(), Vec::new());
    comparable(origin, settings, threads, cap.saturating_mul(UNIT_NS), vec![whole_microseconds()])
}
