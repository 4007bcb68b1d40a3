//! The loop of timer mode: sleep until the next time, read the clock, record.
//!
//! No allocation, no lock, and no system call except the sleep (the clock is read without one).

use crate::guard::Guard;
use crate::sleep::Sleep;
use crate::state::State;
use model::Ns;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use sys::clock::{monotonic_ns, thread_cpu_ns};

/// When one thread measures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The start of all threads.
    pub(crate) begun_ns: Ns,
    /// The first wake-up of this thread.
    pub(crate) first_ns: Ns,
    pub(crate) interval_ns: Ns,
    /// No wake-up at or after this.
    pub(crate) end_ns: Ns,
}

/// Measures until the end or `state.stop`, which a guard may set.
pub(crate) fn measure(
    state: &State,
    sleep: &Sleep,
    times: Times,
    mut guard: Option<Guard>,
) -> io::Result<()> {
    let Times { begun_ns, interval_ns, end_ns, .. } = times;
    let mut next_ns = times.first_ns;
    let (mut block, mut block_end_ns) = (0, begun_ns + state.block_ns);
    while next_ns < end_ns && !state.stop.load(Relaxed) {
        sleep.until(next_ns)?;
        let awake_ns = monotonic_ns();
        if awake_ns < next_ns {
            continue;
        }
        while next_ns >= block_end_ns {
            block += 1;
            block_end_ns += state.block_ns;
        }
        if !state.is_elsewhere() {
            state.record(next_ns, awake_ns, block, begun_ns);
        }
        let late_ns = awake_ns - next_ns;
        next_ns += interval_ns;
        if late_ns >= interval_ns {
            let missed = late_ns / interval_ns;
            state.miss(missed);
            next_ns += missed * interval_ns;
            if let Some(guard) = &mut guard
                && let Some(cost_ns) = guard.missed(awake_ns, state.cycles(), thread_cpu_ns)
            {
                state.give_up(cost_ns);
            }
        }
    }
    Ok(())
}
