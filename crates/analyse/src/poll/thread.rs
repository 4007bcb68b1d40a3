//! One thread as it is polled.

use super::mix::{Mix, TICK_NS};
use crate::account::{Activity, Certainty, Interval, Path, Slot, ThreadState};
use crate::classify::Classified;
use crate::keys::{ReasonKey, WaitKey};
use model::recording::{Comm, ThreadSnapshot as Snapshot, Tier};
use model::{Ns, Pid, Seen, State, Tid};

/// What a thread does, as far as it is known.
pub(super) type PolledState = ThreadState<PolledWait>;

/// A wait as it is seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PolledWait {
    pub(super) wait: Classified,
    /// A snapshot fell into this very wait; else it is taken to be like the last one that was
    /// seen.
    pub(super) looked: bool,
}

/// One thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) slot: Slot,
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) name: Comm,
    /// When it was made, or first seen.
    pub(super) born: Ns,
    pub(super) doing: PolledState,
    /// Since when it is doing that.
    pub(super) since: Ns,
    /// When it ended, if it did.
    pub(super) died: Option<Ns>,
    /// Its time by what it did.
    pub(super) ledger: Path,
    pub(super) mix: Mix,
    /// The samples that fell while the path was here.
    pub(super) path_mix: Mix,
    /// As the last snapshot has it.
    pub(super) looked: Option<Snapshot>,
    /// As it was found, if it lived before the window.
    pub(super) before: Option<Snapshot>,
    /// How many snapshots there are of it, and in how many of them it waited.
    pub(super) looks: u64,
    pub(super) looks_waiting: u64,
    /// Time off a CPU that was known to be runnable, and that was taken for blocked, until the last
    /// snapshot.
    pub(super) ready_ns: Ns,
    pub(super) blocked_ns: Ns,
    /// Time in the run queue and on a CPU by the kernel's count, between two snapshots; with
    /// switches, where one of them saw the thread in either state.
    pub(super) runnable_ns: (Ns, Ns),
    /// How long it waited for work.
    pub(super) for_work_ns: Ns,
    /// Its switches are not recorded any more: only snapshots say what it does.
    pub(super) by_looks: bool,
    /// The last wait that a snapshot fell into.
    last_wait: Classified,
    /// When its wait began, while it waits.
    waits_since: Ns,
}

/// A thread that comes into the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewThread {
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    /// The process's parent; 0 where it is not known.
    pub(super) parent: Pid,
    pub(super) name: Comm,
}

/// What ended as a thread turned to something else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) interval: Interval,
    /// A wait that this ended, and its length.
    pub(super) waited: Option<(WaitKey, Ns)>,
}

impl PolledWait {
    /// A snapshot fell into it.
    pub(super) fn looked(wait: Classified) -> Self {
        Self { wait, looked: true }
    }
}

impl Thread {
    pub(super) fn new(slot: Slot, at: Ns, who: NewThread, doing: PolledState) -> Self {
        Self {
            slot,
            pid: who.pid,
            tid: who.tid,
            name: who.name,
            born: at,
            doing,
            since: at,
            died: None,
            ledger: Path::default(),
            mix: Mix::default(),
            path_mix: Mix::default(),
            looked: None,
            before: None,
            looks: 0,
            looks_waiting: 0,
            ready_ns: 0,
            blocked_ns: 0,
            runnable_ns: (0, 0),
            for_work_ns: 0,
            by_looks: false,
            last_wait: Classified::UNSEEN,
            waits_since: at,
        }
    }

    /// What it does, as the ledgers have it.
    pub(super) fn activity(&self) -> Activity {
        let (state, reason) = match self.doing {
            PolledState::Running => (State::User, ReasonKey::None),
            PolledState::Runnable => (State::Runqueue, ReasonKey::PreemptedUnseen),
            PolledState::Blocked(PolledWait { wait, .. }) => wait.key(),
            PolledState::Stopped => (State::Stopped, ReasonKey::None),
            PolledState::Dead | PolledState::Unknown => (State::Unexplained, ReasonKey::None),
        };
        let seen = !matches!(self.doing, PolledState::Blocked(PolledWait { looked: false, .. }));
        let certainty = if seen { Certainty::Seen } else { Certainty::Inferred };
        Activity { thread: self.slot, state, reason, certainty }
    }

    /// What a wait into which no snapshot fell is taken to be.
    pub(super) fn usual_wait(&self) -> PolledState {
        PolledState::Blocked(PolledWait { wait: self.last_wait, looked: false })
    }

