//! How long threads were blocked on what, on the path or not.

use super::activity::{NOBODY, Slot};
use super::times::Times;
use crate::keys::{ReasonKey, StackOf, WaitKey, WakerKey};
use model::wake_reason::BlockRequest;
use model::{Ns, State, Tid};
use rustc_hash::FxHashMap;
use stats::Histogram;
use std::collections::BTreeMap;

/// Distinct waits that are kept apart; later ones are counted with the rest of their state.
const DISTINCT: usize = 4096;

/// The same with files kept apart, so that a search of a disk leaves room for other waits.
const FILES: usize = DISTINCT / 2;

/// Threads of one kind of wait that are kept apart, and of all kinds. Later ones are together.
const THREADS: usize = 32;
const ALL_THREADS: usize = 4 * DISTINCT;

/// Wakers of one kind of wait and thread that are kept apart by thread, and by name.
const WAKERS: usize = 32;
const WAKER_NAMES: usize = 2 * WAKERS;

/// Wakers of one name that a row tells apart.
const NAMESAKES: usize = 8;

/// Distinct stacks of one kind of wait and thread that are kept apart.
const STACKS: usize = 64;

/// Blocked time by kind and reason, and by thread: one thread's waits may be called from
/// elsewhere than another's.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    kinds: FxHashMap<WaitKey, Threads>,
    /// Threads that are kept apart, over all kinds.
    apart: usize,
}

/// One kind of wait by thread. Those that are not kept apart are [`NOBODY`].
pub(super) type Threads = BTreeMap<Slot, Wait>;

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
    pub(super) stacks: FxHashMap<u32, Ns>,
    /// How many were ended by which waker, and their time.
    pub(super) by: FxHashMap<WakerKey, Ends>,
    /// For waits that a time limit ended: who had meanwhile what they waited for.
    held: FxHashMap<WakerKey, Ends>,
    /// For waits that a time limit ended: what they turned out to be for, by time.
    turned_out: Vec<(WaitKey, Ns)>,
    /// How many began at once after another: what it was for was not there.
    pub(super) again: u64,
    /// Where wakers ended it, by the time of waits that ended there: as far as stacks were taken.
    from: FxHashMap<(WakerKey, u32), Ns>,
}

/// Waits that one waker ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ends {
    pub(crate) times: u64,
    pub(crate) ns: Ns,
    /// What the waker did in the time, as far as it is known.
    pub(crate) holder: Times,
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
pub(crate) struct CompletedWait {
    pub(crate) at: Ns,
    /// The ledger that it counts in.
    pub(crate) thread: Slot,
    pub(crate) wait: WaitKey,
    pub(crate) by: WakerKey,
    /// How long it was.
    pub(crate) ns: Ns,
    /// The thread of the tree that handed over to this one by ending it.
    pub(crate) handed_by: Option<Tid>,
}

