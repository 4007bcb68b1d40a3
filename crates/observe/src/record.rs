//! One run, watched from before its first instruction to after its last.

use crate::living::Living;
use crate::sources::{self, Instruments};
use crate::surroundings::{GivenLink, Surroundings};
use crate::{access, host, likely, mounts};
use model::recording::{HostCpu, Tier, Trailer};
use model::{Event, Header, Ns, Seen};
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::{monotonic_ns, process_cpu_ns, unix_s};
use sys::poll;
use sys::signals::Signals;
use sys::spawn::{self, Ended, Held, Running};

/// What to run and how to watch it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The program.
    pub command: spawn::Command,
    /// How it is watched.
    pub watching: Watching,
}

/// How a program, or what already runs, is watched.
#[derive(Debug, Clone)]
pub struct Watching {
    /// Where events are to come from.
    pub source: Choice,
    /// How often running code is looked at.
    pub rate: Rate,
    /// What tracing calls may cost the program.
    pub max_overhead: MaxOverhead,
    /// What links can do, where the user knows better than the kernel.
    pub links: Vec<GivenLink>,
    /// Whether calls of the C library's resolver are looked at too.
    pub names: bool,
}

/// What tracing calls may cost the program before only slices of time are traced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxOverhead {
    /// Whatever it takes: every call is counted.
    Unbounded,
    /// A share of the program's time on a CPU, all instruments together.
    Share(f64),
}

/// How often running code is looked at, on each processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rate {
    /// About 2 kHz while the program is young, about 335 Hz when it lasts: what a sample costs stays small beside
    /// what the program does.
    #[default]
    ByAge,
    /// Each so many nanoseconds, whatever that costs.
    Every(Ns),
}

impl Rate {
    /// So many times a second.
    pub fn hertz(hertz: NonZeroU32) -> Self {
        Rate::Every(1_000_000_000 / Ns::from(hertz.get()))
    }

    /// The shortest period, where `by_age` is that of the program's youth.
    pub(crate) fn period_ns(self, by_age: Ns) -> Ns {
        match self {
            Rate::ByAge => by_age,
            Rate::Every(ns) => ns,
        }
    }
}

/// Where events are to come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The best that this host allows.
    #[default]
    Auto,
    /// The kernel, through BPF, or nothing.
    Bpf,
    /// perf events and `/proc`.
    Perf,
    /// `/proc` alone.
    Proc,
}

/// Takes the recording as it is made.
pub trait Sink {
    /// Everything is in place and the program is about to start.
    fn header(&mut self, header: &Header);
    /// Something was seen.
    fn event(&mut self, event: &Event);
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started.
    #[error(transparent)]
    Start(#[from] spawn::Error),
    /// The source that was asked for is not to be had; nothing of the program ran.
    #[error("cannot record from {tier}: {why}\ntry: {remedy}")]
    Refused {
        /// `bpf`, `perf` or `proc`; `/proc` where it is what all need.
        tier: &'static str,
        /// What the system said.
        why: String,
        /// What would change it.
        remedy: String,
    },
    /// What lives may not be looked into.
    #[error("cannot watch {target}: {why}\ntry: {remedy}")]
    Denied {
        /// What was to be watched.
        target: String,
        /// Whose it is.
        why: String,
        /// What would change it.
        remedy: String,
    },
    /// Nothing lives of what was to be watched.
    #[error("{0} is gone")]
    Gone(String),
    /// The program could not be waited for.
    #[error("cannot watch the program: {0}")]
    Watch(#[from] std::io::Error),
}

impl From<access::Wall> for Error {
    /// What all sources need is missing.
    fn from(wall: access::Wall) -> Self {
        Error::Refused { tier: "/proc", why: wall.why, remedy: wall.remedy }
    }
}

impl Error {
    /// The exit status for it, as in timeout(1).
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Start(error) => error.exit_code(),
            Error::Refused { .. } | Error::Denied { .. } | Error::Gone(_) | Error::Watch(_) => 125,
        }
    }
}

/// How long the reader sleeps while the program is young, so that an interpreter is known before it has done much.
const YOUNG: Duration = Duration::from_millis(2);
/// How long it is young.
const YOUNG_FOR_NS: Ns = 100_000_000;
/// How long the reader sleeps while little happens. Long enough to cost nothing, short enough that a CPU's buffer
/// (8 MiB, less on large hosts) holds what the fastest programs bring in it; see [`Instruments::pause`].
const QUIET: Duration = Duration::from_millis(20);
/// The same while much happens.
pub(crate) const BUSY: Duration = Duration::from_millis(5);
/// Records in one reading that make it busy.
const MANY: u64 = 4000;
/// How long the last events may take to arrive after the program was reaped.
const AFTERMATH: Duration = Duration::from_millis(200);

