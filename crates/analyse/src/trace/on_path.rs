//! What the processor's counters counted on the program's path.
//!
//! A sample goes onto the path that its thread has then, and with that to whom it is handed over.
//! Where the path lets time pass, others' work stands for it (`resolved`), of which it has the same
//! part of what was counted.

use super::tree::Tree;
use crate::account::{Activities, Amount, Key, Path, Slot};
use crate::counted::{CounterHit, CounterHitId, Sampled};
use crate::keys::ReasonKey;
use model::Ns;
use rustc_hash::FxHashMap;

impl Tree {
    /// A counter's sample struck there, in this thread.
    pub(super) fn counted(&mut self, slot: Slot, at: Ns, (place, sum): (CounterHit, Sampled)) {
        // In a window there is no path.
        if self.in_window {
            return;
        }
        let id = self.struck.places.id(place);
        self.get_mut(slot).path.counts(id, sum);
        if self.is_passed_over(at) {
            let ledger = self.get(slot).ledger_of;
            *self.struck.passed_over.entry((ledger, id)).or_default() += sum;
        }
    }

    /// What was counted on this path: `entries` as charged, and `resolved`.
    pub(super) fn counted_on(
        &self,
        path: &Path,
        entries: &[(Key, Amount)],
        resolved: &[(Key, Amount)],
    ) -> Vec<(CounterHit, Sampled)> {
        let activities = &self.ledgers.activities;
        let (had, has) = (on_cpu(activities, entries), on_cpu(activities, resolved));
        let did = on_cpu(activities, &self.ledgers.whole_tree.entries(self.ledgers.slicing));
        let part = |thread: &Slot| {
            let of = |sums: &FxHashMap<Slot, Ns>| sums.get(thread).copied().unwrap_or(0);
            (of(&has).saturating_sub(of(&had)) as f64 / of(&did).max(1) as f64).min(1.0)
        };
        let mut all: FxHashMap<CounterHitId, Sampled> = path.counted().into_iter().collect();
        let mut stand_in: Vec<_> = self.struck.passed_over.iter().collect();
        // Sums of floating point numbers depend on their order.
        stand_in.sort_unstable_by_key(|(key, _)| **key);
        for ((thread, id), sum) in stand_in {
            let part = part(thread);
            if part > 0.0 {
                *all.entry(*id).or_default() += sum.part(part);
            }
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter().map(|(id, sum)| (self.struck.places.get(id), sum)).collect()
    }
}

/// Time on a CPU by ledger, without what stands for that of others.
fn on_cpu(activities: &Activities, entries: &[(Key, Amount)]) -> FxHashMap<Slot, Ns> {
    let mut sums = FxHashMap::default();
    for (key, amount) in entries {
        let activity = activities.get(key.activity);
        if activity.state.on_cpu() && !matches!(activity.reason, ReasonKey::Meanwhile(_)) {
            *sums.entry(activity.thread).or_insert(0) += amount.ns;
        }
    }
    sums
}
