//! What the rungs of the latency ladder are made of: pages of a wanted size, loops of known
//! instructions, children, threads and signals that do nothing, and what the kernel knows of a
//! connection.

pub mod chase;
pub mod fork;
pub mod loops;
pub mod pages;
pub mod pthread;
pub mod tcp;
pub mod to_self;
