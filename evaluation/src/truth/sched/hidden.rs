//! Switches that a kernel does not trace: many of those from the idle task, with the wake-ups
//! before them, are missing where a virtual machine's CPU goes to sleep (Linux 6.18 with haltpoll).
//! perf's own records of switches have them (of 12,869 turns of fio the trace had the begin of
//! 366). Where those are missing too, a thread leaves a CPU that it never got.

use super::Tid;
use super::line::{Event, Left, What};
use std::collections::BTreeMap;

/// The switches that must have been. They are to be sorted in behind events of the same time.
///
/// A thread that leaves a CPU which another one had got came as long before as the kernel has
/// charged to it since it last left one (`sched_stat_runtime`). Where nothing was charged, it came
/// as early as it can have.
pub(super) fn hidden(events: &[Event]) -> Vec<Event> {
    let mut found = Vec::new();
    let mut cpus = BTreeMap::<usize, (Tid, u64)>::new();
    let mut threads = BTreeMap::<Tid, Thread>::new();
    for event in events {
        match event.what {
            What::Switch { from, to, .. } => {
                let cpu = cpus.insert(event.cpu, (to, event.at_ns));
                if let Some((had, since)) = cpu
                    && had != from
                {
                    let left_ns = threads.get(&had).map_or(since, |thread| thread.charged_ns.max(since));
                    let thread = threads.get(&from).copied().unwrap_or_default();
                    let came_ns = thread.came_ns(since, event.at_ns);
                    found.extend(turn(event.cpu, (had, left_ns), (from, came_ns), true));
                }
                for tid in [from, to] {
                    threads.insert(tid, Thread { seen_ns: event.at_ns, ..Thread::default() });
                }
            }
            What::Came { tid } => {
                if let Some((had, since)) = cpus.get(&event.cpu).copied()
                    && had != tid
                {
                    let left_ns = threads.get(&had).map_or(since, |thread| thread.charged_ns.max(since));
                    found.extend(turn(event.cpu, (had, left_ns), (tid, event.at_ns), false));
                    cpus.insert(event.cpu, (tid, event.at_ns));
                    threads.insert(tid, Thread { seen_ns: event.at_ns, ..Thread::default() });
                }
            }
            What::Ran { tid, ns } => {
                let thread = threads.entry(tid).or_default();
                thread.ran_ns += ns;
                thread.charged_ns = event.at_ns;
            }
            What::Wake { tid, .. } | What::Migrate { tid, .. } | What::Fork { child: tid, .. } => {
                threads.entry(tid).or_default().seen_ns = event.at_ns;
            }
            What::Exec { .. } | What::WakeUnseen { .. } => {}
        }
    }
    found
}

/// The switches from a thread that had a CPU, and left it then, to one that came at this time.
fn turn(cpu: usize, (had, left_ns): (Tid, u64), (tid, came_ns): (Tid, u64), by_charge: bool) -> [Event; 3] {
    let at = |at_ns, process, what| Event { at_ns, cpu, process, what };
    let switch = |from, to| What::Switch { from, left: Left::Blocked, to };
    [
        at(left_ns.min(came_ns), had, switch(had, 0)),
        // It was woken, if it was not seen to wait for a CPU.
        at(came_ns, 0, What::WakeUnseen { tid, cpu, by_charge }),
        at(came_ns, 0, switch(0, tid)),
    ]
}

/// A thread since its last switch.
#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    /// Its last event, which was before it got a CPU.
    seen_ns: u64,
    /// The time charged to it.
    ran_ns: u64,
    /// When that was.
    charged_ns: u64,
}

impl Thread {
    /// When it got the CPU that it leaves now, which was another's from that time on.
    fn came_ns(self, since_ns: u64, now_ns: u64) -> u64 {
        let earliest_ns = since_ns.max(self.seen_ns).min(now_ns);
        if self.ran_ns == 0 { earliest_ns } else { now_ns.saturating_sub(self.ran_ns).max(earliest_ns) }
    }
}