impl From<CompletedWait> for StackOf {
    fn from(ended: CompletedWait) -> Self {
        Self { state: ended.wait.0, by: ended.handed_by }
    }
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

impl Requests {
    fn add(&mut self, more: &Requests) {
        if more.count == 0 {
            return;
        }
        self.count += more.count;
        self.queue_ns = self.queue_ns.zip(more.queue_ns).map(|(sum, more)| sum.saturating_add(more));
        self.device_ns = self.device_ns.saturating_add(more.device_ns);
        self.dev = more.dev;
    }
}

impl Ends {
    fn add(&mut self, more: Ends) {
        self.times += more.times;
        self.ns += more.ns;
        self.holder.add_all(more.holder);
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

    /// What at least half of its time turned out to be for.
    pub(super) fn is_rather(&self) -> Option<WaitKey> {
        let all: Ns = self.turned_out.iter().map(|(_, ns)| ns).sum();
        let (is, _) = self.turned_out.iter().max_by_key(|(_, ns)| *ns)?;
        (all >= self.total_ns.saturating_sub(all)).then_some(*is)
    }

    fn turns_out(&mut self, is: WaitKey, ns: Ns) {
        if let Some((_, sum)) = self.turned_out.iter_mut().find(|(known, _)| *known == is) {
            *sum += ns;
        } else if self.turned_out.len() < WAKERS {
            self.turned_out.push((is, ns));
        }
    }

    /// Whether at least half of the time that limits ended was for what a thread then gave away.
    pub(super) fn was_given(&self) -> bool {
        let held: Ns = self.held.values().map(|ends| ends.ns).sum();
        held > 0 && held >= self.total_ns.saturating_sub(held)
    }

    /// Who it is counted with: a thread, all of that name, or nobody that is known.
    fn counted_with(&self, waker: WakerKey) -> WakerKey {
        let has_room = |most: usize, waker: &WakerKey| self.by.len() < most || self.by.contains_key(waker);
        [(WAKERS, waker), (WAKER_NAMES, waker.of_many())]
            .into_iter()
            .find(|(most, waker)| has_room(*most, waker))
            .map_or(WakerKey::Unknown, |(_, waker)| waker)
    }

    fn end(&mut self, ns: Ns, end: WaitEnd) {
        if let Some(request) = end.request {
            let BlockRequest { dev, queue_ns, device_ns, .. } = request;
            self.requests.add(&Requests { count: 1, queue_ns, device_ns, dev });
        }
        let waker = self.counted_with(end.waker);
        let holder = end.holder.unwrap_or_default();
        self.by.entry(waker).or_default().add(Ends { times: 1, ns, holder });
        self.total_ns += ns;
        self.lengths.record(ns);
    }

    /// Adds another thread's, or another kind's that turned out to be of this one.
    pub(super) fn add(&mut self, more: Wait) {
        self.total_ns += more.total_ns;
        self.lengths.add_all(&more.lengths);
        self.again += more.again;
        self.requests.add(&more.requests);
        more.stacks.into_iter().for_each(|(node, ns)| *self.stacks.entry(node).or_default() += ns);
        let at_first = self.by.is_empty();
        for (waker, ends) in more.by {
            let waker = if at_first { waker } else { self.counted_with(waker) };
            self.by.entry(waker).or_default().add(ends);
        }
        more.held.into_iter().for_each(|(waker, ends)| self.held.entry(waker).or_default().add(ends));
        more.turned_out.into_iter().for_each(|(wait, ns)| self.turns_out(wait, ns));
        more.from.into_iter().for_each(|(place, ns)| *self.from.entry(place).or_default() += ns);
    }

    /// Counts threads of one name together where there are many: a build has hundreds.
    pub(super) fn fold_namesakes(&mut self) {
        let mut namesakes: FxHashMap<WakerKey, usize> = FxHashMap::default();
        self.by.keys().for_each(|waker| *namesakes.entry(waker.of_many()).or_default() += 1);
        let is_one_of_many =
            |waker: WakerKey| namesakes.get(&waker.of_many()).is_some_and(|many| *many > NAMESAKES);
        let folded = |waker: WakerKey| if is_one_of_many(waker) { waker.of_many() } else { waker };
        for (waker, ends) in std::mem::take(&mut self.by) {
            self.by.entry(folded(waker)).or_default().add(ends);
        }
        for ((waker, node), ns) in std::mem::take(&mut self.from) {
            *self.from.entry((folded(waker), node)).or_default() += ns;
        }
    }

    /// It is for a lock: what its time limit ended was held up by who had the lock.
    pub(super) fn is_for_a_lock(&mut self) {
        for (holder, ends) in std::mem::take(&mut self.held) {
            let Some(limit) = self.by.get_mut(&WakerKey::Timer) else { return };
            limit.times = limit.times.saturating_sub(ends.times);
            limit.ns = limit.ns.saturating_sub(ends.ns);
            if limit.times == 0 {
                self.by.remove(&WakerKey::Timer);
            }
            let holder = self.counted_with(holder);
            self.by.entry(holder).or_default().add(ends);
        }
    }
}

impl Waits {
    /// A wait of this kind ended, or as much of it as is counted.
    pub(crate) fn record(&mut self, wait: WaitKey, thread: Slot, ns: Ns, end: WaitEnd) {
        let (state, reason) = wait;
        let known = self.kinds.contains_key(&wait);
        let reason = if !known && self.kinds.len() >= FILES { reason.of_many() } else { reason };
        let known = self.kinds.len() < DISTINCT || self.kinds.contains_key(&(state, reason));
        let threads = self.kinds.entry((state, if known { reason } else { ReasonKey::None })).or_default();
        let has_room = threads.len() < THREADS && self.apart < ALL_THREADS;
        let thread = if has_room || threads.contains_key(&thread) { thread } else { NOBODY };
        let row = threads.entry(thread).or_insert_with(|| {
            self.apart += 1;
            Wait::default()
        });
        row.end(ns, end);
    }

