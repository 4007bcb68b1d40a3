//! What shows of a cause where its full rule cannot be applied: kinds of waits, and work of the
//! kernel. A cause lists its signs in its file; `by_signs` looks for them.

use model::run::WaitRow;

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
    /// The same where what they wait for is not known, but the program uses TCP.
    WaitsWithTcp(fn(&WaitRow) -> bool, u64, &'static str),
    /// Time on a CPU in these calls.
    Calls(&'static [&'static str]),
    /// The same of calls that move few bytes each: little of it is copying.
    SmallCalls(&'static [&'static str]),
    /// Time on a CPU in kernel functions with these names; what they do.
    Functions(&'static [&'static str], &'static str),
}
