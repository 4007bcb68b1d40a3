//! A window on what lived already: threads that are found alive, and which of them did something.
//!
//! There is no path to an end. Each thread's path is its own ledger, by place; no wake-up hands it over.

use super::{BlockedIn, Doing, Index, Trace};
use crate::account::{Life, Path};
use crate::calls::{Arch, waits_for_work};
use model::recording::{AliveState, Comm, Counters};
use model::{Call, Ns, Pid, State, Tid};

/// How a thread waited.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waited {
    /// How often.
    times: u32,
    /// How long in calls that wait for work.
    for_work_ns: Ns,
}

impl Waited {
    pub(super) fn add(&mut self, arch: Arch, call: Option<Call>, ns: Ns) {
        if ns == 0 {
            return;
        }
        self.times = self.times.saturating_add(1);
        if call.and_then(|call| arch.name(call)).is_some_and(waits_for_work) {
            self.for_work_ns += ns;
        }
    }
}

impl Trace {
    /// A thread lived already. Told again where it was found to be otherwise than was thought.
    pub(super) fn found(&mut self, tid: Tid, pid: Pid, name: Comm, state: &AliveState, before: Counters) {
        let doing = match state {
            AliveState::Runnable(_) => Doing::Runnable,
            AliveState::Blocked(wait) => Doing::Blocked(BlockedIn { wait: wait.clone(), woken_early: false }),
            AliveState::Stopped => Doing::Stopped,
        };
        let index = match self.by_tid.get(&tid) {
            Some(index) => *index,
            None => self.born(self.start, tid, pid, name, Path::default(), Doing::Runnable),
        };
        let thread = &mut self.threads[index as usize];
        thread.doing = doing;
        thread.before = before;
    }

    /// Whether a thread did nothing in the window but wait for work. Asked when all ledgers have
    /// been brought to the end.
    pub(super) fn is_idle(&self, index: Index) -> bool {
        let thread = &self.threads[index as usize];
        // The many that share a ledger are not told apart.
        if thread.ledger_of != index || Some(index) == self.shared {
            return false;
        }
        let life_ns = thread.since - thread.born;
        let on_cpu_ns = thread.states.sum(State::on_cpu);
        let off_cpu_ns = thread.states.sum(|state| state.blocked() || state == State::Stopped);
        let queued_ns = life_ns - on_cpu_ns - off_cpu_ns;
        let life = Life {
            life_ns,
            on_cpu_ns,
            queued_ns,
            for_work_ns: thread.waited.for_work_ns,
            one_wait: on_cpu_ns + queued_ns == 0 && thread.waited.times <= 1,
        };
        life.is_idle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_counts_as_for_work_by_its_call() {
        let mut waited = Waited::default();
        waited.add(Arch::X86, Some(Call(232)), 5);
        waited.add(Arch::X86, Some(Call(0)), 7);
        waited.add(Arch::X86, None, 11);
        waited.add(Arch::X86, Some(Call(232)), 0);
        assert_eq!((waited.times, waited.for_work_ns), (3, 5), "epoll_wait is, read and a fault are not");
    }
}
