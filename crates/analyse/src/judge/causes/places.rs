//! How places of the program are named in sentences.

use model::sentence::Piece::Name;
use model::wait::StackFrame;
use model::{Sentence, say};

/// `put (store.c:41)`.
pub(super) fn frame(frame: &StackFrame) -> Sentence {
    match &frame.source {
        Some((file, line)) => say!(Name(format!("{} ({file}:{line})", frame.function))),
        None => say!(Name(frame.function.clone())),
    }
}
