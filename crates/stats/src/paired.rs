//! Differences of pairs that were measured in random order: how large they are, and when enough of
//! them have been seen.
//!
//! A difference is the logarithm of a ratio as a rule: it has no unit and is symmetric. The order
//! within each pair is drawn at random, so where the two of a pair do not differ, the sign of each
//! difference is a fair coin, given the sizes of all: whatever drifts, repeats itself or depends on
//! who was first. This is all that is assumed for that case; of a true difference also that it adds
//! to all pairs alike.

mod sequence;
mod signed_rank;

pub use sequence::{Bound, Sequence};
pub use signed_rank::{hodges_lehmann, pairs_min, signed_rank};
