//! One thread as it is traced.

use super::limited::Limited;
use super::processes::Spent;
use crate::account::split::Counts;
use crate::account::{
    ActivityId, CompletedWait, HolderTimes, Life, Pace, Passed, Path, Progress, ProgressTimes, Slot,
    ThreadState, Times, stacks_may_tell,
};
use crate::calls::{Arch, may_be_timed, waits_for, waits_for_events, waits_for_work};
use crate::classify::is_for_several;
use crate::for_work::is_served;
use crate::keys::{WaitKey, Who};
use crate::roles::serves_by_ports;
use crate::untraced::InCalls;
use model::recording::{AliveState, Comm, Counters, FileKind, Object, SocketEnds, WaitContext};
use model::{Call, Ns, Pid, State, Tid};
use smallvec::SmallVec;

/// What a thread does, as far as it has been heard of.
pub(super) type TracedState = ThreadState<BlockedIn>;

/// A wait that a thread is in.
#[derive(Debug, Clone)]
pub(super) struct BlockedIn {
    pub(super) wait: WaitContext,
    /// A wake-up was seen before the switch: it may have been for this wait.
    pub(super) woken_early: bool,
    /// Time alone may end it, or a client: then what others do meanwhile is on the path.
    pub(super) lets_pass: bool,
    /// It is for whichever of several comes first.
    pub(super) of_several: bool,
    /// A device ends it, as far as its call tells: not all such calls sleep as the kernel's flag
    /// for IO has it.
    device: bool,
    /// The thread was found in it.
    pub(super) found: bool,
    /// Its stack, where the thread was found in it and one was taken.
    pub(super) stack: Option<u32>,
}

impl BlockedIn {
    pub(super) fn new(wait: WaitContext, woken_early: bool, arch: Arch) -> Self {
        let timer = matches!(wait.on, Object::File { kind: FileKind::TimerFd, .. });
        let call = wait.call.and_then(|call| arch.name(call));
        let serves =
            matches!(wait.on, Object::Net(ends) if ends.remote_port == 0 && is_served(ends, || false));
        let lets_pass = timer || serves || call.is_some_and(may_be_timed);
        let device = call.is_some_and(|call| waits_for(call, wait.uninterruptible) == State::Disk);
        let of_several = call.is_some_and(waits_for_events) && is_for_several(&wait);
        let lets_pass = lets_pass || of_several;
        Self { wait, woken_early, lets_pass, of_several, device, found: false, stack: None }
    }

    /// A thread was found in it.
    fn found(wait: WaitContext, arch: Arch) -> Self {
        Self { found: true, ..Self::new(wait, false, arch) }
    }
}

/// One thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) name: Comm,
    pub(super) doing: TracedState,
    /// Booked up to here; the path too.
    pub(super) since: Ns,
    pub(super) born: Ns,
    pub(super) path: Path,
    /// A wake-up came since it last blocked: while it ran, or was on its way out.
    pub(super) woken_early: bool,
    /// It was switched in and nothing has been booked since.
    pub(super) just_in: bool,
    /// Its last completed wait: stacks of it come later.
    pub(super) last_wait: Option<CompletedWait>,
    /// The last call that it blocked in.
    blocked_in: Option<Call>,
    /// The row of hand-overs of the one that woke it, until it runs.
    pub(super) handed: Option<u32>,
    /// Events were lost: what it did since is not known.
    pub(super) doubtful: bool,
    pub(super) states: Times,
    pub(super) samples: Counts,
    /// Those in calls that were not traced.
    pub(super) in_calls: InCalls,
    pub(super) counters: Option<Counters>,
    /// What the kernel had counted when the thread was found alive.
    pub(super) before: Counters,
    /// What others had done when its wait began.
    pub(super) covered: ProgressTimes,
    /// What it let pass.
    pub(super) passed: Passed,
    /// What it did while others waited for locks.
    pub(super) holder: HolderTimes,
    /// Its waits of which stacks may tell that they were for a lock.
    pub(super) unsettled: Unsettled,
    /// Waits that a time limit ended since another thread woke it.
    pub(super) limited: Limited,
    /// The connection that it last sent on, where the other end serves.
    pub(super) asked: Option<SocketEnds>,
    /// How it waited, for whether it did anything in a window.
    pub(super) waited: Waited,
    /// Whose ledger its time is in: its own, or the one that is shared by the many.
    pub(super) ledger_of: Slot,
    /// Its own time in that ledger.
    pub(super) own: ActivityId,
}

