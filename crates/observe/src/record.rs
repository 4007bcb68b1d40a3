//! Recording one run, from before its first instruction to after its last.

use crate::error::Error;
use crate::session::{LeftProgram, Recorded, RecordingSubject, Running, Session, SessionEnd, Sink};
use crate::settings::Watching;
use crate::targets::{all_ignore, trees};
use crate::time_limit::TimeLimit;
use crate::{access, first_executables, sources};
use model::recording::{Ending, Tier, WindowEnd};
use model::{Ns, Pid, Seen};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::signals::Signals;
use sys::spawn::{self, HeldProgram, Patience, ProgramEnd, RunningProgram};

/// A program to run, and how to record it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The program.
    pub command: spawn::Command,
    /// How it is observed.
    pub watching: Watching,
    /// The time from its start after which it is ended.
    pub stop_after: Option<Duration>,
}

/// The limit of time for the last events to arrive after the program was reaped.
const AFTERMATH: Duration = Duration::from_millis(200);

/// Runs the program and records it, to its end, or until it goes on in spite of a signal that asked
/// for its end ([`Recorded::left`]).
///
/// # Errors
/// The program cannot be started, or the requested source is not available. Once the program runs,
/// a failing source makes the recording less complete, as the trailer reports; it never harms the
/// program.
pub fn record(request: &Request, sink: &mut dyn Sink) -> Result<Recorded, Error> {
    access::numbers()?;
    let mut signals = Signals::take_over()?;
    let held = HeldProgram::spawn(&request.command)?;
    let _more_files = access::MoreFiles::allow();
    sink.sets_up();
    sources::take_name();
    let began_at_bytes = began_at_bytes(held.pid());
    let host = host::identity(host::here());
    let entrusted = access::entrusted(held.path(), held.pid());
    let mut instruments =
        sources::start(&request.watching, held.pid(), &host::cpus(host::here()), entrusted)?;
    for path in first_executables::executables(held.path()) {
        instruments.expect(&path);
    }
    let subject = RecordingSubject {
        command: request.command.words(),
        root: held.pid(),
        attached: None,
        first: held.pid(),
        links: &request.watching.links,
        units: request.watching.units.clone(),
        host,
    };
    let (mut session, snapshot) = Session::begin(instruments, subject, sink);
    session.instruments.let_go();
    let mut running = held.release()?;
    // Only now: the kernel could have refused to execute the program.
    snapshot.iter().for_each(|event| session.stream.event(event));
    session.started();
    let ended = match until_its_end(&mut session, &mut running, &mut signals, request.stop_after)? {
        RunEnd::Ended(ended) => ended,
        RunEnd::Left(signal) => return Ok(left(session, &running, signal, began_at_bytes)),
    };
    let reaped_at = monotonic_ns();
    session.snapshot(reaped_at);
    let host_cpu = session.host_cpu();
    aftermath(&mut session);
    let counters = session.counters();
    let counted_until = monotonic_ns();
    let peaks = session.peaks();
    let rusage = Seen::Value(ended.rusage);
    Ok(session.finish(SessionEnd {
        ending: ended.ending,
        at: reaped_at,
        rusage,
        host_cpu,
        counters,
        peaks,
        began_at_bytes,
        counted_until,
        asked_to_end: running.was_asked_to_end(),
        left: None,
    }))
}

/// Closes the recording of a program that goes on.
fn left(
    mut session: Session<'_>,
    running: &RunningProgram,
    signal: i32,
    began_at_bytes: Option<u64>,
) -> Recorded {
    let Running { at, counters, counted_until, peaks, host_cpu } = session.end_while_running();
    session.finish(SessionEnd {
        ending: Ending::Window(WindowEnd::Signal),
        at,
        rusage: Seen::unseen("the kernel sums a process when it has ended, and the program goes on"),
        host_cpu,
        counters,
        peaks,
        began_at_bytes,
        counted_until,
        asked_to_end: true,
        left: Some(LeftProgram { pid: running.pid(), signal }),
    })
}

/// The largest resident set that the program may have from dwell: that of its process, which is a
/// copy of dwell until it executes the program.
fn began_at_bytes(pid: Pid) -> Option<u64> {
    let here = host::here();
    let slack_bytes = host::own::resident_slack_bytes(host::cpus(here).len());
    host::own::memory_peak_of(here.proc, pid).map(|bytes| bytes + slack_bytes)
}

/// How the recording of a program ended.
enum RunEnd {
    Ended(ProgramEnd),
    /// The program did not end by this signal.
    Left(i32),
}

/// Records until the program has ended, or is to be left.
fn until_its_end(
    session: &mut Session<'_>,
    running: &mut RunningProgram,
    signals: &mut Signals,
    stop_after: Option<Duration>,
) -> std::io::Result<RunEnd> {
    let mut patience = Patience::default();
    let mut limit = stop_after.map(|after| TimeLimit::begin(monotonic_ns(), after));
    loop {
        let left = limit.as_ref().and_then(|limit| limit.left(monotonic_ns()));
        let ready = session.read(&[signals.as_fd(), running.as_fd()], left)?;
        session.snapshot_if_due();
        if ready.iter().any(|ready| *ready)
            && let Some(ended) = running.attend(signals)?
        {
            return Ok(RunEnd::Ended(ended));
        }
        if let Some(step) = limit.as_mut().and_then(|limit| limit.due(monotonic_ns())) {
            step.take(&trees(&[running.pid()]));
        }
        if let Some(asked) = running.asked_to_end() {
            let ignores = || all_ignore(&session.instruments.threads().living(), asked.signal);
            if patience.is_over(&asked, monotonic_ns(), ignores) {
                return Ok(RunEnd::Left(asked.signal));
            }
        }
    }
}

/// Reads the events still pending when the program has been reaped: above all its last switch,
/// which ends the wall.
fn aftermath(session: &mut Session<'_>) {
    let until = monotonic_ns() + AFTERMATH.as_nanos() as Ns;
    loop {
        session.instruments.drain_rest(&mut |event| session.stream.event(event));
        session.emit_losses();
        let waits_for_more =
            session.instruments.tier() == Tier::Bpf && !session.instruments.threads().root_is_gone();
        if !waits_for_more || monotonic_ns() > until {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}
