//! When the steps of threads were done: as they were recorded, or in a replay.

use super::program::{Program, StepRef, Thread, ThreadId};
use model::Ns;

/// A step that was not come to.
pub(super) const NEVER: Ns = Ns::MAX;

/// When each step was done, and when the program ended.
#[derive(Debug)]
pub(super) struct Times {
    /// By thread and step, since the beginning.
    pub(super) done: Vec<Vec<Ns>>,
    /// The thread that it ended with.
    pub(super) last: ThreadId,
    /// When.
    pub(super) end: Ns,
}

impl Times {
    /// When a place was come to.
    pub(super) fn at(&self, place: StepRef) -> Ns {
        self.done[place.thread as usize][place.step as usize]
    }
}

/// When each step was done as it was recorded.
pub(super) fn recorded(program: &Program) -> Times {
    let start = program.threads.first().map_or(0, |first| first.start);
    let of_thread = |thread: &Thread| {
        let mut at = thread.start.saturating_sub(start);
        let done = thread.steps.iter().map(|step| {
            at += step.ns();
            at
        });
        done.collect()
    };
    let mut times = Times { done: program.threads.iter().map(of_thread).collect(), last: 0, end: 0 };
    (times.last, times.end) = last(program, &times.done);
    times
}

/// The thread that the program ends with: of the root's process; where not all was kept, the last
/// one that did anything.
pub(super) fn last(program: &Program, done: &[Vec<Ns>]) -> (ThreadId, Ns) {
    let of_root = |thread: ThreadId| program.cut.is_some() || program.thread(thread).pid == program.root;
    let end = |thread: ThreadId| done[thread as usize].iter().rfind(|at| **at != NEVER).copied();
    let ends = (0..program.threads.len() as ThreadId).filter(|thread| of_root(*thread));
    ends.filter_map(|thread| Some((thread, end(thread)?))).max_by_key(|(_, at)| *at).unwrap_or((0, 0))
}
