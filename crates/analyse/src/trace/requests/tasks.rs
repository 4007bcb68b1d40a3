//! Which tasks of programs with their own scheduler (goroutines) there are, and what each does.

use super::worker::Worker;
use crate::account::Slot;
use model::task::TaskWait;
use model::{Ns, Pid};
use rustc_hash::FxHashMap;

/// Tasks that are followed. Of one more it is not known what it does: its threads work for
/// requests.
const TASKS_MAX: usize = 65_536;

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Which worker each is, by process and address.
    workers: FxHashMap<(Pid, u64), Slot>,
    /// What each does, by its number among tasks.
    doing: Vec<Doing>,
    /// Threads that run tasks, and which one they run.
    threads: FxHashMap<Slot, Option<Slot>>,
    /// They are no longer followed.
    have_ended: bool,
}

/// For what a task waits, and where: in memory, and in the code.
pub(super) type Wait = (TaskWait, u64, Option<u32>);

#[derive(Debug, Clone, Copy)]
pub(super) enum Doing {
    /// It is new, or was never seen.
    Unknown,
    /// A thread runs it.
    Runs(Slot),
    /// It waits, since then.
    Waits(Ns, Wait),
    /// It is ready, since then.
    Ready(Ns),
}

impl Tasks {
    /// Who works while this thread runs: the task that it runs, or itself.
    pub(super) fn worker(&self, thread: Slot) -> Slot {
        self.run_by(thread).unwrap_or(thread)
    }

    pub(super) fn run_by(&self, thread: Slot) -> Option<Slot> {
        self.threads.get(&thread).copied().flatten()
    }

    /// Whether this thread runs tasks, now or at other times.
    pub(super) fn has(&self, thread: Slot) -> bool {
        self.threads.contains_key(&thread)
    }

    /// A thread has ended.
    pub(super) fn forget(&mut self, thread: Slot) {
        self.threads.remove(&thread);
    }

    /// The worker that this task is; none where there are too many.
    pub(super) fn number(&mut self, pid: Pid, task: u64) -> Option<Slot> {
        if let Some(known) = self.workers.get(&(pid, task)) {
            return Some(*known);
        }
        if self.doing.len() >= TASKS_MAX {
            return None;
        }
        let worker = Worker::of_task(self.doing.len());
        self.doing.push(Doing::Unknown);
        self.workers.insert((pid, task), worker);
        Some(worker)
    }

    pub(super) fn doing(&mut self, task: Slot) -> &mut Doing {
        &mut self.doing[Worker::number_of(task)]
    }

    /// A thread runs this task from then on, or its scheduler.
    pub(super) fn runs(&mut self, thread: Slot, task: Option<Slot>) {
        self.threads.insert(thread, task);
    }

    /// Whether any are followed.
    pub(super) fn are_followed(&self) -> bool {
        !self.workers.is_empty()
    }

    /// Whether what is told of them counts.
    pub(super) fn count(&self) -> bool {
        !self.have_ended
    }

    /// No task is followed from now on. What is told of them afterwards was on its way.
    pub(super) fn end(&mut self) {
        *self = Tasks { have_ended: true, ..Tasks::default() };
    }
}