    /// The kind that such a wait is counted in.
    pub(super) fn kind_of(&self, (state, reason): WaitKey) -> WaitKey {
        let kinds = [reason, reason.of_many()].map(|reason| (state, reason));
        kinds.into_iter().find(|kind| self.kinds.contains_key(kind)).unwrap_or((state, ReasonKey::None))
    }

    fn row(&mut self, wait: WaitKey, thread: Slot) -> Option<&mut Wait> {
        let threads = self.kinds.get_mut(&self.kind_of(wait))?;
        let thread = if threads.contains_key(&thread) { thread } else { NOBODY };
        threads.get_mut(&thread)
    }

    /// A stack was taken of such a wait.
    pub(crate) fn stack(&mut self, wait: WaitKey, thread: Slot, node: u32, ns: Ns) {
        let row = self.row(wait, thread);
        if let Some(row) = row.filter(|row| row.stacks.len() < STACKS || row.stacks.contains_key(&node)) {
            let sum = row.stacks.entry(node).or_default();
            *sum = sum.saturating_add(ns);
        }
    }

    /// A stack was taken of the waker of such a wait: of locks, and threads of the tree.
    pub(crate) fn ended_from(&mut self, ended: &CompletedWait, node: u32) {
        if ended.wait.0 != State::Lock || !matches!(ended.by, WakerKey::Thread(_)) || ended.ns == 0 {
            return;
        }
        let Some(row) = self.row(ended.wait, ended.thread) else { return };
        let by = row.counted_with(ended.by);
        if row.from.len() < STACKS || row.from.contains_key(&(by, node)) {
            *row.from.entry((by, node)).or_default() += ended.ns;
        }
    }

    /// Such waits, which a time limit ended, were for what this thread had.
    pub(crate) fn held(&mut self, wait: WaitKey, thread: Slot, holder: WakerKey, ends: Ends) {
        if let Some(row) = self.row(wait, thread)
            && (row.held.len() < WAKERS || row.held.contains_key(&holder))
        {
            row.held.entry(holder).or_default().add(ends);
        }
    }

    /// Such a wait began at once after another.
    pub(crate) fn again(&mut self, wait: WaitKey, thread: Slot) {
        if let Some(row) = self.row(wait, thread) {
            row.again += 1;
        }
    }

    /// Such waits, which a time limit ended, turned out to be of this kind.
    pub(crate) fn turned_out(&mut self, wait: WaitKey, thread: Slot, is: WaitKey, ns: Ns) {
        if let Some(row) = self.row(wait, thread) {
            row.turns_out(is, ns);
        }
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = (WaitKey, &Threads)> {
        self.kinds.iter().map(|(kind, threads)| (*kind, threads))
    }

    pub(super) fn into_kinds(self) -> impl Iterator<Item = (WaitKey, Threads)> {
        self.kinds.into_iter()
    }

    /// What was counted as one kind and turned out to be of another.
    pub(super) fn moved(self, to: impl Fn(WaitKey, Slot) -> WaitKey) -> Self {
        let mut moved = Self { kinds: FxHashMap::default(), apart: self.apart };
        for (from, threads) in self.kinds {
            for (thread, mut wait) in threads {
                let to = to(from, thread);
                if to != from {
                    wait.is_for_a_lock();
                }
                moved.kinds.entry(to).or_default().entry(thread).or_default().add(wait);
            }
        }
        moved
    }
}
