//! How the time of traced threads divides by states: their own time by samples, all else not.

use crate::account::split::{Counts, Own, add, interval, late, split};
use crate::account::{Activity, Divide, Portion, Sum, Total};
use crate::keys::ReasonKey;
use model::{Basis, Ns, State};

/// The samples of all threads.
#[derive(Debug)]
pub(super) struct Division {
    /// Of each thread, by its slot.
    pub(super) of_threads: Vec<Counts>,
    pub(super) of_tree: Counts,
}

impl Divide for Division {
    /// A thread's own time is split by its samples in the same activity, by all of its samples, or
    /// by those of the whole tree, whichever is the first to have any.
    fn divide(&self, activity: Activity, total: &Total) -> Vec<Portion> {
        if activity.state != State::User {
            let portion = Portion::whole(activity, total.ns);
            return if total.ns > 0 { portion } else { Vec::new() };
        }
        let of_thread = self.of_threads.get(activity.thread as usize).copied().unwrap_or_default();
        let Own { user, fault, entry, call } = split(total.ns, [total.samples, of_thread, self.of_tree]);
        let portions = [
            (State::Fault, ReasonKey::None, fault),
            (State::Kernel, ReasonKey::SyscallEntry, entry),
            (State::Kernel, ReasonKey::SyscallsSampled, call),
            (State::User, ReasonKey::None, user),
        ];
        let portion = |(state, reason, ns)| Portion { state, reason, ns };
        portions.into_iter().map(portion).filter(|portion| portion.ns > 0).collect()
    }
}

/// What the figures of an account rest on: user, fault and the entries of calls are parts of one
/// sampled figure; the rest is measured.
#[derive(Debug)]
pub(super) struct Known {
    /// Threads' own time, and the samples in it.
    own: Total,
    /// How much of it may be faults though it was sampled as user.
    late_ns: Ns,
}

impl Known {
    /// `faults`: how many the tree had in `tree_own_ns` of its threads' own time.
    pub(super) fn new(totals: &[(Activity, Total)], faults: u64, tree_own_ns: Ns) -> Self {
        let mut own = Total::default();
        for (_, total) in totals.iter().filter(|(activity, _)| activity.state == State::User) {
            own.ns += total.ns;
            add(&mut own.samples, total.samples);
        }
        // As many of the tree's faults as there is of its own time.
        let on_path = u128::from(faults) * u128::from(own.ns);
        let on_path = on_path.checked_div(u128::from(tree_own_ns)).unwrap_or(0) as u64;
        Self { own, late_ns: late(on_path, own.ns) }
    }

    pub(super) fn of(&self, state: State, sum: &Sum) -> (Basis, (Ns, Ns)) {
        let entry_ns = sum.ns - sum.own_ns;
        let interval = |ns, late_ns| interval(state, ns, self.own.ns, self.own.samples, late_ns);
        match state {
            State::User | State::Fault => (Basis::Sampled, interval(sum.ns, self.late_ns)),
            State::Kernel if entry_ns > 0 => {
                let (lo, hi) = interval(entry_ns, 0);
                (Basis::Sampled, (sum.own_ns + lo, sum.own_ns + hi))
            }
            _ => (Basis::Measured, (sum.ns, sum.ns)),
        }
    }
}
