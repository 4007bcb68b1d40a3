//! The loop of gap mode: read the clock continuously and record the gaps between readings.
//!
//! The smallest gap is the cost of a reading and its record. Whatever interrupts the thread
//! (interrupts, other tasks, the hypervisor, the firmware) is a larger gap. Only pauses are not
//! measured.

use crate::state::State;
use model::Ns;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::Duration;
use sys::clock::monotonic_ns;

/// How the loop shares its CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DutyCycle {
    /// Time to read the clock;
    pub(crate) spin_ns: Ns,
    /// then an unmeasured pause for other tasks. None: the scheduler shares the CPU.
    pub(crate) pause_ns: Option<Ns>,
}

/// For real-time threads, which would starve the kernel's own work on their CPU. The pause is the 5
/// % that the kernel's throttling would take by default, at a time of its own choice.
pub(crate) const REAL_TIME: DutyCycle = DutyCycle { spin_ns: 950_000_000, pause_ns: Some(50_000_000) };
/// For ordinary threads: the scheduler shares the CPU.
pub(crate) const SHARED: DutyCycle = DutyCycle { spin_ns: 1_000_000_000, pause_ns: None };

/// A gap of this length may be a move to another CPU.
const LOOK_NS: Ns = 1_000;

/// Measures from `begun_ns` until `end_ns` or `state.stop`.
pub(crate) fn measure(state: &State, duty: DutyCycle, begun_ns: Ns, end_ns: Ns) {
    let (mut block, mut block_end_ns) = (0, begun_ns + state.block_ns);
    let mut elsewhere = false;
    sleep(Duration::from_nanos(begun_ns.saturating_sub(monotonic_ns())));
    loop {
        let spin_end_ns = (monotonic_ns() + duty.spin_ns).min(end_ns);
        let mut last_ns = monotonic_ns();
        while last_ns < spin_end_ns && !state.stop.load(Relaxed) {
            let now_ns = monotonic_ns();
            while last_ns >= block_end_ns {
                block += 1;
                block_end_ns += state.block_ns;
            }
            // A move to another CPU is a gap, and asking at each reading would be part of each gap.
            elsewhere = (elsewhere || now_ns - last_ns > LOOK_NS) && state.is_elsewhere();
            if !elsewhere {
                state.record(last_ns, now_ns, block, begun_ns);
            }
            last_ns = now_ns;
        }
        if last_ns >= end_ns || state.stop.load(Relaxed) {
            return;
        }
        if let Some(pause_ns) = duty.pause_ns {
            sleep(Duration::from_nanos(pause_ns));
        }
    }
}
