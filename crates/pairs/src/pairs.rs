//! The pairs, a file each.

mod chase;
mod computes;
mod connections;
mod copies;
mod copy;
mod disk_limit;
mod downloads;
mod faults;
mod file_polls;
mod heat_grid;
mod heat_grid_python;
mod heat_grid_slip;
mod large_file;
mod link_copy;
mod list;
mod list_nodes;
mod list_nodes_c;
mod listing;
mod local_peer;
mod locks;
mod log_resolver;
mod lookups;
mod one_answer;
mod one_cpu;
mod packs;
mod parses;
mod parts;
mod pipeline;
mod plain_listing;
mod polls;
mod python_threads;
mod quota;
mod repeated_reads;
mod requests;
mod scans;
mod scattered_reads;
mod short_memory;
mod small_files;
mod small_files_cold;
mod small_writes;
mod sorts;
mod spawns;
mod spins;
mod switches;
mod syncs;

use crate::{Pair, Part};
use std::io;

/// Times the parts of a way apart.
type Apart = fn(&str) -> io::Result<Vec<Part>>;

/// The parts of the pair of that name, if its ways have any.
pub(crate) fn apart(name: &str) -> Option<Apart> {
    [small_files::PAIR.name, small_files_cold::PAIR.name]
        .contains(&name)
        .then_some(small_files::apart as Apart)
}

/// All of them: those of the writings, one for each other cause, healthy programs.
pub static ALL: &[&Pair] = &[
    &list_nodes::PAIR,
    &list_nodes_c::PAIR,
    &small_files::PAIR,
    &small_files_cold::PAIR,
    &downloads::PAIR,
    &heat_grid::PAIR,
    &heat_grid_python::PAIR,
    &heat_grid_slip::PAIR,
    &copy::PAIR,
    &log_resolver::PAIR,
    &link_copy::PAIR,
    &listing::PAIR,
    &scans::PAIR,
    &faults::PAIR,
    &list::PAIR,
    &polls::PAIR,
    &spawns::PAIR,
    &locks::PAIR,
    &switches::PAIR,
    &spins::PAIR,
    &one_cpu::PAIR,
    &python_threads::PAIR,
    &quota::PAIR,
    &chase::PAIR,
    &requests::PAIR,
    &parts::PAIR,
    &connections::PAIR,
    &small_writes::PAIR,
    &lookups::PAIR,
    &syncs::PAIR,
    &repeated_reads::PAIR,
    &scattered_reads::PAIR,
    &disk_limit::PAIR,
    &local_peer::PAIR,
    &file_polls::PAIR,
    &computes::PAIR,
    &sorts::PAIR,
    &parses::PAIR,
    &packs::PAIR,
    &copies::PAIR,
    &large_file::PAIR,
    &plain_listing::PAIR,
    &pipeline::PAIR,
    &one_answer::PAIR,
    &short_memory::PAIR,
];
