//! `dwell load`: one stress load by itself, and the process in which `dwell wake` runs a load.

use crate::cli::LoadArgs;
use crate::keep::ResultStore;
use crate::output;
use crate::progress::ProgressLine;
use crate::{cli, exit, stop};
use anyhow::Context;
use loads::Overseer;
use model::wake::load::{LoadRun, SCHEMA_LOAD};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::{monotonic_ns, rfc3339, unix_s};
use sys::poll;
use sys::signals::Signals;

/// Verification failed.
const WRONG: u8 = 1;

/// Runs the load and reports its rate; returns the exit status.
pub(crate) fn load(args: &LoadArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    let Some(load) = &args.load else {
        output::to_stdout(list())?;
        return Ok(0);
    };
    let outputs = args.outputs.open(&[])?;
    let host = observe::this_host();
    let started_at = rfc3339(unix_s());
    let length = Duration::from_nanos(args.length_ns);
    let (done, ended_by) = if args.supervised {
        sys::worker::end_with_parent().context("cannot set the parent-death signal")?;
        (loads::run(load, length, &mut ParentProcess), None)
    } else {
        let mut terminal = Terminal::new(length, ProgressLine::new(args.outputs.quiet))?;
        (loads::run(load, length, &mut terminal), terminal.ended_by)
    };
    let ended = ended_by.map(exit::of_signal);
    let done = match (done, ended) {
        (Err(error), Some(status)) if error.kind() == io::ErrorKind::Interrupted => return Ok(status),
        (done, _) => done?,
    };
    let run = LoadRun {
        schema: SCHEMA_LOAD.to_owned(),
        host,
        started_at,
        interrupted: ended_by.is_some(),
        result: done,
    };
    let has_page = outputs.has_page();
    let failed = outputs.write(&run, &args.outputs.look).complain();
    // One beside a measurement belongs to that.
    if !args.supervised {
        keeper.offer(&run, None);
    }
    // The page lists the failures.
    for failure in run.result.failures.iter().filter(|_| !has_page) {
        output::complain(&report::clean(failure, false));
    }
    Ok(if failed {
        exit::DWELL_FAILED
    } else if run.result.mismatches_total > 0 {
        WRONG
    } else if !run.result.failures.is_empty() {
        exit::DWELL_FAILED
    } else {
        ended.unwrap_or(0)
    })
}

/// All loads, as they are by default.
fn list() -> String {
    let line = |name: &&str| cli::load(name).map(|load| format!("  {}\n", load.spec())).unwrap_or_default();
    let loads: String = loads::spec::NAMES.iter().map(line).collect();
    format!("Loads, with their parameters for this host:\n{loads}\ndwell load sched --for 10s runs one\n")
}

/// The dwell that started this one.
struct ParentProcess;

impl Overseer for ParentProcess {
    fn ready(&mut self) {
        // If the parent is gone, standard input is at its end.
        let _ = output::to_stdout(loads::READY);
    }

    fn ended(&mut self, wait: Duration) -> bool {
        // Nothing is ever written to standard input: it is readable only at its end.
        poll::wait(&[io::stdin().as_fd()], Some(wait)).is_ok_and(|ready| ready[0])
    }
}

/// A user at a terminal.
struct Terminal {
    signals: Signals,
    /// The signal that ended it early.
    ended_by: Option<i32>,
    line: ProgressLine,
    length: Duration,
    begun_ns: u64,
}

impl Terminal {
    fn new(length: Duration, line: ProgressLine) -> anyhow::Result<Self> {
        let signals = Signals::take_over().context("cannot handle signals")?;
        Ok(Self { signals, ended_by: None, line, length, begun_ns: monotonic_ns() })
    }
}

impl Overseer for Terminal {
    fn ready(&mut self) {
        self.begun_ns = monotonic_ns();
    }

    fn ended(&mut self, wait: Duration) -> bool {
        // Calls without a wait come often, and only before the load is ready.
        if !wait.is_zero() {
            self.line.update(|| {
                let passed = Duration::from_nanos(monotonic_ns() - self.begun_ns);
                let left = report::units::duration(self.length.saturating_sub(passed).as_nanos() as u64);
                format!("{left} left; Ctrl-C to stop")
            });
        }
        // Signals are read even if the wait failed.
        let _ = poll::wait(&[self.signals.as_fd()], Some(wait));
        self.ended_by = stop::ending(&mut self.signals).or(self.ended_by);
        self.ended_by.is_some()
    }
}
