//! Waits for many files as one step of the path, unless one of them is most of it.

use crate::account::{Activity, Total};
use model::Ns;
use rustc_hash::FxHashMap;

/// What is alike but for its file or futex.
#[derive(Debug, Default)]
struct Alike {
    ns: Ns,
    members: u32,
    /// Files without a row of their own.
    rest: Option<Total>,
}

/// These with what is about files put together, but for a file that is more than half of the like.
/// What is of one kind only stays as it is.
pub(super) fn folded(totals: &[(Activity, Total)]) -> Vec<(Activity, Total)> {
    let mut alike: FxHashMap<Activity, Alike> = FxHashMap::default();
    let of_many = |activity: &Activity| Activity { reason: activity.reason.of_many(), ..*activity };
    for (activity, total) in totals.iter().filter(|(activity, _)| activity.reason.is_one_of_many()) {
        let all = alike.entry(of_many(activity)).or_default();
        all.ns += total.ns;
        all.members += 1;
    }
    let mut folded = Vec::with_capacity(totals.len());
    let mut many = Vec::new();
    for (activity, total) in totals {
        let like = of_many(activity);
        match alike.get_mut(&like).filter(|_| activity.reason.is_one_of_many()) {
            Some(all) if all.members > 1 && total.ns <= all.ns / 2 => match &mut all.rest {
                Some(rest) => rest.add(*total),
                None => {
                    all.rest = Some(*total);
                    many.push(like);
                }
            },
            _ => folded.push((*activity, *total)),
        }
    }
    folded.extend(many.into_iter().filter_map(|like| Some((like, alike.get(&like)?.rest?))));
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
