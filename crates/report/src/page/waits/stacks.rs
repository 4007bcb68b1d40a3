//! Where a program waited, as the stack of its functions, and who ended the wait.

use super::groups::Wait;
use crate::Look;
use crate::clean::clean;
use crate::jit;
use crate::page::words;
use crate::paint::{Ink, Line};
use crate::units::{counted, share_of_one};
use model::run::{WaitEnd, WaitRow, WakerRow};
use model::wait::{StackFrame, SyscallName, WakerKind};
use model::{Ns, Run, Seen};
use std::cmp::Reverse;

/// Waits whose stack is shown, and functions of each stack.
const STACKS: usize = 2;
const FUNCTIONS: usize = 5;
/// Wakers of each wait.
const WAKERS: usize = 2;

/// The stacks of the longest waits on the path, by the rows shown, and of long waits for locks.
pub(super) fn lines(shown: &[Vec<Wait>], waits: &[Wait], run: &Run, look: Look) -> Vec<Line> {
    let on_path = shown.iter().map(|group| &group[0]).filter(|wait| wait.path_ns > 0).take(STACKS);
    let of_locks = waits.iter().filter(|wait| is_of_a_lock(wait, run)).take(STACKS);
    on_path.chain(of_locks).flat_map(|wait| from(wait, look)).collect()
}

/// Whether it is a long wait for a lock with a known place of release. The path is with the holder
/// meanwhile, so none of the wait is on it.
fn is_of_a_lock(wait: &WaitRow, run: &Run) -> bool {
    let somewhere = wait.by.iter().any(|waker| waker.place.value().is_some());
    somewhere && wait.path_ns == 0 && wait.total_ns >= run.wall_ns / 100
}

/// The stack of a wait, and its wakers.
fn from(wait: &Wait, look: Look) -> Vec<Line> {
    let Seen::Value(stack) = &wait.stack else { return Vec::new() };
    let cleaned = |frame: &StackFrame| clean(&jit::frame(frame), look.unicode);
    // A program's own functions say more than those of its library or interpreter.
    let script = stack.iter().position(StackFrame::is_script);
    let from = wait.own_frame.or(script).filter(|at| *at > 1).unwrap_or(0);
    // What calls a script's function is one of the interpreter, and says nothing.
    let says = |frame: &&StackFrame| !stack[from].is_script() || frame.is_script();
    let mut callers = stack.iter().skip(from).filter(says).peekable();
    let mut names: Vec<String> = callers.by_ref().take(FUNCTIONS).map(cleaned).collect();
    if from > 0 {
        names.insert(0, look.rest().to_owned());
        names.insert(0, cleaned(&stack[0]));
    }
    if callers.peek().is_some() {
        names.push(look.rest().to_owned());
    }
    let what = wait.call.syscall().map_or_else(|| "page fault".to_owned(), SyscallName::to_string);
    let called = format!(
        " ({}) from {}{}",
        clean(&what, look.unicode),
        names.join(look.called_by()),
        woken_by(wait, look)
    );
    let line = Line::new(look).add(Ink::Plain, "  ").add(Ink::Of(wait.reason), wait.reason.name());
    line.add(Ink::Plain, &called).wrap(6)
}

/// The threads that ended most of the waits: the holders of a lock, the writers of a pipe.
fn woken_by(wait: &Wait, look: Look) -> String {
    let threads = wait.by.iter().filter(|waker| matches!(waker.kind, WakerKind::Thread | WakerKind::Outside));
    let who: Vec<String> = threads
        .take(WAKERS)
        .map(|waker| {
            let outside = if waker.kind == WakerKind::Outside { ", another program" } else { "" };
            let number = number(waker);
            let place = match &waker.place {
                Seen::Value(place) => format!(" in {}", clean(&jit::frame(place), look.unicode)),
                _ => String::new(),
            };
            let name = clean(&waker.name, look.unicode);
            format!("{name} ({number}{}{outside}{}){place}", counted(waker.times, "time"), activity(waker))
        })
        .collect();
    let how = match wait.ended {
        WaitEnd::Unlocked => "released",
        WaitEnd::Woken => "woken",
    };
    if who.is_empty() { String::new() } else { format!("; {how} by {}", who.join(", ")) }
}

/// The waker's process, or its thread where that is another.
fn number(waker: &WakerRow) -> String {
    match (&waker.pid, &waker.tid) {
        (Seen::Value(pid), Seen::Value(tid)) if pid == tid => format!("PID {pid}, "),
        (_, Seen::Value(tid)) => format!("TID {tid}, "),
        _ => String::new(),
    }
}

/// The states in which the waker spent the waits, those of a tenth of their time or more.
fn activity(waker: &WakerRow) -> String {
    let mut states: Vec<_> = waker.meanwhile.iter().filter(|(_, ns)| *ns >= waker.ns.max(10) / 10).collect();
    states.sort_by_key(|(_, ns)| Reverse(*ns));
    let share = |ns: Ns| share_of_one(ns as f64 / waker.ns.max(1) as f64);
    let said: Vec<_> =
        states.iter().take(2).map(|(state, ns)| format!("{} {}", words::state(*state), share(*ns))).collect();
    if said.is_empty() { String::new() } else { format!("; during the waits: {}", said.join(", ")) }
}
