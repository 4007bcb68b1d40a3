//! The pairs, a file each.

mod computes;
mod copy;
mod disk_limit;
mod file_polls;
mod large_file;
mod list_nodes;
mod listing;
mod local_peer;
mod lookups;
mod plain_listing;
mod repeated_reads;
mod scattered_reads;
mod small_files;
mod small_files_cold;
mod small_writes;
mod syncs;

use crate::Pair;

/// All of them, those of the writings first.
pub static ALL: &[&Pair] = &[
    &list_nodes::PAIR,
    &small_files::PAIR,
    &small_files_cold::PAIR,
    &listing::PAIR,
    &copy::PAIR,
    &small_writes::PAIR,
    &lookups::PAIR,
    &syncs::PAIR,
    &repeated_reads::PAIR,
    &scattered_reads::PAIR,
    &disk_limit::PAIR,
    &local_peer::PAIR,
    &file_polls::PAIR,
    &computes::PAIR,
    &large_file::PAIR,
    &plain_listing::PAIR,
];
