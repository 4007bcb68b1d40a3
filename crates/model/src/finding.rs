//! A cause that a run shows: where, how much of the time it has, what can be done about it, and
//! what all of that rests on.
//!
//! Which causes there are, and what their signs are, is up to `analyse`; how they are worded, to
//! `report`.

use crate::coverage::Interval;
use crate::{Ns, Seen};

/// The name of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CauseName {
    /// For programs: lower case, with hyphens. It never changes.
    pub id: &'static str,
    /// For people: a noun, in the plural or without a number.
    pub title: &'static str,
}

/// A cause, found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Which.
    pub cause: CauseName,
    /// What it has of the account: between these.
    pub share_ns: Interval,
    /// What the account would lose without it.
    pub saving_ns: Seen<Interval>,
    /// Where it shows.
    pub place: Place,
    /// What to do about it. None where the place says all that there is to say.
    pub action: Option<Action>,
    /// What says so.
    pub evidence: Signs,
    /// What is taken for granted.
    pub assumes: Vec<Assumption>,
    /// How one knows that the action helped.
    pub verify: Vec<Verification>,
}

/// Where a cause shows: a row of the run's tables, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A row of `waits`.
    Wait(usize),
    /// A row of `connections`.
    Connection(usize),
}

/// What to do about a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Use one of these: options, calls or flags of the system, as their manual pages name them.
    Use(&'static [&'static str]),
}

/// What says that a cause is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signs {
    /// Waits with its signs.
    Waits(SignedWaits),
    /// The same, of waits after more than one write to a connection.
    WaitsAfterWrites {
        /// The waits.
        waits: SignedWaits,
        /// Mean payload of a write.
        write_bytes_mean: u64,
    },
}

/// Waits that have the signs of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedWaits {
    /// How many.
    pub waits: u64,
    /// Of how many that might have them.
    pub of_waits: u64,
    /// Blocked time of those that do, over all threads, on the path or not.
    pub total_ns: Ns,
}

/// What a finding takes for granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumption {
    /// The other end of a connection behaves as its kind does. It was not observed.
    PeerUnseen,
    /// What is called is known by the names of functions on the stack.
    FunctionNames,
}

/// How one knows that an action helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// In another run with it these waits are gone, and no others took their place.
    WaitsGone,
}
