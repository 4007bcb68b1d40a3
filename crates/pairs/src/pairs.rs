//! The pairs, a file each.

mod computes;
mod list_nodes;
mod small_files;

use crate::Pair;

/// All of them, those of the writings first.
pub static ALL: &[&Pair] = &[&list_nodes::PAIR, &small_files::PAIR, &computes::PAIR];
