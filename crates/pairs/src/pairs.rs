//! The pairs, a file each.

mod chase;
mod computes;
mod connections;
mod copies;
mod downloads;
mod faults;
mod heat_grid;
mod heat_grid_python;
mod heat_grid_slip;
mod link_copy;
mod list;
mod list_nodes;
mod list_nodes_c;
mod locks;
mod log_resolver;
mod one_answer;
mod one_cpu;
mod packs;
mod parses;
mod parts;
mod pipeline;
mod polls;
mod python_threads;
mod requests;
mod scans;
mod small_files;
mod sorts;
mod spawns;
mod spins;
mod switches;

use crate::Pair;

/// All of them: those of the writings, one for each other cause, healthy programs.
pub static ALL: &[&Pair] = &[
    &list_nodes::PAIR,
    &list_nodes_c::PAIR,
    &small_files::PAIR,
    &downloads::PAIR,
    &heat_grid::PAIR,
    &heat_grid_python::PAIR,
    &heat_grid_slip::PAIR,
    &log_resolver::PAIR,
    &link_copy::PAIR,
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
    &chase::PAIR,
    &requests::PAIR,
    &parts::PAIR,
    &connections::PAIR,
    &computes::PAIR,
    &sorts::PAIR,
    &parses::PAIR,
    &packs::PAIR,
    &copies::PAIR,
    &pipeline::PAIR,
    &one_answer::PAIR,
];
