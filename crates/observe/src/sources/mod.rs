//! The sources of events, best first. Each starts on a held program, is drained while it runs and
//! reports what it could not observe.

mod arguments;
pub(crate) mod bpf;
mod fallback;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod instruments;
mod perf;
mod perf_records;
mod proc;

use crate::access;
use crate::error::Error;
use crate::settings::{Choice, Watching};
use bpf::Bpf;
use fallback::Fallback;
pub(crate) use instruments::Instruments;
use model::coverage::Source;
use model::requests::Unit;
use model::{Ns, Pid};
use perf::{Perf, PerfRefusal};

/// The sampling period of events that are only tried: none is taken.
const TRIED_PERIOD_NS: Ns = 1_000_000_000;

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
) -> Result<Box<dyn Instruments>, Error> {
    let choice = watching.source;
    let without_bpf = match choice {
        Choice::Auto | Choice::Bpf => match start_bpf(root, cpus, watching) {
            Ok(bpf) => return Ok(Box::new(bpf)),
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
    Ok(Box::new(fallback.instead_of_bpf(without_bpf)))
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

/// Attaches the best available source, or the requested one, to running processes. `listed` returns
/// the current ones.
///
/// # Errors
/// The requested source is not available. Without a request there is always one: `/proc`.
pub(crate) fn attach(
    watching: &Watching,
    cpus: &[u32],
    listed: &mut dyn FnMut() -> Vec<Pid>,
) -> Result<Box<dyn Instruments>, Error> {
    let choice = watching.source;
    let mut without_bpf = None;
    if matches!(choice, Choice::Auto | Choice::Bpf) {
        let bpf = may_use_bpf()
            .and_then(|()| Bpf::attach(cpus, watching, listed).map_err(|refused| wall_of(&refused)));
        match bpf {
            Ok(bpf) => return Ok(Box::new(bpf)),
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
    Ok(Box::new(fallback.instead_of_bpf(without_bpf)))
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
    Ok(BpfTrial { sources: bpf.sources() })
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
