//! How long threads were blocked on what, on the path or not.

use super::times::Times;
use crate::keys::{ReasonKey, WaitKey, WakerKey};
use model::because::BlockRequest;
use model::{Ns, State};
use rustc_hash::FxHashMap;
use stats::Histogram;

/// Distinct waits that are kept apart; later ones are counted with the rest of their state.
const DISTINCT: usize = 4096;

/// The same with files kept apart, so that a search of a disk leaves room for other waits.
const FILES: usize = DISTINCT / 2;

/// Wakers of one kind of wait that are kept apart.
const WAKERS: usize = 64;

/// Distinct stacks of one kind of wait that are kept apart.
const STACKS: usize = 256;

/// Blocked time by kind and reason.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    rows: FxHashMap<WaitKey, Wait>,
}

/// One kind of wait.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// All of it.
    pub(super) total_ns: Ns,
    /// Its lengths.
    pub(super) lengths: Histogram,
    /// Requests to disks whose end woke the thread.
    pub(super) requests: Requests,
    /// Time by stack, as far as stacks were taken.
    stacks: FxHashMap<u32, Ns>,
    /// How many were ended by which waker, and their time.
    pub(super) by: FxHashMap<WakerKey, Ends>,
    /// Where wakers ended it, by the time of waits that ended there: as far as stacks were taken.
    from: FxHashMap<(WakerKey, u32), Ns>,
}

/// Waits that one waker ended.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) times: u64,
    pub(super) ns: Ns,
    /// What the waker did in the time, as far as it is known.
    pub(super) holder: Times,
}

/// What is known of how a wait ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitEnd {
    pub(crate) waker: WakerKey,
    /// The request to a disk whose end ended it.
    pub(crate) request: Option<BlockRequest>,
    /// What the waker did while it lasted.
    pub(crate) holder: Option<Times>,
}

/// A completed wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) at: Ns,
    pub(crate) wait: WaitKey,
    pub(crate) by: WakerKey,
    /// How long it was.
    pub(crate) ns: Ns,
}

impl WaitEnd {
    /// It is not known what ended it, or it goes on.
    pub(crate) const UNKNOWN: WaitEnd = WaitEnd { waker: WakerKey::Unknown, request: None, holder: None };
}

/// Requests to disks that ended waits.
#[derive(Debug)]
pub(super) struct Requests {
    /// How many.
    pub(super) count: u64,
    /// In a queue, summed; none when that is not known of each.
    pub(super) queue_ns: Option<Ns>,
    /// With the device, summed.
    pub(super) device_ns: Ns,
    /// The disk of the last one.
    pub(super) dev: u32,
}

impl Default for Requests {
    fn default() -> Self {
        Self { count: 0, queue_ns: Some(0), device_ns: 0, dev: 0 }
    }
}

impl Wait {
    /// Where most of the time that this waker ended was ended: a node of the tree of calls.
    pub(super) fn ended_at(&self, waker: &WakerKey) -> Option<u32> {
        let from = self.from.iter().filter(|((of, _), _)| of == waker);
        from.max_by_key(|((_, node), ns)| (**ns, *node)).map(|((_, node), _)| *node)
    }

    /// The stack that most of the time was spent in: a node of the tree of calls.
    pub(super) fn main_stack(&self) -> Option<u32> {
        self.stacks.iter().max_by_key(|(node, ns)| (**ns, **node)).map(|(node, _)| *node)
    }
}

impl Waits {
    /// A wait of this kind ended, or as much of it as is counted.
    pub(crate) fn record(&mut self, (state, reason): WaitKey, ns: Ns, end: WaitEnd) {
        let known = self.rows.contains_key(&(state, reason));
        let reason = if !known && self.rows.len() >= FILES { reason.of_many() } else { reason };
        let known = self.rows.len() < DISTINCT || self.rows.contains_key(&(state, reason));
        let row = self.rows.entry((state, if known { reason } else { ReasonKey::None })).or_default();
        if let Some(request) = end.request {
            row.requests.count += 1;
            row.requests.queue_ns = row.requests.queue_ns.zip(request.queue_ns).map(|(sum, more)| sum + more);
            row.requests.device_ns += request.device_ns;
            row.requests.dev = request.dev;
        }
        let is_apart = row.by.len() < WAKERS || row.by.contains_key(&end.waker);
        let ends = row.by.entry(if is_apart { end.waker } else { WakerKey::Unknown }).or_default();
        ends.times += 1;
        ends.ns += ns;
        ends.holder.add_all(end.holder.unwrap_or_default());
        row.total_ns += ns;
        row.lengths.record(ns);
    }

    /// The row that such a wait is counted in.
    pub(super) fn row_of(&self, (state, reason): WaitKey) -> WaitKey {
        let rows = [reason, reason.of_many()].map(|reason| (state, reason));
        rows.into_iter().find(|row| self.rows.contains_key(row)).unwrap_or((state, ReasonKey::None))
    }

    /// A stack was taken of such a wait.
    pub(crate) fn stack(&mut self, wait: WaitKey, node: u32, ns: Ns) {
        let row = self.row_of(wait);
        let row = self.rows.get_mut(&row);
        if let Some(row) = row.filter(|row| row.stacks.len() < STACKS || row.stacks.contains_key(&node)) {
            *row.stacks.entry(node).or_default() += ns;
        }
    }

    /// A stack was taken of the waker of such a wait: of locks, and threads of the tree.
    pub(crate) fn ended_from(&mut self, ended: &Ended, node: u32) {
        if ended.wait.0 != State::Lock || !matches!(ended.by, WakerKey::Thread(_)) || ended.ns == 0 {
            return;
        }
        let row = self.row_of(ended.wait);
        let Some(row) = self.rows.get_mut(&row) else { return };
        let by = if row.by.contains_key(&ended.by) { ended.by } else { WakerKey::Unknown };
        if row.from.len() < STACKS || row.from.contains_key(&(by, node)) {
            *row.from.entry((by, node)).or_default() += ended.ns;
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (WaitKey, &Wait)> {
        self.rows.iter().map(|(key, wait)| (*key, wait))
    }
}
