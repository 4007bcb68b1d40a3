//! The latency axis that charts and pictures share, and a histogram's bins added up to its columns.

use crate::units::exact;
use model::Ns;
use model::wake::Bin;

/// If the maximum is more than this many times the minimum, the axis is logarithmic: on a linear
/// one all but the largest values would share a column.
const FAR: f64 = 100.0;
/// A mark further out than this many times the maximum is left off the axis.
const NEAR: Ns = 3;
/// A bin on the border of two columns is divided between them if it has this many values: otherwise
/// a smooth distribution would look jagged.
const SHARED: f64 = 10.0;
/// Columns per factor of two on a logarithmic axis, where there are enough bins.
const OCTAVE: f64 = 32.0;

/// An axis from the smallest value to the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    log: bool,
    lo: f64,
    hi: f64,
}

/// 1, 2 and 5 times each power of ten.
fn round_steps() -> impl DoubleEndedIterator<Item = f64> + Clone {
    (0..=15).flat_map(|power| [1.0, 2.0, 5.0].map(|times| times * 10_f64.powi(power)))
}

fn far(min_ns: Ns, max_ns: Ns) -> bool {
    max_ns.max(1) as f64 / min_ns.max(1) as f64 > FAR
}

impl Axis {
    /// An axis for all values, and for `mark` where it is near. None without values.
    pub(crate) fn of(series: &[&[Bin]], mark: Option<Ns>) -> Option<Self> {
        let bins = || series.iter().flat_map(|bins| bins.iter()).filter(|bin| bin.count > 0);
        let min_ns = bins().map(|bin| bin.from_ns).min()?;
        let max_ns = bins().map(|bin| bin.to_ns).max()?;
        Some(Self::between(min_ns, max_ns, mark))
    }

    /// An axis between two latencies, with round ends.
    pub(crate) fn between(min_ns: Ns, max_ns: Ns, mark: Option<Ns>) -> Self {
        let near = mark.filter(|mark| *mark <= max_ns.saturating_mul(NEAR));
        Self::round(min_ns, max_ns.max(near.unwrap_or(0)), far(min_ns, max_ns))
    }

    fn round(min_ns: Ns, max_ns: Ns, log: bool) -> Self {
        let (lo, hi) = (min_ns.max(1) as f64, max_ns.max(2) as f64);
        if log {
            let lo = round_steps().rev().find(|step| *step <= lo).unwrap_or(1.0);
            let hi = round_steps().find(|step| *step >= hi).unwrap_or(hi);
            return Self { log, lo, hi };
        }
        let step = Self { log, lo: 0.0, hi }.step(10);
        Self { log, lo: 0.0, hi: (hi / step).ceil() * step }
    }

    pub(crate) fn is_log(self) -> bool {
        self.log
    }

    /// The position of a latency: 0 is the left end, 1 the right one.
    pub(crate) fn share(self, ns: f64) -> f64 {
        if self.log { (ns.max(1e-3) / self.lo).log10() / (self.hi / self.lo).log10() } else { ns / self.hi }
    }

    /// The latency at a position.
    fn at(self, share: f64) -> f64 {
        if self.log { self.lo * (self.hi / self.lo).powf(share) } else { self.hi * share }
    }

    /// The round step of a linear axis with at most `most` steps.
    fn step(self, most: usize) -> f64 {
        round_steps().find(|step| self.hi / step <= most as f64).unwrap_or(self.hi)
    }

    /// The labels of the axis at round values, about `most` of them at most.
    pub(crate) fn ticks(self, most: usize) -> Vec<(f64, String)> {
        let label = |ns: f64| (ns, if ns < 1.0 { "0".to_owned() } else { exact(ns.round() as Ns) });
        if !self.log {
            let step = self.step(most);
            let steps = (self.hi / step + 1e-9).floor() as usize;
            return (0..=steps).map(|at| label(step * at as f64)).collect();
        }
        let within: Vec<f64> = round_steps().filter(|ns| (self.lo..=self.hi).contains(ns)).collect();
        let decade = |ns: &f64| (ns.log10() - ns.log10().round()).abs() < 1e-9;
        let few = within.len() <= most;
        within.into_iter().filter(|ns| few || decade(ns)).map(label).collect()
    }

    /// The edges of columns of equal width.
    pub(crate) fn cells(self, many: usize) -> Vec<f64> {
        (0..=many).map(|at| self.at(at as f64 / many as f64)).collect()
    }

    /// The edges of about that many columns, aligned with the bins of all series: of equal width,
    /// or of equal ratio on a logarithmic axis. Also the width of a column, in words.
    pub(crate) fn edges(self, series: &[&[Bin]], many: usize) -> (Vec<f64>, String) {
        if self.log {
            let mut edges = vec![self.lo];
            let mut last = self.lo;
            for index in 0..stats::fine::BINS {
                let at = stats::fine::bounds(index).1 as f64;
                if at > last * 2_f64.powf(1.0 / OCTAVE) && at < self.hi {
                    edges.push(at);
                    last = at;
                }
            }
            edges.push(self.hi);
            return (edges, "about 3 %".to_owned());
        }
        let bins = series.iter().flat_map(|bins| bins.iter());
        let widest = bins.map(|bin| bin.to_ns.saturating_sub(bin.from_ns)).max().unwrap_or(1).max(1) as f64;
        let width = (self.hi / many as f64 / widest).ceil().max(1.0) * widest;
        let columns = (self.hi / width).ceil() as usize;
        ((0..=columns).map(|at| width * at as f64).collect(), crate::units::duration(width as Ns))
    }
}

