//! Tasks of a program's own scheduler (goroutines) work for requests as threads do.
//!
//! Each is a worker of its own. What a thread does while it runs a task is the task's: its time on
//! a CPU, its calls, what it receives and sends. A task that waits is a worker that waits, and who
//! makes it ready has ended that wait. Between two tasks a thread is at the scheduler, and hands
//! nothing over: that its sleep ends is no event of a request.

use super::tasks::{Doing, Wait};
use super::worker::Worker;
use super::{Carried, Requests, part};
use crate::account::Slot;
use crate::keys::{CallKey, ReasonKey, TargetKey, WaitKey};
use model::requests::Unit;
use model::task::{TaskDid, TaskWait};
use model::{Ns, Pid, State, Tid};

impl Requests {
    /// Whether tasks of a program's own scheduler are followed.
    pub(in crate::trace) fn follow_tasks(&self) -> bool {
        self.tasks.are_followed()
    }

    /// Threads work for requests from now on, and go on with what tasks have left.
    pub(in crate::trace) fn follow_no_task(&mut self) {
        self.tasks.end();
    }

    /// A thread has done something with a task.
    pub(in crate::trace) fn task(
        &mut self,
        (thread, tid, pid): (Slot, Tid, Pid),
        at: Ns,
        address: u64,
        did: TaskDid,
    ) {
        if self.units.unit != Unit::Request || !self.tasks.count() {
            return;
        }
        if !self.tasks.has(thread) {
            self.turns_from(thread, false);
            self.worker(thread).until = at;
        }
        // What the thread did until now is of whom it ran.
        let ran = self.tasks.run_by(thread);
        let worker = ran.unwrap_or(thread);
        let since = self.worker(worker).until;
        self.passes_as((worker, tid), (since, at), RUNS);
        let task = self.tasks.number(pid, address);
        match (did, task) {
            (TaskDid::Runs, task) => {
                if let Some(before) = ran.filter(|before| Some(*before) != task) {
                    // It had not waited: it has made way.
                    *self.tasks.doing(before) = Doing::Ready(at);
                }
                self.thread_runs((thread, tid), task, at);
            }
            (TaskDid::Waits { wait, on, node }, Some(task)) => {
                *self.tasks.doing(task) = Doing::Waits(at, (wait, on, node));
                self.waits(task, wait);
                self.thread_runs((thread, tid), None, at);
            }
            (TaskDid::Ends, task) => {
                if let Some(task) = task {
                    // Another one will have its place.
                    self.turns_from(task, false);
                    *self.worker(task) = Worker::default();
                    *self.tasks.doing(task) = Doing::Unknown;
                }
                self.thread_runs((thread, tid), None, at);
            }
            (TaskDid::Ready, Some(task)) if ran == Some(task) => {
                *self.tasks.doing(task) = Doing::Ready(at);
                self.thread_runs((thread, tid), None, at);
            }
            (TaskDid::Ready, Some(task)) => self.is_ready((task, pid), ran, at),
            (TaskDid::Waits { .. }, None) => self.thread_runs((thread, tid), None, at),
            (TaskDid::Ready, None) | (TaskDid::Unfollowed, _) => {}
        }
    }

    /// A thread runs this task from then on, or its scheduler.
    fn thread_runs(&mut self, (thread, tid): (Slot, Tid), task: Option<Slot>, at: Ns) {
        self.tasks.runs(thread, task);
        let Some(task) = task else {
            self.worker(thread).until = at;
            return;
        };
        match std::mem::replace(self.tasks.doing(task), Doing::Runs(thread)) {
            Doing::Unknown => *self.worker(task) = Worker::default(),
            // What made it ready is not known: as a rule what came in.
            Doing::Waits(since, wait) => self.task_waited((task, 0), None, (since, at), wait),
            Doing::Ready(since) => self.passes_as((task, tid), (since, at), READY),
            Doing::Runs(by) if by != thread => {
                // That thread was in a call meanwhile, and has lost the task.
                if self.tasks.run_by(by) == Some(task) {
                    self.tasks.runs(by, None);
                    self.worker(by).until = at;
                }
                let since = self.worker(task).until;
                self.passes_as((task, tid), (since, at), READY);
            }
            Doing::Runs(_) => {}
        }
        let worker = self.worker(task);
        (worker.tid, worker.until) = (tid, worker.until.max(at));
    }

    /// A task waits.
    fn waits(&mut self, task: Slot, wait: TaskWait) {
        self.blocks_as(task, wait == TaskWait::Io);
        let worker = self.worker(task);
        if worker.carries.is_none() {
            // Whatever it takes up next has not begun before: there may be many such tasks.
            worker.history = Default::default();
            worker.stacks = Default::default();
        }
    }

    /// A thread that runs another task, if any, has made this one ready.
    fn is_ready(&mut self, (task, pid): (Slot, Pid), by: Option<Slot>, at: Ns) {
        match std::mem::replace(self.tasks.doing(task), Doing::Ready(at)) {
            Doing::Waits(since, wait) => {
                let by = by.filter(|_| wait.0.is_lock() || wait.0.is_for_task());
                self.task_waited((task, pid), by, (since, at), wait);
            }
            Doing::Ready(since) => *self.tasks.doing(task) = Doing::Ready(since),
            // One that had ended, or was never seen.
            Doing::Runs(_) | Doing::Unknown => {
                self.turns_from(task, false);
                *self.worker(task) = Worker { until: at, ..Worker::default() };
                if let Some(by) = by {
                    self.has_made(by, task);
                }
            }
        }
    }

    /// The wait of a task has ended.
    fn task_waited(
        &mut self,
        (task, pid): (Slot, Pid),
        by: Option<Slot>,
        (since, at): (Ns, Ns),
        (wait, on, node): Wait,
    ) {
        let place = Some((pid, on)).filter(|_| on != 0 && pid != 0);
        let is_lock = self.waits_at(task, by, place) || wait.is_lock();
        let tid = self.worker(task).tid;
        let is_result = !is_lock && place.is_some();
        if let Some(node) = node {
            self.stack_of(task, at, part(kind(wait)), node, at.saturating_sub(since));
        }
        self.wait_ends((task, tid), by, (since, at), kind(wait), (is_lock, is_result));
    }

    /// A new worker goes on with what its maker works for.
    pub(super) fn has_made(&mut self, maker: Slot, made: Slot) {
        let Some(carried) = self.worker(maker).carries.as_ref().map(Carried::handed) else { return };
        if let Some(of) = self.open.get_mut(&carried.request).filter(|of| of.answered.is_none()) {
            of.front = made;
            self.worker(made).carries = Some(carried);
        }
    }
}

const RUNS: WaitKey = (State::User, ReasonKey::None);
/// Its scheduler has it, and lets others run.
const READY: WaitKey = (State::Runqueue, ReasonKey::None);

fn kind(wait: TaskWait) -> WaitKey {
    let state = match wait {
        TaskWait::Mutex | TaskWait::RwMutex => State::Lock,
        TaskWait::Sleep => State::Sleep,
        TaskWait::Io => State::Network,
        TaskWait::Channel
        | TaskWait::Select
        | TaskWait::Condition
        | TaskWait::Group
        | TaskWait::Semaphore
        | TaskWait::Collector
        | TaskWait::Other => State::OtherWait,
    };
    (state, ReasonKey::Wait(CallKey::Unseen, TargetKey::OfTask(wait)))
}