/// A thread that comes into the tree.
#[derive(Debug)]
pub(super) struct NewThread {
    pub(super) at: Ns,
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    pub(super) name: Comm,
    pub(super) path: Path,
    /// The thread whose clocks this one inherits.
    pub(super) creator: Option<Slot>,
    pub(super) doing: TracedState,
}

/// How a thread waited.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waited {
    /// How often.
    times: u32,
    /// How long in calls that wait for work.
    for_work_ns: Ns,
}

/// Kinds of waits of one thread that are kept for what stacks will tell.
const UNSETTLED: usize = 32;

/// A thread's time in waits that are not what they were booked as, where stacks will tell so.
#[derive(Debug, Clone, Default)]
pub(super) struct Unsettled(pub(super) SmallVec<[(WaitKey, Ns); 1]>);

impl Unsettled {
    pub(super) fn add(&mut self, wait: WaitKey, ns: Ns, in_window: bool) {
        // Of one that is for a lock already only the name may change, outside of windows.
        if ns == 0 || (wait.0 == State::Lock && !in_window) || !stacks_may_tell(wait, in_window) {
            return;
        }
        if let Some((_, sum)) = self.0.iter_mut().find(|(known, _)| *known == wait) {
            *sum += ns;
        } else if self.0.len() < UNSETTLED {
            self.0.push((wait, ns));
        }
    }
}

impl Thread {
    pub(super) fn who(&self) -> Who {
        Who { name: self.name, pid: self.pid, tid: self.tid }
    }

    /// With its time in this ledger.
    pub(super) fn new(who: NewThread, ledger_of: Slot, own: ActivityId) -> Self {
        Self {
            pid: who.pid,
            tid: who.tid,
            name: who.name,
            doing: who.doing,
            since: who.at,
            born: who.at,
            path: who.path,
            woken_early: false,
            just_in: true,
            last_wait: None,
            blocked_in: None,
            handed: None,
            doubtful: false,
            states: Times::default(),
            samples: Counts::default(),
            in_calls: InCalls::default(),
            counters: None,
            before: Counters::default(),
            covered: ProgressTimes::default(),
            passed: Passed::default(),
            holder: HolderTimes::default(),
            unsettled: Unsettled::default(),
            limited: Limited::default(),
            asked: None,
            waited: Waited::default(),
            ledger_of,
            own,
        }
    }

    /// The call of a wait that begins. One that a stop interrupted goes on in a call of its own
    /// (`restart_syscall`): it is still the one that the program made.
    pub(super) fn blocks_in(&mut self, call: Option<Call>, arch: Arch) -> Option<Call> {
        let restarts = |call: &Call| arch.name(*call) == Some("restart_syscall");
        let call = match call {
            Some(call) if restarts(&call) => self.blocked_in.or(Some(call)),
            call => call,
        };
        self.blocked_in = call.or(self.blocked_in);
        call
    }

    /// It has sent something, on this connection if it asks for something there: what it waited for
    /// before was something else.
    pub(super) fn asks(&mut self, ends: Option<SocketEnds>) {
        self.asked = ends;
        self.limited.asks();
    }

    /// What its process has of it.
    pub(super) fn spent(&self) -> Spent {
        Spent { states: self.states, samples: self.samples }
    }

