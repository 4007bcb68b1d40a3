//! Caches, memory, and cores with each other.

mod cores;
pub(crate) mod curve;
mod levels;
mod loaded;
mod locks;
pub(crate) mod order;
mod remote;
mod tlb;

pub(crate) use levels::free_memory_bytes;

use crate::{LadderRequest, Rung};

pub(crate) fn rungs(_: &LadderRequest) -> Vec<Rung> {
    let mut rungs = levels::rungs();
    rungs.extend([tlb::rung(), loaded::rung(), remote::rung()]);
    rungs.extend([locks::atomic(), locks::uncontended(), locks::contended(), cores::rung()]);
    rungs
}
