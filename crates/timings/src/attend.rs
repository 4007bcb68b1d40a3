//! Waiting for the end of a run: asleep in poll(2), but for the caller's signals, its progress, and
//! output that must be taken.

use crate::error::Error;
use crate::plan::Go;
use crate::streams::{Drain, Streams};
use model::Ns;
use rustix::process::Signal;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::poll;
use sys::starter::{CommandEnd, Starter};

const SECOND_NS: Ns = 1_000_000_000;

/// After this time, progress is told once a second.
const TOLD_AFTER_NS: Ns = 2 * SECOND_NS;

/// After this time a run that was asked to end is killed.
const PATIENCE_NS: Ns = SECOND_NS / 2;

/// How often a signal is tried while the run has no process yet.
const RETRY_NS: Ns = 10_000_000;

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Attended {
    /// By itself.
    Ended(Box<CommandEnd>),
    /// It was told to.
    Stopped,
}

/// How a run is attended.
pub(crate) struct Attention<'a> {
    /// Readable when the caller must be told at once.
    pub(crate) watch: Option<BorrowedFd<'a>>,
    /// The end of its pipe to be emptied.
    pub(crate) drain: Option<Drain>,
    /// How often caught output is taken.
    pub(crate) take_each_ns: Ns,
}

/// Waits for the end of the run that the starter has in hand. `tell` gets the time since now.
pub(crate) fn attend(
    starter: &mut Starter,
    streams: &mut Streams,
    attention: Attention<'_>,
    tell: &mut dyn FnMut(Ns) -> Go,
) -> Result<Attended, Error> {
    streams.let_go()?;
    let Attention { watch, mut drain, take_each_ns } = attention;
    let began_ns = monotonic_ns();
    let mut next_tell_ns = began_ns + TOLD_AFTER_NS;
    let mut next_take_ns = streams.are_caught().then(|| began_ns.saturating_add(take_each_ns));
    let mut ending: Option<EndedChild> = None;
    let mut was_stopped = false;
    let mut watched = watch;
    loop {
        let times = [Some(next_tell_ns), next_take_ns, ending.as_ref().map(|ending| ending.next_ns)];
        let next_ns = times.into_iter().flatten().min().unwrap_or(next_tell_ns);
        let timeout = Duration::from_nanos(next_ns.saturating_sub(monotonic_ns()));
        let drained = drain.as_ref().map(AsFd::as_fd);
        let fds: Vec<BorrowedFd<'_>> =
            [Some(starter.as_fd()), watched, drained].into_iter().flatten().collect();
        let ready = poll::wait(&fds, Some(timeout)).map_err(cannot_wait)?;
        if ready[0] {
            break;
        }
        let signalled = watched.is_some() && ready[1];
        if drain.as_ref().is_some_and(|drain| ready[ready.len() - 1] && !drain.empty()) {
            drain = None;
        }
        let now_ns = monotonic_ns();
        if next_take_ns.is_some_and(|next_ns| next_ns <= now_ns) {
            streams.take()?;
            next_take_ns = Some(monotonic_ns().saturating_add(take_each_ns));
        }
        let due = next_tell_ns <= now_ns;
        if due || signalled {
            if due {
                next_tell_ns = now_ns + SECOND_NS;
            }
            match tell(now_ns - began_ns) {
                Go::On => {}
                Go::OnAfterStop => was_stopped = true,
                Go::Stop => ending = ending.or_else(|| Some(EndedChild::at(now_ns))),
            }
            // What `tell` did not read would keep dwell awake: it is told again with the next
            // second.
            watched = watch.filter(|watch| !is_ready(*watch));
        }
        if let Some(ending) = &mut ending {
            ending.go_on(starter, monotonic_ns());
        }
    }
    let end = starter.finish();
    streams.take()?;
    match (ending, end) {
        (Some(_), _) => Ok(Attended::Stopped),
        (None, end) => {
            let mut end = end?;
            end.was_stopped |= was_stopped;
            Ok(Attended::Ended(Box::new(end)))
        }
    }
}

fn is_ready(fd: BorrowedFd<'_>) -> bool {
    poll::wait(&[fd], Some(Duration::ZERO)).is_ok_and(|ready| ready[0])
}

/// Ending a run: a signal as soon as it has a process, and one that cannot be refused later.
struct EndedChild {
    next_ns: Ns,
    kill_ns: Ns,
    asked: bool,
}

impl EndedChild {
    fn at(now_ns: Ns) -> Self {
        Self { next_ns: now_ns, kill_ns: now_ns + PATIENCE_NS, asked: false }
    }

    fn go_on(&mut self, starter: &Starter, now_ns: Ns) {
        if now_ns < self.next_ns {
            return;
        }
        if now_ns >= self.kill_ns {
            starter.signal(Signal::KILL.as_raw());
        } else if !self.asked {
            self.asked = starter.signal(Signal::TERM.as_raw());
        }
        let asked_and_waits = self.asked && now_ns < self.kill_ns;
        self.next_ns = if asked_and_waits { self.kill_ns } else { now_ns + RETRY_NS };
    }
}

fn cannot_wait(source: std::io::Error) -> Error {
    Error::Start(sys::spawn::Error::System { what: "ppoll", error: source })
}
