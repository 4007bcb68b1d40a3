//! `dwell load`: one load by itself, and the process that `dwell wake` has a load run in.

use crate::cli::LoadArgs;
use crate::out::{LoadResult, Outputs, Page};
use crate::output;
use crate::progress::Line;
use crate::{exit, stop};
use anyhow::Context;
use loads::Overseer;
use model::wake::load::{LoadRun, SCHEMA_LOAD};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::{monotonic_ns, rfc3339, unix_s};
use sys::poll;
use sys::signals::Signals;

/// Something that was verified was wrong.
const WRONG: u8 = 1;

/// Runs it and says what was done; gives the exit status.
pub(crate) fn load(args: &LoadArgs) -> anyhow::Result<u8> {
    let page = if args.quiet { Page::None } else { Page::Stdout };
    let outputs = Outputs::open(&args.forms, page, None, &[])?;
    let host = observe::this_host();
    let started_at = rfc3339(unix_s());
    let length = Duration::from_nanos(args.length_ns);
    let (done, ended_by) = if args.supervised {
        sys::worker::end_with_parent().context("cannot be ended with its parent")?;
        (loads::run(&args.load, length, &mut Parent), None)
    } else {
        let mut user = User::new(length, Line::new(args.quiet))?;
        (loads::run(&args.load, length, &mut user), user.ended_by)
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
    let result = LoadResult(run);
    let failed = outputs.write(&result, &args.look).complain();
    let run = result.0;
    // The page has them.
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

/// A dwell that had this one started.
struct Parent;

impl Overseer for Parent {
    fn ready(&mut self) {
        // When it cannot be told, it is gone, and standard input will say so.
        let _ = output::to_stdout(loads::READY);
    }

    fn ended(&mut self, wait: Duration) -> bool {
        // Nothing is ever written there: what can be read is its end.
        poll::wait(&[io::stdin().as_fd()], Some(wait)).is_ok_and(|ready| ready[0])
    }
}

/// Somebody at a terminal.
struct User {
    signals: Signals,
    /// The signal that ended it early.
    ended_by: Option<i32>,
    line: Line,
    length: Duration,
    begun_ns: u64,
}

impl User {
    fn new(length: Duration, line: Line) -> anyhow::Result<Self> {
        let signals = Signals::take_over().context("cannot take signals")?;
        Ok(Self { signals, ended_by: None, line, length, begun_ns: monotonic_ns() })
    }
}

impl Overseer for User {
    fn ready(&mut self) {
        self.begun_ns = monotonic_ns();
    }

    fn ended(&mut self, wait: Duration) -> bool {
        // Whoever does not wait is still beginning, and asks often.
        if !wait.is_zero() {
            self.line.say(|| {
                let passed = Duration::from_nanos(monotonic_ns() - self.begun_ns);
                let left = report::units::duration(self.length.saturating_sub(passed).as_nanos() as u64);
                format!("{left} left; Ctrl-C ends it")
            });
        }
        // Whether it was waited for or not, signals are looked at.
        let _ = poll::wait(&[self.signals.as_fd()], Some(wait));
        self.ended_by = stop::ending(&mut self.signals).or(self.ended_by);
        self.ended_by.is_some()
    }
}
