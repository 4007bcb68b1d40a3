//! A window on what lives already: watched from one moment to another, and never touched.

use crate::access::{self, Wall};
use crate::living::Living;
use crate::record::{BUSY, Choice, Error, Sink, Watching, pause_after, tell_losses};
use crate::surroundings::Surroundings;
use crate::{host, mounts, record, sources};
use model::recording::{Attached, Ending, Trailer, WindowEnd};
use model::{Event, Header, Ns, Pid, Seen};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;
use sys::clock::{monotonic_ns, process_cpu_ns, unix_s};
use sys::poll;
use sys::signals::Signals;

/// Whom to watch and how.
#[derive(Debug, Clone)]
pub struct Window {
    /// Whom.
    pub target: Target,
    /// How they are watched.
    pub watching: Watching,
    /// For how long; until told to stop, or until nothing is left to watch, where it is not said.
    pub length_ns: Option<Ns>,
}

/// Whom to watch: processes with all that they start, as they are when the window begins.
#[derive(Debug, Clone)]
pub struct Target {
    /// In words.
    pub name: String,
    /// A command line that stands for it.
    pub command: Vec<String>,
    /// Who.
    pub who: Who,
}

/// The processes of a target.
#[derive(Debug, Clone)]
pub enum Who {
    /// These, and their children, and theirs.
    Trees(Vec<Pid>),
    /// All of a control group and those below it: its directory.
    Cgroup(PathBuf),
}

/// Watches the target until the window ends and hands over everything that was seen of it. `progress` is told, a few
/// times a second, how long it has been watched.
///
/// # Errors
/// The source asked for cannot be had, or the target is gone. Nothing of the target is stopped or signalled in any case.
pub fn attach(window: &Window, sink: &mut dyn Sink, progress: &mut dyn FnMut(Ns)) -> Result<Trailer, Error> {
    access::numbers()?;
    let mut signals = Signals::take_over()?;
    let host = host::read(host::here());
    let who = &window.target.who;
    may_look(window)?;
    let mut listed = || list(who);
    let mut instruments = sources::attach(&window.watching, &host::cpus(host::here()), &mut listed)?;
    let Some(first) = list(who).first().copied() else {
        return Err(Error::Gone(window.target.name.clone()));
    };
    let at = instruments.begin();
    let header = Header {
        format: 1,
        recorder: env!("CARGO_PKG_VERSION").to_owned(),
        command: window.target.command.clone(),
        started_at_unix_s: unix_s(),
        root: 0,
        tier: instruments.tier(),
        sample_period_ns: instruments.sample_period_ns(),
        host,
        devices: mounts::devices(host::here()),
        sources: instruments.sources(),
        attached: Some(Attached { at, target: window.target.name.clone() }),
    };
    sink.header(&header);
    let mut surroundings = Surroundings::new(host::here(), first, &window.watching.links);
    let before = record::Moment::now();
    sink.event(&surroundings.look(before.at, before.dwell_ns));
    let mut living = Living::new(0);
    let end_at = window.length_ns.map(|length| at.saturating_add(length));
    let mut pause = BUSY;
    let mut tell = |living: &mut Living, event: &Event| {
        living.event(event);
        sink.event(event);
    };
    let why = loop {
        let left = end_at.map(|end| Duration::from_nanos(end.saturating_sub(monotonic_ns())));
        let pause_max = surroundings.pause(instruments.pause(pause), monotonic_ns());
        poll::wait(&[signals.as_fd()], Some(left.map_or(pause_max, |left| left.min(pause_max))))?;
        let records = instruments.drain(&mut |event| tell(&mut living, event));
        tell_losses(&mut instruments, &mut |event| tell(&mut living, event));
        pause = pause_after(records);
        if asked_to_stop(&mut signals)? {
            break WindowEnd::Signal;
        }
        if living.all_are_gone() {
            break WindowEnd::TargetGone;
        }
        let now = monotonic_ns();
        if surroundings.is_due(now) {
            tell(&mut living, &surroundings.look(now, process_cpu_ns()));
        }
        if end_at.is_some_and(|end| now >= end) {
            break WindowEnd::For;
        }
        progress(now - at);
    };
    let ended_at = instruments.end();
    tell(&mut living, &surroundings.look(ended_at, process_cpu_ns()));
    // At once: working off what has come may take a while, in which they go on.
    let counters = living.counters(host::here().proc);
    let host_cpu = before.until_now();
    instruments.drain_until(ended_at, &mut |event| tell(&mut living, event));
    tell_losses(&mut instruments, &mut |event| tell(&mut living, event));
    instruments.names(&mut |event| tell(&mut living, event));
    Ok(Trailer {
        ending: Ending::Window(why),
        reaped_at: ended_at,
        calls: instruments.calls(),
        rusage: Seen::unseen("the kernel adds up what was waited for, and this was not"),
        host_cpu,
        living: counters,
        lost_events: instruments.lost(),
        cost: instruments.cost(),
        sources: instruments.worse(),
        kept_until: None,
        sliced: instruments.sliced(ended_at),
        costs: Seen::unseen("no ladder of this host was looked for"),
    })
}

/// Without BPF a process is looked into from outside, for which it must be of one's own.
fn may_look(window: &Window) -> Result<(), Error> {
    let bpf = window.watching.source == Choice::Auto && access::bpf().is_ok();
    if bpf || window.watching.source == Choice::Bpf {
        return Ok(());
    }
    let denied = |wall: Wall| {
        let (target, Wall { why, remedy }) = (window.target.name.clone(), wall);
        Error::Denied { target, why, remedy }
    };
    match &window.target.who {
        Who::Trees(roots) => roots.iter().try_for_each(|pid| access::looking_at(*pid)).map_err(denied),
        // Of a group that many share, some of one's own will do.
        Who::Cgroup(_) => {
            let looks: Vec<_> = list(&window.target.who).into_iter().map(access::looking_at).collect();
            let none = looks.iter().all(Result::is_err);
            looks.into_iter().find(|_| none).unwrap_or(Ok(())).map_err(denied)
        }
    }
}

/// Whether somebody wants dwell to stop: Ctrl-C, a hang-up, SIGTERM. Ctrl-Z stops dwell, as any program.
fn asked_to_stop(signals: &mut Signals) -> std::io::Result<bool> {
    let mut stop = false;
    while let Some(signal) = signals.take()? {
        match signal.number {
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => stop = true,
            libc::SIGTSTP => sys::signals::stop_self(),
            _ => {}
        }
    }
    Ok(stop)
}

/// The processes of the target as they are now, without dwell itself.
fn list(who: &Who) -> Vec<Pid> {
    let own = std::process::id();
    let all = match who {
        Who::Trees(roots) => crate::targets::trees(roots),
        Who::Cgroup(directory) => crate::cgroups::processes(directory),
    };
    let all: BTreeSet<Pid> = all.into_iter().filter(|pid| *pid != own).collect();
    all.into_iter().collect()
}
