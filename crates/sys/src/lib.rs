//! What dwell asks of the kernel directly. The only crate of the workspace with unsafe code: each module that
//! needs it says so at its top.
//!
//! It starts and ends the program ([`spawn`], [`resolve`], [`user`]), stands between it and the signals meant
//! for it ([`signals`]), waits and reads clocks ([`poll`], [`clock`]), opens perf events ([`perf_event`]) and maps
//! memory that the kernel writes ([`shared`]). For the latency ladder it gives pages of a wanted size ([`pages`]) and loops
//! of known instructions ([`chase`], [`loops`]), children, threads and signals that do nothing ([`fork`], [`pthread`],
//! [`to_self`]), and what the kernel knows of a connection ([`tcp`]); for wake-ups scheduling policies ([`policy`]), locked memory
//! ([`locked`]) and timers that signal a thread ([`posix_timer`]); for loads children that end with their parent ([`worker`]),
//! counters that they share ([`counters`]), and a copy of memory that sums what it moves ([`copy`]). It knows nothing of
//! recordings; what to look at while the program runs
//! is up to `observe`.

pub mod bpf;
pub mod chase;
pub mod clock;
pub mod copy;
pub mod counters;
pub mod fork;
pub mod locked;
pub mod loops;
mod origin;
pub mod pages;
pub mod perf_event;
pub mod policy;
pub mod poll;
pub mod posix_timer;
pub mod pthread;
pub mod resolve;
pub mod shared;
pub mod signals;
pub mod spawn;
pub mod step;
pub mod tcp;
pub mod to_self;
pub mod user;
pub mod worker;
