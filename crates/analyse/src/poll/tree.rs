//! The threads of the tree as far as they have been seen, and where the path lies among them.
//!
//! ```text
//! root: blocked, waits for a child -> the child that is busy, else the youngest: blocked, reads a pipe
//!       -> the process with the other end: blocked, sleeps                       the time is its sleep
//! ```
//!
//! No wake-up is seen here, so where the path goes on is inferred from the states of the moment: a heuristic, and
//! every part that rests on it says so by its basis.

use super::ledger::{Amount, Slices};
use crate::classify::{Classified, Next};
use crate::keys::WaitKey;
use model::recording::{Comm, Looked};
use model::{Ns, Pid, Tid};
use rustc_hash::FxHashMap;
use stats::Histogram;

/// A wait by its number in [`Tree::waits`].
pub(super) type WaitId = u32;
/// A wait that no look fell into.
pub(super) const UNSEEN_WAIT: WaitId = 0;

/// Waits that are told apart by name, address or pipe.
const WAITS: usize = 4096;

/// What a thread is doing, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Doing {
    Cpu,
    /// Runnable.
    Ready,
    /// `true`: a look fell into this very wait; else it is taken to be like the last one that was seen.
    Wait(WaitId, bool),
    Stopped,
    /// It lives, but nothing says what it does.
    Unseen,
}

/// Clock samples, or the kernel's ticks, by mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mix {
    pub(super) user: u64,
    pub(super) kernel: u64,
}

/// One thread.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) name: Comm,
    /// When it was made, or first seen.
    pub(super) born: Ns,
    pub(super) doing: Doing,
    /// Since when it is doing that.
    pub(super) since: Ns,
    /// When it ended, if it did.
    pub(super) died: Option<Ns>,
    /// Time by what it did.
    pub(super) ledger: FxHashMap<Doing, Amount>,
    pub(super) mix: Mix,
    /// Of the samples, those that fell while the path was here.
    pub(super) path_mix: Mix,
    /// As the last look at it found it.
    pub(super) looked: Option<Looked>,
    /// As it was found, if it lived before the window.
    pub(super) before: Option<Looked>,
    /// How often it was looked at, and how often it waited then.
    pub(super) looks: u64,
    pub(super) looks_waiting: u64,
    /// Time off a CPU that was known to be runnable, and that was taken for blocked, until that look.
    pub(super) ready_ns: Ns,
    pub(super) blocked_ns: Ns,
    /// Its switches are not told any more: only looks say what it does.
    pub(super) by_looks: bool,
    /// The last wait that a look fell into.
    last_wait: WaitId,
    /// When its wait began, while it waits.
    waits_since: Ns,
}

/// A thread that comes into the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newcomer {
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    /// The process's parent; 0 where it is not known.
    pub(super) parent: Pid,
    pub(super) name: Comm,
}

/// A living process.
#[derive(Debug, Default)]
struct Process {
    parent: Pid,
    threads: Vec<Tid>,
    children: Vec<Pid>,
    pipes: Vec<(u64, bool)>,
}

/// Waits of one kind, as the outside sees them: the ends of a thousand pipes are one kind.
#[derive(Debug)]
pub(super) struct WaitTotals {
    pub(super) key: WaitKey,
    pub(super) total_ns: Ns,
    pub(super) durations: Histogram,
}

/// A place of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) doing: Doing,
    /// Every wait on the way here was looked at.
    pub(super) sure: bool,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Tree {
    root: Pid,
    living: FxHashMap<Tid, Thread>,
    processes: FxHashMap<Pid, Process>,
    dead: Vec<Thread>,
    pub(super) waits: Vec<Classified>,
    ids: FxHashMap<Classified, WaitId>,
    pub(super) totals: Vec<WaitTotals>,
    kind_of: FxHashMap<WaitKey, usize>,
    /// Of each wait, its place in `totals`.
    pub(super) kinds: Vec<usize>,
    /// What all threads did over time, in a window.
    pub(super) slices: Option<Slices>,
}

impl Tree {
    pub(super) fn new(root: Pid) -> Self {
        let mut tree = Self {
            root,
            living: FxHashMap::default(),
            processes: FxHashMap::default(),
            dead: Vec::new(),
            waits: Vec::new(),
            ids: FxHashMap::default(),
            totals: Vec::new(),
            kind_of: FxHashMap::default(),
            kinds: Vec::new(),
            slices: None,
        };
        tree.id(Classified::UNSEEN);
        tree
    }

