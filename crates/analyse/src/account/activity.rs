//! What a thread did, for one reason: numbered, so that ledgers stay small.

use crate::keys::ReasonKey;
use model::{Ns, State};
use rustc_hash::FxHashMap;

/// A thread, by its place in its producer's table: thread numbers are used again, these are not
/// while their thread has a ledger.
pub(crate) type Slot = u32;

/// Time that no thread is known to have had.
pub(crate) const NOBODY: Slot = Slot::MAX;

/// An activity by number.
pub(crate) type ActivityId = u32;

/// Activities whose reasons are kept apart (a crawler has a million peers); later ones are known by
/// state only.
const ACTIVITIES: usize = 400_000;
/// The same with files kept apart, which the path names only where one of them is most of it.
const OF_FILES: usize = 20_000;

/// How well it is known what a thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Certainty {
    /// It was seen.
    Seen,
    /// It is taken to be like what was seen.
    Inferred,
}

/// A thread in a state, for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Activity {
    pub(crate) thread: Slot,
    pub(crate) state: State,
    pub(crate) reason: ReasonKey,
    pub(crate) certainty: Certainty,
}

/// An interval of a thread's time in which it did one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) activity: Activity,
    pub(crate) from: Ns,
    pub(crate) to: Ns,
}

impl Activity {
    /// What was seen of a thread.
    pub(crate) fn seen(thread: Slot, state: State, reason: ReasonKey) -> Self {
        Self { thread, state, reason, certainty: Certainty::Seen }
    }
}

impl Interval {
    pub(crate) fn ns(&self) -> Ns {
        self.to.saturating_sub(self.from)
    }
}

/// All activities of a recording, by number.
#[derive(Debug, Default)]
pub(crate) struct Activities {
    ids: FxHashMap<Activity, ActivityId>,
    all: Vec<Activity>,
}

impl Activities {
    /// The number of an activity, or of the group of activities that are not kept apart.
    pub(crate) fn id(&mut self, activity: Activity) -> ActivityId {
        let activity = self.bounded(activity);
        let next = self.all.len() as ActivityId;
        *self.ids.entry(activity).or_insert_with(|| {
            self.all.push(activity);
            next
        })
    }

    /// The activity with this number.
    pub(crate) fn get(&self, id: ActivityId) -> Activity {
        self.all[id as usize]
    }

    /// Whether a number that was given for this reason stands for it alone, not for a group.
    pub(crate) fn is_for(&self, id: ActivityId, reason: ReasonKey) -> bool {
        self.all.len() < OF_FILES || self.get(id).reason == reason
    }

    /// Changes what activities were, where more is known of them.
    pub(crate) fn revise(&mut self, revise: impl Fn(&mut Activity)) {
        self.all.iter_mut().for_each(revise);
        self.ids.clear();
    }

    fn bounded(&self, mut activity: Activity) -> Activity {
        let is_full = |bound: usize, of: &Activity| self.all.len() >= bound && !self.ids.contains_key(of);
        if is_full(ACTIVITIES, &activity) {
            activity.reason = ReasonKey::None;
        }
        if activity.reason.file().is_some() && is_full(OF_FILES, &activity) {
            activity.reason = activity.reason.of_many();
        }
        activity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{CallKey, FileId, TargetKey};

    #[test]
    fn past_the_bound_files_are_one_of_many_and_what_is_known_stays() {
        let mut all = Activities::default();
        let read = |file| {
            let reason = ReasonKey::Wait(CallKey::Fault, TargetKey::File(FileId(file)));
            Activity::seen(1, State::Disk, reason)
        };
        let first = all.id(read(2));
        for file in 3..OF_FILES as u32 + 2 {
            all.id(read(file));
        }
        let many = all.id(read(1 << 20));
        assert_eq!(all.get(many).reason, read(1 << 20).reason.of_many());
        assert_eq!(all.id(read(1 << 21)), many);
        assert!(all.is_for(first, read(2).reason) && !all.is_for(many, read(1 << 20).reason));
        assert_eq!((all.id(read(2)), all.get(first)), (first, read(2)));
    }
}
