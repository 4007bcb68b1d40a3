//! Waits for many files as one step of the path, unless one of them is most of it.

use crate::account::{Activity, Total};
use model::Ns;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// These with what is about files put together, but for a file that is more than half of the like.
pub(super) fn folded(totals: &[(Activity, Total)]) -> Vec<(Activity, Total)> {
    let mut alike: BTreeMap<usize, Vec<(Activity, Total)>> = BTreeMap::new();
    let mut first: FxHashMap<Activity, usize> = FxHashMap::default();
    for (index, (activity, total)) in totals.iter().enumerate() {
        let of_many = Activity { reason: activity.reason.of_many(), ..*activity };
        let like = *first.entry(of_many).or_insert(index);
        alike.entry(like).or_default().push((*activity, *total));
    }
    let mut folded = Vec::new();
    for members in alike.into_values() {
        let all: Ns = members.iter().map(|(_, total)| total.ns).sum();
        let is_alone = members.len() == 1;
        let (apart, rest): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|(_, total)| is_alone || total.ns > all / 2);
        folded.extend(apart);
        let rest = rest.into_iter().reduce(|(activity, mut sum), (_, more)| {
            sum.add(more);
            (activity, sum)
        });
        folded.extend(
            rest.map(|(activity, sum)| (Activity { reason: activity.reason.of_many(), ..activity }, sum)),
        );
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{CallKey, FileId, ReasonKey, TargetKey};
    use model::State;

    fn read(file: u32, ns: Ns) -> (Activity, Total) {
        let reason = ReasonKey::Wait(CallKey::Fault, TargetKey::File(FileId(file)));
        (Activity::seen(1, State::Disk, reason), Total { ns, count: 1, ..Total::default() })
    }

    #[test]
    fn a_file_that_is_most_of_it_stays_and_the_others_are_one() {
        let found = folded(&[read(2, 10), read(3, 60), read(4, 20)]);
        let many = Activity { reason: read(2, 0).0.reason.of_many(), ..read(2, 0).0 };
        assert_eq!(found, [read(3, 60), (many, Total { ns: 30, count: 2, ..Total::default() })]);
        assert_eq!(folded(&[read(2, 10)]), [read(2, 10)]);
        let beside = folded(&[read(2, 10), read(3, 60)]);
        assert_eq!(beside[1].0, many, "one that is alone beside it has no name either");
    }
}
