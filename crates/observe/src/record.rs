//! Recording one run, from before its first instruction to after its last.

use crate::error::Error;
use crate::session::{End, Recorded, Session, Sink, Subject};
use crate::settings::Watching;
use crate::{access, likely, sources};
use model::Ns;
use model::Seen;
use model::recording::Tier;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::signals::Signals;
use sys::spawn::{self, Ended, Held, Running};

/// A program to run, and how to record it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The program.
    pub command: spawn::Command,
    /// How it is watched.
    pub watching: Watching,
}

/// How long the last events may take to arrive after the program was reaped.
const AFTERMATH: Duration = Duration::from_millis(200);

/// Runs the program and hands over everything that was recorded of it.
///
/// # Errors
/// The program cannot be started, or the source asked for cannot be had. Once the program runs, a failing
/// source makes the recording poorer and says so in the trailer; it never harms the program.
pub fn record(request: &Request, sink: &mut dyn Sink) -> Result<Recorded, Error> {
    access::numbers()?;
    let mut signals = Signals::take_over()?;
    let held = Held::spawn(&request.command)?;
    let host = host::identity(host::here());
    let entrusted = access::entrusted(&request.command.program, held.pid());
    let mut instruments =
        sources::start(&request.watching, held.pid(), &host::cpus(host::here()), entrusted)?;
    for path in likely::executables(&request.command.program) {
        instruments.expect(&path);
    }
    let subject = Subject {
        command: request.command.words(),
        root: held.pid(),
        attached: None,
        first: held.pid(),
        links: &request.watching.links,
        host,
    };
    let (mut session, snapshot) = Session::begin(instruments, subject, sink);
    let mut running = held.release()?;
    // Only now: the kernel may still have refused the program.
    session.stream.event(&snapshot);
    session.started();
    let ended = until_its_end(&mut session, &mut running, &mut signals)?;
    let reaped_at = monotonic_ns();
    session.snapshot(reaped_at);
    let host_cpu = session.host_cpu();
    aftermath(&mut session);
    let counters = session.counters();
    let rusage = Seen::Value(ended.rusage);
    Ok(session.finish(End { ending: ended.ending, at: reaped_at, rusage, host_cpu, counters }))
}

/// Records until the program has ended.
fn until_its_end(
    session: &mut Session<'_>,
    running: &mut Running,
    signals: &mut Signals,
) -> std::io::Result<Ended> {
    loop {
        let ready = session.read(&[signals.as_fd(), running.as_fd()], None)?;
        session.snapshot_if_due();
        if ready.iter().any(|ready| *ready)
            && let Some(ended) = running.attend(signals)?
        {
            return Ok(ended);
        }
    }
}

/// Reads what is still on its way when the program has been reaped: above all its last switch, which
/// ends the wall.
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
