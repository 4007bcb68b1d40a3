//! The verbs, one file each.

pub(crate) mod count;
pub(crate) mod run;
pub(crate) mod show;
