//! Measures wake-up latency for `dwell wake`: threads that sleep until a given time and record how
//! late they wake up.
//!
//! This crate measures and concludes nothing: percentiles and verdicts are in `analyse`, the
//! machine's settings in `observe`, and unsafe code (policies, locked memory, timers) in `sys`.
//!
//! [`measure()`] prepares a thread for each CPU (`thread.rs`), starts them together, and then reads
//! their records (`state.rs`) every few milliseconds, from a CPU that is not measured if there is
//! one. It reports progress and late wake-ups to a [`Listener`], so that the kernel's events around
//! them can be saved.

mod dma_latency;
mod gap;
mod guard;
mod measure;
mod request;
mod sleep;
mod state;
mod thread;
mod threshold;
mod timer;

pub use dma_latency::DmaLatency;
pub use measure::{Measurement, measure, resolution_ns};
pub use request::{Error, INTERVAL_NS_MIN, allowed_cpus, check, rt_priority_max, usable_cpus};

use model::{Ns, Tid};

/// The progress of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Since the start.
    pub elapsed_ns: Ns,
    /// Wake-ups of all threads.
    pub cycles: u64,
    /// Missed periods of all threads.
    pub missed: u64,
    /// The maximum latency of all threads.
    pub max_ns: Ns,
    /// Their median and their 99th percentile, as of at most a second ago.
    pub quantiles_ns: (Ns, Ns),
}

/// A late wake-up; both times are of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateWakeup {
    /// The CPU.
    pub cpu: u32,
    /// The measuring thread.
    pub tid: Tid,
    /// When it should have been awake; in gap mode, the last reading of the clock before the gap.
    pub expected_ns: Ns,
    /// When it was awake.
    pub awake_ns: Ns,
}

/// Is called every few milliseconds during a measurement.
pub trait Listener {
    /// The threads are ready and start to measure at `begun_ns`: their CPUs and thread IDs.
    fn begins(&mut self, begun_ns: Ns, threads: &[(u32, Tid)]) {
        let _ = (begun_ns, threads);
    }

    /// The progress so far.
    fn progress(&mut self, progress: Progress) {
        let _ = progress;
    }

    /// A wake-up was late, a few milliseconds ago.
    fn late(&mut self, late: LateWakeup) {
        let _ = late;
    }
}

/// Ignores everything.
impl Listener for () {}
