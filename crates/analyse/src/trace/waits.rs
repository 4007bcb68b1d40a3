//! How long threads were blocked on what, on the path or not.

use super::meanwhile::Times;
use crate::code::Code;
use crate::keys::{ReasonKey, WaitKey, WakerKey};
use model::because::Request;
use model::run::WakerRow;
use model::{Ns, Seen, State};
use rustc_hash::FxHashMap;
use stats::Histogram;
use std::cmp::Reverse;

/// Distinct waits that are told apart; what comes later is counted with the rest of its state.
const DISTINCT: usize = 4096;

/// The same with files told apart, so that a search of a disk leaves room for other waits.
const FILES: usize = DISTINCT / 2;

/// Wakers of one kind of wait that are told apart.
const WAKERS: usize = 64;

/// Distinct stacks of one kind of wait that are told apart.
const STACKS: usize = 256;

/// Blocked time by kind and reason.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    rows: FxHashMap<WaitKey, Wait>,
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
    /// How many were ended by whom, and their time.
    by: FxHashMap<WakerKey, Sum>,
    /// Where those who ended it did that, by the time of waits that ended there: as far as stacks were taken.
    from: FxHashMap<(WakerKey, u32), Ns>,
}

/// Waits that were ended by one.
#[derive(Debug, Default)]
struct Sum {
    times: u64,
    ns: Ns,
    /// What that one did in the time, as far as it is known.
    meanwhile: Times,
}

/// What is known of one wait.
#[derive(Debug, Default)]
pub(crate) struct About {
    /// The request to a disk whose end ended it.
    pub(crate) request: Option<Request>,
    /// What whoever ended it did while it lasted.
    pub(crate) meanwhile: Option<Times>,
}

/// A wait that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) at: Ns,
    pub(crate) wait: WaitKey,
    pub(crate) by: WakerKey,
    /// How long it was.
    pub(crate) ns: Ns,
}

/// Requests to disks that ended waits.
#[derive(Debug)]
pub(crate) struct Requests {
    /// How many.
    pub(crate) count: u64,
    /// In a queue, summed; none when that is not known of each.
    pub(crate) queue_ns: Option<Ns>,
    /// With the device, summed.
    pub(crate) device_ns: Ns,
    /// The disk of the last one.
    pub(crate) dev: u32,
}

impl Default for Requests {
    fn default() -> Self {
        Self { count: 0, queue_ns: Some(0), device_ns: 0, dev: 0 }
    }
}

impl Wait {
    /// What woke the threads, most time first; `locks` are released somewhere.
    pub(crate) fn wakers(&self, locks: bool, code: &Code) -> Vec<WakerRow> {
        let mut by: Vec<_> = self.by.iter().collect();
        by.sort_by_key(|(by, sum)| (Reverse(sum.ns), **by));
        let row = |(by, sum): (&WakerKey, &Sum)| {
            let from = self.from.iter().filter(|((of, _), _)| of == by);
            let most = from.max_by_key(|((_, node), ns)| (**ns, *node)).map(|((_, node), _)| *node);
            let (place, stack) = match most {
                Some(node) => (code.own_frame(node), Seen::Value(code.stack(node))),
                None if locks && matches!(by, WakerKey::Thread(_)) => {
                    let why = "no stack was taken of whoever ended so short a wait, or in another way than by a futex";
                    (Seen::unseen(why), Seen::unseen(why))
                }
                None => (Seen::Absent, Seen::Absent),
            };
            let meanwhile = State::ALL.into_iter().zip(sum.meanwhile).filter(|(_, ns)| *ns > 0).collect();
            let (kind, name) = (by.kind(), by.name());
            WakerRow { kind, name, times: sum.times, ns: sum.ns, place, stack, meanwhile }
        };
        by.into_iter().map(row).collect()
    }

    /// The stack that most of the time was spent in: a node of the tree of calls.
    pub(crate) fn main_stack(&self) -> Option<u32> {
        self.stacks.iter().max_by_key(|(node, ns)| (**ns, **node)).map(|(node, _)| *node)
    }
}

impl Waits {
    pub(crate) fn record(&mut self, state: State, reason: ReasonKey, ns: Ns, by: WakerKey, about: About) {
        let known = self.rows.contains_key(&(state, reason));
        let reason = if !known && self.rows.len() >= FILES { reason.of_many() } else { reason };
        let known = self.rows.len() < DISTINCT || self.rows.contains_key(&(state, reason));
        let row = self.rows.entry((state, if known { reason } else { ReasonKey::None })).or_default();
        if let Some(request) = about.request {
            row.requests.count += 1;
            row.requests.queue_ns = row.requests.queue_ns.zip(request.queue_ns).map(|(sum, more)| sum + more);
            row.requests.device_ns += request.device_ns;
            row.requests.dev = request.dev;
        }
        let by = if row.by.len() < WAKERS || row.by.contains_key(&by) { by } else { WakerKey::Unknown };
        let ended = row.by.entry(by).or_default();
        ended.times += 1;
        ended.ns += ns;
        for (sum, more) in ended.meanwhile.iter_mut().zip(about.meanwhile.unwrap_or_default()) {
            *sum += more;
        }
        row.total_ns += ns;
        row.lengths.record(ns);
    }

    /// The row that such a wait is counted in.
    pub(crate) fn row_of(&self, state: State, reason: ReasonKey) -> WaitKey {
        let rows = [reason, reason.of_many()].map(|reason| (state, reason));
        rows.into_iter().find(|row| self.rows.contains_key(row)).unwrap_or((state, ReasonKey::None))
    }

    /// A stack was taken of such a wait.
    pub(crate) fn stack(&mut self, (state, reason): WaitKey, node: u32, ns: Ns) {
        let row = self.row_of(state, reason);
        let row = self.rows.get_mut(&row);
        if let Some(row) = row.filter(|row| row.stacks.len() < STACKS || row.stacks.contains_key(&node)) {
            *row.stacks.entry(node).or_default() += ns;
        }
    }

    /// A stack was taken of whoever ended such a wait: of locks, and threads of the tree.
    pub(crate) fn ended_from(&mut self, ended: &Ended, node: u32) {
        if ended.wait.0 != State::Lock || !matches!(ended.by, WakerKey::Thread(_)) || ended.ns == 0 {
            return;
        }
        let row = self.row_of(ended.wait.0, ended.wait.1);
        let Some(row) = self.rows.get_mut(&row) else { return };
        let by = if row.by.contains_key(&ended.by) { ended.by } else { WakerKey::Unknown };
        if row.from.len() < STACKS || row.from.contains_key(&(by, node)) {
            *row.from.entry((by, node)).or_default() += ended.ns;
        }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (State, ReasonKey, &Wait)> {
        self.rows.iter().map(|((state, reason), wait)| (*state, *reason, wait))
    }
}
