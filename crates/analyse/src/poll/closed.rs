//! What polling gives, in addition to the pieces that every tier gives.

use crate::account::Pieces;
use crate::counted::{CounterHit, Sampled};
use model::Ns;
use model::run::Faults;

/// The account, and what it rests on.
#[derive(Debug)]
pub(crate) struct Closed {
    /// What goes into the run.
    pub(crate) pieces: Pieces,
    /// Page faults of threads that were in a snapshot.
    pub(crate) faults: Faults,
    /// Time on a CPU of all threads in a window, where both the switches and the scheduler tell.
    pub(crate) cpu: Option<Counted>,
    /// What the processor's counters counted on the path; none in a window.
    pub(crate) on_path: Option<Vec<(CounterHit, Sampled)>>,
    /// What the reader must know.
    pub(crate) notes: Vec<String>,
}

/// Time on a CPU as the switches and as the scheduler have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) ours_ns: Ns,
    pub(crate) theirs_ns: Ns,
    /// How often a thread was switched in.
    pub(crate) switches: u64,
}
