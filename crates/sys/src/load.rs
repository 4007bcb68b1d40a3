//! For stress loads: children that end with their parent, shared counters, and a memory copy with a
//! checksum.

pub mod copy;
pub mod counters;
pub mod worker;
