//! What the kernel does for a program: calls, switches, threads, processes, signals, timers.

mod calls;
mod echo;
mod processes;
mod switches;
mod timers;
mod turns;

use crate::cpu::pin::Pinned;
use crate::{LadderRequest, Rung, Unmeasured};

pub(crate) fn rungs(_: &LadderRequest) -> Vec<Rung> {
    vec![
        calls::clock(),
        calls::cheapest(),
        calls::signal(),
        switches::futex(),
        switches::pipe(),
        switches::same_core(),
        switches::across(),
        processes::thread(),
        processes::process(),
        processes::exec(),
        timers::precise(),
        timers::default(),
    ]
}

/// The calling thread on this CPU, and surely so: a rung about one core or two says nothing
/// otherwise.
fn pinned(cpu: u32) -> Result<Pinned, Unmeasured> {
    let pinned = Pinned::to(cpu);
    if rustix::thread::sched_getcpu() == cpu as usize {
        Ok(pinned)
    } else {
        Err(Unmeasured::Unseen(format!("a thread could not be kept on CPU {cpu}")))
    }
}
