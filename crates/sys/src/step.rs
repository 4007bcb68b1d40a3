//! Exact counts of executed instructions, by single-stepping the program with ptrace(2).
//!
//! The whole program instruction by instruction, or one function: then a breakpoint stands at its entry, its own
//! instructions are stepped, and what it calls runs at full speed up to a breakpoint at the return. Each step is
//! two switches between the program and dwell, some microseconds, so a program that is stepped throughout runs
//! thousands of times slower; of a function only its own instructions cost.
//!
//! ```text
//! caller        function                     called
//!   | ---entry--> breakpoint, step, step ...
//!   |             call -------------------> full speed
//!   |             breakpoint <------------- return
//!   |             step, step ...
//!   | <---------- return; full speed
//! ```
//!
//! Counted are the root process and its threads. Children run at full speed, uncounted. A program that is traced
//! dies with dwell: nobody else would know of the breakpoints in it. After a limit it is let go, and runs to its
//! end as if never traced. A function that is entered otherwise than by its first instruction or by the return of
//! what it called (an exception caught in it, `longjmp`, a coroutine) is not counted from there to its end.
//!
//! What the addresses mean is left to others: counts are by file and offset in it.

use crate::signals::Signals;
use crate::spawn::{self, Ended, Held};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

mod machine;
mod memory;
mod ptrace;
mod tally;
mod tracer;
mod watch;

use ptrace::Report;
use tracer::Tracer;
use watch::Nudge;

/// What to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every instruction of the program.
    Program,
    /// Those of one function.
    Function(Code),
}

/// A function's machine code, by offsets in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The file, by its full path.
    pub file: PathBuf,
    /// Where it is entered.
    pub entry: u64,
    /// All its parts: compilers put what is seldom needed elsewhere (`name.cold`).
    pub parts: Vec<Range<u64>>,
}

impl Code {
    fn has(&self, offset: u64) -> bool {
        self.parts.iter().any(|part| part.contains(&offset))
    }
}

/// When to stop counting, and let the program run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// After so many steps.
    pub steps: Option<u64>,
    /// After so long.
    pub time: Option<Duration>,
}

/// Why there are no counts from some point on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The program ended: the counts are complete.
    Ended,
    /// As many steps as were allowed.
    Steps,
    /// As much time as was allowed.
    Time,
    /// The program came to an instruction that cannot be stepped: a load-exclusive of aarch64, whose store fails
    /// for ever when there is a stop between.
    Unsteppable,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Executions by file, as the program's maps name it, and offset in it. Code outside of files is under
    /// `[vdso]` and the like, or an empty name, by its address.
    pub modules: BTreeMap<String, BTreeMap<u64, u64>>,
    /// All executions.
    pub steps: u64,
    /// How many of them are not in `modules`: there were too many different addresses.
    pub unlisted: u64,
    /// How long counting went on, in nanoseconds.
    pub elapsed_ns: u64,
    /// Why it ended.
    pub stopped: Stopped,
    /// Whether the function's file was ever in the program's memory. True for programs.
    pub found: bool,
    /// Child processes, which were not counted.
    pub children: u64,
    /// How the program ended.
    pub ended: Ended,
}

/// Why nothing could be counted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program did not start.
    #[error(transparent)]
    Spawn(#[from] spawn::Error),
    /// The kernel refused to trace.
    #[error(
        "cannot step process {pid}: ptrace: {source}\ntry: as root, or in a container with --cap-add=SYS_PTRACE; kernel.yama.ptrace_scope must be below 3"
    )]
    Refused {
        /// Which.
        pid: model::Pid,
        /// What the system said.
        source: io::Error,
    },
    /// The program could not be watched or changed.
    #[error("cannot step the program: {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// For `map_err`: the system's word on what was tried.
fn system(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::System { what, source }
}

/// Releases the held program, counts, and returns when it has ended.
///
/// Call it on the thread that made `held`. Signals that reach dwell while it counts are passed on as
/// [`spawn::Running::attend`] does, where `signals` are given.
///
/// # Errors
/// The program cannot be executed, or not be traced. It is not left behind then.
pub fn count(
    held: Held,
    scope: &Scope,
    limits: Limits,
    signals: Option<&mut Signals>,
) -> Result<Counted, Error> {
    let number = held.pid();
    let pid = number as libc::pid_t;
    // What is forked is attached to as well: it has the breakpoints too, and must be freed of them.
    let made = ptrace::CLONES | ptrace::FORKS | ptrace::VFORKS;
    let options = ptrace::SYSCALLS_MARKED | made | ptrace::EXECS | ptrace::DIE_WITH_TRACER;
    ptrace::seize(pid, options).map_err(|source| Error::Refused { pid: number, source })?;
    if let Some(error) = execute(held, pid)? {
        return Err(error.into());
    }
    let (over, over_writer) = io::pipe().map_err(system("pipe"))?;
    let nudge = Nudge::default();
    let started = Instant::now();
    let mut tracer = Tracer::new(pid, scope, limits.steps, &nudge);
    let ended = thread::scope(|threads| {
        threads.spawn(|| watch::watch(pid, &over, signals, limits.time, &nudge));
        let ended = tracer.trace();
        drop(over_writer);
        if ended.is_err() {
            // Never leave it standing with breakpoints in it.
            ptrace::kill(pid, libc::SIGKILL);
            let _ = ptrace::wait(pid);
        }
        ended
    })
    .map_err(system("ptrace"))?;
    let until = tracer.let_go_at().unwrap_or_else(Instant::now);
    Ok(Counted {
        elapsed_ns: u64::try_from((until - started).as_nanos()).unwrap_or(u64::MAX),
        stopped: tracer.stopped(),
        found: tracer.found(),
        children: tracer.children(),
        steps: tracer.tally.steps,
        unlisted: tracer.tally.unlisted,
        modules: tracer.tally.finish(),
        ended,
    })
}

/// Lets the held child execute the program, up to the stop that tracing makes there. What `release` says goes
/// through a thread: it waits for the child, and the child may wait for us, with a signal to be let through.
fn execute(held: Held, pid: libc::pid_t) -> Result<Option<spawn::Error>, Error> {
    let released = thread::scope(|threads| {
        let release = threads.spawn(move || held.release());
        match to_its_execve(pid) {
            // `release` was first to learn of its end.
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {}
            Err(error) => {
                ptrace::kill(pid, libc::SIGKILL);
                return Err(error);
            }
            Ok(()) => {}
        }
        Ok(release.join())
    });
    match released.map_err(system("ptrace"))? {
        Ok(Ok(_running)) => Ok(None),
        Ok(Err(error)) => Ok(Some(error)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Returns when the child has executed the program or is about to end; an end is not taken: that is for `release`,
/// which has to say why.
fn to_its_execve(pid: libc::pid_t) -> io::Result<()> {
    while !ptrace::wait_without_taking(pid)? {
        match ptrace::wait(pid)?.1 {
            Report::Executed => break,
            Report::Signal(signal) => ptrace::run(pid, signal)?,
            Report::JobStopped => ptrace::listen(pid)?,
            _ => ptrace::run(pid, 0)?,
        }
    }
    Ok(())
}
