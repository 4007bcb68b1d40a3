//! How the time of threads is booked: in their ledgers, on their paths, with their clocks, and as
//! steps where these are kept.

use super::Tree;
use crate::account::split::{self, KINDS};
use crate::account::{Activity, ActivityId, Begins, Interval, Progress, Slot, placeholder};
use crate::keys::{ReasonKey, WaitKey};
use crate::trace::occupants::Queued;
use crate::trace::thread::{Thread, TracedState};
use model::recording::{Calls, SwitchIn};
use model::{Call, Ns, State, Tid};
use smallvec::SmallVec;

impl Tree {
    /// What a thread did, as its ledger has it.
    pub(in crate::trace) fn activity(&self, slot: Slot, state: State, reason: ReasonKey) -> Activity {
        Activity::seen(self.get(slot).ledger_of, state, reason)
    }

    /// The thread with whose path its time is booked: in a window, the many that share a ledger
    /// share that too.
    fn path_of(&self, slot: Slot) -> Slot {
        if self.in_window { self.get(slot).ledger_of } else { slot }
    }

    /// Charges a thread's time up to `at` as all of one kind.
    pub(in crate::trace) fn charge(&mut self, slot: Slot, at: Ns, state: State, reason: ReasonKey) {
        if let Some(recorder) = &mut self.recorder {
            let ns = at.saturating_sub(self.threads[slot as usize].since);
            recorder.passes(slot, ns, (state, reason));
        }
        self.charge_as(slot, at, (state, reason), true);
    }

    /// Charges a completed wait, of which the recorder is told as a whole.
    pub(in crate::trace) fn charge_wait(&mut self, slot: Slot, at: Ns, kind: WaitKey) {
        self.charge_as(slot, at, kind, true);
    }

    /// The same; `begins`: it counts as one more of its kind.
    fn charge_as(&mut self, slot: Slot, at: Ns, (state, reason): (State, ReasonKey), begins: bool) {
        let (activity, path_of) = (self.activity(slot, state, reason), self.path_of(slot));
        let id = self.ledgers.activities.id(activity);
        self.clock_waits(slot, at, (state, reason), id);
        let thread = &mut self.threads[slot as usize];
        self.requests.passes((slot, thread.tid), (thread.since, at), (state, reason));
        let interval = Interval { activity, from: thread.since, to: at.max(thread.since) };
        if interval.ns() == 0 && self.in_window {
            return;
        }
        thread.spend(&self.begins, interval.to, &[(state, interval.ns())]);
        let path = &mut self.threads[path_of as usize].path;
        path.add(self.ledgers.slicing, interval.from, interval.to, &[], id, begins);
        if is_under_way(state) && self.is_passed_over(interval.from) {
            self.ledgers.whole_tree.add(self.ledgers.slicing, interval.from, interval.to, &[], id, false);
        }
    }

    /// Charges a wait that holds nothing up while others of the tree are under way in one of these
    /// ways: as what they did meanwhile, for as long as any was.
    pub(in crate::trace) fn let_pass(
        &mut self,
        slot: Slot,
        at: Ns,
        (state, reason): WaitKey,
        progress: &[Progress],
    ) {
        let (since, before) = (self.get(slot).since, self.get(slot).covered);
        let ns = at.saturating_sub(since);
        let covered = self.ledgers.cover.read(at).since(before).within(ns);
        let thread = self.get(slot).ledger_of;
        let wait = self.ledgers.activities.id(self.activity(slot, state, reason));
        self.clock_waits(slot, at, (state, reason), wait);
        let others = progress.iter().copied().filter(|progress| covered.of(*progress) > 0);
        let mut inside: SmallVec<[(ActivityId, Ns, u64); 3]> = others
            .map(|progress| {
                let placeholder = placeholder(thread, progress, wait);
                (self.ledgers.activities.id(placeholder), covered.of(progress), 0)
            })
            .collect();
        // The wait is counted once, also where others were under way through all of it.
        let alone_ns = ns - inside.iter().map(|(_, ns, _)| ns).sum::<Ns>();
        if let Some((_, _, count)) = inside.first_mut().filter(|_| alone_ns == 0) {
            *count = 1;
        }
        let thread = &mut self.threads[slot as usize];
        self.requests.passes((slot, thread.tid), (since, since + ns), (state, reason));
        thread.spend(&self.begins, since + ns, &[(state, ns)]);
        if state == State::Sleep {
            thread.passed.add(ns, covered);
        }
        thread.path.add(self.ledgers.slicing, since, since + ns, &inside, wait, true);
    }

    /// A thread's time up to `at` is about to be charged as a wait, or as time in the run queue: as
    /// the activity with this number.
    fn clock_waits(&mut self, slot: Slot, at: Ns, kind: WaitKey, id: ActivityId) {
        let Some(predictor) = &mut self.predictor else { return };
        let thread = &self.threads[slot as usize];
        debug_assert_eq!(predictor.clocks(slot).at(), thread.since, "with nothing edited they are its time");
        let wants_cpu = matches!(kind.0, State::Runqueue | State::Throttled);
        if !wants_cpu && !matches!(kind.1, ReasonKey::Wait(..)) {
            return predictor.rests(slot, at);
        }
        // Of a group of activities or of threads it does not tell which this is.
        let id =
            Some(id).filter(|id| thread.ledger_of == slot && self.ledgers.activities.is_for(*id, kind.1));
        predictor.waits((slot, thread.pid), at, kind, id);
    }

