//! Recording running processes for a window of time, without disturbing them.

use crate::access::{self, AccessDenial};
use crate::error::Error;
use crate::session::{Recorded, RecordingSubject, Running, Session, SessionEnd, Sink};
use crate::settings::{Choice, Watching};
use crate::sources;
use model::recording::{AttachWindow, Ending, WindowEnd};
use model::{Ns, Pid, Seen};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::policy::RtBoost;
use sys::signals::Signals;

/// What to record, how, and for how long.
#[derive(Debug, Clone)]
pub struct Window {
    /// The processes.
    pub target: Target,
    /// How they are observed.
    pub watching: Watching,
    /// The duration; without it, until a signal or until no process of the target is left.
    pub length_ns: Option<Ns>,
    /// Whether Java virtual machines are asked for the names of their code once the window has
    /// ended: they get a signal for it.
    pub jvm_names: bool,
}

/// The target: processes with all that they start, as they are when the window begins.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name on the page.
    pub name: String,
    /// A command line that represents it.
    pub command: Vec<String>,
    /// Its processes.
    pub who: ProcessSet,
}

impl Target {
    /// The file of this name that its processes run code of, or their own executables: as paths
    /// that are valid here, each file once.
    pub fn files(&self, named: Option<&Path>) -> Vec<PathBuf> {
        let mut known = BTreeSet::new();
        let mut files = Vec::new();
        for pid in list(&self.who) {
            let mappings = match named {
                Some(_) => code::executable_mappings(pid).unwrap_or_default(),
                None => Vec::new(),
            };
            let is_named = |mapping: &&code::Mapping| {
                let path = Path::new(OsStr::from_bytes(&mapping.path));
                named.is_some_and(|named| path == named || path.file_name() == Some(named.as_os_str()))
            };
            let mapped = mappings.iter().find(is_named);
            let path = match (named, mapped) {
                (None, _) => PathBuf::from(format!("/proc/{pid}/exe")),
                (Some(_), Some(mapping)) => {
                    let path = OsStr::from_bytes(&mapping.path);
                    Path::new(&format!("/proc/{pid}/root"))
                        .join(Path::new(path).strip_prefix("/").unwrap_or(path.as_ref()))
                }
                (Some(_), None) => continue,
            };
            let which = std::fs::metadata(&path).map(|found| (found.dev(), found.ino()));
            if which.is_ok_and(|which| known.insert(which)) {
                files.push(path);
            }
        }
        files
    }

    /// One of its processes.
    pub fn first(&self) -> Option<Pid> {
        list(&self.who).first().copied()
    }
}

/// The processes of a target.
#[derive(Debug, Clone)]
pub enum ProcessSet {
    /// These and their descendants.
    Trees(Vec<Pid>),
    /// All processes of a cgroup and its descendants: its directory.
    Cgroup(PathBuf),
}

/// Records the target until the window ends. `progress` gets the time since the start after each
/// drain.
///
/// # Errors
/// The requested source is not available, or the target has exited. The target is never stopped,
/// and signalled only for `jvm_names`.
pub fn attach(window: &Window, sink: &mut dyn Sink, progress: &mut dyn FnMut(Ns)) -> Result<Recorded, Error> {
    access::numbers()?;
    let mut signals = Signals::take_over()?;
    let _more_files = access::MoreFiles::allow();
    sink.sets_up();
    let host = host::identity(host::here());
    let who = &window.target.who;
    may_look(window)?;
    let mut listed = || list(who);
    sources::take_name();
    let before = list(who);
    let instruments = sources::attach(&window.watching, &host::cpus(host::here()), &mut listed)?;
    // Where the instruments took the last descriptors it cannot be listed, and is there.
    let is_there = |pid: &&Pid| host::here().proc.join(pid.to_string()).exists();
    let Some(first) = list(who).first().or_else(|| before.iter().find(is_there)).copied() else {
        return Err(gone(&window.target.name));
    };
    let at = instruments.begin();
    let subject = RecordingSubject {
        command: window.target.command.clone(),
        root: 0,
        attached: Some(AttachWindow { at, target: window.target.name.clone() }),
        first,
        links: &window.watching.links,
        units: window.watching.units.clone(),
        host,
    };
    let (mut session, snapshot) = Session::begin(instruments, subject, sink);
    snapshot.iter().for_each(|event| session.stream.event(event));
    let end_at = window.length_ns.map(|length| at.saturating_add(length));
    let mut hurry = None;
    let why = loop {
        let left = end_at.map(|end| Duration::from_nanos(end.saturating_sub(monotonic_ns())));
        session.read(&[signals.as_fd()], left)?;
        if asked_to_stop(&mut signals)? {
            hurry = Some(RtBoost::begin());
            break WindowEnd::Signal;
        }
        if session.instruments.threads().all_are_gone() {
            break WindowEnd::TargetGone;
        }
        session.snapshot_if_due();
        let now = monotonic_ns();
        if end_at.is_some_and(|end| now >= end) {
            break WindowEnd::For;
        }
        progress(now - at);
    };
    let Running { at, counters, counted_until, peaks, host_cpu } = session.end_while_running();
    if window.jvm_names {
        session.instruments.asks_jvms();
    }
    let rusage = Seen::unseen("the kernel sums only children that were waited for");
    let ending = Ending::Window(why);
    let recorded = session.finish(SessionEnd {
        ending,
        at,
        rusage,
        host_cpu,
        counters,
        peaks,
        began_at_bytes: None,
        counted_until,
        asked_to_end: why == WindowEnd::Signal,
        left: None,
    });
    drop(hurry);
    Ok(recorded)
}

/// Why no process of a target is found: none is there, unless processes cannot be looked at.
fn gone(target: &str) -> Error {
    /// As many files as listing has open at a time.
    const OPEN: usize = 3;
    let stat = host::here().proc.join("self/stat");
    match (0..OPEN).map(|_| File::open(&stat)).collect::<Result<Vec<_>, _>>() {
        Err(error) => Error::Watch(error),
        Ok(_) => Error::Gone(target.to_owned()),
    }
}

/// Without BPF a process is inspected through /proc, which requires the same user.
fn may_look(window: &Window) -> Result<(), Error> {
    let bpf = window.watching.source == Choice::Auto && access::bpf().is_ok();
    if bpf || window.watching.source == Choice::Bpf {
        return Ok(());
    }
    let denied = |wall: AccessDenial| {
        let (target, AccessDenial { why, remedy }) = (window.target.name.clone(), wall);
        Error::Denied { target, why, remedy }
    };
    match &window.target.who {
        ProcessSet::Trees(roots) => roots.iter().try_for_each(|pid| access::looking_at(*pid)).map_err(denied),
        // Of a cgroup shared by several users, processes of this user suffice.
        ProcessSet::Cgroup(_) => {
            let looks: Vec<_> = list(&window.target.who).into_iter().map(access::looking_at).collect();
            let none = looks.iter().all(Result::is_err);
            looks.into_iter().find(|_| none).unwrap_or(Ok(())).map_err(denied)
        }
    }
}

/// Whether dwell got a signal to stop: Ctrl-C, a hang-up, SIGTERM. Ctrl-Z suspends dwell, as any
/// program.
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

/// The current processes of the target, without dwell itself.
fn list(who: &ProcessSet) -> Vec<Pid> {
    let own = std::process::id();
    let all = match who {
        ProcessSet::Trees(roots) => crate::targets::trees(roots),
        ProcessSet::Cgroup(directory) => crate::cgroups::processes(directory),
    };
    let all: BTreeSet<Pid> = all.into_iter().filter(|pid| *pid != own).collect();
    all.into_iter().collect()
}
