//! How the time of an activity divides by states, where its interval does not tell all.
//!
//! That a thread was on a CPU says nothing of user and kernel mode: samples or counters do. Each
//! producer knows by its own means and answers through [`Divide`].

use super::activity::{Activities, Activity, ActivityId, Slot};
use super::layers::Key;
use super::path::Amount;
use super::split::{Counts, add};
use crate::keys::ReasonKey;
use model::{Ns, State};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// An activity's time, how often it began, and the samples that fell into it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Total {
    pub(crate) ns: Ns,
    pub(crate) count: u64,
    pub(crate) samples: Counts,
}

/// A part of an activity's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Portion {
    pub(crate) state: State,
    pub(crate) reason: ReasonKey,
    pub(crate) ns: Ns,
}

/// What an activity divides into: most into one.
pub(crate) type Portions = SmallVec<[Portion; 2]>;

/// What is known of how time divides.
pub(crate) trait Divide {
    /// The portions of an activity's time, none of them empty; their sum is `total.ns` exactly.
    fn divide(&self, activity: Activity, total: &Total) -> Portions;
}

impl Total {
    pub(crate) fn add(&mut self, more: Total) {
        self.ns += more.ns;
        self.count += more.count;
        add(&mut self.samples, more.samples);
    }
}

impl From<Amount> for Total {
    fn from(Amount { ns, count, samples }: Amount) -> Self {
        Self { ns, count, samples: samples.map(u64::from) }
    }
}

impl Portion {
    /// All of an activity's time, as its interval has it.
    pub(crate) fn whole(activity: Activity, ns: Ns) -> Portions {
        smallvec![Portion { state: activity.state, reason: activity.reason, ns }]
    }
}

/// A ledger's time with all slices together, in the order in which activities first occurred.
pub(crate) fn by_activity(
    entries: impl Iterator<Item = (Key, Amount)>,
    activities: &Activities,
) -> Vec<(Activity, Total)> {
    let mut entries: Vec<(ActivityId, Amount)> =
        entries.map(|(key, amount)| (key.activity, amount)).collect();
    // One path has them in this order.
    entries.sort_by_key(|(id, _)| *id);
    let total = |alike: &[(ActivityId, Amount)]| {
        let mut total = Total::default();
        alike.iter().for_each(|(_, amount)| total.add((*amount).into()));
        (activities.get(alike[0].0), total)
    };
    entries.chunk_by(|a, b| a.0 == b.0).map(total).collect()
}

/// Time by thread, of what is like that.
pub(crate) fn by_thread(
    totals: &[(Activity, Total)],
    which: impl Fn(&Activity) -> bool,
) -> FxHashMap<Slot, Ns> {
    let mut sums = FxHashMap::default();
    for (activity, total) in totals.iter().filter(|(activity, _)| which(activity)) {
        *sums.entry(activity.thread).or_insert(0) += total.ns;
    }
    sums
}

impl super::times::Times {
    /// Adds all of these, divided.
    pub(crate) fn add_divided(&mut self, totals: &[(Activity, Total)], divide: &dyn Divide) {
        for (activity, total) in totals {
            divide.divide(*activity, total).iter().for_each(|portion| self.add(portion.state, portion.ns));
        }
    }
}
