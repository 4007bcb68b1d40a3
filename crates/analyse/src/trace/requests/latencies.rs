//! How long requests took: counted in bins, as fine as those of wake-up latencies.

use model::Ns;
use model::requests::{Latency, LatencyBin};
use stats::{binomial, fine};
use std::collections::BTreeMap;

/// The share of an interval.
const CONFIDENCE: f64 = 0.95;

/// Counts of durations.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    bins: BTreeMap<usize, u64>,
    times: u64,
    total_ns: u128,
    max: Ns,
}

impl Latencies {
    pub(super) fn record(&mut self, ns: Ns) {
        *self.bins.entry(fine::index(ns)).or_default() += 1;
        self.times += 1;
        self.total_ns += u128::from(ns);
        self.max = self.max.max(ns);
    }

    /// None, but for the longest.
    pub(super) fn emptied(&self) -> Self {
        Self { max: self.max, ..Self::default() }
    }

    pub(super) fn times(&self) -> u64 {
        self.times
    }

    pub(super) fn total_ns(&self) -> u128 {
        self.total_ns
    }

    pub(super) fn told(&self) -> Latency {
        Latency {
            mean_ns: self.total_ns.checked_div(u128::from(self.times)).unwrap_or(0) as Ns,
            p50_ns: self.quantile(0.5),
            p50_range_ns: self.interval(0.5),
            p90_ns: self.quantile(0.9),
            p99_ns: self.quantile(0.99),
            p99_range_ns: self.interval(0.99),
            max_ns: self.max,
        }
    }

    /// By the nearest rank, within 0.8 %; 0 of none.
    fn quantile(&self, share: f64) -> Ns {
        self.at_rank(((self.times as f64 * share).ceil() as u64).max(1))
    }

    /// Where it is with 95 %, by the order of the values: both with the width of their bins. None
    /// where there are too few to bound it on both sides.
    fn interval(&self, share: f64) -> Option<[Ns; 2]> {
        let (lo, hi) = binomial::ranks(self.times, share, CONFIDENCE);
        let bounds = |rank| fine::bounds(self.bin_of(rank));
        (lo > 0 && hi <= self.times).then(|| [bounds(lo).0, (bounds(hi).1 - 1).min(self.max)])
    }

    /// The value of this rank, from 1: the middle of its bin.
    fn at_rank(&self, rank: u64) -> Ns {
        let (from, to) = fine::bounds(self.bin_of(rank));
        (from + (to - from) / 2).min(self.max)
    }

    fn bin_of(&self, rank: u64) -> usize {
        let mut below = 0;
        let bin = self.bins.iter().find(|(_, times)| {
            below += **times;
            below >= rank
        });
        bin.or(self.bins.last_key_value()).map_or(0, |(bin, _)| *bin)
    }

    pub(super) fn bins(&self) -> Vec<LatencyBin> {
        let bin = |(bin, times): (&usize, &u64)| {
            let (ns_min, ns_max) = fine::bounds(*bin);
            LatencyBin { ns_min, ns_max, times: *times }
        };
        self.bins.iter().map(bin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bin_and_their_intervals_around_them() {
        let mut all = Latencies::default();
        (1..=1000).for_each(|ms| all.record(ms * 1_000_000));
        for (share, ms) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0)] {
            let found = all.quantile(share) as f64 / 1e6;
            assert!((found / ms - 1.0).abs() < 0.008, "{share}: {found}");
        }
        let [lo, hi] = all.interval(0.5).expect("there are enough").map(|ns| ns / 1_000_000);
        assert!((464..=474).contains(&lo) && (526..=536).contains(&hi), "{lo} to {hi}");
        assert_eq!(all.interval(0.999), None, "the values give no bound above");
        assert_eq!(all.bins().iter().map(|bin| bin.times).sum::<u64>(), 1000);
        assert_eq!(Latencies::default().quantile(0.5), 0);
    }
}
