//! The sources of events, best first. Each starts on a held program, is drained while it runs and
//! reports what it could not observe.

mod arguments;
pub(crate) mod bpf;
mod fallback;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod perf;
mod perf_records;
mod proc;

use crate::access;
use crate::error::Error;
use crate::settings::{Choice, Watching};
use crate::source_text::Roots;
use crate::threads::Threads;
use bpf::Bpf;
use fallback::Fallback;
use model::counters::CountersObserved;
use model::coverage::Source;
use model::disk_requests::DiskUses;
use model::files::FileUses;
use model::recording::{Cost, Sliced, Tier, UnitsFollowed};
use model::requests::Unit;
use model::{CallStats, Event, Ns, Pid, Seen};
use perf::{Perf, PerfRefusal};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The sampling period of events that are only tried: none is taken.
const TRIED_PERIOD_NS: Ns = 1_000_000_000;

/// The instruments of a recording.
pub(crate) enum Instruments {
    /// BPF.
    Bpf(Box<Bpf>),
    /// The fallback without it, and the reason.
    Fallback(Box<Fallback>, Option<Source>),
}

/// Names this thread, and those that it will start, as dwell's own, whatever the executable is
/// called: by this name the analysis tells them from other programs that have the CPUs.
pub(crate) fn take_name() {
    // Without it they keep the name of the executable.
    let _ = rustix::thread::set_name(c"dwell");
}

/// Starts the best available source, or the requested one. `entrusted` is the reason why perf
/// events cannot trace the program, if any.
///
/// # Errors
/// The requested source is not available. Without a request there is always one: `/proc`.
pub(crate) fn start(
    watching: &Watching,
    root: Pid,
    cpus: &[u32],
    entrusted: Option<access::AccessDenial>,
) -> Result<Instruments, Error> {
    let choice = watching.source;
    let without_bpf = match choice {
        Choice::Auto | Choice::Bpf => match start_bpf(root, cpus, watching) {
            Ok(bpf) => return Ok(Instruments::Bpf(Box::new(bpf))),
            Err(wall) if choice == Choice::Bpf || watching.units.unit != Unit::Request => {
                return Err(Error::Refused { tier: "bpf", why: wall.why, remedy: wall.remedy });
            }
            Err(wall) => Some(wall),
        },
        Choice::Perf | Choice::Proc => None,
    };
    let fallback = fall_back(
        choice,
        || match entrusted {
            None => Fallback::with_events(root, watching.rate),
            Some(wall) => Err(PerfRefusal {
                tried: format!("perf events on process {root}"),
                said: wall.why,
                remedy: wall.remedy,
            }),
        },
        |refused| Fallback::looks_alone(root, refused),
    )?;
    Ok(Instruments::Fallback(Box::new(fallback), without_bpf.map(no_calls)))
}

/// Perf events, unless they are refused or not requested; then snapshots alone.
fn fall_back(
    choice: Choice,
    with_events: impl FnOnce() -> Result<Fallback, PerfRefusal>,
    looks_alone: impl FnOnce(Option<&PerfRefusal>) -> Fallback,
) -> Result<Fallback, Error> {
    if choice == Choice::Proc {
        return Ok(looks_alone(None));
    }
    match with_events() {
        Ok(fallback) => Ok(fallback),
        Err(refused) if choice == Choice::Perf => {
            let why = format!("{}: {}", refused.tried, refused.said);
            Err(Error::Refused { tier: "perf", why, remedy: refused.remedy })
        }
        Err(refused) => Ok(looks_alone(Some(&refused))),
    }
}

/// The coverage without BPF.
fn no_calls(wall: access::AccessDenial) -> Source {
    Source::none("calls and wake-ups", wall.why, wall.remedy)
}

/// Attaches the best available source, or the requested one, to running processes. `listed` returns
/// the current ones.
///
/// # Errors
/// The requested source is not available. Without a request there is always one: `/proc`.
pub(crate) fn attach(
    watching: &Watching,
    cpus: &[u32],
    listed: &mut dyn FnMut() -> Vec<Pid>,
) -> Result<Instruments, Error> {
    let choice = watching.source;
    let mut without_bpf = None;
    if matches!(choice, Choice::Auto | Choice::Bpf) {
        let bpf = may_use_bpf()
            .and_then(|()| Bpf::attach(cpus, watching, listed).map_err(|refused| wall_of(&refused)));
        match bpf {
            Ok(bpf) => return Ok(Instruments::Bpf(Box::new(bpf))),
            Err(wall) if choice == Choice::Bpf || watching.units.unit != Unit::Request => {
                return Err(Error::Refused { tier: "bpf", why: wall.why, remedy: wall.remedy });
            }
            Err(wall) => without_bpf = Some(wall),
        }
    }
    let listed = std::cell::RefCell::new(listed);
    let fallback = fall_back(
        choice,
        || Fallback::attach_with_events(&mut **listed.borrow_mut(), watching.rate),
        |refused| Fallback::attach_looks_alone(&(listed.borrow_mut())(), refused),
    )?;
    Ok(Instruments::Fallback(Box::new(fallback), without_bpf.map(no_calls)))
}

