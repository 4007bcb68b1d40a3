//! A window on what lived already, from snapshots: the account is the threads' own time.
//!
//! In tier `proc` the kernel's counters decide how long a thread was on a CPU and in the run
//! queue, and the snapshots only what it did with the rest; in tier `perf` the switches decide, and
//! the counters tell how long a thread had been woken before its CPU came.

use super::closed::Closed;
use super::late::Unsure;
use super::members::{Member, Members};
use super::mix::UserShare;
use super::run::{based_on, scaled, step_thread};
use super::tree::Tree;
use crate::account::{
    Activity, Breakdown, Divide, NOBODY, Pieces, Seeing, Slot, Sum, Total, WaitTimes, phases, wait_rows,
    window,
};
use crate::keys::WaitKey;
use crate::names::Names;
use model::recording::{AttachWindow, Tier};
use model::run::Faults;
use model::{Basis, Ns, State};
use rustc_hash::FxHashMap;
use stats::wilson;

/// All that is known of a window at its end.
#[derive(Debug)]
pub(super) struct WindowAtEnd<'a> {
    pub(super) tree: Tree,
    pub(super) attached: AttachWindow,
    pub(super) end: Ns,
    pub(super) names: &'a Names,
    pub(super) tier: Tier,
    /// What is known of user and kernel mode, but for the threads' time on a CPU.
    pub(super) user: UserShare<'a>,
    /// Snapshots that fell into it.
    pub(super) looks: u64,
    pub(super) unsure: Unsure,
}

/// The account of such a window.
pub(super) fn close(ended: WindowAtEnd<'_>) -> Closed {
    let WindowAtEnd { mut tree, attached, end, names, tier, user, looks, unsure } = ended;
    let order = tree.close(end);
    let Tree { threads, ledgers, .. } = tree;
    let members = Members::new(&threads, &order, &ledgers, tier, user);
    let told = members.accounted();
    let totals: Vec<_> = told.iter().flat_map(|member| member.totals.iter().copied()).collect();
    let mut breakdown = Breakdown::new(&totals, &members, names);
    let known = FigureBasis::new(&breakdown, &told, &members, &unsure);
    let parts = breakdown.parts(|state, sum| known.of(state, sum));
    // An activity is a thread's own.
    let entries = told.iter().flat_map(|member| member.thread.ledger.entries(ledgers.slicing));
    let all: Vec<_> = members.all.iter().flat_map(|member| member.totals.iter().copied()).collect();
    let times = WaitTimes {
        path_ns: waits_of(&totals, &members),
        // The counters tell more than the waits' ends.
        total_ns: Some(waits_of(&all, &members)),
    };
    let in_window: Vec<_> = members.all.iter().map(Member::in_window).collect();
    let phases = phases(ledgers.slicing, end, entries, &ledgers.activities, &members, &mut breakdown);
    let pieces = Pieces {
        start: attached.at,
        wall_ns: end - attached.at,
        parts,
        steps: breakdown.steps(|slot| threads.get(slot as usize).map(step_thread).unwrap_or_default()),
        phases,
        covered: None,
        threads: members.all.iter().map(|member| member.row(&members)).collect(),
        waits: wait_rows(ledgers.waits, &times, names, Seeing::Polled),
        window: Some(window(attached.target, &in_window)),
    };
    let counted = |of: fn(&Faults) -> u64| {
        members.all.iter().filter_map(Member::faults).map(|faults| of(&faults)).sum()
    };
    let faults = Faults { minor: counted(|faults| faults.minor), major: counted(|faults| faults.major) };
    let notes = notes(tier, looks, end - attached.at);
    Closed { pieces, faults, cpu: members.counted(), on_path: None, notes }
}

/// Time by kind of wait.
fn waits_of(totals: &[(Activity, Total)], divide: &dyn Divide) -> FxHashMap<(WaitKey, Slot), Ns> {
    let mut sums = FxHashMap::default();
    let portions = totals.iter().flat_map(|(activity, total)| divide.divide(*activity, total));
    for portion in portions.filter(|portion| portion.state.blocked()) {
        *sums.entry(((portion.state, portion.reason), NOBODY)).or_insert(0) += portion.ns;
    }
    sums
}

/// What a figure of the account is based on.
struct FigureBasis<'a> {
    breakdown: &'a Breakdown,
    members: &'a Members<'a>,
    unsure: &'a Unsure,
    /// Snapshots of the threads that the account is about, and in how many of them they waited.
    looks: u64,
    looks_waiting: u64,
    /// The kernel counts time on a CPU; where it does not, snapshots alone say how long it was.
    is_counted: bool,
}

impl<'a> FigureBasis<'a> {
    fn new(
        breakdown: &'a Breakdown,
        told: &[&Member<'a>],
        members: &'a Members<'a>,
        unsure: &'a Unsure,
    ) -> Self {
        Self {
            breakdown,
            members,
            unsure,
            looks: told.iter().map(|member| member.thread.looks).sum(),
            looks_waiting: told.iter().map(|member| member.thread.looks_waiting).sum(),
            is_counted: members.tier == Tier::Perf || told.iter().all(|member| member.counted.is_some()),
        }
    }

    fn of(&self, state: State, sum: &Sum) -> (Basis, (Ns, Ns)) {
        let (ns, tier) = (sum.ns, self.members.tier);
        let all = self.breakdown.ns(|_| true);
        let on_cpu = self.breakdown.ns(State::on_cpu);
        let (least, most) = if self.is_counted { (on_cpu, on_cpu) } else { looked(on_cpu, all, self.looks) };
        let user = self.members.user.pooled();
        match state {
            State::User => (Basis::Sampled, (scaled(user.lo, least), scaled(user.hi, most))),
            State::Kernel => (Basis::Sampled, (scaled(1.0 - user.hi, least), scaled(1.0 - user.lo, most))),
            State::Stopped | State::Unexplained => (Basis::Derived, (ns, ns)),
            State::Runqueue if tier == Tier::Proc && self.is_counted => (Basis::Measured, (ns, ns)),
            // All of it was counted; when it was may be unsure, and so at most on which thread's
            // wait.
            State::Runqueue if tier == Tier::Perf && sum.own_ns == ns => (Basis::Measured, (ns, ns)),
            State::Runqueue if tier == Tier::Perf => (Basis::Derived, (sum.own_ns, ns)),
            _ if tier == Tier::Perf => {
                let (more, less) = self.unsure.more_and_less(state);
                (Basis::Derived, (sum.seen_ns.saturating_sub(less), ns + more))
            }
            state if self.is_counted && state.blocked() => {
                let blocked = self.breakdown.ns(State::blocked);
                (Basis::Sampled, looked(ns, blocked, self.looks_waiting))
            }
            _ => (Basis::Sampled, looked(ns, all, self.looks)),
        }
    }
}

/// Of `whole`, which that many snapshots were about, the part that so much of them was.
fn looked(ns: Ns, whole: Ns, looks: u64) -> (Ns, Ns) {
    let of = wilson((ns as f64 / whole.max(1) as f64 * looks as f64).round() as u64, looks);
    (scaled(of.lo, whole), scaled(of.hi, whole))
}

/// What a window's account is based on, in words.
fn notes(tier: Tier, looks: u64, wall_ns: Ns) -> Vec<String> {
    let basis = match tier {
        Tier::Proc => "CPU and run-queue time is from the kernel's counters; what was waited for is",
        _ => "what was waited for is",
    };
    let mut notes = vec![format!("{basis} {}", based_on(looks, wall_ns))];
    if tier == Tier::Proc {
        notes.push("threads that lived only between two snapshots are missing".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
