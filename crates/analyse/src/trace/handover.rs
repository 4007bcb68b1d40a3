//! What goes from thread to thread: a path, and the clocks beside it.
//!
//! Which thread held up which is up to `trace`; how clocks go on, to `predictor`.

use super::sends::Sent;
use super::thread::{Thread, TracedState};
use super::tree::Tree;
use crate::account::{Begins, Path, Slot};
use crate::keys::{ReasonKey, WaitKey};
use model::{Ns, State};

impl Tree {
    /// A thread was held up by another one that runs.
    pub(super) fn held_up_by_thread(&mut self, slot: Slot, by: Slot, kind: WaitKey) {
        let Ok([thread, by_thread]) = self.threads.get_disjoint_mut([slot as usize, by as usize]) else {
            return;
        };
        if let Some(predictor) = &mut self.predictor {
            predictor.held_up_by_thread((slot, thread.pid), by, kind.1);
        }
        thread.takes_over(&self.begins, &by_thread.path, by_thread.since, kind.0);
    }

    /// A thread was held up by what another one has sent.
    pub(super) fn held_up_by_sent(&mut self, slot: Slot, sent: &Sent, kind: WaitKey) {
        let thread = &mut self.threads[slot as usize];
        if let Some(predictor) = &mut self.predictor {
            predictor.held_up((slot, thread.pid), &sent.clocks, kind.1);
        }
        thread.takes_over(&self.begins, &sent.path, sent.at, kind.0);
    }

    /// A thread sends something: whom that holds up goes on from here.
    pub(super) fn sends(&self, sender: Slot, sent: &mut Sent) {
        let thread = self.get(sender);
        (sent.sender, sent.at) = (sender, thread.since);
        sent.path.clone_from(&thread.path);
        if let Some(predictor) = &self.predictor {
            sent.clocks.clone_from(predictor.clocks(sender));
        }
    }

    /// A thread ends its whole process: what the others of it do from here on is its doing. A
    /// blocked one is woken by its signal, which passes the path on itself.
    pub(super) fn exit_group(&mut self, leader: Slot) {
        let thread = self.get(leader);
        let (path, since, pid) = (thread.path.clone(), thread.since, thread.pid);
        for slot in (0..self.threads.len() as Slot).filter(|slot| *slot != leader) {
            let thread = self.get_mut(slot);
            let state = match thread.doing {
                TracedState::Running => State::User,
                TracedState::Runnable => State::Runqueue,
                _ => continue,
            };
            if thread.pid == pid && since > thread.since {
                let from = thread.since;
                thread.states.add(state, since - from);
                thread.since = since;
                thread.path = path.clone();
                if let Some(predictor) = &mut self.predictor {
                    predictor.killed_by_exit_group(slot, leader);
                }
                self.recorder
                    .iter_mut()
                    .for_each(|recorder| recorder.killed_by_exit_group(slot, leader, since - from));
                if self.is_passed_over(from) {
                    let id = self.ledgers.activities.id(self.activity(slot, state, ReasonKey::None));
                    self.ledgers.whole_tree.add(self.ledgers.slicing, from, since, &[], id, false);
                }
            }
        }
    }
}

impl Thread {
    /// It was held up until then by what another path tells: it goes on with that.
    fn takes_over(&mut self, begins: &Begins, path: &Path, until: Ns, state: State) {
        // Two clocks may be a few hundred nanoseconds apart; and what was sent before this thread
        // blocked did not hold it up. Then it keeps its own path.
        if until > self.since {
            self.spend(begins, until, &[(state, until - self.since)]);
            self.path.clone_from(path);
        }
    }
}
