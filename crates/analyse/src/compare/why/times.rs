//! Times of rows: means over pairs, their difference and its interval.
//!
//! The interval is that of Student's t over the differences of the pairs. The signed-rank interval,
//! which the timed pairs have, needs six pairs, is of a centre that is not the mean, and centres do
//! not sum: here rows must. With few pairs it is wide, as it should be.

use super::rows::{Amount, Row};
use model::Ns;
use model::compare::why::{SignedInterval, TimeDifference};
use std::cmp::Reverse;

/// The times of rows that sum to something: what rounding takes from one is given to the next, so
/// that the rounded means sum to the rounded mean of the whole.
#[derive(Debug, Default)]
pub(super) struct Summing {
    sides: [Carry; 2],
}

#[derive(Debug, Default)]
struct Carry {
    /// Of all rows so far, over all pairs.
    sum: u128,
    /// What their rounded means sum to.
    given: u128,
}

impl Carry {
    fn next(&mut self, sum: u128, pairs: usize) -> Ns {
        self.sum += sum;
        let upto = mean(self.sum, pairs);
        let own = upto - self.given;
        self.given = upto;
        Ns::try_from(own).unwrap_or(Ns::MAX)
    }
}

impl Summing {
    /// The time of the next row.
    pub(super) fn next(&mut self, amounts: &[[Amount; 2]]) -> TimeDifference {
        let [a, b] = &mut self.sides;
        let (a_ns, b_ns) = (a.next(sum(amounts, 0), amounts.len()), b.next(sum(amounts, 1), amounts.len()));
        difference(a_ns, b_ns, amounts)
    }
}

/// The time of a row that is not part of a sum.
pub(super) fn time(amounts: &[[Amount; 2]]) -> TimeDifference {
    Summing::default().next(amounts)
}

/// A difference with its interval over the pairs.
pub(super) fn difference(a_ns: Ns, b_ns: Ns, amounts: &[[Amount; 2]]) -> TimeDifference {
    let ns = less(b_ns, a_ns);
    let each: Vec<f64> = amounts.iter().map(|[a, b]| less(b.ns, a.ns) as f64).collect();
    let interval = stats::mean_interval(&each).map(|(_, lo, hi)| within(ns, lo, hi));
    TimeDifference { a_ns, b_ns, ns, interval }
}

/// The interval in whole nanoseconds; it holds its estimate, which was rounded as well.
pub(super) fn within(ns: i64, lo: f64, hi: f64) -> SignedInterval {
    SignedInterval { lo: ns.min(lo.floor() as i64), hi: ns.max(hi.ceil() as i64) }
}

/// `b - a`.
pub(super) fn less(b_ns: Ns, a_ns: Ns) -> i64 {
    let difference = i128::from(b_ns) - i128::from(a_ns);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

fn sum(amounts: &[[Amount; 2]], side: usize) -> u128 {
    amounts.iter().map(|amounts| u128::from(amounts[side].ns)).sum()
}

fn mean(sum: u128, pairs: usize) -> u128 {
    let pairs = pairs.max(1) as u128;
    (sum + pairs / 2) / pairs
}

/// Rows that are part of no sum as their table has them: those with the largest differences, at
/// most this many.
pub(super) fn largest<K, D>(
    rows: Vec<Row<K>>,
    most: usize,
    made: impl Fn(&Row<K>, TimeDifference) -> D,
) -> Vec<D> {
    let mut timed: Vec<(TimeDifference, Row<K>)> =
        rows.into_iter().map(|row| (time(&row.amounts), row)).collect();
    timed.sort_by_key(|(time, _)| order(time));
    timed.truncate(most);
    timed.iter().map(|(time, row)| made(row, *time)).collect()
}

/// Largest difference first; of equal ones the longer.
pub(super) fn order(time: &TimeDifference) -> impl Ord + use<> {
    (Reverse(time.ns.unsigned_abs()), Reverse(time.a_ns.max(time.b_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(pairs: &[(Ns, Ns)]) -> Vec<[Amount; 2]> {
        pairs.iter().map(|(a, b)| [Amount::new(*a, 1), Amount::new(*b, 1)]).collect()
    }

    #[test]
    fn rounded_means_sum_to_the_rounded_mean_of_the_whole() {
        // Thirds, in each of seven rows.
        let mut rows = Summing::default();
        let parts: Vec<_> =
            (0..7).map(|at| rows.next(&amounts(&[(1 + at, 0), (0, 2 * at), (0, 1)]))).collect();
        let whole = time(&amounts(&[(28, 0), (0, 42), (0, 7)]));
        assert_eq!(parts.iter().map(|part| part.a_ns).sum::<Ns>(), whole.a_ns);
        assert_eq!(parts.iter().map(|part| part.b_ns).sum::<Ns>(), whole.b_ns);
        assert_eq!(parts.iter().map(|part| part.ns).sum::<i64>(), whole.ns);
        assert!(parts.iter().all(|part| part.interval.is_some_and(|ends| ends.lo <= part.ns)));
    }

    #[test]
    fn one_pair_is_exact_and_has_no_interval() {
        let one = time(&amounts(&[(1_000_000_007, 3)]));
        assert_eq!((one.a_ns, one.b_ns, one.ns, one.interval), (1_000_000_007, 3, -1_000_000_004, None));
        assert_eq!(less(0, u64::MAX), i64::MIN, "no sum of a run has that size");
    }

    #[test]
    fn the_interval_is_that_of_the_differences() {
        // The sides drift together: the pairs take that out.
        let three = time(&amounts(&[(100, 90), (200, 190), (300, 290)]));
        assert_eq!((three.ns, three.interval), (-10, Some(SignedInterval { lo: -10, hi: -10 })));
    }
}
