//! Comparisons of two results.
//!
//! What is compared, and by which margin, is up to each kind of result; what two figures may be
//! said to be, to `rules`.

pub mod commands;
mod ladder;
mod rules;
mod wake;

pub use ladder::compare as ladders;
pub use wake::compare as wakes;
