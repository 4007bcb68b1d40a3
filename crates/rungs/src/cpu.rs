//! What one core does by itself: a cycle, an addition, a mispredicted branch.

mod branch;
pub(crate) mod cycle;
pub(crate) mod pin;

use crate::{LadderRequest, Rung};

pub(crate) fn rungs(_: &LadderRequest) -> Vec<Rung> {
    vec![cycle::rung(), cycle::addition(), cycle::multiplication(), branch::rung()]
}
