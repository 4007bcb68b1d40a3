//! One run of the command, timed from its release to its end.

use crate::imposing::Imposing;
use crate::sockets::SocketWatch;
use model::Ns;
use model::recording::Ending;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::poll;
use sys::signals::Signals;
use sys::spawn::{Command, HeldProgram, RunningProgram};

/// What came of it.
#[derive(Debug, Clone)]
pub(crate) struct Timed {
    pub(crate) wall_ns: Ns,
    pub(crate) ending: Ending,
    /// A signal stopped it for a while (Ctrl-Z).
    pub(crate) was_stopped: bool,
    /// A signal asked dwell for the end (Ctrl-C).
    pub(crate) asked_to_end: bool,
    /// Why the fix could not be imposed as it ran.
    pub(crate) failed: Option<String>,
}

/// Runs the command with the fix, or without; signals that are meant for it reach it.
pub(crate) fn timed(
    command: &Command,
    imposing: &Imposing,
    on: bool,
    signals: &mut Signals,
) -> Result<Timed, String> {
    let imposed = imposing.before(on)?;
    let held = HeldProgram::spawn_imposed(command, &imposed).map_err(|error| error.to_string())?;
    let group = if on { imposing.on_held(&held)? } else { None };
    let mut watch = matches!(imposing, Imposing::NoDelay).then(|| SocketWatch::on(held.pid(), on));
    let begun_ns = monotonic_ns();
    let mut running = held.release().map_err(|error| error.to_string())?;
    let ending = until_its_end(&mut running, signals, &mut watch).map_err(|error| error.to_string())?;
    let wall_ns = monotonic_ns() - begun_ns;
    drop(group);
    Ok(Timed {
        wall_ns,
        ending,
        was_stopped: running.was_stopped(),
        asked_to_end: running.was_asked_to_end(),
        failed: watch.filter(|_| on).and_then(|watch| watch.failed()),
    })
}

fn until_its_end(
    running: &mut RunningProgram,
    signals: &mut Signals,
    watch: &mut Option<SocketWatch>,
) -> std::io::Result<Ending> {
    loop {
        let timeout: Option<Duration> = watch.as_mut().map(SocketWatch::look);
        let ready = poll::wait(&[signals.as_fd(), running.as_fd()], timeout)?;
        if ready.iter().any(|ready| *ready)
            && let Some(ended) = running.attend(signals)?
        {
            return Ok(ended.ending);
        }
    }
}