    /// The number of a wait.
    pub(super) fn id(&mut self, mut wait: Classified) -> WaitId {
        if self.waits.len() >= WAITS && !self.ids.contains_key(&wait) {
            wait = wait.of_many();
        }
        if let Some(id) = self.ids.get(&wait) {
            return *id;
        }
        let id = self.waits.len() as WaitId;
        let next = self.totals.len();
        let kind = *self.kind_of.entry(wait.key()).or_insert(next);
        if kind == next {
            self.totals.push(WaitTotals { key: wait.key(), total_ns: 0, durations: Histogram::default() });
        }
        self.kinds.push(kind);
        self.waits.push(wait);
        self.ids.insert(wait, id);
        id
    }

    /// Back to the beginning, but for the numbers of waits.
    pub(super) fn forget_threads(&mut self) {
        self.living.clear();
        self.processes.clear();
        self.dead.clear();
        for totals in &mut self.totals {
            totals.total_ns = 0;
            totals.durations = Histogram::default();
        }
    }

    pub(super) fn get(&self, tid: Tid) -> Option<&Thread> {
        self.living.get(&tid)
    }

    pub(super) fn get_mut(&mut self, tid: Tid) -> Option<&mut Thread> {
        self.living.get_mut(&tid)
    }

    pub(super) fn tids(&self) -> Vec<Tid> {
        self.living.keys().copied().collect()
    }

    /// Puts a thread into the tree, unless it is there.
    pub(super) fn add(&mut self, at: Ns, who: Newcomer, doing: Doing) {
        let Newcomer { tid, pid, parent, name } = who;
        if self.living.contains_key(&tid) {
            return;
        }
        let thread = Thread {
            pid,
            tid,
            name,
            born: at,
            doing,
            since: at,
            died: None,
            ledger: FxHashMap::default(),
            mix: Mix::default(),
            path_mix: Mix::default(),
            looked: None,
            before: None,
            looks: 0,
            looks_waiting: 0,
            ready_ns: 0,
            blocked_ns: 0,
            by_looks: false,
            last_wait: UNSEEN_WAIT,
            waits_since: at,
        };
        self.living.insert(tid, thread);
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
        self.living.get(&tid).map(|thread| thread.pid)
    }

    pub(super) fn has(&self, pid: Pid) -> bool {
        self.processes.contains_key(&pid)
    }

    /// From `at` on the thread does this.
    pub(super) fn does(&mut self, at: Ns, tid: Tid, doing: Doing) {
        let Some(thread) = self.living.get_mut(&tid) else { return };
        if thread.doing == doing {
            return;
        }
        let waited = thread.turn(at, doing, self.slices.as_mut());
        if let Doing::Wait(id, true) = doing {
            thread.last_wait = id;
        }
        self.waited(waited);
    }

    /// What a wait into which no look fell is taken to be.
    pub(super) fn usual_wait(&self, tid: Tid) -> Doing {
        Doing::Wait(self.living.get(&tid).map_or(UNSEEN_WAIT, |thread| thread.last_wait), false)
    }

