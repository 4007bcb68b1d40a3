//! Where the path lies among the threads of the tree, and where it has been.
//!
//! ```text
//! root: blocked, waits for a child -> the child that is busy, else the youngest: blocked, reads a
//!       pipe -> the process with the other end: blocked, sleeps         the time is its sleep
//! ```
//!
//! No wake-up is seen here, so where the path goes on is inferred from the states of the moment: a
//! heuristic, and every part that rests on it says so by its basis.

use super::thread::{PolledState, PolledWait, Thread};
use super::tree::{Tree, last_of};
use crate::account::{Activity, ActivityId, Certainty, Interval, Ledgers, NOBODY, Path};
use crate::classify::{Classified, Next};
use crate::keys::ReasonKey;
use model::{Ns, Pid, State, Tid};

/// How likely a thread is what another one waits for; lower is more.
type Rank = u8;
const RUNS: Rank = 0;
const RUNNABLE: Rank = 1;
const WAITS_ELSEWHERE: Rank = 2;
const WAITS_FOR_ITS_LIKE: Rank = 3;
const UNKNOWN: Rank = 4;
const GONE: Rank = 5;

/// The path so far.
#[derive(Debug)]
pub(super) struct PathLedger {
    start: Ns,
    now: Ns,
    pub(super) ledger: Path,
    last: Option<ActivityId>,
}

/// A place of the path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'a> {
    pub(super) thread: &'a Thread,
    /// Every wait on the way here was examined.
    pub(super) sure: bool,
}

impl PathLedger {
    /// From the start of the wall.
    pub(super) fn new(start: Ns) -> Self {
        Self { start, now: start, ledger: Path::default(), last: None }
    }

    pub(super) fn start(&self) -> Ns {
        self.start
    }

    /// Up to where the wall is accounted for.
    pub(super) fn now(&self) -> Ns {
        self.now
    }

    /// The time until `at` belongs to this activity; none where there is no evidence.
    pub(super) fn charge(&mut self, at: Ns, activity: Option<Activity>, ledgers: &mut Ledgers) {
        if at <= self.now {
            return;
        }
        let activity = activity.unwrap_or(Activity::seen(NOBODY, State::Unexplained, ReasonKey::NotObserved));
        let interval = Interval { activity, from: self.now, to: at };
        ledgers.slicing.fit(last_of(&interval));
        let begins = self.last != Some(ledgers.activities.id(activity));
        self.last = Some(ledgers.charge(&mut self.ledger, &interval, begins));
        self.now = at;
    }
}

impl Position<'_> {
    /// What the path does there; none where that is not known.
    pub(super) fn activity(&self) -> Option<Activity> {
        let certainty = if self.sure { Certainty::Seen } else { Certainty::Inferred };
        let known = !matches!(self.thread.doing, PolledState::Unknown | PolledState::Dead);
        known.then(|| Activity { certainty, ..self.thread.activity() })
    }
}

/// Where the path lies now; nowhere when nothing of the root is known.
pub(super) fn position(tree: &Tree, root: Pid) -> Option<Position<'_>> {
    of_process(tree, root, &mut Vec::new(), true)
}

fn of_process<'a>(tree: &'a Tree, pid: Pid, visited: &mut Vec<Tid>, sure: bool) -> Option<Position<'a>> {
    let process = tree.processes.get(&pid)?;
    // The thread that leads decides, for as long as it lives: it is the one that others wait for.
    let leader = process.threads.iter().find(|tid| **tid == pid);
    let tid = leader.or_else(|| process.threads.iter().min_by_key(|tid| rank(tree, **tid)))?;
    of_thread(tree, *tid, visited, sure)
}

