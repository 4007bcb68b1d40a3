//! Where a process had next to nothing to do: dwell works before its window and after it, and
//! within it only now and then.

use super::{Doing, Root, Tid, Trace, turns};
use std::collections::{BTreeMap, BTreeSet};

impl Trace {
    /// The time of this length, within the life of this process, in which its threads wanted a CPU
    /// least: its begin. The whole life, if that is no longer.
    pub(crate) fn quietest(&self, root: &Root, length_ns: u64) -> u64 {
        let threads = self.tree(BTreeSet::from([root.tid]), root.begun_ns, root.ended_ns);
        let busy = Busy::of(&self.awake(root, &threads));
        let latest = root.ended_ns.saturating_sub(length_ns).max(root.begun_ns);
        // The least begins where they are done with something, or ends where they begin to.
        let ends = busy.ends.iter().map(|(end, _)| *end);
        let begins = busy.begins.iter().map(|(begin, _)| begin.saturating_sub(length_ns));
        let candidates = ends.chain(begins).filter(|at| (root.begun_ns..=latest).contains(at));
        let within = |from: &u64| busy.until(from + length_ns) - busy.until(*from);
        candidates.min_by_key(within).unwrap_or(root.begun_ns)
    }

    /// When each of these threads was on a CPU or waited for one.
    fn awake(&self, root: &Root, threads: &BTreeSet<Tid>) -> Vec<(u64, u64)> {
        let mut since = BTreeMap::from([(root.tid, root.begun_ns)]);
        let mut spans = Vec::new();
        for event in self.0.iter().filter(|event| (root.begun_ns..root.ended_ns).contains(&event.at_ns)) {
            for turn in turns(event).iter().flatten().filter(|turn| threads.contains(&turn.tid)) {
                match turn.now {
                    Doing::On | Doing::Runnable(_) => {
                        since.entry(turn.tid).or_insert(event.at_ns);
                    }
                    Doing::Blocked | Doing::Uninterruptible | Doing::Gone => {
                        spans.extend(since.remove(&turn.tid).map(|begin| (begin, event.at_ns)));
                    }
                }
            }
        }
        spans.extend(since.into_values().map(|begin| (begin, root.ended_ns)));
        spans
    }
}

/// Spans, of which any may overlap, as sorted begins and ends with their running sums.
struct Busy {
    begins: Vec<(u64, u128)>,
    ends: Vec<(u64, u128)>,
}

impl Busy {
    fn of(spans: &[(u64, u64)]) -> Self {
        let summed = |times: &mut dyn Iterator<Item = u64>| {
            let mut times: Vec<u64> = times.collect();
            times.sort_unstable();
            let sum = |sum: &mut u128, at: u64| {
                *sum += u128::from(at);
                Some((at, *sum))
            };
            times.into_iter().scan(0, sum).collect()
        };
        let [begins, ends] = [
            summed(&mut spans.iter().map(|(begin, _)| *begin)),
            summed(&mut spans.iter().map(|(_, end)| *end)),
        ];
        Self { begins, ends }
    }

    /// How much of all spans was before that time.
    fn until(&self, at: u64) -> u128 {
        // Each span adds up from its begin on, and no more from its end on.
        let since = |times: &[(u64, u128)]| {
            let before = times.partition_point(|(time, _)| *time < at);
            let sum = before.checked_sub(1).and_then(|last| times.get(last)).map_or(0, |(_, sum)| *sum);
            u128::from(at) * before as u128 - sum
        };
        since(&self.begins) - since(&self.ends)
    }
}
