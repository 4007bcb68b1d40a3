//! Switches that a kernel does not trace: that of a sandbox may hide those of its own threads. Then
//! a thread leaves a CPU that it never got.

use super::Tid;
use super::line::{Event, Left, What};
use std::collections::BTreeMap;

/// The switches that must have been: a thread that leaves a CPU which another one had got has had
/// it since that one came, or since it could run. Threads that are hidden run for microseconds.
///
/// They are to be sorted in behind events of the same time.
pub(super) fn hidden(events: &[Event]) -> Vec<Event> {
    let mut found = Vec::new();
    let mut cpus = BTreeMap::<usize, (Tid, u64)>::new();
    let mut seen = BTreeMap::<Tid, u64>::new();
    for event in events {
        match event.what {
            What::Switch { from, to, .. } => {
                if let Some(&(had, since)) = cpus.get(&event.cpu)
                    && had != from
                {
                    let at_ns = since.max(seen.get(&from).copied().unwrap_or(0)).min(event.at_ns);
                    let what = What::Switch { from: had, left: Left::Blocked, to: from };
                    found.push(Event { at_ns, cpu: event.cpu, process: had, what });
                }
                cpus.insert(event.cpu, (to, event.at_ns));
                seen.insert(from, event.at_ns);
                seen.insert(to, event.at_ns);
            }
            What::Wake { tid, .. } | What::Migrate { tid, .. } | What::Fork { child: tid, .. } => {
                seen.insert(tid, event.at_ns);
            }
            What::Exec { .. } => {}
        }
    }
    found
}
