//! The tests of this crate from outside, one program: a file is a module.

mod code;
mod counters;
mod cpu_split;
mod fault_places;
mod forged;
mod hand_overs;
mod judge;
mod limits;
mod locks;
mod path;
mod prediction;
mod processes;
mod properties;
mod requests;
mod run_queue;
mod story;
mod surroundings;
mod waits;
mod what_if;