/// The number of values in each column. A bin is divided by overlap if it is wider than two columns
/// or has enough values; else it counts in the column of its middle. Values beyond an end count in
/// the column there.
pub(crate) fn counts(bins: &[Bin], edges: &[f64]) -> Vec<f64> {
    let Some(last) = edges.len().checked_sub(2) else { return Vec::new() };
    let mut counts = vec![0.0; last + 1];
    let column = |ns: f64| edges.partition_point(|edge| *edge <= ns).saturating_sub(1).min(last);
    for bin in bins {
        let (from, to, count) = (bin.from_ns as f64, bin.to_ns as f64, bin.count as f64);
        let (first, end) = (column(from), column(to - 0.5));
        // A bin that ends before it starts is possible in a file of another tool.
        if end <= first || (end - first < 2 && count < SHARED) {
            counts[column((from + to) / 2.0)] += count;
            continue;
        }
        for at in first..=end {
            let left = if at == first { from } else { edges[at] };
            let right = if at == end { to } else { edges[at + 1] };
            counts[at] += count * (right - left) / (to - from);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(from_ns: Ns, to_ns: Ns, count: u64) -> Bin {
        Bin { from_ns, to_ns, count }
    }

    #[test]
    fn two_decades_and_more_are_logarithmic_with_round_ends() {
        let near = Axis::between(2_600, 84_000, None);
        assert_eq!(near, Axis { log: false, lo: 0.0, hi: 90_000.0 });
        let labels: Vec<_> = near.ticks(6).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["0", "20 us", "40 us", "60 us", "80 us"]);
        let far = Axis::between(2_600, 201_000_000, None);
        assert_eq!(far, Axis { log: true, lo: 2_000.0, hi: 5e8 });
        let labels: Vec<_> = far.ticks(8).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["10 us", "100 us", "1 ms", "10 ms", "100 ms"]);
        for (axis, ns) in [(near, 45_000.0), (far, 1e6)] {
            assert!((axis.at(axis.share(ns)) - ns).abs() < 1e-3 * ns);
        }
    }

    #[test]
    fn a_mark_is_on_the_axis_when_it_is_near() {
        let bins = [bin(1_000, 2_000, 5), bin(80_000, 81_000, 1)];
        let hi = |mark| Axis::of(&[&bins], mark).map(|axis| axis.hi);
        assert_eq!(
            (hi(None), hi(Some(125_000)), hi(Some(900_000))),
            (Some(90_000.0), Some(140_000.0), Some(90_000.0))
        );
        assert_eq!(Axis::of(&[&[]], Some(1_000)), None);
        assert_eq!(Axis::of(&[], None), None);
    }

    #[test]
    fn no_value_is_lost_or_counted_twice() {
        let fine: Vec<Bin> = (0..stats::fine::BINS - 1)
            .map(|index| (stats::fine::bounds(index), index))
            .map(|((from_ns, to_ns), index)| bin(from_ns, to_ns, index as u64 % 7 + 1))
            .collect();
        let coarse: Vec<Bin> = (0..500).map(|at| bin(at * 1_000, (at + 1) * 1_000, at % 3 + 1)).collect();
        for bins in [&fine, &coarse] {
            let all: u64 = bins.iter().map(|bin| bin.count).sum();
            for axis in [
                Axis::between(1, 90_000, None),
                Axis::between(3_000, 90_000, None),
                Axis::between(1, 1 << 44, None),
            ] {
                for edges in [axis.cells(60), axis.edges(&[bins], 120).0, axis.cells(1)] {
                    let sum: f64 = counts(bins, &edges).iter().sum();
                    assert!((sum - all as f64).abs() < 1e-6 * all as f64, "{axis:?}: {sum} of {all}");
                }
            }
        }
    }

    #[test]
    fn a_bin_that_ends_before_it_begins_is_in_one_column() {
        assert_eq!(
            counts(&[bin(1 << 40, 0, u64::MAX)], &[0.0, 1e6, 1e12, 1e13]),
            [0.0, u64::MAX as f64, 0.0]
        );
    }

    #[test]
    fn columns_of_a_picture_have_whole_bins() {
        // A flat distribution must look flat, not like a comb.
        for width in [512, 1_000, 2_048] {
            let bins: Vec<Bin> = (0..100).map(|at| bin(at * width, (at + 1) * width, 10)).collect();
            let axis = Axis::of(&[&bins], None).expect("there are bins");
            let linear = Axis { log: false, lo: 0.0, ..axis };
            let (edges, _) = linear.edges(&[&bins], 37);
            let counts = counts(&bins, &edges);
            let full = counts.iter().filter(|count| (**count - counts[0]).abs() < 1e-9).count();
            assert!(full + 1 >= counts.iter().filter(|count| **count > 0.0).count(), "{counts:?}");
        }
    }
}
