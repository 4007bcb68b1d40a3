//! The path that a program's end depended on, back from its end: through what a thread did, and
//! where it was held up by another one, through what that did until then.

use super::lengths::{Lengths, NO_LIMIT};
use super::program::{Program, Step, StepRef, ThreadId};
use super::times::Times;
use model::Ns;

/// A part of the path: a thread was at a step of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) thread: ThreadId,
    pub(super) step: u32,
    pub(super) from: Ns,
    pub(super) to: Ns,
}

impl Piece {
    pub(super) fn ns(self) -> Ns {
        self.to - self.from
    }
}

/// The path, the last piece first. Sums to the wall clock.
///
/// `lengths` are those with which `times` came about. A wait that `stays` is the path's own,
/// whoever ended it.
pub(super) fn path(
    program: &Program,
    lengths: &Lengths,
    times: &Times,
    stays: impl Fn(ThreadId, u32) -> bool,
) -> Vec<Piece> {
    let mut path = Vec::new();
    let start_of = |thread: ThreadId| program.thread(thread).creator.map_or(0, |place| times.at(place));
    // The thread and how many of its steps are still to be walked back through.
    let (mut thread, mut to) = (times.last, times.end);
    let mut steps = done_by(times, thread, to);
    loop {
        let Some(step) = steps.checked_sub(1) else {
            match program.thread(thread).creator {
                Some(place) => (thread, steps) = (place.thread, place.step as usize),
                None => return path,
            }
            continue;
        };
        steps = step;
        let from = match steps.checked_sub(1) {
            Some(before) => times.done[thread as usize][before],
            None => start_of(thread),
        };
        let from = from.min(to);
        let place = StepRef { thread, step: step as u32 };
        let held_up = held_up(program, lengths, times, place, (from, to));
        let held_up = held_up.filter(|_| !stays(thread, step as u32));
        let begin = held_up.map_or(from, |(_, released)| released);
        if to > begin {
            path.push(Piece { thread, step: step as u32, from: begin, to });
        }
        to = begin;
        if let Some((by, _)) = held_up {
            (thread, steps) = (by.thread, by.step as usize);
        }
    }
}

/// How many of a thread's steps were done by then.
fn done_by(times: &Times, thread: ThreadId, at: Ns) -> usize {
    times.done[thread as usize].partition_point(|done| *done <= at)
}

/// Where a step was held up by another thread, and when that came there: after the step had begun,
/// and in time to be what ended it.
fn held_up(
    program: &Program,
    lengths: &Lengths,
    times: &Times,
    place: StepRef,
    (from, to): (Ns, Ns),
) -> Option<(StepRef, Ns)> {
    let step = program.thread(place.thread).steps[place.step as usize];
    let Step::Await { edge, .. } = step else { return None };
    let (by, _) = program.source(edge);
    let released = times.at(by);
    let limit = lengths.of(place.thread, place.step, step);
    let is_limited = limit != NO_LIMIT
        && to == from.saturating_add(limit)
        && to < released.saturating_add(lengths.lag(program, edge));
    (released > from && released <= to && !is_limited).then_some((by, released))
}
