//! Log-linear histograms: eight equal buckets an octave, so a value is known to within an eighth,
//! its middle to 6 %.
//!
//! The kernel half fills the same buckets (`log_linear` in `dwell.bpf.c`).

use crate::log_linear::LogLinear;

/// The number of buckets; the last one has all values from about 73 minutes (in ns) on.
pub const BUCKETS: usize = 320;

type Buckets = LogLinear<8, BUCKETS>;

/// The bucket of a value.
pub fn index(value: u64) -> usize {
    Buckets::index(value)
}

/// The values of a bucket: from the first up to, not with, the second.
pub fn bounds(index: usize) -> (u64, u64) {
    Buckets::bounds(index)
}

/// Counts of values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By bucket, from the lowest one used up to the highest: a program may have tens of thousands
    /// of histograms, most of which have few values.
    counts: Vec<u64>,
    /// The lowest bucket.
    first: usize,
    total: u64,
    max: u64,
}

impl Histogram {
    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        self.add(index(value), 1);
        self.max = self.max.max(value);
    }

    /// Counts `count` values of a bucket at once. `max` is not touched: see
    /// [`Histogram::know_max`]. An index beyond the last bucket, as a file may have, is the last.
    pub fn add(&mut self, index: usize, count: u64) {
        let index = index.min(BUCKETS - 1);
        if self.counts.is_empty() {
            self.first = index;
        }
        if let Some(lower) = self.first.checked_sub(index).filter(|lower| *lower > 0) {
            self.counts.splice(0..0, std::iter::repeat_n(0, lower));
            self.first = index;
        }
        let at = index - self.first;
        if self.counts.len() <= at {
            self.counts.reserve_exact(at + 1 - self.counts.len());
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += count;
        self.total += count;
    }

    /// The buckets that have values, and how many.
    fn used(&self) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.counts.iter().copied().enumerate();
        counts.filter(|(_, count)| *count > 0).map(|(at, count)| (self.first + at, count))
    }

    /// The buckets that have values, in order: the first value, the first one beyond, and how many.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.used().map(|(index, count)| {
            let (low, beyond) = bounds(index);
            (low, beyond, count)
        })
    }

    /// Adds all values of another.
    pub fn add_all(&mut self, more: &Histogram) {
        more.used().for_each(|(index, count)| self.add(index, count));
        self.know_max(more.max);
    }

    /// Sets the largest value, if it is known exactly.
    pub fn know_max(&mut self, max: u64) {
        self.max = self.max.max(max);
    }

    /// The number of values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest value.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The number of values in each octave, as (first value beyond it, count): 1, 2, 4, … Empty
    /// octaves are left out.
    pub fn octaves(&self) -> Vec<(u64, u64)> {
        let mut octaves: Vec<(u64, u64)> = Vec::new();
        for (index, count) in self.used() {
            let beyond = bounds(index).1.next_power_of_two();
            match octaves.last_mut() {
                Some((last, sum)) if *last == beyond => *sum += count,
                _ => octaves.push((beyond, count)),
            }
        }
        octaves
    }

    /// The quantile of `q` (0 to 1) by the nearest rank, linear within its bucket, never above the
    /// maximum. 0 without values.
    pub fn quantile(&self, q: f64) -> u64 {
        if self.total == 0 {
            return 0;
        }
        let rank = ((q * self.total as f64).ceil() as u64).clamp(1, self.total);
        let mut before = 0;
        for (index, count) in self.used() {
            if before + count >= rank {
                let (low, high) = bounds(index);
                let into = (rank - before) as f64 - 0.5;
                let value = low + ((high - low) as f64 * into / count as f64) as u64;
                return value.min(self.max);
            }
            before += count;
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn octaves_have_what_is_below_them() {
        let mut histogram = Histogram::default();
        [1, 2, 3, 8, 15, 16, 1000].into_iter().for_each(|value| histogram.record(value));
        assert_eq!(histogram.octaves(), [(2, 1), (4, 2), (16, 2), (32, 1), (1024, 1)]);
    }

    #[test]
    fn a_bucket_that_there_is_not_is_the_last_one() {
        let mut histogram = Histogram::default();
        histogram.add(60_000, 2);
        histogram.know_max(u64::MAX);
        assert_eq!((histogram.total(), histogram.quantile(0.5) >= bounds(BUCKETS - 1).0), (2, true));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_an_eighth_of_the_exact_ones(
            mut values in prop::collection::vec(1_u64..10_000_000, 1..400), q in 0.01_f64..1.0,
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let ours = histogram.quantile(q) as f64;
            prop_assert!((ours - exact).abs() <= exact / 8.0 + 1.0, "{ours} for {exact}");
        }
    }

    #[test]
    fn the_sum_of_two_has_the_values_of_both() {
        let (mut both, mut one, mut other) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for (at, value) in [3, 90, 1000, 7, 70_000].into_iter().enumerate() {
            both.record(value);
            if at < 3 { one.record(value) } else { other.record(value) }
        }
        one.add_all(&other);
        assert_eq!(one, both);
    }

    #[test]
    fn a_count_of_nothing_is_nothing_wherever_it_is() {
        let mut histogram = Histogram::default();
        histogram.add(300, 0);
        histogram.record(5);
        assert_eq!((histogram.total(), histogram.octaves()), (1, vec![(8, 1)]));
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles_and_no_maximum() {
        let empty = Histogram::default();
        assert_eq!((empty.quantile(0.5), empty.max(), empty.total()), (0, 0, 0));
    }
}
