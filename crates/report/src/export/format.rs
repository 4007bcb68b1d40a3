//! What every format gives, and how formats call a stretch of a request.

use crate::clean::clean;
use crate::page::requests::{at, reason};
use model::requests::{RequestSpan, Unit};

/// A result in the format of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// What the format could not hold: sentences without a full stop.
    pub left_out: Vec<String>,
}

/// What a stretch of a request was spent at, and what it was for.
pub(super) fn request_part(span: &RequestSpan, unit: Unit) -> String {
    match reason(&span.call, &span.on, span.at, false) {
        what if what.is_empty() => at(span.at, unit).to_owned(),
        what => clean(&format!("{}: {what}", at(span.at, unit)), true),
    }
}
