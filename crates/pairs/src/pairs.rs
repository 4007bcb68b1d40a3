//! The pairs, a file each.

mod chase;
mod computes;
mod copies;
mod faults;
mod heat_grid;
mod heat_grid_python;
mod heat_grid_slip;
mod list;
mod list_nodes;
mod list_nodes_c;
mod locks;
mod one_cpu;
mod packs;
mod parses;
mod polls;
mod python_threads;
mod quota;
mod scans;
mod small_files;
mod sorts;
mod spawns;
mod spins;
mod switches;

use crate::Pair;

/// All of them, those of the writings first.
pub static ALL: &[&Pair] = &[
    &list_nodes::PAIR,
    &small_files::PAIR,
    &heat_grid::PAIR,
    &list_nodes_c::PAIR,
    &heat_grid_python::PAIR,
    &heat_grid_slip::PAIR,
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
    &computes::PAIR,
    &sorts::PAIR,
    &parses::PAIR,
    &packs::PAIR,
    &copies::PAIR,
];
