//! Imposes the fix of a finding on runs of a command, and times them beside runs without it.
//!
//! ```text
//! Imposing::check   can it be imposed here at all?
//! pairs             one run as it is and one with the fix, in random order, some times over
//! ```
//!
//! None of these runs is observed: both of a pair are started, watched and timed alike, so that
//! what differs is the fix. What the pairs mean is left to `analyse`; which finding is probed, and
//! what the user is told, to the caller.

mod files;
mod group;
mod imposing;
mod input;
mod pairs;
mod run;
mod sockets;

pub use imposing::Imposing;
pub use input::Input;
pub use pairs::{End, Repeats, Subject, pairs};