    pub(super) fn dies(&mut self, at: Ns, tid: Tid) {
        let Some(mut thread) = self.living.remove(&tid) else { return };
        let waited = thread.turn(at, Doing::Unseen, self.slices.as_mut());
        self.waited(waited);
        thread.died = Some(at);
        let pid = thread.pid;
        self.dead.push(thread);
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

    fn waited(&mut self, wait: Option<(WaitId, Ns)>) {
        if let Some((id, spent)) = wait {
            let totals = &mut self.totals[self.kinds[id as usize]];
            totals.total_ns += spent;
            totals.durations.record(spent);
        }
    }

    /// Ends all ledgers at `at`; all threads that ever were, in order of birth.
    pub(super) fn close(&mut self, at: Ns) -> Vec<Thread> {
        let living = std::mem::take(&mut self.living);
        let mut threads = std::mem::take(&mut self.dead);
        for (_, mut thread) in living {
            let waited = thread.turn(at, Doing::Unseen, self.slices.as_mut());
            self.waited(waited);
            threads.push(thread);
        }
        threads.sort_by_key(|thread| (thread.born, thread.tid));
        threads
    }

    /// Where the path lies now; nowhere when nothing of the root is known.
    pub(super) fn path(&self) -> Option<Place> {
        self.of_process(self.root, &mut Vec::new(), true)
    }

    fn of_process(&self, pid: Pid, visited: &mut Vec<Tid>, sure: bool) -> Option<Place> {
        let process = self.processes.get(&pid)?;
        // The thread that leads decides, for as long as it lives: it is the one that others wait for.
        let leader = process.threads.iter().find(|tid| **tid == pid);
        let tid = leader.or_else(|| process.threads.iter().min_by_key(|tid| self.rank(**tid)))?;
        self.of_thread(*tid, visited, sure)
    }

    fn of_thread(&self, tid: Tid, visited: &mut Vec<Tid>, sure: bool) -> Option<Place> {
        let thread = self.living.get(&tid)?;
        if visited.contains(&tid) {
            return None;
        }
        visited.push(tid);
        let here = |sure| Some(Place { pid: thread.pid, tid, doing: thread.doing, sure });
        let Doing::Wait(id, looked) = thread.doing else { return here(sure) };
        let sure = sure && looked;
        match self.waits[id as usize].next {
            Next::Nowhere => None,
            Next::Children => {
                self.next_of(thread.pid, |_| true).and_then(|pid| self.of_process(pid, visited, sure))
            }
            Next::BusyChildren => self
                .next_of(thread.pid, |rank| rank <= BUSY)
                .and_then(|pid| self.of_process(pid, visited, false)),
            Next::Siblings => {
                self.sibling(thread, visited).and_then(|tid| self.of_thread(tid, visited, sure))
            }
            Next::Pipe { ino, writes } => {
                self.other_end(thread.pid, ino, writes).and_then(|pid| self.of_process(pid, visited, sure))
            }
        }
        .or_else(|| here(sure))
    }

    /// Of the children of `pid`: the busiest, then the youngest.
    fn next_of(&self, pid: Pid, good: impl Fn(u8) -> bool) -> Option<Pid> {
        let children = self.processes.get(&pid)?.children.iter().rev();
        children
            .copied()
            .map(|pid| (self.process_rank(pid), pid))
            .filter(|(rank, _)| good(*rank))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, pid)| pid)
    }

    /// Another thread of the process that may have what this one wants: a busy one, else one that waits for
    /// something other than its like.
    fn sibling(&self, thread: &Thread, visited: &[Tid]) -> Option<Tid> {
        let others = self.processes.get(&thread.pid)?.threads.iter().rev();
        others
            .filter(|tid| !visited.contains(tid))
            .map(|tid| (self.rank(*tid), *tid))
            .filter(|(rank, _)| *rank <= WAITS_ELSEWHERE)
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, tid)| tid)
    }

    fn other_end(&self, pid: Pid, ino: u64, writes: bool) -> Option<Pid> {
        let holds = |process: &Process| process.pipes.contains(&(ino, !writes));
        let others = self.processes.iter().filter(|(other, process)| **other != pid && holds(process));
        // The largest number, as a stand-in for the youngest, makes the choice among equals a stable one.
        others.map(|(other, _)| *other).min_by_key(|other| (self.process_rank(*other), u32::MAX - other))
    }

    fn process_rank(&self, pid: Pid) -> u8 {
        let Some(process) = self.processes.get(&pid) else { return NOTHING };
        process.threads.iter().map(|tid| self.rank(*tid)).min().unwrap_or(NOTHING)
    }

    /// How likely a thread is what another one waits for; lower is more.
    fn rank(&self, tid: Tid) -> u8 {
        let Some(thread) = self.living.get(&tid) else { return NOTHING };
        match thread.doing {
            Doing::Cpu => 0,
            Doing::Ready => BUSY,
            Doing::Wait(id, _) => match self.waits[id as usize].next {
                Next::Nowhere if id != UNSEEN_WAIT => WAITS_ELSEWHERE,
                Next::Children | Next::Pipe { .. } => WAITS_ELSEWHERE,
                _ => 3,
            },
            Doing::Stopped | Doing::Unseen => 4,
        }
    }
}

const BUSY: u8 = 1;
const WAITS_ELSEWHERE: u8 = 2;
const NOTHING: u8 = 5;

impl Thread {
    /// Time in what it did.
    pub(super) fn spent(&self, doing: Doing) -> Ns {
        self.ledger.get(&doing).map_or(0, |amount| amount.ns)
    }

    /// Ends what it was doing; the wait that this ends, if it does, and its length.
    fn turn(&mut self, at: Ns, doing: Doing, slices: Option<&mut Slices>) -> Option<(WaitId, Ns)> {
        let was = std::mem::replace(&mut self.doing, doing);
        let spent = at.saturating_sub(self.since);
        if spent > 0 {
            self.ledger.entry(was).or_default().add(Amount { ns: spent, count: 1 });
            if let Some(slices) = slices {
                slices.charge(self.since, at, Some((self.tid, was)));
            }
        }
        self.since = self.since.max(at);
        match was {
            Doing::Ready => self.ready_ns += spent,
            Doing::Wait(..) => self.blocked_ns += spent,
            _ => {}
        }
        match (was, doing) {
            // The same wait, which a look has recognised.
            (Doing::Wait(_, false), Doing::Wait(..)) => None,
            (Doing::Wait(id, _), _) => {
                Some((id, self.since - std::mem::replace(&mut self.waits_since, self.since)))
            }
            _ => {
                self.waits_since = self.since;
                None
            }
        }
    }
}