pub(crate) fn wall_of(refused: &bpf::BpfRefusal) -> access::AccessDenial {
    if let Some(few) = access::few_files() {
        let why = format!("{few} and BPF needs more: {refused}");
        return access::AccessDenial { why, remedy: access::more_files() };
    }
    access::AccessDenial { why: refused.why(), remedy: refused.common_remedy() }
}

/// What BPF gives here; see [`try_bpf`].
pub(crate) struct BpfTrial {
    /// What was attached, and why not more.
    pub(crate) sources: Vec<Source>,
}

/// Loads and attaches what a run would, for no program, and detaches it.
///
/// # Errors
/// Why BPF cannot be used.
pub(crate) fn try_bpf(watching: &Watching) -> Result<BpfTrial, access::AccessDenial> {
    let bpf = start_bpf(0, &host::cpus(host::here()), watching)?;
    Ok(BpfTrial { sources: bpf.sources().to_vec() })
}

/// Whether BPF is worth trying. Who lacks a capability on a kernel that is too old is told the
/// latter.
fn may_use_bpf() -> Result<(), access::AccessDenial> {
    access::bpf().map_err(|denied| bpf::too_old().unwrap_or(denied))
}

/// What perf events give here; see [`try_perf`].
pub(crate) struct PerfTrial {
    /// Why kernel code cannot be sampled, where it cannot.
    pub(crate) kernel_refused: Option<String>,
}

/// Opens what a run would, on this process, and closes it.
///
/// # Errors
/// Why perf events cannot be used.
pub(crate) fn try_perf() -> Result<PerfTrial, String> {
    let perf = Perf::start(std::process::id(), TRIED_PERIOD_NS);
    let perf = perf.map_err(|refused| format!("perf_event_open: {}", refused.said))?;
    Ok(PerfTrial { kernel_refused: perf.kernel_refused().map(str::to_owned) })
}

fn start_bpf(root: Pid, cpus: &[u32], watching: &Watching) -> Result<Bpf, access::AccessDenial> {
    may_use_bpf()?;
    Bpf::start(root, cpus, watching).map_err(|refused| wall_of(&refused))
}

impl Instruments {
    /// The program will execute this file first.
    pub(crate) fn expect(&mut self, executable: &Path) {
        match self {
            Instruments::Bpf(bpf) => bpf.expect(executable),
            Instruments::Fallback(..) => {}
        }
    }

    /// The threads of the tree, according to the events so far.
    pub(crate) fn threads(&self) -> &Threads {
        match self {
            Instruments::Bpf(bpf) => bpf.threads(),
            Instruments::Fallback(fallback, _) => fallback.threads(),
        }
    }

    /// Its tier.
    pub(crate) fn tier(&self) -> Tier {
        match self {
            Instruments::Bpf(_) => Tier::Bpf,
            Instruments::Fallback(fallback, _) => fallback.tier(),
        }
    }

    /// The sampling period per CPU; that of snapshots where there are no samples.
    pub(crate) fn sample_period_ns(&self) -> Ns {
        match self {
            Instruments::Bpf(bpf) => bpf.sample_period_ns(),
            Instruments::Fallback(fallback, _) => fallback.sample_period_ns(),
        }
    }

    /// What it observes and what it does not.
    pub(crate) fn sources(&self) -> Vec<Source> {
        match self {
            Instruments::Bpf(bpf) => bpf.sources().to_vec(),
            Instruments::Fallback(fallback, calls) => {
                calls.iter().chain(fallback.sources()).cloned().collect()
            }
        }
    }

    /// How long the reader may sleep, at most `pause`.
    pub(crate) fn pause(&self, pause: Duration) -> Duration {
        match self {
            Instruments::Bpf(bpf) => pause.min(Duration::from_nanos(bpf.pause_ns_max())),
            Instruments::Fallback(fallback, _) => fallback.pause(pause),
        }
    }

    /// Emits new events and returns the number of records. The newest may be kept for the next
    /// time.
    pub(crate) fn drain(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        match self {
            Instruments::Bpf(bpf) => bpf.drain(sink),
            Instruments::Fallback(fallback, _) => fallback.drain(sink),
        }
    }

    /// Emits all new events.
    pub(crate) fn drain_rest(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        match self {
            Instruments::Bpf(bpf) => bpf.drain_rest(sink),
            Instruments::Fallback(fallback, _) => fallback.drain(sink),
        }
    }

    /// Begins a window; call it before any event is emitted. Returns its start.
    pub(crate) fn begin(&self) -> Ns {
        match self {
            Instruments::Bpf(_) => None,
            Instruments::Fallback(fallback, _) => fallback.began(),
        }
        .unwrap_or_else(sys::clock::monotonic_ns)
    }

