//! Comparisons of two results.
//!
//! What is compared, and by which margin, is up to each kind of result; what two figures may be
//! said to be, to `rules`.

pub mod commands;
mod lab;
mod ladder;
mod predicted;
mod probed;
mod requests;
mod rules;
mod runs;
mod sittings;
pub mod timings;
mod wake;
mod why;

pub use lab::{one_pair, scores};
pub use ladder::compare as ladders;
pub use predicted::predicted;
pub use probed::probed;
pub use runs::compare as runs;
pub use sittings::compare as sittings;
pub use wake::compare as wakes;
pub use why::{not_as_timed, why};
