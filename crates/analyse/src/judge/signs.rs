//! What shows of a cause where its full rule cannot be applied: kinds of waits, and work of the
//! kernel. A cause lists its signs in its file; `by_signs` looks for them.

use super::evidence::Evidence;
use model::finding::RowRef;
use model::run::WaitRow;
use model::{Ns, Sentence};

/// A sign of a cause.
#[derive(Debug)]
pub(super) struct Sign {
    pub(super) by: By,
    /// Whether it counts also where the full rule was applied and did not find the cause.
    pub(super) although: bool,
    /// What to change.
    pub(super) change: &'static str,
}

/// Where it shows.
#[derive(Debug)]
pub(super) enum By {
    /// Waits of a kind, at least this many of them; for what they are.
    Waits(fn(&WaitRow) -> bool, u64, &'static str),
    /// The same where something else shows what they are for. It is told all of them.
    WaitsWhere(fn(&WaitRow) -> bool, u64, &'static str, fn(&Evidence<'_>, &[&WaitRow]) -> bool),
    /// Time on a CPU in these calls, where little of it is in kernel functions whose names begin so
    /// or, after `*`, end so: those do what has to be done.
    Calls(&'static [&'static str], &'static [&'static str]),
    /// Time on a CPU in kernel functions with these names; what they do.
    Functions(&'static [&'static str], &'static str),
    /// What the cause itself finds.
    Shown(fn(&Evidence<'_>) -> Option<SeenSign>),
}

/// Time of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Cpu,
    Waiting,
}

/// What there is of a sign.
#[derive(Debug)]
pub(super) struct SeenSign {
    pub(super) ns: Ns,
    pub(super) kind: Kind,
    pub(super) place: RowRef,
    pub(super) what: Sentence,
    pub(super) evidence: Vec<Sentence>,
}
