//! A thread in timed waits while others worked: what stands on the path for them.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{counted, duration};
use model::Run;
use model::run::{ThreadLedger, TimedWaits};

/// Such waits are worth a line from this part of the wall clock on.
const PART: u128 = 10;

/// A line for the thread of the program's own process that has most of such waits.
pub(super) fn lines(run: &Run, look: Look) -> Vec<Line> {
    let root = run.threads.first().map(|thread| thread.pid);
    // A row of many is no thread.
    let single = run.threads.iter().filter(|thread| thread.together.is_none());
    let of_root = single.filter(|thread| Some(thread.pid) == root);
    let waits = of_root.filter_map(|thread| Some((thread, thread.timed_waits?)));
    let Some((thread, waits)) = waits.max_by_key(|(_, waits)| waits.others_running_ns()) else {
        return Vec::new();
    };
    if u128::from(waits.others_running_ns()) * PART < u128::from(run.wall_ns) {
        return Vec::new();
    }
    Line::new(look).add(Ink::Bold, "meanwhile").add(Ink::Plain, &sentence(thread, &waits, look)).wrap(2)
}

fn sentence(thread: &ThreadLedger, waits: &TimedWaits, look: Look) -> String {
    let did: Vec<String> =
        [(waits.others_on_cpu_ns, "on a CPU"), (waits.others_runnable_ns, "waiting for a CPU")]
            .into_iter()
            .filter(|(ns, _)| *ns > 0)
            .map(|(ns, what)| format!("{what} for {}", duration(ns)))
            .collect();
    format!(
        " {} (TID {}) was in {} for {}; during these waits, other threads of the program were {}: the path has \
         their time instead",
        clean(&thread.name, look.unicode),
        thread.tid,
        counted(waits.times, "timed wait"),
        duration(waits.total_ns),
        did.join(", ")
    )
}
