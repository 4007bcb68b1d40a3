//! Threads that sleep until a given time and see how late they wake up: what `dwell wake` measures.
//!
//! It measures and concludes nothing: percentiles and verdicts are up to `analyse`, the machine's settings up to
//! `observe`. What needs unsafe code (policies, locked memory, timers) is in `sys`.
//!
//! [`measure()`] prepares a thread for each processor (`thread.rs`), starts them together, and then looks at what they have
//! written down (`state.rs`) every few milliseconds, from a processor that is not measured where there is one. It tells a
//! [`Listener`] how far it is and which wake-ups were late, so that others can look at what the kernel did around them.

mod asked;
mod awake;
mod gap;
mod guard;
mod latest;
mod measure;
mod sleep;
mod state;
mod thread;
mod timer;

pub use asked::{INTERVAL_NS_MIN, Refused, allowed_cpus, rt_priority_max, sound, usable_cpus};
pub use awake::Awake;
pub use measure::{Measured, measure, resolution_ns};

use model::{Ns, Tid};

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Since the begin.
    pub elapsed_ns: Ns,
    /// Of all threads.
    pub cycles: u64,
    /// Of all threads.
    pub missed: u64,
    /// The latest of all threads.
    pub max_ns: Ns,
}

/// A wake-up that was late, both times by the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// On which processor.
    pub cpu: u32,
    /// The measuring thread.
    pub tid: Tid,
    /// When it should have been awake; in gap mode, the last reading of the clock before the gap.
    pub expected_ns: Ns,
    /// When it was.
    pub awake_ns: Ns,
}

/// Is told while it is measured, every few milliseconds.
pub trait Listener {
    /// The threads are ready and measure at `begun_ns`: their processors and numbers.
    fn begins(&mut self, begun_ns: Ns, threads: &[(u32, Tid)]) {
        let _ = (begun_ns, threads);
    }

    /// So far it is.
    fn progress(&mut self, progress: Progress) {
        let _ = progress;
    }

    /// A wake-up was late, a few milliseconds ago.
    fn late(&mut self, late: Late) {
        let _ = late;
    }
}

/// Nobody.
impl Listener for () {}
