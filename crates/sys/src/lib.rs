//! dwell's direct system calls. The only crate of the workspace with unsafe code: each module that
//! needs it says so at its top.
//!
//! Grouped by use: [`program`] starts and ends programs, [`kernel`] is for every
//! measurement, [`ladder`], [`latency`] and [`load`] serve one subcommand each, and [`step`] counts
//! instructions by single-stepping. Modules are also reachable by their own name.
//!
//! It knows nothing of recordings: `observe` records while the program runs, and `host` reads
//! `/proc` and `/sys`.

pub mod kernel;
pub mod ladder;
pub mod latency;
pub mod load;
pub mod program;
pub mod step;

pub use kernel::{bpf, clock, perf_event, poll, shared};
pub use ladder::{chase, fork, loops, pages, pthread, tcp, to_self};
pub use latency::{locked, policy, posix_timer};
pub use load::{copy, counters, worker};
use program::origin;
pub use program::{
    allocator, apart, at_once, atomic_write, output_file, patience, resolve, rights, scratch, signals, spawn,
    starter, untrusted_file, user,
};