    /// What the kernel counted of it, up to its end or, where it lives, to `now`.
    pub(super) fn counted(&self, now: Option<&Counters>) -> Option<Counters> {
        self.counters.or_else(|| Some(since(*now?, self.before)))
    }

    /// It ended, and the kernel had counted this.
    pub(super) fn died(&mut self, counters: Counters) {
        // What died has run; without that, the record of its counters was lost. Its time counts
        // from when it was of the tree, the rest from its birth.
        let before = Counters { cpu_ns: 0, runqueue_ns: 0, ..self.before };
        self.counters = (counters.cpu_ns > 0).then(|| since(counters, before));
    }

    /// The stack of the wait that it was found in; of none if it has been woken since.
    pub(super) fn found_in(&mut self, node: u32) {
        if let TracedState::Blocked(BlockedIn { found: true, stack, .. }) = &mut self.doing {
            *stack = Some(node);
        }
    }

    /// What it did in a window, when its ledger has been brought to the end.
    pub(super) fn life(&self) -> Life {
        let life_ns = self.since - self.born;
        let on_cpu_ns = self.states.sum(State::on_cpu);
        let off_cpu_ns = self.states.sum(|state| state.blocked() || state == State::Stopped);
        let queued_ns = life_ns - on_cpu_ns - off_cpu_ns;
        let one_wait = on_cpu_ns + queued_ns == 0 && self.waited.times <= 1;
        // Locks are waited for in the same calls as work.
        let for_a_lock = one_wait && self.states.of(State::Lock) > 0;
        Life {
            life_ns,
            on_cpu_ns,
            queued_ns,
            for_work_ns: if for_a_lock { 0 } else { self.waited.for_work_ns },
            one_wait: one_wait && !for_a_lock,
        }
    }

    /// How it kept time in a window.
    pub(super) fn pace(&self) -> Pace {
        Pace {
            life_ns: self.since - self.born,
            on_cpu_ns: self.states.sum(State::on_cpu),
            queued_ns: self.states.of(State::Runqueue) + self.states.of(State::Throttled),
            slept_ns: self.states.of(State::Sleep),
            idle_ns: self.states.of(State::Idle),
        }
    }
}

impl TracedState {
    /// How it is under way, as far as is known while it is: what ends a wait is known afterwards.
    pub(super) fn progress(&self) -> Option<Progress> {
        match self {
            ThreadState::Running => Some(Progress::OnCpu),
            ThreadState::Runnable => Some(Progress::Runnable),
            ThreadState::Blocked(BlockedIn { wait, device, .. }) => {
                // A server that waits for a request holds nothing up.
                let outside = wait.io
                    || *device
                    || matches!(wait.on, Object::Net(ends) if !is_served(ends, || serves_by_ports(ends)));
                outside.then_some(Progress::Outside)
            }
            ThreadState::Stopped | ThreadState::Dead | ThreadState::Unknown => None,
        }
    }

    /// Whether it is in a wait that time alone may end, or a client.
    pub(super) fn lets_pass(&self) -> bool {
        matches!(self, ThreadState::Blocked(BlockedIn { lets_pass: true, .. }))
    }

    /// What a thread did when it was found.
    pub(super) fn found(state: &AliveState, arch: Arch) -> Self {
        match state {
            AliveState::Runnable(_) => TracedState::Runnable,
            AliveState::Blocked(wait) => TracedState::Blocked(BlockedIn::found(wait.clone(), arch)),
            AliveState::Stopped => TracedState::Stopped,
        }
    }
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

/// What was counted since `before`.
fn since(now: Counters, before: Counters) -> Counters {
    Counters {
        cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
        runqueue_ns: now.runqueue_ns.saturating_sub(before.runqueue_ns),
        minor_faults: now.minor_faults.saturating_sub(before.minor_faults),
        major_faults: now.major_faults.saturating_sub(before.major_faults),
        voluntary_switches: now.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: now.involuntary_switches.saturating_sub(before.involuntary_switches),
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
