//! How places of the program are named in sentences.

use crate::judge::Evidence;
use model::recording::Language;
use model::run::{WAITING_THREADS_MAX, WaitRow};
use model::sentence::Piece::{Count, Name};
use model::wait::{FrameKind, StackFrame};
use model::{Sentence, say};

/// `put (store.c:41)`.
pub(super) fn frame(frame: &StackFrame) -> Sentence {
    if matches!(frame.kind, FrameKind::Unnamed(_)) {
        return say!("JIT code without names");
    }
    if is_interpreted(frame) {
        return say!("code that the JVM interprets");
    }
    match &frame.source {
        Some((file, line)) => say!(Name(format!("{} ({file}:{line})", frame.function))),
        None => say!(Name(frame.function.clone())),
    }
}

/// Whether it is the JVM's interpreter, which stands for any method: none that it runs has a name.
pub(super) fn is_interpreted(frame: &StackFrame) -> bool {
    frame.language == Language::Jit && frame.function == "Interpreter"
}

/// ` in put (store.py:41)`: the function of a script that waits so, else that which makes the call.
pub(super) fn waiting(evidence: &Evidence<'_>, wait: &WaitRow) -> Sentence {
    match wait.stack.value().and_then(|stack| stack.iter().find(|frame| frame.is_script())) {
        Some(own) => say!(" in ").and(frame(own)),
        None => evidence.caller_waiting(wait),
    }
}

/// `16 threads` of a row of waits, by how many of them it tells.
pub(super) fn threads(told: usize) -> Sentence {
    let threads = say!(Count(told as u64, "thread".into()));
    if told < WAITING_THREADS_MAX { threads } else { say!("at least ").and(threads) }
}
