//! Runs commands in alternation, in blocks of random order, and writes down what each run took.
//!
//! ```text
//! Plan --> Runner::begin   programs are found, the starter is forked
//!          Runner::block   each command once: prepare, the timed run, conclude
//!          Runner::empty   what starting and reaping alone takes
//! ```
//!
//! A small process of its own starts the commands and takes the time (`sys::starter`). dwell sleeps
//! while a command runs: it is woken at its end, by a signal, and once a second after the first
//! two. Only output that goes through a pipe, or is caught, takes more of it.
//!
//! Nothing is concluded here and no run is dropped: a row says why it does not count. Which
//! commands there are (words, shells, parameters), how many blocks, and what follows from the rows
//! is left to the caller and to `analyse`.

mod attend;
mod catch;
mod counters;
mod empty;
mod error;
mod metric;
mod plan;
mod row;
mod runner;
mod shuffle;
mod streams;

pub use catch::{Caught, RunOutput};
pub use error::Error;
pub use metric::Metric;
pub use plan::{Doing, Go, IgnoredFailures, Input, Output, Plan, Planned, Progress};
pub use runner::{Block, BlockEnd, Runner};
