//! Recording one run, from before its first instruction to after its last.

use crate::error::Error;
use crate::session::{LeftProgram, Recorded, RecordingSubject, Running, Session, SessionEnd, Sink};
use crate::settings::Watching;
use crate::{access, likely, sources};
use model::recording::{Ending, Tier, WindowEnd};
use model::{Ns, Pid, Seen};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::signals::Signals;
use sys::spawn::{self, AskedToEnd, HeldProgram, ProgramEnd, RunningProgram};

/// A program to run, and how to record it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The program.
    pub command: spawn::Command,
    /// How it is observed.
    pub watching: Watching,
}

/// The limit of time for the last events to arrive after the program was reaped.
const AFTERMATH: Duration = Duration::from_millis(200);

/// The time that a program has for a signal which asks for its end, if it does not handle it.
const PATIENCE_NS: Ns = 700_000_000;

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
    sink.sets_up();
    sources::take_name();
    let began_at_bytes = began_at_bytes(held.pid());
    let host = host::identity(host::here());
    let entrusted = access::entrusted(held.path(), held.pid());
    let mut instruments =
        sources::start(&request.watching, held.pid(), &host::cpus(host::here()), entrusted)?;
    for path in likely::executables(held.path()) {
        instruments.expect(&path);
    }
    let subject = RecordingSubject {
        command: request.command.words(),
        root: held.pid(),
        attached: None,
        first: held.pid(),
        links: &request.watching.links,
        host,
    };
    let (mut session, snapshot) = Session::begin(instruments, subject, sink);
    let mut running = held.release()?;
    // Only now: the kernel could have refused to execute the program.
    snapshot.iter().for_each(|event| session.stream.event(event));
    session.started();
    let ended = match until_its_end(&mut session, &mut running, &mut signals)? {
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
) -> std::io::Result<RunEnd> {
    let mut patience = Patience::default();
    loop {
        let ready = session.read(&[signals.as_fd(), running.as_fd()], None)?;
        session.snapshot_if_due();
        if ready.iter().any(|ready| *ready)
            && let Some(ended) = running.attend(signals)?
        {
            return Ok(RunEnd::Ended(ended));
        }
        if let Some(asked) = running.asked_to_end() {
            let ignores = || all_ignore(&session.instruments.threads().living(), asked.signal);
            if patience.is_over(&asked, monotonic_ns(), ignores) {
                return Ok(RunEnd::Left(asked.signal));
            }
        }
    }
}

/// How long a program is waited for that was asked to end. One that handles the signal has all the
/// time that it needs: it may be ending in order, or have another use for Ctrl-C.
#[derive(Default)]
struct Patience {
    /// When it was asked, and whether the signal was ignored then.
    asked: Option<(Ns, bool)>,
    /// The same, once that was looked at again.
    looked_again: Option<Ns>,
}

impl Patience {
    /// Whether it is over: the signal has no effect, or a process has asked for the second time.
    fn is_over(&mut self, asked: &AskedToEnd, now: Ns, ignored: impl Fn() -> bool) -> bool {
        let known = self.asked.filter(|(at, _)| *at == asked.at);
        let (_, at_first) = known.unwrap_or_else(|| *self.asked.insert((asked.at, ignored())));
        if now < asked.at + PATIENCE_NS {
            return false;
        }
        if asked.times > 1 {
            return true;
        }
        // Some begin to ignore it while they end, so it counts only if they did from the beginning.
        let again = self.looked_again != Some(asked.at);
        self.looked_again = Some(asked.at);
        at_first && again && ignored()
    }
}

/// Whether all of these processes ignore a signal.
fn all_ignore(processes: &[Pid], signal: i32) -> bool {
    let known: Vec<bool> = processes
        .iter()
        .filter_map(|pid| host::own::is_ignored_by(host::here().proc, *pid, signal))
        .collect();
    !known.is_empty() && known.iter().all(|ignored| *ignored)
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

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: i32 = 15;

    fn asked(at: Ns, times: u32) -> AskedToEnd {
        AskedToEnd { signal: TERM, at, times }
    }

    #[test]
    fn a_program_is_left_if_it_ignored_the_signal_all_the_time() {
        for (at_first, later, is_left) in
            [(true, true, true), (false, true, false), (true, false, false), (false, false, false)]
        {
            let mut patience = Patience::default();
            assert!(!patience.is_over(&asked(5, 1), 6, || at_first));
            assert!(!patience.is_over(&asked(5, 1), PATIENCE_NS, || true), "it has some time");
            assert_eq!(patience.is_over(&asked(5, 1), 5 + PATIENCE_NS, || later), is_left);
            // Whatever it does later: it was asked once.
            assert!(!patience.is_over(&asked(5, 1), 9 * PATIENCE_NS, || true));
        }
    }

    #[test]
    fn a_program_is_left_if_a_process_asks_again() {
        let mut patience = Patience::default();
        assert!(!patience.is_over(&asked(5, 1), 3 * PATIENCE_NS, || false));
        let again = asked(3 * PATIENCE_NS, 2);
        assert!(!patience.is_over(&again, 3 * PATIENCE_NS, || false));
        assert!(patience.is_over(&again, 4 * PATIENCE_NS, || false));
    }

    #[test]
    fn a_key_of_the_terminal_is_the_programs_own_matter_unless_it_is_ignored() {
        let mut patience = Patience::default();
        for at in [1, PATIENCE_NS, 5 * PATIENCE_NS] {
            assert!(!patience.is_over(&asked(at, 0), at, || false));
            assert!(!patience.is_over(&asked(at, 0), at + PATIENCE_NS, || false));
        }
        assert!(!patience.is_over(&asked(9 * PATIENCE_NS, 0), 9 * PATIENCE_NS, || true));
        assert!(patience.is_over(&asked(9 * PATIENCE_NS, 0), 10 * PATIENCE_NS, || true));
    }
}