fn of_thread<'a>(tree: &'a Tree, tid: Tid, visited: &mut Vec<Tid>, sure: bool) -> Option<Position<'a>> {
    let thread = tree.get(tid)?;
    if visited.contains(&tid) {
        return None;
    }
    visited.push(tid);
    let PolledState::Blocked(PolledWait { wait, looked }) = thread.doing else {
        return Some(Position { thread, sure });
    };
    let sure = sure && looked;
    let next = match wait.next {
        Next::Nowhere => None,
        Next::Children => {
            child_of(tree, thread.pid, GONE).and_then(|pid| of_process(tree, pid, visited, sure))
        }
        Next::BusyNearby => match child_of(tree, thread.pid, RUNNABLE) {
            Some(pid) => of_process(tree, pid, visited, false),
            None => {
                sibling(tree, thread, visited, RUNNABLE).and_then(|tid| of_thread(tree, tid, visited, false))
            }
        },
        Next::Busy => busy(tree).and_then(|tid| of_thread(tree, tid, visited, false)),
        Next::Siblings => sibling(tree, thread, visited, WAITS_ELSEWHERE)
            .and_then(|tid| of_thread(tree, tid, visited, sure)),
        Next::Pipe { ino, writes } => {
            other_end(tree, thread.pid, ino, writes).and_then(|pid| of_process(tree, pid, visited, sure))
        }
    };
    next.or(Some(Position { thread, sure }))
}

/// Threads of a process that are looked at for one that another waits for.
const SIBLINGS_MAX: usize = 256;

/// The child of `pid` that ranks no worse: the busiest, then the youngest.
fn child_of(tree: &Tree, pid: Pid, worst: Rank) -> Option<Pid> {
    let children = tree.processes.get(&pid)?.children.iter().rev();
    let ranked = children.map(|pid| (process_rank(tree, *pid), *pid)).filter(|(rank, _)| *rank <= worst);
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, pid)| pid)
}

/// A thread of the tree that is on a CPU, else one that is runnable.
fn busy(tree: &Tree) -> Option<Tid> {
    let ranked = tree.tids().into_iter().map(|tid| (rank(tree, tid), tid));
    ranked.filter(|(rank, _)| *rank <= RUNNABLE).min().map(|(_, tid)| tid)
}

/// Another thread of the process that may have what this one wants, and ranks no worse: a busy one,
/// else one that waits for something other than its like.
fn sibling(tree: &Tree, thread: &Thread, visited: &[Tid], worst: Rank) -> Option<Tid> {
    // Of very many the youngest are looked at: this is asked at each event.
    let others = tree.processes.get(&thread.pid)?.threads.iter().rev().take(SIBLINGS_MAX);
    others
        .filter(|tid| !visited.contains(tid))
        .map(|tid| (rank(tree, *tid), *tid))
        .filter(|(rank, _)| *rank <= worst)
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, tid)| tid)
}

/// A process that has the other end of a pipe.
fn other_end(tree: &Tree, pid: Pid, ino: u64, writes: bool) -> Option<Pid> {
    let others = tree.processes.iter().filter(|(other, _)| **other != pid);
    let ends = others.filter(|(_, process)| process.pipes.contains(&(ino, !writes)));
    // The largest number, as a stand-in for the youngest, makes the choice among equals a stable
    // one.
    ends.map(|(other, _)| *other).min_by_key(|other| (process_rank(tree, *other), u32::MAX - other))
}

fn process_rank(tree: &Tree, pid: Pid) -> Rank {
    let Some(process) = tree.processes.get(&pid) else { return GONE };
    process.threads.iter().map(|tid| rank(tree, *tid)).min().unwrap_or(GONE)
}

fn rank(tree: &Tree, tid: Tid) -> Rank {
    let Some(thread) = tree.get(tid) else { return GONE };
    match thread.doing {
        PolledState::Running => RUNS,
        PolledState::Runnable => RUNNABLE,
        PolledState::Blocked(PolledWait { wait, .. }) => match wait.next {
            Next::Nowhere if wait != Classified::UNSEEN => WAITS_ELSEWHERE,
            Next::Busy | Next::Children | Next::Pipe { .. } => WAITS_ELSEWHERE,
            _ => WAITS_FOR_ITS_LIKE,
        },
        PolledState::Stopped | PolledState::Dead | PolledState::Unknown => UNKNOWN,
    }
}
