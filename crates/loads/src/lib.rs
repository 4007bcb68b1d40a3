//! Makes the machine work in a known way while something else is measured, and says how much was done: the loads of
//! `dwell wake`, and `dwell load` by itself.
//!
//! A load is bounded in time and memory, ends by itself, and ends with the process that started it. [`run`] does the work
//! in the calling process; [`Running`] has it done by processes of its own, which is how something else is measured
//! meanwhile. What was done is said, and nothing concluded of it.

mod cpu;
mod disk;
mod irq;
mod memory;
mod network;
mod room;
mod sched;
pub mod spec;
mod supervise;
mod team;

use model::Ns;
use model::wake::load::{Load, LoadDone, Mismatch};
use std::io;
use std::time::Duration;
use sys::clock::monotonic_ns;

pub use supervise::{READY, Running, Stopped};

/// At most so many mismatches are described; all are counted.
const MISMATCHES_MAX: usize = 16;

/// Whoever has a load run.
pub trait Overseer {
    /// All workers are at work.
    fn ready(&mut self) {}

    /// Waits for at most this long, and says whether the load shall end.
    fn ended(&mut self, wait: Duration) -> bool;
}

/// Runs a load in this process for so long, or until the overseer ends it; gives what was done when all its workers are gone.
///
/// To be called by the only thread of the process, since workers may be forked.
///
/// # Errors
/// When it cannot be started, with what to do where something helps; nothing is left then.
pub fn run(load: &Load, length: Duration, overseer: &mut dyn Overseer) -> io::Result<LoadDone> {
    let until = Until { overseer, length };
    let (load, tally) = match load {
        Load::Sched { groups, pairs, message_bytes, transport, workers } => {
            let topology = sched::Topology {
                groups: *groups,
                pairs: *pairs,
                message_bytes: *message_bytes as usize,
                transport: *transport,
            };
            (load.clone(), sched::run(&topology, *workers, until)?)
        }
        Load::Memory { threads, bytes } => memory::run(*threads, *bytes, until)?,
        Load::Disk { threads, bytes, dir } => {
            (load.clone(), disk::run(*threads, *bytes, dir.as_deref(), until)?)
        }
        Load::Network { threads, message_bytes } => {
            (load.clone(), network::run(*threads, *message_bytes as usize, until)?)
        }
        Load::Cpu { threads } => (load.clone(), cpu::run(*threads, until)?),
        Load::Irq { threads, rate_hz } => (load.clone(), irq::run(*threads, *rate_hz, until)?),
    };
    Ok(LoadDone {
        unit: unit(&load).to_owned(),
        load,
        ran_ns: tally.ran_ns,
        done: tally.work.done,
        cpu_ns: tally.cpu_ns,
        mismatches: tally.work.mismatches,
        mismatches_total: tally.work.mismatches_total,
        failures: tally.work.failures,
        limits: tally.work.limits,
    })
}

fn unit(load: &Load) -> &'static str {
    match load {
        Load::Sched { .. } => "messages",
        Load::Memory { .. } | Load::Disk { .. } => "bytes",
        Load::Network { .. } => "round trips",
        Load::Cpu { .. } => "loops",
        Load::Irq { .. } => "timers",
    }
}

/// Somebody wanted it to end before all were at work.
fn not_begun() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "it was ended before it began")
}

/// The time so much later than now.
fn after(wait: Duration) -> u64 {
    monotonic_ns() + wait.as_nanos() as u64
}

/// How long a load runs.
struct Until<'a> {
    overseer: &'a mut dyn Overseer,
    length: Duration,
}

impl Until<'_> {
    /// An error when somebody wants it to end before it began; waits for that at most this long.
    fn still_wanted(&mut self, wait: Duration) -> io::Result<()> {
        if self.overseer.ended(wait) {
            return Err(not_begun());
        }
        Ok(())
    }

    /// Says that all are at work, and comes back when the load shall end: the time is over, somebody wants it, or there is no
    /// worker left.
    fn over(&mut self, from_ns: Ns, none_left: &mut dyn FnMut() -> bool) {
        const LOOK: Duration = Duration::from_millis(200);
        self.overseer.ready();
        loop {
            let passed = Duration::from_nanos(monotonic_ns() - from_ns);
            let left = self.length.saturating_sub(passed);
            if left.is_zero() || self.overseer.ended(left.min(LOOK)) || none_left() {
                return;
            }
        }
    }
}

/// What workers did.
#[derive(Debug, Default)]
struct Work {
    done: u64,
    mismatches: Vec<Mismatch>,
    mismatches_total: u64,
    /// Workers that ended early, and why.
    failures: Vec<String>,
    limits: Vec<String>,
}

impl Work {
    fn done(done: u64) -> Self {
        Self { done, ..Self::default() }
    }

    fn mismatch(&mut self, mismatch: Mismatch) {
        self.mismatches_total += 1;
        if self.mismatches.len() < MISMATCHES_MAX {
            self.mismatches.push(mismatch);
        }
    }

    fn failed(why: &str) -> Self {
        Self { failures: vec![format!("a worker ended early: {why}")], ..Self::default() }
    }

    /// The same failure or limit of several workers is said once.
    fn add(&mut self, other: Self) {
        self.done += other.done;
        let counted = other.mismatches_total - other.mismatches.len() as u64;
        other.mismatches.into_iter().for_each(|mismatch| self.mismatch(mismatch));
        self.mismatches_total += counted;
        add_new(&mut self.failures, other.failures);
        add_new(&mut self.limits, other.limits);
    }
}

fn add_new(to: &mut Vec<String>, from: Vec<String>) {
    for text in from {
        if !to.contains(&text) {
            to.push(text);
        }
    }
}

/// What all workers did, and what it took.
#[derive(Debug, Default)]
struct Tally {
    work: Work,
    ran_ns: Ns,
    cpu_ns: Ns,
}

/// An error with what was done when it came, keeping its kind.
fn while_doing(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mismatches_are_all_counted_and_the_first_described() {
        let mismatch = |at| Mismatch { at, expected: 1, actual: 2, cpu: 0 };
        let mut one = Work::default();
        (0..20).for_each(|at| one.mismatch(mismatch(at)));
        let mut all = Work { limits: vec!["x".into()], ..Work::default() };
        (0..3).for_each(|at| all.mismatch(mismatch(100 + at)));
        one.limits = vec!["x".into(), "y".into()];
        all.add(one);
        assert_eq!((all.mismatches.len(), all.mismatches_total), (MISMATCHES_MAX, 23));
        assert_eq!(all.mismatches[3], mismatch(0));
        assert_eq!(all.limits, ["x", "y"]);
    }
}
