//! The loop of the gap mode: read the clock without pause, and see for how long it could not.
//!
//! Two readings that follow each other are apart by what a reading takes and what writing it down takes, the floor; whatever strikes
//! the thread (interrupts, other tasks, the hypervisor, the firmware) is a larger gap. No time but that of pauses is unseen.

use crate::state::State;
use model::Ns;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::Duration;
use sys::clock::monotonic_ns;

/// How it shares the processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    /// It reads for so long,
    pub(crate) spin_ns: Ns,
    /// and then lets others run for so long, unmeasured; none: others take what they want.
    pub(crate) pause_ns: Option<Ns>,
}

/// Real-time threads that never sleep starve the kernel's own work on their processor. A twentieth of the time is what the kernel's
/// throttle would take by default, at a moment of its choice.
pub(crate) const REAL_TIME: Turns = Turns { spin_ns: 950_000_000, pause_ns: Some(50_000_000) };
/// The scheduler shares by itself.
pub(crate) const SHARED: Turns = Turns { spin_ns: 1_000_000_000, pause_ns: None };

/// Measures from `begun_ns` until `end_ns`, or until it is asked to stop.
pub(crate) fn measure(state: &State, turns: Turns, begun_ns: Ns, end_ns: Ns) {
    let (mut block, mut block_end_ns) = (0, begun_ns + state.block_ns);
    sleep(Duration::from_nanos(begun_ns.saturating_sub(monotonic_ns())));
    loop {
        let turn_end_ns = (monotonic_ns() + turns.spin_ns).min(end_ns);
        let mut last_ns = monotonic_ns();
        while last_ns < turn_end_ns && !state.stop.load(Relaxed) {
            let now_ns = monotonic_ns();
            while last_ns >= block_end_ns {
                block += 1;
                block_end_ns += state.block_ns;
            }
            state.record(last_ns, now_ns, block, begun_ns);
            last_ns = now_ns;
        }
        if last_ns >= end_ns || state.stop.load(Relaxed) {
            return;
        }
        if let Some(pause_ns) = turns.pause_ns {
            sleep(Duration::from_nanos(pause_ns));
        }
    }
}
