//! The time of stacks, so that it sums to what the threads' ledgers say.
//!
//! Stacks of waits have their lengths, but not each wait has a stack; stacks on a CPU are samples.
//! So for each thread and kind of time the sampled stacks share what the ledger has, in proportion,
//! and what is left of waits, or has no stack at all, is a row without a stack.

use model::profile::{Activity, Profile};
use model::run::ThreadLedger;
use model::{Ns, Pid, Run, State, Tid};
use std::collections::BTreeMap;

/// A part of a thread's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Whose it is: a position in [`Run::threads`].
    pub(super) ledger: usize,
    /// The thread of the stack: a position in [`Profile::threads`]. None without a stack.
    pub(super) thread: Option<u32>,
    /// The innermost function: a position in [`Profile::nodes`]; none without a stack.
    pub(super) node: Option<u32>,
    /// What it did: of stacks in the kernel `kernel`, page faults included.
    pub(super) state: State,
    /// How the stack is told from others of that state.
    pub(super) doing: Option<Activity>,
    /// Its time.
    pub(super) ns: Ns,
}

/// The parts of all threads. They sum to the lives of the threads, state by state.
pub(super) fn parts(run: &Run, profile: &Profile) -> Vec<Part> {
    let ledgers = Ledgers::new(&run.threads);
    let of_thread: Vec<Option<usize>> =
        profile.threads.iter().map(|owner| ledgers.of(owner.pid, owner.tid, &owner.name)).collect();
    // By ledger and state, what its stacks have.
    let mut stacks = BTreeMap::<(usize, State), BTreeMap<(u32, u32), (Activity, Ns)>>::new();
    for weight in &profile.weights {
        let Some(ledger) = of_thread.get(weight.thread as usize).copied().flatten() else { continue };
        let of_state = stacks.entry((ledger, weight.doing.state())).or_default();
        let (_, ns) = of_state.entry((weight.thread, weight.node)).or_insert((weight.doing, 0));
        *ns = ns.saturating_add(weight.ns);
    }
    let mut parts = Vec::new();
    for (ledger, thread) in run.threads.iter().enumerate() {
        for (state, whole_ns) in states(thread) {
            let found = stacks.remove(&(ledger, state)).unwrap_or_default();
            let stacks_ns: u128 = found.values().map(|(_, ns)| u128::from(*ns)).sum();
            // Stacks of waits have their own time, unless that is more than there was.
            let is_own = state.blocked() && stacks_ns <= u128::from(whole_ns);
            let among = if is_own { stacks_ns } else { u128::from(whole_ns) };
            let mut left_ns = whole_ns;
            let (mut before, mut given) = (0_u128, 0_u128);
            for ((of, node), (doing, ns)) in found.into_iter().filter(|_| stacks_ns > 0) {
                before += u128::from(ns);
                // Less precise where the sum is of more than 64 bits, which only a forged one is.
                let bits = if stacks_ns > u128::from(Ns::MAX) { 32 } else { 0 };
                let until = (before >> bits) * among / (stacks_ns >> bits);
                // No more than `whole_ns`, which is of 64 bits.
                let ns = (until - given) as Ns;
                (given, left_ns) = (until, left_ns - ns);
                let part = Part { ledger, thread: Some(of), node: Some(node), state, doing: Some(doing), ns };
                parts.push(part);
            }
            parts.push(Part { ledger, thread: None, node: None, state, doing: None, ns: left_ns });
        }
    }
    parts.retain(|part| part.ns > 0);
    parts
}

/// The states of a thread, with faults as kernel time.
fn states(thread: &ThreadLedger) -> Vec<(State, Ns)> {
    let of = |wanted: State| thread.states.iter().filter(move |(state, _)| *state == wanted);
    let faults = of(State::Fault).fold(0, |sum: Ns, (_, ns)| sum.saturating_add(*ns));
    let others = State::ALL.into_iter().filter(|state| *state != State::Fault);
    let sum = |state: State| -> (State, Ns) {
        let own = of(state).fold(0, |sum: Ns, (_, ns)| sum.saturating_add(*ns));
        (state, own.saturating_add(if state == State::Kernel { faults } else { 0 }))
    };
    others.map(sum).filter(|(_, ns)| *ns > 0).collect()
}

/// Which ledger a thread's time is in: its own, or one of several threads.
struct Ledgers<'a> {
    own: BTreeMap<(Pid, Tid), usize>,
    together: Vec<(usize, &'a ThreadLedger)>,
}

impl<'a> Ledgers<'a> {
    fn new(threads: &'a [ThreadLedger]) -> Self {
        let (together, own): (Vec<_>, Vec<_>) =
            threads.iter().enumerate().partition(|(_, thread)| thread.together.is_some());
        Self { own: own.into_iter().map(|(at, thread)| ((thread.pid, thread.tid), at)).collect(), together }
    }

    fn of(&self, pid: Pid, tid: Tid, name: &str) -> Option<usize> {
        let may_be = |thread: &ThreadLedger| {
            (thread.pid == pid || thread.pid == 0) && (thread.name == name || thread.name.is_empty())
        };
        let own = self.own.get(&(pid, tid)).copied();
        own.or_else(|| self.together.iter().find(|(_, thread)| may_be(thread)).map(|(at, _)| *at))
    }
}
