//! Which threads' waits of one kind stand in one row: those that were called from the same place,
//! and those for the same lock.

use super::activity::{NOBODY, Slot};
use super::waits::{Threads, Wait, Waits};
use crate::code::Code;
use crate::keys::{ReasonKey, TargetKey, WaitKey};
use crate::purpose::called_from;
use model::{Ns, Pid};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Rows of one kind of wait.
const GROUPS: usize = 8;
/// The functions that waits were called from, which tell whether stacks are alike.
const FUNCTIONS: usize = 3;
/// A stack says nothing of a thread that has less than this part of its waits in it, and a thread
/// has no row of its own for less than this part of its kind's.
const PART: Ns = 20;

/// One row.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) kind: WaitKey,
    pub(super) wait: Wait,
    /// Whose it is, as far as threads are kept apart, and how much of it.
    pub(super) threads: Vec<(Slot, Ns)>,
    /// Whose lock it is, where each process has one.
    process: Option<Pid>,
    /// Where it was called from.
    places: Vec<CallerNames>,
}

/// All rows.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) all: Vec<Group>,
    of: FxHashMap<(WaitKey, Slot), usize>,
}

/// The functions that waits were called from.
type CallerNames = Vec<String>;

impl Groups {
    /// `code`: what stacks consist of, where there are any; `process`: of a thread.
    pub(super) fn new(waits: Waits, code: Option<&Code>, process: &dyn Fn(Slot) -> Pid) -> Self {
        let mut groups = Self::default();
        let mut kinds: Vec<_> = waits.into_kinds().collect();
        // In an order that does not depend on how they are kept.
        kinds.sort_by_key(|(_, threads)| {
            let total_ns: Ns = threads.values().map(|wait| wait.total_ns).sum();
            (Reverse(total_ns), threads.keys().next().copied())
        });
        for (kind, threads) in kinds {
            groups.add(kind, threads, code, process);
        }
        groups
    }

    fn add(&mut self, kind: WaitKey, threads: Threads, code: Option<&Code>, process: &dyn Fn(Slot) -> Pid) {
        let of_process = matches!(kind.1, ReasonKey::Wait(_, TargetKey::InterpreterLock(_)));
        // A lock is one, wherever it is taken.
        let one = of_process || matches!(kind.1, ReasonKey::Wait(_, TargetKey::Futex(_)));
        let kind_ns: Ns = threads.values().map(|wait| wait.total_ns).sum();
        let mut threads: Vec<_> = threads.into_iter().collect();
        threads.sort_by_key(|(thread, wait)| (Reverse(wait.total_ns), *thread));
        let first = self.all.len();
        for (thread, wait) in threads {
            let places = code.map(|code| places(&wait, code)).unwrap_or_default();
            let process = (of_process && thread != NOBODY).then(|| process(thread));
            let small = wait.total_ns < kind_ns / PART || thread == NOBODY || places.is_empty();
            let like = |group: &Group| {
                let alike =
                    group.places.is_empty() || group.places.iter().any(|place| places.contains(place));
                (alike || small || one) && (group.process == process || process.is_none())
            };
            let found = self.all[first..].iter().position(like).map(|at| first + at);
            let full = self.all.len() - first >= GROUPS;
            let at = found.unwrap_or(if full { self.all.len() - 1 } else { self.all.len() });
            if at == self.all.len() {
                let (wait, threads) = (Wait::default(), Vec::new());
                self.all.push(Group { kind, wait, threads, process, places: Vec::new() });
            }
            self.of.insert((kind, thread), at);
            let group = &mut self.all[at];
            if thread != NOBODY {
                group.threads.push((thread, wait.total_ns));
            }
            group.wait.add(wait);
            places.into_iter().for_each(|place| {
                if !group.places.contains(&place) {
                    group.places.push(place);
                }
            });
        }
        self.of.entry((kind, NOBODY)).or_insert(first);
    }

    /// The row of such waits of this thread.
    pub(super) fn of(&self, kind: WaitKey, thread: Slot) -> Option<usize> {
        self.of.get(&(kind, thread)).or_else(|| self.of.get(&(kind, NOBODY))).copied()
    }
}

/// Where waits were called from, the main place first.
fn places(wait: &Wait, code: &Code) -> Vec<CallerNames> {
    let all: Ns = wait.stacks.values().sum();
    let mut nodes: Vec<_> = wait.stacks.iter().filter(|(_, ns)| **ns >= all / PART).collect();
    nodes.sort_by_key(|(node, ns)| (Reverse(**ns), **node));
    let mut places: Vec<CallerNames> = Vec::new();
    for (node, _) in nodes {
        let place = called_from(&code.stack(*node), FUNCTIONS);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}
