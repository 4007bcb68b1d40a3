//! The threads and processes of the tree, as far as they have been seen.

use super::thread::{NewThread, PolledState, PolledWait, Thread};
use crate::account::{Interval, Ledgers, NOBODY, Slicing, Slot, WaitEnd, Waits};
use crate::calls::{Arch, waits_for_work};
use crate::classify::{Classified, Next};
use model::{Ns, Pid, Tid};
use rustc_hash::{FxHashMap, FxHashSet};

/// Waits that are kept apart by name, address or pipe.
const WAITS: usize = 4096;

/// A living process.
#[derive(Debug, Default)]
pub(super) struct Process {
    parent: Pid,
    pub(super) threads: Vec<Tid>,
    pub(super) children: Vec<Pid>,
    /// Pipes it holds: each with whether it writes to it.
    pub(super) pipes: Vec<(u64, bool)>,
}

/// All of them, with the ledgers of what they did.
#[derive(Debug)]
pub(super) struct Tree {
    arch: Arch,
    /// The threads, with those that ended.
    pub(super) threads: Vec<Thread>,
    living: FxHashMap<Tid, Slot>,
    pub(super) processes: FxHashMap<Pid, Process>,
    /// Waits that are kept apart.
    known: FxHashSet<Classified>,
    pub(super) ledgers: Ledgers,
}

impl Tree {
    pub(super) fn new(arch: Arch, start: Ns) -> Self {
        Self {
            arch,
            threads: Vec::new(),
            living: FxHashMap::default(),
            processes: FxHashMap::default(),
            known: FxHashSet::from_iter([Classified::UNSEEN]),
            ledgers: Ledgers::new(Slicing::coarse(start)),
        }
    }

    /// The wait, or the group of waits that are not kept apart.
    pub(super) fn bounded(&mut self, wait: Classified) -> Classified {
        let is_full = self.known.len() >= WAITS && !self.known.contains(&wait);
        let wait = if is_full { wait.of_many() } else { wait };
        self.known.insert(wait);
        wait
    }

    /// The wall begins: what was before is no part of it.
    pub(super) fn begin(&mut self, start: Ns) {
        self.threads.clear();
        self.living.clear();
        self.processes.clear();
        self.ledgers.waits = Waits::default();
        self.ledgers.slicing = Slicing::coarse(start);
    }

    pub(super) fn get(&self, tid: Tid) -> Option<&Thread> {
        self.living.get(&tid).map(|slot| &self.threads[*slot as usize])
    }

    pub(super) fn get_mut(&mut self, tid: Tid) -> Option<&mut Thread> {
        self.living.get(&tid).map(|slot| &mut self.threads[*slot as usize])
    }

    /// The threads that live.
    pub(super) fn tids(&self) -> Vec<Tid> {
        self.living.keys().copied().collect()
    }

    /// Puts a thread into the tree, unless it is there.
    pub(super) fn add(&mut self, at: Ns, who: NewThread, doing: PolledState) {
        let NewThread { tid, pid, parent, .. } = who;
        if self.living.contains_key(&tid) {
            return;
        }
        let slot = self.threads.len() as Slot;
        self.threads.push(Thread::new(slot, at, who, doing));
        self.living.insert(tid, slot);
        let new = !self.processes.contains_key(&pid);
        self.processes.entry(pid).or_default().threads.push(tid);
        if new {
            self.has_parent(pid, parent);
        }
    }

    /// Notes a process's parent, as it is now.
    pub(super) fn has_parent(&mut self, pid: Pid, parent: Pid) {
        let Some(process) = self.processes.get_mut(&pid) else { return };
        let former = std::mem::replace(&mut process.parent, parent);
        if former == parent {
            return;
        }
        if let Some(former) = self.processes.get_mut(&former) {
            former.children.retain(|child| *child != pid);
        }
        if let Some(now) = self.processes.get_mut(&parent) {
            now.children.push(pid);
        }
    }

    pub(super) fn has_pipes(&mut self, pid: Pid, pipes: &[(u64, bool)]) {
        if let Some(process) = self.processes.get_mut(&pid)
            && process.pipes != pipes
        {
            process.pipes = pipes.to_vec();
        }
    }

    pub(super) fn process_of(&self, tid: Tid) -> Option<Pid> {
        self.get(tid).map(|thread| thread.pid)
    }

    pub(super) fn parent_of(&self, pid: Pid) -> Option<Pid> {
        self.processes.get(&pid).map(|process| process.parent)
    }

    pub(super) fn has(&self, pid: Pid) -> bool {
        self.processes.contains_key(&pid)
    }

    /// From `at` on the thread does this.
    pub(super) fn does(&mut self, at: Ns, tid: Tid, doing: PolledState) {
        let Some(slot) = self.living.get(&tid) else { return };
        if self.threads[*slot as usize].doing != doing {
            self.turn(*slot, at, doing);
        }
    }

    pub(super) fn dies(&mut self, at: Ns, tid: Tid) {
        let Some(slot) = self.living.remove(&tid) else { return };
        self.turn(slot, at, PolledState::Unknown);
        let thread = &mut self.threads[slot as usize];
        thread.died = Some(at);
        let pid = thread.pid;
        let Some(process) = self.processes.get_mut(&pid) else { return };
        process.threads.retain(|other| *other != tid);
        if process.threads.is_empty() {
            let parent = process.parent;
            self.processes.remove(&pid);
            if let Some(parent) = self.processes.get_mut(&parent) {
                parent.children.retain(|child| *child != pid);
            }
        }
    }

    /// Ends what a thread was doing, and charges it.
    fn turn(&mut self, slot: Slot, at: Ns, doing: PolledState) {
        let thread = &mut self.threads[slot as usize];
        let wait = match thread.doing {
            PolledState::Blocked(PolledWait { wait, .. }) => Some(wait),
            _ => None,
        };
        let turn = thread.turn(at, doing);
        if wait.is_some_and(|wait| is_for_work(wait, self.arch)) {
            thread.for_work_ns += turn.interval.ns();
        }
        self.ledgers.slicing.fit(last_of(&turn.interval));
        self.ledgers.charge(&mut thread.ledger, &turn.interval, true);
        if let Some((wait, ns)) = turn.waited {
            self.ledgers.waits.record(wait, NOBODY, ns, WaitEnd::UNKNOWN);
        }
    }

    /// Ends all ledgers at `at`; all threads that ever were, in order of birth.
    pub(super) fn close(&mut self, at: Ns) -> Vec<Slot> {
        for slot in std::mem::take(&mut self.living).into_values() {
            self.turn(slot, at, PolledState::Unknown);
        }
        let mut slots: Vec<Slot> = (0..self.threads.len() as Slot).collect();
        slots.sort_by_key(|slot| {
            let thread = &self.threads[*slot as usize];
            (thread.born, thread.tid)
        });
        slots
    }
}

/// The last nanosecond of an interval.
pub(super) fn last_of(interval: &Interval) -> Ns {
    interval.to.saturating_sub(1)
}

/// Whether a thread waits for work; where the call could not be read,
/// by where it sleeps.
fn is_for_work(wait: Classified, arch: Arch) -> bool {
    match wait.call.syscall() {
        Some(call) => arch.name(call).is_some_and(waits_for_work),
        None => !matches!(wait.next, Next::Nowhere | Next::Busy | Next::Pipe { .. }),
    }
}
