//! Stress loads: make the machine do known work, for `dwell wake --load` and `dwell load`, and
//! count what was done.
//!
//! A load is bounded in time and memory, ends by itself, and ends with the process that started it.
//! [`run`] does the work in the calling process, [`Running`] in processes of its own, so that
//! something else can be measured meanwhile. This crate concludes nothing.

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

pub use supervise::{READY, Results, Running};

/// The number of mismatches that are described; all are counted.
const MISMATCHES_MAX: usize = 16;

/// Controls a running load.
pub trait Overseer {
    /// All workers have started.
    fn ready(&mut self) {}

    /// Waits for at most this long; gives whether the load should end.
    fn ended(&mut self, wait: Duration) -> bool;
}

/// Runs a load in this process for `length`, or until the overseer ends it. Gives what was done,
/// after all its workers have ended.
///
/// Workers may be forked, so the process must have only the calling thread.
///
/// # Errors
/// If the load cannot be started, with a remedy if there is one. Nothing is left behind then.
pub fn run(load: &Load, length: Duration, overseer: &mut dyn Overseer) -> io::Result<LoadDone> {
    let limit = RunLimit { overseer, length };
    let (load, tally) = match load {
        Load::Sched { groups, pairs, message_bytes, transport, workers } => {
            let topology = sched::Topology {
                groups: *groups,
                pairs: *pairs,
                message_bytes: *message_bytes as usize,
                transport: *transport,
            };
            (load.clone(), sched::run(&topology, *workers, limit)?)
        }
        Load::Memory { threads, bytes } => memory::run(*threads, *bytes, limit)?,
        Load::Disk { threads, bytes, dir } => {
            (load.clone(), disk::run(*threads, *bytes, dir.as_deref(), limit)?)
        }
        Load::Network { threads, message_bytes } => {
            (load.clone(), network::run(*threads, *message_bytes as usize, limit)?)
        }
        Load::Cpu { threads } => (load.clone(), cpu::run(*threads, limit)?),
        Load::Irq { threads, rate_hz } => (load.clone(), irq::run(*threads, *rate_hz, limit)?),
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

/// The load was ended before all workers had started.
fn not_started() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "ended before the start")
}

/// The time in `wait` from now.
fn after(wait: Duration) -> u64 {
    monotonic_ns() + wait.as_nanos() as u64
}

/// The end of a load: by time or by its overseer.
struct RunLimit<'a> {
    overseer: &'a mut dyn Overseer,
    length: Duration,
}

impl RunLimit<'_> {
    /// An error if the load should end before it has started; waits at most this long.
    fn check_wanted(&mut self, wait: Duration) -> io::Result<()> {
        if self.overseer.ended(wait) {
            return Err(not_started());
        }
        Ok(())
    }

    /// Reports that all workers have started, and returns when the load should end: by time, by the
    /// overseer, or because no worker is left.
    fn wait(&mut self, from_ns: Ns, none_left: &mut dyn FnMut() -> bool) {
        const POLL: Duration = Duration::from_millis(200);
        self.overseer.ready();
        loop {
            let passed = Duration::from_nanos(monotonic_ns() - from_ns);
            let left = self.length.saturating_sub(passed);
            if left.is_zero() || self.overseer.ended(left.min(POLL)) || none_left() {
                return;
            }
        }
    }
}

/// The work of workers.
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

    /// Adds up; the same failure or caveat of several workers is kept once.
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

/// The work of all workers, and the time it took.
#[derive(Debug, Default)]
struct Tally {
    work: Work,
    ran_ns: Ns,
    cpu_ns: Ns,
}

/// An error with its context, of the same kind.
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
