//! Parts of the rungs of the latency ladder: pages of a given size, loops of known instructions,
//! children, threads and signals that do nothing, and the kernel's state of a connection.

pub mod chase;
pub mod fork;
pub mod loops;
pub mod pages;
pub mod pthread;
pub mod tcp;
pub mod to_self;
