//! How the time of traced threads divides by states: their own time by samples, all else not.

use crate::account::split::{Counts, Late, Own, add, interval, interval_of_time, split};
use crate::account::{Activity, Divide, Portion, Portions, Sum, Total};
use crate::keys::ReasonKey;
use crate::untraced::InCalls;
use model::{Basis, Ns, State};

/// The samples of all threads.
#[derive(Debug)]
pub(super) struct Division {
    /// Of each thread, by its slot, with those in calls that were not traced.
    pub(super) of_threads: Vec<(Counts, InCalls)>,
    pub(super) of_tree: (Counts, InCalls),
}

impl Divide for Division {
    /// A thread's own time is split by its samples in the same activity, by all of its samples, or
    /// by those of the whole tree, whichever is the first to have any.
    fn divide(&self, activity: Activity, total: &Total) -> Portions {
        if activity.state != State::User {
            let portion = Portion::whole(activity, total.ns);
            return if total.ns > 0 { portion } else { Portions::new() };
        }
        let (of_thread, in_calls) = match self.of_threads.get(activity.thread as usize) {
            Some((counts, in_calls)) => (*counts, in_calls),
            None => (Counts::default(), &self.of_tree.1),
        };
        let in_calls = if in_calls.is_empty() { &self.of_tree.1 } else { in_calls };
        let own = split(total.ns, [total.samples, of_thread, self.of_tree.0]);
        let Own { user, fault, interrupt, entry, call } = own;
        let portions = [
            (State::Fault, ReasonKey::None, fault),
            (State::Interrupt, ReasonKey::None, interrupt),
            (State::Kernel, ReasonKey::SyscallEntry, entry),
            (State::User, ReasonKey::None, user),
        ];
        let portion = |(state, reason, ns)| Portion { state, reason, ns };
        // The calls themselves, while they are not traced. Softirqs of an old recording may have
        // been in any.
        let unnamed = (State::Kernel, ReasonKey::SyscallsSampled, if in_calls.is_empty() { call } else { 0 });
        let calls = in_calls.divide(call).map(|(call, ns)| (State::Kernel, ReasonKey::Syscall(call), ns));
        portions
            .into_iter()
            .chain(calls)
            .chain([unnamed])
            .map(portion)
            .filter(|portion| portion.ns > 0)
            .collect()
    }
}

/// What the figures of an account rest on: user, fault, interrupt and the entries of calls are
/// parts of one sampled figure; the rest is measured.
#[derive(Debug)]
pub(super) struct OwnTimeSamples {
    /// Threads' own time, and the samples in it.
    own: Total,
    /// How much of it may be something else though it was sampled as user.
    late: Late,
}

impl OwnTimeSamples {
    /// `late`: in `tree_own_ns`, the own time of all threads. The path has as much of it as of
    /// that.
    pub(super) fn new(totals: &[(Activity, Total)], late: Late, tree_own_ns: Ns) -> Self {
        let mut own = Total::default();
        for (_, total) in totals.iter().filter(|(activity, _)| activity.state == State::User) {
            own.ns += total.ns;
            add(&mut own.samples, total.samples);
        }
        Self { own, late: late.in_part(own.ns, tree_own_ns) }
    }

    /// The interval of a part of the own time that is known by the time that its samples stand for.
    pub(super) fn part(&self, state: Option<State>, ns: Ns) -> (Ns, Ns) {
        interval_of_time(state, ns, self.own.ns, self.own.samples, self.late)
    }

    pub(super) fn of(&self, state: State, sum: &Sum) -> (Basis, (Ns, Ns)) {
        let entry_ns = sum.ns - sum.own_ns;
        let interval = |ns| interval(state, ns, self.own.ns, self.own.samples, self.late);
        match state {
            State::User | State::Fault | State::Interrupt => (Basis::Sampled, interval(sum.ns)),
            State::Kernel if entry_ns > 0 => {
                let (lo, hi) = interval(entry_ns);
                (Basis::Sampled, (sum.own_ns + lo, sum.own_ns + hi))
            }
            _ => (Basis::Measured, (sum.ns, sum.ns)),
        }
    }
}
