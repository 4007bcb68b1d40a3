//! What is taken like a lock in a window, and is how the threads of a pool get their work.
//!
//! A semaphore does for both, and so does a lock of a script. A lock is given back by those that
//! take it too: they wait for it themselves, or those that are woken find it taken again and wait
//! on. A notice is given by threads that never wait for it, and who gets it goes to work. And where
//! one thread of a pool waits for work with a lock, the others wait for that lock: for work too.

use super::activity::{NOBODY, Slot};
use super::waits::{Wait, Waits};
use crate::keys::{ReasonKey, TargetKey, WaitKey, WakerKey, Who};
use model::{Ns, State, Tid};
use rustc_hash::{FxHashMap, FxHashSet};

/// One part in this many may be otherwise.
const PART: u64 = 10;

/// Who waits on futexes of a window, and who ends that.
#[derive(Debug, Default)]
pub(super) struct Pools {
    futexes: FxHashMap<u64, Futex>,
}

/// Waits on one futex that threads ended.
#[derive(Debug, Default)]
struct Futex {
    waiters: FxHashSet<Tid>,
    /// By who ended them; 0 for threads that are not of the tree.
    given: FxHashMap<Tid, Ns>,
    times: u64,
    /// How many began at once after another.
    again: u64,
}

/// The futex of waits that count as for a lock.
pub(super) fn futex_of_lock((state, reason): WaitKey) -> Option<u64> {
    match reason {
        ReasonKey::Wait(_, TargetKey::Futex(address)) if address != 0 && state == State::Lock => {
            Some(address)
        }
        _ => None,
    }
}

impl Pools {
    /// `who`: which thread has this place.
    pub(super) fn new(waits: &Waits, who: &dyn Fn(Slot) -> Who) -> Self {
        let mut all = Self::default();
        for (kind, threads) in waits.kinds() {
            let Some(address) = futex_of_lock(kind) else { continue };
            let futex = all.futexes.entry(address).or_default();
            for (thread, wait) in threads.iter().filter(|(thread, _)| **thread != NOBODY) {
                futex.add(who(*thread).tid, wait);
            }
        }
        all
    }

    /// Whether waits on this futex are for a notice.
    pub(super) fn is_notice(&self, address: u64) -> bool {
        self.futexes.get(&address).is_some_and(Futex::is_notice)
    }
}

impl Futex {
    fn add(&mut self, thread: Tid, wait: &Wait) {
        self.waiters.insert(thread);
        self.again += wait.again;
        for (waker, ends) in &wait.by {
            let Some(tid) = (match waker {
                WakerKey::Thread(who) => Some(who.tid),
                WakerKey::Outside(_) => Some(0),
                _ => None,
            }) else {
                continue;
            };
            *self.given.entry(tid).or_default() += ends.ns;
            self.times += ends.times;
        }
    }

    fn is_notice(&self) -> bool {
        let all: Ns = self.given.values().sum();
        let of_others = self.given.iter().filter(|(tid, _)| **tid != 0 && !self.waiters.contains(tid));
        let of_others: Ns = of_others.map(|(_, ns)| ns).sum();
        all > 0 && (all - of_others) * PART <= all && self.again * PART <= self.times
    }
}

/// How long threads waited for work, and for locks, as far as these waits are on futexes.
#[derive(Debug, Default)]
pub(super) struct Workers(FxHashMap<Tid, FxHashMap<u64, (Ns, Ns)>>);

impl Workers {
    /// `turned_out`: what such waits of a thread were.
    pub(super) fn new(
        waits: &Waits,
        who: &dyn Fn(Slot) -> Who,
        turned_out: impl Fn(WaitKey, Slot) -> WaitKey,
    ) -> Self {
        let mut all = Self::default();
        for (kind, threads) in waits.kinds() {
            let Some(address) = futex_of_lock(kind) else { continue };
            for (thread, wait) in threads.iter().filter(|(thread, _)| **thread != NOBODY) {
                let sums = all.0.entry(who(*thread).tid).or_default().entry(address).or_default();
                match turned_out(kind, *thread).0 {
                    State::Idle => sums.0 += wait.total_ns,
                    _ => sums.1 += wait.total_ns,
                }
            }
        }
        all
    }

    /// Whether a thread waits for work where it waits on futexes other than this one.
    fn waits_for_work(&self, thread: Tid, besides: u64) -> bool {
        let futexes = self.0.get(&thread).into_iter().flatten();
        let others = futexes.filter(|(address, _)| **address != besides);
        let (idle, locks) = others.fold((0, 0), |sum, (_, ns)| (sum.0 + ns.0, sum.1 + ns.1));
        idle > 0 && locks * PART <= idle
    }

    /// Whether those that had this lock while it was waited for were waiting for work with it.
    pub(super) fn hold_without_work(&self, address: u64, wait: &Wait) -> bool {
        let (mut known, mut without_work) = (0, 0);
        for (waker, ends) in &wait.by {
            let WakerKey::Thread(who) = waker else { continue };
            known += ends.holder.sum(|_| true);
            if self.waits_for_work(who.tid, address) {
                without_work += ends.holder.of(State::Lock) + ends.holder.of(State::Idle);
            }
        }
        known * 2 >= wait.total_ns && known > 0 && (known - without_work) * PART <= known
    }
}