    /// Whether another thread may have let time pass after `from`: what others did meanwhile is
    /// kept only then.
    pub(in crate::trace) fn is_passed_over(&self, from: Ns) -> bool {
        !self.in_window && (self.passing.0 > 0 || self.passing.1 > from)
    }

    /// Charges a running thread's time up to `at`: its calls, and the rest as its own. Whatever is
    /// heard of a thread that runs begins with this.
    pub(in crate::trace) fn ran_until(&mut self, tid: Tid, at: Ns, calls: &Calls) -> Option<Slot> {
        let slot = self.slot(tid)?;
        let was = self.becomes(slot, at, TracedState::Running);
        if std::mem::take(&mut self.get_mut(slot).doubtful) {
            self.charge(slot, at, State::Unexplained, ReasonKey::None);
        } else if matches!(was, TracedState::Running) {
            self.charge_calls(slot, at, calls);
        } else {
            // It was not seen to be switched in.
            self.charge(slot, at, State::Unexplained, ReasonKey::NoWakeUp);
        }
        Some(slot)
    }

    fn charge_calls(&mut self, slot: Slot, at: Ns, calls: &Calls) {
        let Thread { since, ledger_of, .. } = *self.get(slot);
        let at = at.max(since);
        let mut room = at - since;
        if let Some(recorder) = &mut self.recorder {
            recorder.runs(slot, calls, room);
        }
        let mut inside: SmallVec<[(ActivityId, Ns, u64); 8]> = SmallVec::new();
        for call in calls {
            let activity = Activity::seen(ledger_of, State::Kernel, ReasonKey::Syscall(call.call));
            let ns = call.ns.min(room);
            room -= ns;
            inside.push((self.ledgers.activities.id(activity), ns, u64::from(call.count)));
        }
        if let Some(predictor) = &mut self.predictor {
            let calls = calls.iter().zip(&inside).map(|(call, (_, ns, _))| (call.call, *ns));
            predictor.runs(slot, at, room, calls);
        }
        let path_of = self.path_of(slot);
        let thread = &mut self.threads[slot as usize];
        self.requests.passes((slot, thread.tid), (since, at), (State::User, ReasonKey::None));
        thread.spend(&self.begins, at, &[(State::Kernel, at - since - room), (State::User, room)]);
        let (own, begins) = (thread.own, std::mem::take(&mut thread.just_in));
        let path = &mut self.threads[path_of as usize].path;
        path.add(self.ledgers.slicing, since, at, &inside, own, begins);
        if self.is_passed_over(since) {
            self.ledgers.whole_tree.add(self.ledgers.slicing, since, at, &inside, own, false);
        }
    }

    /// `call`: the untraced one that it fell into.
    pub(in crate::trace) fn sampled(&mut self, slot: Slot, at: Ns, sample: [u32; KINDS], call: Option<Call>) {
        let (path_of, slicing) = (self.path_of(slot), self.ledgers.slicing);
        let thread = self.get_mut(slot);
        split::add(&mut thread.samples, sample);
        if let Some(call) = call {
            thread.in_calls.add(call, split::sum(sample.map(u64::from)));
        }
        let own = thread.own;
        self.get_mut(path_of).path.sample(slicing, at, own, sample);
        if self.is_passed_over(at) {
            self.ledgers.whole_tree.sample(slicing, at, own, sample);
        }
    }

    /// Charges a wait for a CPU, by who had it. Of each kind of them the wait is counted once.
    pub(super) fn charge_queued(&mut self, slot: Slot, cpu: u32, at: Ns, into: &SwitchIn) {
        let from = self.get(slot).since;
        let after_own = into.ran.is_some_and(|(tid, _)| self.slot(tid).is_some());
        let meanwhile = self.occupants.meanwhile(Queued { cpu, from, to: at, into, after_own });
        self.recorder.iter_mut().for_each(|told| told.queued(slot, cpu, (from, at), &meanwhile));
        let mut counted = SmallVec::<[_; 4]>::new();
        let mut to = from;
        for (reason, ns) in meanwhile {
            to += ns;
            let kind = std::mem::discriminant(&reason);
            let begins = !counted.contains(&kind);
            counted.push(kind);
            self.charge_as(slot, to, (State::Runqueue, reason), begins);
        }
    }
}

impl Thread {
    /// Its time up to then was of these states.
    pub(in crate::trace) fn spend(&mut self, begins: &Begins, to: Ns, parts: &[(State, Ns)]) {
        parts.iter().for_each(|(state, ns)| self.states.add(*state, *ns));
        self.holder.add(begins, self.since, to, parts);
        self.since = to;
    }
}

/// Whether a thread in this state is under way: nothing within the tree holds it up.
fn is_under_way(state: State) -> bool {
    matches!(state, State::Runqueue | State::Throttled | State::Disk | State::Network)
}
