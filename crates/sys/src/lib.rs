//! What dwell asks of the kernel directly. The only crate of the workspace with unsafe code: each
//! module that needs it says so at its top.
//!
//! Grouped by use: [`program`] starts and ends what is traced, [`kernel`] is what every measurement
//! asks, [`ladder`], [`latency`] and [`load`] serve one verb each, and [`step`] counts instructions by
//! stepping. Modules are also reachable by their own name.
//!
//! It knows nothing of recordings; what is recorded while the program runs is left to `observe`, and
//! what `/proc` and `/sys` say to `host`.

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
pub use program::{resolve, signals, spawn, user};
