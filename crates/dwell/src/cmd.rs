//! The verbs, one file each.

pub(crate) mod run;
pub(crate) mod show;
