//! How long threads were blocked on what, on the path or not.

use crate::reason::Reason;
use model::{Ns, State};
use rustc_hash::FxHashMap;
use stats::Histogram;

/// Distinct waits that are told apart; what comes later is counted with the rest of its state.
const DISTINCT: usize = 4096;

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
}

impl Waits {
    pub(crate) fn record(&mut self, state: State, reason: Reason, ns: Ns) {
        let known = self.rows.len() < DISTINCT || self.rows.contains_key(&(state, reason));
        let row = self.rows.entry((state, if known { reason } else { Reason::None })).or_default();
        row.total_ns += ns;
        row.lengths.record(ns);
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (State, Reason, &Wait)> {
        self.rows.iter().map(|((state, reason), wait)| (*state, *reason, wait))
    }
}
