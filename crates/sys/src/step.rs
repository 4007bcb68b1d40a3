//! Exact counts of executed instructions, by single-stepping the program with ptrace(2).
//!
//! The whole program instruction by instruction, or one function: then there is a breakpoint at its
//! entry, its own instructions are stepped, and its callees run at full speed up to a breakpoint at
//! the return. Each step is two switches between the program and dwell, some microseconds, so a
//! fully stepped program runs thousands of times slower; for a function only its own instructions
//! cost this.
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
//! Counted are the root process and its threads. Children run at full speed, uncounted. A traced
//! program is killed if dwell dies, since breakpoints would remain in it. One with rights of its
//! own (set-user-ID) is let go as soon as it is executed. After a limit the program is detached,
//! and runs to its end as if never traced; so it is where it does not end by a signal that asks for
//! its end, and then dwell does not wait for it either. A function entered other than at its first
//! instruction or by the return of a callee (an exception caught in it, `longjmp`, a coroutine) is
//! not counted from there to its end.
//!
//! Counts are by file and offset; others name the addresses.

use crate::spawn::{self, HeldProgram, RunningProgram};
use model::recording::Ending;
use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::Instant;

mod identity;
mod kick;
mod limits;
mod machine;
mod memory;
mod ptrace;
mod scope;
mod tally;
mod tracer;
mod watch;

use kick::Interruptible;
pub use limits::{Limits, StopReason};
use ptrace::Report;
pub use scope::{FunctionRanges, Scope};
use tracer::Tracer;
pub use watch::Attention;
use watch::{Asked, Watched};

/// The counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepCounts {
    /// Executions by file, as named in the program's maps, and offset. Code outside of files is
    /// under `[vdso]` and the like, or an empty name, by its address.
    pub modules: BTreeMap<String, BTreeMap<u64, u64>>,
    /// All executions.
    pub steps: u64,
    /// Executions that are not in `modules`: there were too many different addresses.
    pub unlisted: u64,
    /// Duration of counting, in nanoseconds.
    pub elapsed_ns: u64,
    /// Why it ended.
    pub stopped: StopReason,
    /// Whether the function's file was ever mapped. True for programs.
    pub found: bool,
    /// Child processes, which were not counted.
    pub children: u64,
    /// How the program ended; none if it goes on.
    pub ending: Option<Ending>,
    /// The signal by which it did not end, if it goes on.
    pub left_by: Option<i32>,
}

/// Why counting failed.
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
        /// The system's error.
        source: io::Error,
    },
    /// The kernel steps no thread on this architecture.
    #[error(
        "instructions cannot be counted on {0}: its Linux does not step threads (ptrace(2), PTRACE_SINGLESTEP)"
    )]
    Architecture(&'static str),
    /// The program could not be observed or modified.
    #[error("cannot step the program: {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// For `map_err`: the system's error with what was tried.
fn system(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::System { what, source }
}

/// Releases the held program, counts, and returns when it has ended, or is left because it did not
/// end by a signal.
///
/// Call it on the thread that made `held`. Signals to dwell while it counts are forwarded as by
/// [`spawn::RunningProgram::attend`], where they are given.
///
/// # Errors
/// The program cannot be executed or traced. It is killed then.
pub fn count(
    held: HeldProgram,
    scope: &Scope,
    limits: Limits,
    attention: Option<Attention<'_>>,
) -> Result<StepCounts, Error> {
    if !machine::STEPS {
        return Err(Error::Architecture(std::env::consts::ARCH));
    }
    let number = held.pid();
    let pid = number as libc::pid_t;
    // Forked children are attached to as well: they have copies of the breakpoints, which must be
    // removed.
    let made = ptrace::CLONES | ptrace::FORKS | ptrace::VFORKS;
    let options = ptrace::SYSCALLS_MARKED | made | ptrace::EXECS | ptrace::DIE_WITH_TRACER;
    ptrace::seize(pid, options).map_err(|source| Error::Refused { pid: number, source })?;
    let running = execute(held, pid)??;
    let (over, over_writer) = io::pipe().map_err(system("pipe"))?;
    let interruptible = Interruptible::begin().map_err(system("sigaction"))?;
    let asked = Asked::default();
    let started = Instant::now();
    let mut tracer = Tracer::new(pid, scope, limits.steps, &asked);
    let ended = thread::scope(|threads| {
        let watched = Watched { running: &running, tracer: interruptible.thread(), asked: &asked };
        let watching = move || watch::watch(watched, &over, attention, limits.time);
        let watched = thread::Builder::new().spawn_scoped(threads, watching);
        let ended = watched.and_then(|_| tracer.trace());
        drop(over_writer);
        if ended.is_err() {
            // Never leave it stopped with breakpoints in it.
            ptrace::kill_and_reap(pid);
        }
        ended
    })
    .map_err(system("ptrace"))?;
    let until = tracer.let_go_at().unwrap_or_else(Instant::now);
    Ok(StepCounts {
        elapsed_ns: u64::try_from((until - started).as_nanos()).unwrap_or(u64::MAX),
        stopped: tracer.stopped(),
        found: tracer.found(),
        children: tracer.children(),
        steps: tracer.tally.steps,
        unlisted: tracer.tally.unlisted,
        modules: tracer.tally.finish(),
        ending: ended.map(|ended| ended.ending),
        left_by: asked.leave().filter(|_| ended.is_none()),
    })
}

/// Lets the held child execute the program, up to the ptrace stop there. `release` runs in a
/// thread: it waits for the child, and the child may wait for us to deliver a signal.
fn execute(held: HeldProgram, pid: libc::pid_t) -> Result<Result<RunningProgram, spawn::Error>, Error> {
    let released = thread::scope(|threads| {
        // Without the thread the child is dropped, and ends.
        let release = thread::Builder::new().spawn_scoped(threads, move || held.release())?;
        match to_its_execve(pid) {
            // `release` has already reaped it.
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
        Ok(executed) => Ok(executed),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Returns when the child has executed the program or is about to end; its end is not reaped here
/// but by `release`, which reports the reason.
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
