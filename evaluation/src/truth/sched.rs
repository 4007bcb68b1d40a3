//! The first oracle: a trace of the scheduler, from which follows what the threads of a tree did,
//! without anything that dwell says.
//!
//! For a program that was started: for how long some thread was on a CPU, for how long none was but
//! one could have been, and for how long all were blocked (`wall`). For a window: the same for each
//! thread (`ledger`), and where it is in the life of dwell (`quiet`). Reading a line is `line`'s
//! part, what the kernel did not tell `hidden`'s, what it charges to the wrong thread `charges`',
//! and who had a CPU `cpus`'.

mod charges;
mod cpus;
mod hidden;
mod ledger;
mod line;
mod quiet;
mod wall;

use anyhow::{Result, ensure};
pub(crate) use ledger::Ledger;
use line::{Event, Left, What, event};
pub(crate) use line::{Tid, nanoseconds};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
pub(crate) use wall::Wall;

/// The trace, in the order of time.
pub(crate) struct Trace(Vec<Event>);

/// A program within the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) tid: Tid,
    /// When it was executed.
    pub(crate) begun_ns: u64,
    /// When its last thread left its CPU for good.
    pub(crate) ended_ns: u64,
}

impl Trace {
    /// Reads the text of `perf script`.
    ///
    /// # Errors
    /// When it cannot be read, or has no events.
    pub(crate) fn read(text: impl BufRead) -> Result<Self> {
        let mut events = Vec::new();
        for line in text.split(b'\n') {
            events.extend(event(&String::from_utf8_lossy(&line?)));
        }
        ensure!(!events.is_empty(), "the trace of the scheduler is empty");
        // perf sorts by time as far as it flushed; a stable sort keeps the order of equal times.
        events.sort_by_key(|event| event.at_ns);
        for_children(&mut events);
        let hidden = hidden::hidden(&events);
        events.extend(hidden);
        events.sort_by_key(|event| event.at_ns);
        Ok(Self(events))
    }

    /// The life of the first process that executed this file, from that on to its end or the
    /// trace's.
    pub(crate) fn program(&self, file: &str) -> Option<Root> {
        let executes =
            |event: &&Event| matches!(&event.what, What::Exec { file: this, .. } if **this == *file);
        self.root(self.0.iter().find(executes)?)
    }

    /// The first program that was executed below that process.
    pub(crate) fn program_below(&self, above: &Root) -> Option<Root> {
        let mut tree = BTreeSet::from([above.tid]);
        let after = self.0.iter().filter(|event| event.at_ns > above.begun_ns);
        for event in after {
            match event.what {
                What::Fork { parent, child } if tree.contains(&parent) => {
                    tree.insert(child);
                }
                What::Exec { tid, .. } if tid != above.tid && tree.contains(&tid) => return self.root(event),
                _ => {}
            }
        }
        None
    }

    /// These threads with all others of their processes, all that they started in this time, and
    /// what those started.
    pub(crate) fn tree(&self, mut threads: BTreeSet<Tid>, from: u64, to: u64) -> BTreeSet<Tid> {
        for event in self.0.iter().filter(|event| (from..to).contains(&event.at_ns)) {
            match event.what {
                What::Fork { parent, child } if threads.contains(&parent) => {
                    threads.insert(child);
                }
                // Some threads start without an event: those that the kernel gives an io_uring, and
                // those before the trace.
                What::Switch { from, .. } if from != 0 && threads.contains(&event.process) => {
                    threads.insert(from);
                }
                _ => {}
            }
        }
        threads
    }

    fn root(&self, executed: &Event) -> Option<Root> {
        let What::Exec { tid, .. } = executed.what else { return None };
        // The last switch of a thread does not tell its process any more, so its earlier ones do.
        let of_process = self.0.iter().filter(|event| event.process == tid);
        let switched = of_process.filter_map(|event| match event.what {
            What::Switch { from, .. } => Some(from),
            _ => None,
        });
        let threads: BTreeSet<Tid> = switched.chain([tid]).collect();
        let ends = |event: &&Event| match event.what {
            What::Switch { from, left: Left::Dead, .. } => threads.contains(&from),
            _ => false,
        };
        let ended = self.0.iter().rfind(ends).or(self.0.last())?;
        Some(Root { tid, begun_ns: executed.at_ns, ended_ns: ended.at_ns })
    }
}

/// Who waits for no disk so shortly after a fork waits for the child.
const VFORK_NS: u64 = 50_000;

/// A parent waits in vfork as if for a disk: it leaves its CPU as soon as it has forked.
fn for_children(events: &mut [Event]) {
    let mut forked = BTreeMap::new();
    for event in events {
        match &mut event.what {
            What::Fork { parent, .. } => {
                forked.insert(*parent, event.at_ns);
            }
            What::Switch { from, left, .. } => {
                let waits = forked.remove(from).is_some_and(|at_ns| event.at_ns - at_ns < VFORK_NS);
                if waits && *left == Left::Uninterruptible {
                    *left = Left::Blocked;
                }
            }
            _ => {}
        }
    }
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    On,
    /// It waits for this CPU.
    Runnable(usize),
    Blocked,
    /// For a disk, as a rule.
    Uninterruptible,
    Gone,
}

/// What an event says of one thread: what it did before, and does now.
struct Turn {
    tid: Tid,
    before: Doing,
    now: Doing,
}

impl Turn {
    /// What the thread does now, if it did this before.
    fn after(&self, before: Doing) -> Doing {
        let (wakes, migrates) = match (self.before, self.now) {
            (Doing::Blocked, Doing::Runnable(_)) => (true, false),
            (Doing::Runnable(_), Doing::Runnable(_)) => (false, true),
            _ => (false, false),
        };
        match before {
            // A wake-up changes nothing for a thread that is on a CPU or ended.
            Doing::On | Doing::Runnable(_) | Doing::Gone if wakes => before,
            // Nor does a migration for one that does not wait for a CPU.
            Doing::On | Doing::Blocked | Doing::Uninterruptible | Doing::Gone if migrates => before,
            _ => self.now,
        }
    }
}

fn turns(event: &Event) -> [Option<Turn>; 2] {
    let turn = |tid, before, now| Some(Turn { tid, before, now });
    let waits = Doing::Runnable(event.cpu);
    match event.what {
        What::Switch { from, left, to } => {
            let now = match left {
                Left::Runnable => waits,
                Left::Blocked => Doing::Blocked,
                Left::Uninterruptible => Doing::Uninterruptible,
                Left::Dead => Doing::Gone,
            };
            [turn(from, Doing::On, now), turn(to, waits, Doing::On)]
        }
        What::Wake { tid, cpu } => {
            [turn(tid, Doing::Blocked, Doing::Runnable(cpu.unwrap_or(event.cpu))), None]
        }
        What::WakeUnseen { tid, cpu, .. } => [turn(tid, Doing::Blocked, Doing::Runnable(cpu)), None],
        What::Migrate { tid, cpu } => [turn(tid, waits, Doing::Runnable(cpu)), None],
        // It waits for a CPU when it is woken for the first time.
        What::Fork { child, .. } => [turn(child, Doing::Gone, Doing::Blocked), None],
        What::Exec { .. } | What::Ran { .. } | What::Came { .. } => [None, None],
    }
}

#[cfg(test)]
mod tests;
