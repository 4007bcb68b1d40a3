//! The pairs, a file each.

mod computes;
mod connections;
mod downloads;
mod link_copy;
mod list_nodes;
mod log_resolver;
mod one_answer;
mod parts;
mod pipeline;
mod requests;
mod small_files;

use crate::Pair;

/// All of them, those of the writings first.
pub static ALL: &[&Pair] = &[
    &list_nodes::PAIR,
    &small_files::PAIR,
    &downloads::PAIR,
    &log_resolver::PAIR,
    &link_copy::PAIR,
    &requests::PAIR,
    &parts::PAIR,
    &connections::PAIR,
    &computes::PAIR,
    &pipeline::PAIR,
    &one_answer::PAIR,
];
