//! What loads need: children that end with their parent, counters that they share, and a copy of
//! memory that sums what it moves.

pub mod copy;
pub mod counters;
pub mod worker;