    /// Ends a window; its events are still to be emitted. Returns its end.
    pub(crate) fn end(&mut self) -> Ns {
        match self {
            Instruments::Bpf(bpf) => bpf.end(),
            Instruments::Fallback(fallback, _) => fallback.end(),
        }
    }

    /// Emits all events before `until`.
    pub(crate) fn drain_until(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) {
        match self {
            Instruments::Bpf(bpf) => {
                bpf.drain_until(until, sink);
            }
            Instruments::Fallback(fallback, _) => fallback.drain_until(until, sink),
        }
    }

    /// Java virtual machines are to be asked for the names of their code.
    pub(crate) fn asks_jvms(&mut self) {
        match self {
            Instruments::Bpf(bpf) => bpf.asks_jvms(),
            Instruments::Fallback(fallback, _) => fallback.asks_jvms(),
        }
    }

    /// The names of all code locations. Call it when the program has ended.
    pub(crate) fn names(&mut self, sink: &mut dyn FnMut(&Event)) {
        match self {
            Instruments::Bpf(bpf) => bpf.names(sink),
            Instruments::Fallback(fallback, _) => fallback.names(sink),
        }
    }

    /// The users who could have written what files with code say.
    pub(crate) fn users(&self) -> BTreeSet<u32> {
        match self {
            Instruments::Bpf(bpf) => bpf.users().clone(),
            Instruments::Fallback(fallback, _) => fallback.users(),
        }
    }

    /// The root directories in which programs see files.
    pub(crate) fn roots(&self) -> Roots {
        match self {
            Instruments::Bpf(bpf) => bpf.roots(),
            Instruments::Fallback(fallback, _) => fallback.roots(),
        }
    }

    /// Events lost since the last call. The fallback reports its losses in its stream.
    pub(crate) fn newly_lost(&mut self) -> u64 {
        match self {
            Instruments::Bpf(bpf) => bpf.newly_lost(),
            Instruments::Fallback(..) => 0,
        }
    }

    /// Events lost in total.
    pub(crate) fn lost(&self) -> Seen<u64> {
        match self {
            Instruments::Bpf(bpf) => bpf.unreadable().map_or(Seen::Value(bpf.lost()), Seen::unseen),
            Instruments::Fallback(fallback, _) => Seen::Value(fallback.lost()),
        }
    }

    /// The calls that returned.
    pub(crate) fn calls(&self) -> Seen<Vec<CallStats>> {
        match self {
            Instruments::Bpf(bpf) => {
                bpf.without_calls().map_or_else(|| Seen::Value(bpf.calls()), Seen::unseen)
            }
            Instruments::Fallback(..) => Seen::unseen("system calls are counted with BPF only"),
        }
    }

    /// What processes read and wrote of files.
    pub(crate) fn files(&self) -> Seen<FileUses> {
        match self {
            Instruments::Bpf(bpf) => bpf.unreadable().map_or_else(|| bpf.files(), Seen::unseen),
            Instruments::Fallback(..) => Seen::unseen("what was read of each file is counted with BPF only"),
        }
    }

    /// What processes asked of disks.
    pub(crate) fn disk_requests(&self) -> Seen<DiskUses> {
        match self {
            Instruments::Bpf(bpf) => bpf.unreadable().map_or_else(|| bpf.disk_requests(), Seen::unseen),
            Instruments::Fallback(..) => Seen::unseen("requests to disks are counted with BPF only"),
        }
    }

    /// How many requests were counted only; none where that is not known.
    pub(crate) fn requests_left_out(&self) -> Option<u64> {
        match self {
            Instruments::Bpf(bpf) => bpf.requests_left_out(),
            Instruments::Fallback(..) => None,
        }
    }

    /// How calls or operations were followed, if they were.
    pub(crate) fn units_followed(&self) -> Option<UnitsFollowed> {
        match self {
            Instruments::Bpf(bpf) => bpf.units_followed(),
            Instruments::Fallback(..) => None,
        }
    }

    /// What was observed of the processor's counters.
    pub(crate) fn counters(&self) -> Seen<CountersObserved> {
        match self {
            Instruments::Bpf(bpf) => bpf.counters(),
            Instruments::Fallback(fallback, _) => fallback.counters(),
        }
    }

    /// The sums for the estimate of all calls, where not all were traced.
    pub(crate) fn sliced(&mut self, end: Ns) -> Option<Sliced> {
        match self {
            Instruments::Bpf(bpf) => bpf.sliced(end),
            Instruments::Fallback(..) => None,
        }
    }

    /// The overhead.
    pub(crate) fn cost(&self) -> Vec<Cost> {
        match self {
            Instruments::Bpf(bpf) => bpf.cost(),
            Instruments::Fallback(fallback, _) => fallback.cost(),
        }
    }

    /// Sources that turned out less complete than announced.
    pub(crate) fn worse(&self) -> Vec<Source> {
        match self {
            Instruments::Bpf(bpf) => bpf.worse(),
            Instruments::Fallback(fallback, _) => fallback.worse(),
        }
    }
}
