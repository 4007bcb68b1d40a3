//! The program of a recording as a timeline: its steps where they were, and the path through them.

use super::lengths::Lengths;
use super::path::{Piece, path};
use super::program::{Program, Step, ThreadId};
use super::times::{Times, recorded};
use crate::names::Names;
use model::timeline::{HandOver, PathPiece, Slice, ThreadLine, Timeline};
use model::{Ns, Reason, State};

/// The timeline of a run with this wall clock.
pub(super) fn timeline(program: &Program, names: &Names, wall_ns: Ns) -> Timeline {
    let times = recorded(program);
    let start = program.threads.first().map_or(0, |first| first.start);
    let threads = program.threads.iter().enumerate().map(|(at, thread)| ThreadLine {
        pid: thread.pid,
        tid: thread.tid,
        name: thread.name.to_text(),
        process: thread.process.to_text(),
        slices: slices(program, names, &times, at as ThreadId),
    });
    let mut hand_overs = Vec::new();
    for (to, thread) in program.threads.iter().enumerate() {
        for (at, step) in thread.steps.iter().enumerate() {
            let Step::Await { edge, .. } = step else { continue };
            let (from, _) = program.source(*edge);
            let to_ns = times.done[to][at];
            hand_overs.push(HandOver { from: from.thread, from_ns: times.at(from), to: to as u32, to_ns });
        }
    }
    Timeline {
        threads: threads.collect(),
        hand_overs,
        path: whole_path(program, names, &times, wall_ns),
        until_ns: program.cut.map(|cut| cut.saturating_sub(start)),
    }
}

/// What a thread did; neighbours that are alike are one.
fn slices(program: &Program, names: &Names, times: &Times, thread: ThreadId) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::new();
    for (at, step) in program.thread(thread).steps.iter().enumerate() {
        let Some((kind, ns)) = step.time().filter(|(_, ns)| *ns > 0) else { continue };
        let kind = program.kind(kind);
        let (state, reason) = (kind.state, names.reason(kind.reason));
        match slices.last_mut() {
            Some(last) if last.state == state && last.reason == reason => last.ns += ns,
            _ => slices.push(Slice { at_ns: times.done[thread as usize][at] - ns, ns, state, reason }),
        }
    }
    slices
}

/// The path from the start to the end of the wall clock. What nobody was seen to do is
/// `unexplained`.
fn whole_path(program: &Program, names: &Names, times: &Times, wall_ns: Ns) -> Vec<PathPiece> {
    let mut pieces = path(program, &Lengths::Recorded, times, |_, _| false);
    pieces.reverse();
    let mut whole: Vec<PathPiece> = Vec::new();
    let mut at = 0;
    for piece in pieces {
        let Piece { thread, step, from, to } = piece;
        let Some((kind, _)) = program.thread(thread).steps[step as usize].time() else { continue };
        let (from, to) = (from.clamp(at, wall_ns), to.min(wall_ns));
        add(&mut whole, None, unexplained(at, from));
        let kind = program.kind(kind);
        let slice = Slice {
            at_ns: from,
            ns: to.saturating_sub(from),
            state: kind.state,
            reason: names.reason(kind.reason),
        };
        add(&mut whole, Some(thread), slice);
        at = to.max(from);
    }
    add(&mut whole, None, unexplained(at, wall_ns));
    whole
}

fn unexplained(from: Ns, to: Ns) -> Slice {
    Slice { at_ns: from, ns: to.saturating_sub(from), state: State::Unexplained, reason: Reason::None }
}

fn add(path: &mut Vec<PathPiece>, thread: Option<ThreadId>, slice: Slice) {
    match path.last_mut() {
        _ if slice.ns == 0 => {}
        Some(last)
            if last.thread == thread
                && last.slice.state == slice.state
                && last.slice.reason == slice.reason =>
        {
            last.slice.ns += slice.ns;
        }
        _ => path.push(PathPiece { thread, slice }),
    }
}
