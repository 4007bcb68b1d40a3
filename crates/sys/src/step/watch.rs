//! The time limit, and signals for the program or for both, in a separate thread: stepping waits
//! for the program only. It ends with the stepping.

use super::kick::kick;
use super::ptrace::Tid;
use crate::clock::monotonic_ns;
use crate::poll;
use crate::signals::{self, Signals};
use crate::spawn::patience::ENDING;
use crate::spawn::{AskedToEnd, Patience, RunningProgram};
use std::io::PipeReader;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// How long a kick may remain unheard: it was too early, and is repeated.
const KICK_AGAIN: Duration = Duration::from_millis(10);

/// Signals to dwell, and what the program makes of them.
pub struct Attention<'a> {
    /// The signals.
    pub signals: &'a mut Signals,
    /// Whether the program and all its descendants ignore a signal.
    pub ignores: &'a (dyn Fn(i32) -> bool + Sync),
}

/// What the watching thread asks of the stepping one.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// The time is over: the program is to go on uncounted.
    time: AtomicBool,
    /// The signal by which the program did not end: it is to be left. 0 for none.
    leave: AtomicI32,
    /// Something was asked that is not heard yet.
    news: AtomicBool,
}

impl Asked {
    /// Whether there is something new: before each step.
    pub(super) fn hear(&self) -> bool {
        self.news.load(Ordering::Acquire) && self.news.swap(false, Ordering::AcqRel)
    }

    /// Whether the time is over.
    pub(super) fn time_is_over(&self) -> bool {
        self.time.load(Ordering::Acquire)
    }

    /// The signal by which the program did not end.
    pub(super) fn leave(&self) -> Option<i32> {
        Some(self.leave.load(Ordering::Acquire)).filter(|signal| *signal != 0)
    }

    fn is_unheard(&self) -> bool {
        self.news.load(Ordering::Acquire)
    }

    fn tell(&self, tracer: Tid) {
        self.news.store(true, Ordering::Release);
        kick(tracer);
    }
}

/// The program and the thread that steps it.
#[derive(Clone, Copy)]
pub(super) struct Watched<'a> {
    pub(super) running: &'a RunningProgram,
    pub(super) tracer: Tid,
    pub(super) asked: &'a Asked,
}

/// Runs until `over` is hung up.
pub(super) fn watch(
    watched: Watched<'_>,
    over: &PipeReader,
    mut attention: Option<Attention<'_>>,
    time: Option<Duration>,
) {
    let Watched { tracer, asked, .. } = watched;
    let mut until = time.and_then(|time| Instant::now().checked_add(time));
    let mut ending: Option<AskedToEnd> = None;
    let mut patience = Patience::default();
    loop {
        if until.is_some_and(|until| until <= Instant::now()) {
            until = None;
            asked.time.store(true, Ordering::Release);
            asked.tell(tracer);
        }
        if let (Some(ending), Some(attention), None) = (&ending, &attention, asked.leave())
            && patience.is_over(ending, monotonic_ns(), || (attention.ignores)(ending.signal))
        {
            asked.leave.store(ending.signal, Ordering::Release);
            asked.tell(tracer);
        }
        let time = until.map(|until| until.saturating_duration_since(Instant::now()));
        let patient = ending.filter(|_| asked.leave().is_none());
        let patient = patient.and_then(|ending| patience.left(&ending, monotonic_ns()));
        let again = asked.is_unheard().then_some(KICK_AGAIN);
        let most = [time, patient, again].into_iter().flatten().min();
        let mut fds = vec![over.as_fd()];
        fds.extend(attention.as_ref().map(|attention| attention.signals.as_fd()));
        match poll::wait(&fds, most) {
            Ok(ready) if ready.first() == Some(&true) => return,
            Ok(_) => {}
            Err(_) => return,
        }
        if let Some(attention) = &mut attention {
            pass_on(watched.running, attention.signals, &mut ending);
        }
        if asked.is_unheard() {
            kick(tracer);
        }
    }
}

/// As [`RunningProgram::attend`] does.
fn pass_on(running: &RunningProgram, signals: &mut Signals, ending: &mut Option<AskedToEnd>) {
    while let Ok(Some(signal)) = signals.take() {
        match signal.number {
            libc::SIGCHLD => continue,
            libc::SIGCONT => running.pass_on_continuing(),
            _ => running.pass_on(&signal),
        }
        if ENDING.contains(&signal.number) {
            *ending = Some(AskedToEnd::after(*ending, &signal, monotonic_ns()));
        }
        if matches!(signal.number, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
            signals::stop_self();
        }
    }
}
