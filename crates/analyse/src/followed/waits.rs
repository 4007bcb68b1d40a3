//! How long threads were blocked on what, on the path or not.

use crate::reason::Reason;
use model::{Ns, State};
use rustc_hash::FxHashMap;
use stats::Histogram;

/// Distinct waits that are told apart; what comes later is counted with the rest of its state.
const DISTINCT: usize = 4096;

/// Distinct stacks of one kind of wait that are told apart.
const STACKS: usize = 256;

/// Blocked time by kind and reason.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    rows: FxHashMap<(State, Reason), Wait>,
}

/// One kind of wait.
#[derive(Debug, Default)]
pub(crate) struct Wait {
    /// All of it.
    pub(crate) total_ns: Ns,
    /// Its lengths.
    pub(crate) lengths: Histogram,
    /// Time by stack, as far as stacks were taken.
    stacks: FxHashMap<u32, Ns>,
}

impl Wait {
    /// The stack that most of the time was spent in: a node of the tree of calls.
    pub(crate) fn main_stack(&self) -> Option<u32> {
        self.stacks.iter().max_by_key(|(node, ns)| (**ns, **node)).map(|(node, _)| *node)
    }
}

impl Waits {
    pub(crate) fn record(&mut self, state: State, reason: Reason, ns: Ns) {
        let known = self.rows.len() < DISTINCT || self.rows.contains_key(&(state, reason));
        let row = self.rows.entry((state, if known { reason } else { Reason::None })).or_default();
        row.total_ns += ns;
        row.lengths.record(ns);
    }

    /// A stack was taken of such a wait.
    pub(crate) fn stack(&mut self, (state, reason): (State, Reason), node: u32, ns: Ns) {
        let row = self.rows.get_mut(&(state, reason));
        if let Some(row) = row.filter(|row| row.stacks.len() < STACKS || row.stacks.contains_key(&node)) {
            *row.stacks.entry(node).or_default() += ns;
        }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (State, Reason, &Wait)> {
        self.rows.iter().map(|((state, reason), wait)| (*state, *reason, wait))
    }
}
