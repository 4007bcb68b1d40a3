//! Getting memory and giving it back: from the allocator, and from the kernel.

mod heap;
mod pages;

use crate::{LadderRequest, Rung};

pub(crate) fn rungs(_: &LadderRequest) -> Vec<Rung> {
    vec![heap::small(), heap::large(), pages::map(), pages::small(), pages::huge()]
}
