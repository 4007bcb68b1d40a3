//! Where intervals and waits are added up, traced and polled alike.

use super::activity::{Activities, ActivityId, Interval};
use super::path::Path;
use super::progress_clock::ProgressClock;
use super::slicing::Slicing;
use super::waits::Waits;

/// The ledgers of a recording. Ledgers lie with the threads whose time they hold: a wake-up may
/// hand one over.
#[derive(Debug)]
pub(crate) struct Ledgers {
    pub(crate) slicing: Slicing,
    pub(crate) activities: Activities,
    pub(crate) waits: Waits,
    /// When any thread was under way.
    pub(crate) cover: ProgressClock,
    /// What all threads did, from when there are two.
    pub(crate) whole_tree: Path,
}

impl Ledgers {
    pub(crate) fn new(slicing: Slicing) -> Self {
        Self {
            slicing,
            activities: Activities::default(),
            waits: Waits::default(),
            cover: ProgressClock::default(),
            whole_tree: Path::default(),
        }
    }

    /// Charges an interval; `begins`: the activity began with it.
    pub(crate) fn charge(&mut self, ledger: &mut Path, interval: &Interval, begins: bool) -> ActivityId {
        let id = self.activities.id(interval.activity);
        ledger.add(self.slicing, interval.from, interval.to, &[], id, begins);
        id
    }
}
