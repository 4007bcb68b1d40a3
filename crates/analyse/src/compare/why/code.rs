//! Functions and lines: shares of samples, in time of the CPU.
//!
//! Their intervals hold two errors: that of the samples of each run, and the spread over pairs. The
//! spread has the samples' error in it, but of few pairs it may come out small by chance, above all
//! where most of them had no sample; so the wider of both is taken at each end.

use super::rows::{Amount, Pairs, Row, rows};
use super::times::{order, time, within};
use model::compare::why::TimeDifference;
use model::run::Share;
use model::{Ns, Run, Seen};
use std::hash::Hash;

/// A table of a run by samples: each row's key and its share of the time on a CPU.
type Sampled<K> = Vec<(K, Share)>;

/// The table of both sides, largest difference first, at most this many rows. Unseen where a run
/// has no such table.
pub(super) fn differences<K: Clone + Eq + Hash, D>(
    pairs: &Pairs<'_>,
    of: impl Fn(&Run) -> Seen<Sampled<K>>,
    joined: impl Fn(Vec<Row<K>>) -> Vec<Row<K>>,
    most: usize,
    made: impl Fn(&K, TimeDifference) -> D,
) -> Seen<Vec<D>> {
    let mut sampled = Vec::with_capacity(pairs.len());
    for (a, b) in pairs {
        let [a, b] =
            [a, b].map(|run| of(run).zip(cpu(run)).map(|(table, cpu_ns)| Samples::of(&table, cpu_ns)));
        match a.zip(b) {
            Seen::Value((a, b)) => sampled.push([a, b]),
            Seen::Absent => return Seen::Absent,
            Seen::Unseen(why) => return Seen::Unseen(why),
        }
    }
    let found = rows(pairs, |run| {
        let (Seen::Value(table), Seen::Value(cpu_ns)) = (of(run), cpu(run)) else { return Vec::new() };
        let amount = |share: Share| Amount::new(of_cpu(share.value, cpu_ns).round() as Ns, 1);
        table.into_iter().map(|(key, share)| (key, amount(share))).collect()
    });
    let mut timed: Vec<(TimeDifference, K)> = joined(found)
        .into_iter()
        .map(|row| (with_samples(time(&row.amounts), &row, &sampled), row.key))
        .filter(|(time, _)| time.a_ns > 0 || time.b_ns > 0)
        .collect();
    timed.sort_by_key(|(time, _)| order(time));
    timed.truncate(most);
    Seen::Value(timed.iter().map(|(time, key)| made(key, *time)).collect())
}

/// Time on a CPU of all threads.
fn cpu(run: &Run) -> Seen<Ns> {
    run.user_ns
        .clone()
        .zip(run.kernel_ns.clone())
        .map(|(user_ns, kernel_ns)| user_ns.saturating_add(kernel_ns))
}

fn of_cpu(share: f64, cpu_ns: Ns) -> f64 {
    share.clamp(0.0, 1.0) * cpu_ns as f64
}

/// How much the samples of a run tell.
#[derive(Debug, Clone, Copy)]
struct Samples {
    cpu_ns: Ns,
    /// As many equal ones would tell as much. None where that cannot be told.
    worth: Option<f64>,
}

impl Samples {
    /// By the interval of the row that is farthest from one half: it is that of Wilson, whose
    /// middle lies between the share and one half, the nearer to the share the more samples there
    /// are.
    fn of<K>(table: &Sampled<K>, cpu_ns: Ns) -> Self {
        const Z: f64 = 1.959_963_984_540_054;
        let middle = |share: &Share| (share.lo + share.hi) / 2.0 - 0.5;
        let shares = table.iter().map(|(_, share)| share);
        let farthest = shares.max_by(|one, other| middle(one).abs().total_cmp(&middle(other).abs()));
        let by_worth = farthest.map(|share| (share.value - 0.5 - middle(share)) / middle(share));
        let worth =
            by_worth.map(|by_worth| Z * Z / by_worth).filter(|worth| worth.is_finite() && *worth > 0.0);
        Self { cpu_ns, worth }
    }

    /// How far the ends of an interval are from its estimate: also of a row that had no sample.
    fn ends(self, amount: Amount) -> (f64, f64) {
        if self.cpu_ns == 0 {
            return (0.0, 0.0);
        }
        let cpu_ns = self.cpu_ns as f64;
        let share = (amount.ns as f64 / cpu_ns).min(1.0);
        let interval = self.worth.map_or(stats::wilson(0, 0), |worth| stats::wilson_of(share, worth));
        ((share - interval.lo) * cpu_ns, (interval.hi - share) * cpu_ns)
    }
}

/// The time with an interval that is at least as wide as the samples make it.
fn with_samples<K>(time: TimeDifference, row: &Row<K>, sampled: &[[Samples; 2]]) -> TimeDifference {
    let (mut below, mut above) = (0.0, 0.0);
    for ([of_a, of_b], [a, b]) in row.amounts.iter().zip(sampled) {
        let (a, b) = (a.ends(*of_a), b.ends(*of_b));
        // Zou and Donner (2008), as in `rules::difference`; of a mean their squares sum.
        below += b.0 * b.0 + a.1 * a.1;
        above += b.1 * b.1 + a.0 * a.0;
    }
    let pairs = sampled.len().max(1) as f64;
    let (below, above) = (f64::sqrt(below) / pairs, f64::sqrt(above) / pairs);
    let (mut lo, mut hi) = (time.ns as f64 - below, time.ns as f64 + above);
    if let Some(spread) = time.interval {
        (lo, hi) = (lo.min(spread.lo as f64), hi.max(spread.hi as f64));
    }
    TimeDifference { interval: Some(within(time.ns, lo, hi)), ..time }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worth_of_samples_is_read_from_their_intervals() {
        for worth in [3.0, 30.0, 1234.5] {
            let shares = [0.0, 0.02, 0.5, 0.48].map(|share| stats::wilson_of(share, worth));
            let table: Sampled<usize> = shares
                .into_iter()
                .map(|share| Share { value: share.value, lo: share.lo, hi: share.hi })
                .enumerate()
                .collect();
            let read = Samples::of(&table, 1).worth.unwrap();
            assert!((read / worth - 1.0).abs() < 1e-9, "{worth}: {read}");
        }
        assert_eq!(Samples::of::<usize>(&Vec::new(), 1).worth, None);
    }
}
