//! What a switch says of a thread: what it did until then, and what it does from then on.

use super::{ThreadExit, Tree};
use crate::account::WaitEnd;
use crate::keys::ReasonKey;
use crate::trace::thread::{BlockedIn, TracedState};
use model::recording::{Object, SwitchIn, SwitchOut, SwitchOutState, WaitContext};
use model::{Ns, State, Tid};

impl Tree {
    /// A thread is about to be switched out of this CPU.
    pub(in crate::trace) fn leaves_cpu(&mut self, cpu: u32, at: Ns, tid: Tid) {
        let who = self.by_tid(tid).map(|thread| (thread.name, thread.pid)).unwrap_or_default();
        self.occupants.leaves(cpu, at, tid, who);
        self.recorder.iter_mut().for_each(|recorder| recorder.on_cpu(cpu, at, false));
    }

    /// A thread is switched in.
    pub(in crate::trace) fn switched_in(&mut self, cpu: u32, at: Ns, into: &SwitchIn) {
        let Some(slot) = self.slot(into.tid) else { return };
        self.occupants.comes(cpu, at);
        self.recorder.iter_mut().for_each(|recorder| recorder.on_cpu(cpu, at, true));
        self.switched_in += 1;
        let thread = self.get_mut(slot);
        thread.just_in = true;
        let since = thread.since;
        let doubtful = std::mem::take(&mut thread.doubtful);
        if let Some(row) = thread.handed.take().filter(|_| !doubtful) {
            self.handed.runs(row, at.saturating_sub(since));
        }
        match self.becomes(slot, at, TracedState::Running) {
            _ if doubtful => self.charge(slot, at, State::Unexplained, ReasonKey::None),
            TracedState::Runnable | TracedState::Blocked(BlockedIn { woken_early: true, .. }) => {
                let throttled = into.throttled_ns.min(at.saturating_sub(since));
                if throttled > 0 {
                    self.charge(slot, since + throttled, State::Throttled, ReasonKey::None);
                }
                self.charge_queued(slot, cpu, at, into);
            }
            TracedState::Stopped => self.charge(slot, at, State::Stopped, ReasonKey::None),
            TracedState::Blocked(_) => {
                let kind = (State::Unexplained, ReasonKey::NoWakeUp);
                // A stack of it is not of a wait that somebody was seen to end.
                let thread = self.get_mut(slot);
                thread.last_wait.iter_mut().for_each(|wait| wait.handed_by = None);
                let of = thread.ledger_of;
                self.ledgers.waits.record(kind, of, at.saturating_sub(since), WaitEnd::UNKNOWN);
                self.charge(slot, at, State::Unexplained, ReasonKey::NoWakeUp);
            }
            TracedState::Running | TracedState::Dead | TracedState::Unknown => {
                self.charge(slot, at, State::Unexplained, ReasonKey::None);
            }
        }
    }

    /// A thread is switched out; if that is the end of it, it is forgotten by its number.
    pub(in crate::trace) fn switched_out(&mut self, at: Ns, out: &SwitchOut) -> Option<ThreadExit> {
        let slot = self.ran_until(out.tid, at, &out.calls)?;
        let thread = &mut self.threads[slot as usize];
        let doing = match &out.left {
            SwitchOutState::Runnable => TracedState::Runnable,
            SwitchOutState::Blocked(wait) => {
                if matches!(wait.on, Object::Futex { .. }) {
                    self.begins.add(thread.since);
                }
                let woken_early = std::mem::take(&mut thread.woken_early);
                let wait = WaitContext { call: thread.blocks_in(wait.call, self.arch), ..wait.clone() };
                TracedState::Blocked(BlockedIn::new(wait, woken_early, self.arch))
            }
            SwitchOutState::Stopped => TracedState::Stopped,
            SwitchOutState::Dead(counters) => {
                thread.died(*counters);
                TracedState::Dead
            }
        };
        let (died, is_dead) = (ThreadExit { slot, at: thread.since }, doing.is_dead());
        if let TracedState::Blocked(blocked) = &doing {
            self.requests.blocks(slot, blocked.of_several);
        }
        self.becomes(slot, at, doing);
        self.threads[slot as usize].covered = self.ledgers.cover.read(at);
        if is_dead {
            self.by_tid.remove(&out.tid);
            self.predictor.iter_mut().for_each(|predictor| predictor.dies(slot));
            self.recorder.iter_mut().for_each(|recorder| recorder.ends(slot));
            self.requests.ends(slot);
        }
        is_dead.then_some(died)
    }
}
