//! Bins of dwell as those of an exponential histogram, which has 2^scale bins an octave.
//!
//! All of a bin goes to where its middle is, so a percentile moves by half of each of both bins at
//! most: with 128 bins an octave by 2.4 % at scale 5 and 0.8 % at scale 7.

use report::export::proto::Message;
use std::collections::BTreeMap;
use tables::Record;

/// Seconds in a nanosecond: the unit of such metrics.
const SECONDS: f64 = 1e-9;

/// A histogram of times.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histogram {
    scale: i32,
    /// How many are 0.
    zero: u64,
    bins: BTreeMap<i64, u64>,
    /// The sum of all.
    pub(super) sum_ns: f64,
    /// The smallest and the largest, where they are known.
    pub(super) ends_ns: Option<(i64, i64)>,
}

impl Histogram {
    pub(super) fn new(scale: i32) -> Self {
        Self { scale, ..Self::default() }
    }

    /// Adds a bin with its ends and its count.
    pub(super) fn add(&mut self, bin: &Record<'_>) {
        let column = |name| bin.whole(name).unwrap_or(0);
        let (lo, beyond) = (column("lo_ns"), column("hi_ns"));
        let Ok(count) = u64::try_from(column("n")) else { return };
        // Times are whole numbers, so the last one in it is one less.
        let middle = (lo as f64 + (beyond - 1).max(lo) as f64) / 2.0;
        if middle <= 0.0 {
            self.zero = self.zero.saturating_add(count);
            return;
        }
        // A bin is from the power of its index, not included, to that of the next one.
        let at = ((middle * SECONDS).log2() * f64::from(self.scale).exp2()).ceil() as i64 - 1;
        let bin = self.bins.entry(at).or_default();
        *bin = bin.saturating_add(count);
    }

    pub(super) fn count(&self) -> u64 {
        self.bins.values().fold(self.zero, |sum, count| sum.saturating_add(*count))
    }

    /// Writes it into an `ExponentialHistogramDataPoint`.
    pub(super) fn write(&self, point: &mut Message) {
        point.fixed(4, self.count()).double(5, self.sum_ns * SECONDS).signed(6, self.scale.into());
        point.fixed(7, self.zero);
        if let (Some((first, _)), Some((last, _))) = (self.bins.first_key_value(), self.bins.last_key_value())
        {
            let mut buckets = Message::default();
            let counts = (*first..=*last).map(|at| self.bins.get(&at).copied().unwrap_or(0));
            buckets.signed(1, *first).numbers(2, counts);
            point.message(8, &buckets);
        }
        if let Some((min, max)) = self.ends_ns {
            point.double(12, min as f64 * SECONDS).double(13, max as f64 * SECONDS);
        }
    }
}

#[cfg(test)]
impl Histogram {
    /// The middle of the bin with the value of this rank.
    pub(super) fn percentile_s(&self, rank: u64) -> f64 {
        let mut seen = self.zero;
        let found = self.bins.iter().find(|(_, count)| {
            seen += *count;
            seen > rank
        });
        found.map_or(0.0, |(at, _)| ((*at as f64 + 0.5) / f64::from(self.scale).exp2()).exp2())
    }
}
