//! Whether programs run that are attached. The kernel would say nothing of one that does not, and
//! nothing is what a program without switches or calls would show.

use aya::Ebpf;
use aya::sys::{Stats, enable_stats};
use std::thread;
use std::time::Duration;

/// What dwell itself does all the time: it makes calls, gives its CPU away, and is woken.
const ALWAYS: [&str; 4] = ["sched_switch", "sched_waking", "sys_enter", "sys_exit"];

/// It sleeps so long, so often at most.
const PAUSE: Duration = Duration::from_micros(50);
const LOOKS_MAX: usize = 20;

/// Those of these that the kernel has not run, though there was reason to. It counts runs for root
/// alone: for others none are known.
pub(super) fn silent(ebpf: &Ebpf) -> Vec<&'static str> {
    let Ok(_counting) = enable_stats(Stats::RunTime) else { return Vec::new() };
    let has_run = |name: &str| {
        let info = ebpf.program(name).and_then(|program| program.info().ok());
        // Where that is not told, nothing is known against it.
        info.is_none_or(|info| info.run_count() > 0)
    };
    let mut silent = ALWAYS.to_vec();
    for _ in 0..LOOKS_MAX {
        thread::sleep(PAUSE);
        silent.retain(|name| !has_run(name));
        if silent.is_empty() {
            break;
        }
    }
    silent
}