/// Runs the program and hands over everything that was seen of it.
///
/// # Errors
/// The program cannot be started, or the source asked for cannot be had. Once the program runs, a failing source
/// makes the recording poorer and says so in the trailer; it never harms the program.
pub fn record(request: &Request, sink: &mut dyn Sink) -> Result<Trailer, Error> {
    access::numbers()?;
    let mut signals = Signals::take_over()?;
    let held = Held::spawn(&request.command)?;
    let host = host::read(host::here());
    let entrusted = access::entrusted(&request.command.program, held.pid());
    let mut instruments =
        sources::start(&request.watching, held.pid(), &host::cpus(host::here()), entrusted)?;
    for path in likely::executables(&request.command.program) {
        instruments.expect(&path);
    }
    let header = Header {
        format: 1,
        recorder: env!("CARGO_PKG_VERSION").to_owned(),
        command: request.command.words(),
        started_at_unix_s: unix_s(),
        root: held.pid(),
        tier: instruments.tier(),
        sample_period_ns: instruments.sample_period_ns(),
        host,
        devices: mounts::devices(host::here()),
        sources: instruments.sources(),
        attached: None,
    };
    sink.header(&header);
    let mut living = Living::new(held.pid());
    let mut surroundings = Surroundings::new(host::here(), held.pid(), &request.watching.links);
    let before = Moment::now();
    let first_look = surroundings.look(before.at, before.dwell_ns);
    let mut running = held.release()?;
    // Only now: the kernel may still have refused the program, and a kept recording begins with its first event.
    sink.event(&first_look);
    let ended = watch(&mut running, &mut signals, &mut instruments, &mut surroundings, &mut |event| {
        living.event(event);
        sink.event(event);
    })?;
    let reaped_at = monotonic_ns();
    sink.event(&surroundings.look(reaped_at, process_cpu_ns()));
    let host_cpu = before.until_now();
    aftermath(&mut instruments, &mut living, sink);
    instruments.names(&mut |event| sink.event(event));
    Ok(Trailer {
        ending: ended.ending,
        reaped_at,
        calls: instruments.calls(),
        rusage: Seen::Value(ended.rusage),
        host_cpu,
        living: living.counters(host::here().proc),
        lost_events: instruments.lost(),
        cost: instruments.cost(),
        sources: instruments.worse(),
        kept_until: None,
        sliced: instruments.sliced(reaped_at),
        costs: Seen::unseen("no ladder of this host was looked for"),
    })
}

/// Until the program has ended.
fn watch(
    running: &mut Running,
    signals: &mut Signals,
    instruments: &mut Instruments,
    surroundings: &mut Surroundings,
    sink: &mut dyn FnMut(&Event),
) -> std::io::Result<Ended> {
    let mut pause = YOUNG;
    let grown_up_at = monotonic_ns() + YOUNG_FOR_NS;
    loop {
        let sleep = surroundings.pause(instruments.pause(pause), monotonic_ns());
        let ready = poll::wait(&[signals.as_fd(), running.as_fd()], Some(sleep))?;
        let records = instruments.drain(sink);
        tell_losses(instruments, sink);
        let now = monotonic_ns();
        if surroundings.is_due(now) {
            sink(&surroundings.look(now, process_cpu_ns()));
        }
        pause = match records {
            _ if now < grown_up_at => YOUNG,
            records => pause_after(records),
        };
        if ready.iter().any(|ready| *ready)
            && let Some(ended) = running.attend(signals)?
        {
            return Ok(ended);
        }
    }
}

/// How long the reader sleeps after a reading that brought so many records.
pub(crate) fn pause_after(records: u64) -> Duration {
    if records > MANY { BUSY } else { QUIET }
}

/// What is still on its way when the program has been reaped: above all its last switch, which ends the wall.
fn aftermath(instruments: &mut Instruments, living: &mut Living, sink: &mut dyn Sink) {
    let until = monotonic_ns() + AFTERMATH.as_nanos() as Ns;
    loop {
        let mut tell = |event: &Event| {
            living.event(event);
            sink.event(event);
        };
        instruments.drain_rest(&mut tell);
        tell_losses(instruments, &mut tell);
        let waits_for_more = instruments.tier() == Tier::Bpf && !living.root_is_gone();
        if !waits_for_more || monotonic_ns() > until {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

pub(crate) fn tell_losses(instruments: &mut Instruments, sink: &mut dyn FnMut(&Event)) {
    let events = instruments.newly_lost();
    if events > 0 {
        sink(&Event::Lost { at: monotonic_ns(), events });
    }
}

/// Counters of the host at one moment.
pub(crate) struct Moment {
    pub(crate) at: Ns,
    host: Option<HostCpu>,
    pub(crate) dwell_ns: Ns,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { at: monotonic_ns(), host: host::cpu(host::here().proc), dwell_ns: process_cpu_ns() }
    }

    pub(crate) fn until_now(&self) -> Seen<HostCpu> {
        let now = Self::now();
        match (self.host, now.host) {
            (Some(before), Some(after)) => {
                Seen::Value(host::between(before, after, now.at - self.at, now.dwell_ns - self.dwell_ns))
            }
            _ => Seen::unseen("cannot read /proc/stat"),
        }
    }
}