    /// Ends what it was doing.
    pub(super) fn turn(&mut self, at: Ns, doing: PolledState) -> Turn {
        let interval = Interval { activity: self.activity(), from: self.since, to: at.max(self.since) };
        let was = std::mem::replace(&mut self.doing, doing);
        self.since = interval.to;
        match was {
            PolledState::Runnable => self.ready_ns += interval.ns(),
            PolledState::Blocked(_) => self.blocked_ns += interval.ns(),
            _ => {}
        }
        if let PolledState::Blocked(PolledWait { wait, looked: true }) = doing {
            self.last_wait = wait;
        }
        let waited = match (was, doing) {
            // The same wait, which a snapshot has recognised.
            (PolledState::Blocked(PolledWait { looked: false, .. }), PolledState::Blocked(_)) => None,
            (PolledState::Blocked(PolledWait { wait, .. }), _) => {
                Some((wait.key(), self.since - std::mem::replace(&mut self.waits_since, self.since)))
            }
            _ => {
                self.waits_since = self.since;
                None
            }
        };
        Turn { interval, waited }
    }

    /// Whether it used a CPU between the last snapshot and this one, by the kernel's count.
    pub(super) fn ran_until(&self, now: &Snapshot) -> bool {
        let last = self.looked.as_ref().and_then(|last| last.cpu_ns.value());
        last.zip(now.cpu_ns.value()).is_some_and(|(before, after)| after > before)
    }

    /// Takes note of a snapshot in a window, and at the first one of what the kernel had counted
    /// when the window began. One that comes later was born in the window, unless it has used more
    /// than there was time for: then it came from elsewhere. `slack` is how much later than its
    /// birth it may have been found.
    pub(super) fn counted_before(&mut self, at: Ns, looked: &Snapshot, first_look: bool, slack: Ns) {
        self.looks += 1;
        self.looks_waiting += u64::from(matches!(looked.state, b'S' | b'D'));
        if self.looked.is_some() {
            return;
        }
        let used = looked.cpu_ns.value().copied().unwrap_or(looked.user_ns + looked.kernel_ns);
        if first_look || used > at.saturating_sub(self.born) + slack {
            self.before = Some(looked.clone());
            self.looked = Some(looked.clone());
        }
    }

    /// Brings what is thought of it into line with what was seen of it: what it does, where that
    /// changes. `ran`: it used a CPU since the last snapshot.
    pub(super) fn agreed(
        &mut self,
        now: PolledState,
        ran: bool,
        last_look: Option<Ns>,
        tier: Tier,
    ) -> Option<PolledState> {
        let since_before_last_look = last_look.is_some_and(|last| self.since < last);
        // Off its CPU, say the switches, and yet it ran; or never off it, and yet it waits: they
        // are not recorded any more (a set-user-id program).
        let untold = match (self.doing, now) {
            (PolledState::Blocked(_) | PolledState::Runnable, PolledState::Running) => ran,
            (PolledState::Running, PolledState::Blocked(_)) => true,
            _ => false,
        };
        let by_looks = self.by_looks || untold && since_before_last_look && tier == Tier::Perf;
        let doing = match (tier, self.doing, now) {
            (Tier::Proc, ..) => now,
            _ if by_looks => now,
            (_, PolledState::Blocked(_) | PolledState::Runnable, PolledState::Running) => {
                PolledState::Runnable
            }
            (_, PolledState::Running, PolledState::Running) => return None,
            // It may have been switched out while the snapshot was taken: the switch will say so.
            (_, PolledState::Running, _) if !since_before_last_look => return None,
            (_, PolledState::Blocked(PolledWait { looked: true, .. }), PolledState::Blocked(_)) => {
                return None;
            }
            _ => now,
        };
        self.by_looks = by_looks;
        Some(doing)
    }

    /// What the kernel's counters say since they were last read: time while it was runnable is
    /// kept here, the ticks are given back. `all`: also where both snapshots saw it wait.
    pub(super) fn used(&mut self, looked: &Snapshot, all: bool) -> Mix {
        let last = self.looked.as_ref();
        let was_runnable = all || last.is_some_and(|last| last.state == b'R') || looked.state == b'R';
        let since = |now: &Seen<Ns>, last: Option<&Seen<Ns>>| {
            let now = now.value().copied().unwrap_or(0);
            now.saturating_sub(last.and_then(Seen::value).copied().unwrap_or(now))
        };
        let queued = since(&looked.runqueue_ns, last.map(|last| &last.runqueue_ns));
        let ran = since(&looked.cpu_ns, last.map(|last| &last.cpu_ns));
        let ticks = |now: Ns, last: Option<Ns>| now.saturating_sub(last.unwrap_or(0)) / TICK_NS;
        let user = ticks(looked.user_ns, last.map(|last| last.user_ns));
        let kernel = ticks(looked.kernel_ns, last.map(|last| last.kernel_ns));
        if was_runnable {
            self.runnable_ns.0 += queued;
            self.runnable_ns.1 += ran;
        }
        Mix { user, kernel }
    }
}
