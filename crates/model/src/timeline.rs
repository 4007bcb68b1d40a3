//! What each thread of a whole run did, one thing after the other, and the path through it: for
//! viewers with a time axis. Made from a recording only; a result holds sums.

use crate::wait::Reason;
use crate::{Ns, Pid, State, Tid};

/// All threads of a run over time. Times are from the start of the wall clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The threads, in the order in which they came.
    pub threads: Vec<ThreadLine>,
    /// Where one thread let another go on, in no order.
    pub hand_overs: Vec<HandOver>,
    /// The critical path, in order. It has no gaps, and sums to the wall clock.
    pub path: Vec<PathPiece>,
    /// No more was kept from then on.
    pub until_ns: Option<Ns>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadLine {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// Its last name. Untrusted.
    pub name: String,
    /// The name of its process. Untrusted.
    pub process: String,
    /// What it did, in order, without gaps.
    pub slices: Vec<Slice>,
}

/// What a thread did for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Since when.
    pub at_ns: Ns,
    /// For how long.
    pub ns: Ns,
    /// What it was.
    pub state: State,
    /// The call, the target of a wait, or who had the CPU.
    pub reason: Reason,
}

/// One thread let another go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandOver {
    /// Who: a position in [`Timeline::threads`].
    pub from: u32,
    /// When it did.
    pub from_ns: Ns,
    /// Who went on.
    pub to: u32,
    /// When its wait was over.
    pub to_ns: Ns,
}

/// A part of the critical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPiece {
    /// Whose time it was: a position in [`Timeline::threads`]; none of time that belongs to no
    /// thread.
    pub thread: Option<u32>,
    /// What it did.
    pub slice: Slice,
}
