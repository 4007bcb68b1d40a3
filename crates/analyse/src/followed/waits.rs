//! How long threads were blocked on what, on the path or not.

use crate::reason::Reason;
use model::because::Request;
use model::{Ns, State};
use rustc_hash::FxHashMap;
use stats::Histogram;

/// Distinct waits that are told apart; what comes later is counted with the rest of its state.
const DISTINCT: usize = 4096;

/// The same with files told apart, so that a search of a disk leaves room for other waits.
const FILES: usize = DISTINCT / 2;

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
    /// Requests to disks whose end woke the thread.
    pub(crate) requests: Requests,
    /// Time by stack, as far as stacks were taken.
    stacks: FxHashMap<u32, Ns>,
}

/// Requests to disks that ended waits.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// How many.
    pub(crate) count: u64,
    /// In a queue, summed.
    pub(crate) queue_ns: Ns,
    /// With the device, summed.
    pub(crate) device_ns: Ns,
    /// The disk of the last one.
    pub(crate) dev: u32,
}

impl Wait {
    /// The stack that most of the time was spent in: a node of the tree of calls.
    pub(crate) fn main_stack(&self) -> Option<u32> {
        self.stacks.iter().max_by_key(|(node, ns)| (**ns, **node)).map(|(node, _)| *node)
    }
}

impl Waits {
    pub(crate) fn record(&mut self, state: State, reason: Reason, ns: Ns, request: Option<Request>) {
        let known = self.rows.contains_key(&(state, reason));
        let reason = if !known && self.rows.len() >= FILES { reason.of_many() } else { reason };
        let known = self.rows.len() < DISTINCT || self.rows.contains_key(&(state, reason));
        let row = self.rows.entry((state, if known { reason } else { Reason::None })).or_default();
        if let Some(request) = request {
            row.requests.count += 1;
            row.requests.queue_ns += request.queue_ns;
            row.requests.device_ns += request.device_ns;
            row.requests.dev = request.dev;
        }
        row.total_ns += ns;
        row.lengths.record(ns);
    }

    /// The row that such a wait is counted in.
    pub(crate) fn row_of(&self, state: State, reason: Reason) -> (State, Reason) {
        let rows = [reason, reason.of_many()].map(|reason| (state, reason));
        rows.into_iter().find(|row| self.rows.contains_key(row)).unwrap_or((state, Reason::None))
    }

    /// A stack was taken of such a wait.
    pub(crate) fn stack(&mut self, (state, reason): (State, Reason), node: u32, ns: Ns) {
        let row = self.row_of(state, reason);
        let row = self.rows.get_mut(&row);
        if let Some(row) = row.filter(|row| row.stacks.len() < STACKS || row.stacks.contains_key(&node)) {
            *row.stacks.entry(node).or_default() += ns;
        }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (State, Reason, &Wait)> {
        self.rows.iter().map(|((state, reason), wait)| (*state, *reason, wait))
    }
}
