//! The verbs, one file each.

pub(crate) mod attach;
pub(crate) mod compare;
pub(crate) mod count;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod hits;
mod kept;
pub(crate) mod lab;
pub(crate) mod ladder;
pub(crate) mod list;
pub(crate) mod load;
mod named;
pub(crate) mod note;
pub(crate) mod push;
mod recordings;
pub(crate) mod report;
mod results;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod store;
pub(crate) mod tag;
pub(crate) mod wake;
mod what_if;
