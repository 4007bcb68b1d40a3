//! Where events come from, best first. Each source starts on a held program, is drained while it runs and says
//! what it could not see.

mod arguments;
pub(crate) mod bpf;
mod fallback;
mod perf;
mod proc;

use crate::access;
use crate::error::Error;
use crate::settings::{Choice, Watching};
use crate::threads::Threads;
use bpf::Bpf;
use fallback::Fallback;
use model::coverage::{Extent, Source};
use model::recording::{Cost, Sliced, Tier};
use model::{CallStats, Event, Ns, Pid, Seen};
use perf::Refused;
use std::path::Path;
use std::time::Duration;

/// What watches the program.
pub(crate) enum Instruments {
    /// Everything.
    Bpf(Box<Bpf>),
    /// What is left without it, and why it is without.
    Fallback(Box<Fallback>, Option<Source>),
}

/// Starts the best source that is to be had, or the one asked for. `entrusted` says why perf events cannot follow the program,
/// where they cannot.
///
/// # Errors
/// The one asked for is not to be had. Without a choice there is always one: `/proc`.
pub(crate) fn start(
    watching: &Watching,
    root: Pid,
    cpus: &[u32],
    entrusted: Option<access::Wall>,
) -> Result<Instruments, Error> {
    let choice = watching.source;
    let without_bpf = match choice {
        Choice::Auto | Choice::Bpf => match start_bpf(root, cpus, watching) {
            Ok(bpf) => return Ok(Instruments::Bpf(Box::new(bpf))),
            Err(wall) if choice == Choice::Bpf => {
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
            Some(wall) => Err(Refused {
                tried: format!("perf events on process {root}"),
                said: wall.why,
                remedy: wall.remedy,
            }),
        },
        |refused| Fallback::looks_alone(root, refused),
    )?;
    Ok(Instruments::Fallback(Box::new(fallback), without_bpf.map(no_calls)))
}

/// Perf events, unless they are refused or not asked for; then looks alone.
fn fall_back(
    choice: Choice,
    with_events: impl FnOnce() -> Result<Fallback, Refused>,
    looks_alone: impl FnOnce(Option<&Refused>) -> Fallback,
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

/// What is missing without BPF.
fn no_calls(wall: access::Wall) -> Source {
    Source { name: "calls and wake-ups".into(), seen: Extent::None, why: wall.why, remedy: wall.remedy }
}

/// Attaches the best source that is to be had, or the one asked for, to processes that live already. `listed` lists them as
/// they are when it is called.
///
/// # Errors
/// The one asked for is not to be had. Without a choice there is always one: `/proc`.
pub(crate) fn attach(
    watching: &Watching,
    cpus: &[u32],
    listed: &mut dyn FnMut() -> Vec<Pid>,
) -> Result<Instruments, Error> {
    let choice = watching.source;
    let mut without_bpf = None;
    if matches!(choice, Choice::Auto | Choice::Bpf) {
        let bpf = access::bpf()
            .and_then(|()| Bpf::attach(cpus, watching, listed).map_err(|refused| wall_of(&refused)));
        match bpf {
            Ok(bpf) => return Ok(Instruments::Bpf(Box::new(bpf))),
            Err(wall) if choice == Choice::Bpf => {
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

pub(crate) fn wall_of(refused: &bpf::Refused) -> access::Wall {
    access::Wall {
        why: refused.to_string(),
        remedy: "run outside the container or sandbox that forbids it; BPF programs of this kind need Linux 5.15 or newer"
            .to_owned(),
    }
}

fn start_bpf(root: Pid, cpus: &[u32], watching: &Watching) -> Result<Bpf, access::Wall> {
    access::bpf()?;
    Bpf::start(root, cpus, watching).map_err(|refused| wall_of(&refused))
}

impl Instruments {
    /// The program will come to this executable first.
    pub(crate) fn expect(&mut self, executable: &Path) {
        match self {
            Instruments::Bpf(bpf) => bpf.expect(executable),
            Instruments::Fallback(..) => {}
        }
    }

    /// The threads of the tree, as far as what was handed over reports them.
    pub(crate) fn threads(&self) -> &Threads {
        match self {
            Instruments::Bpf(bpf) => bpf.threads(),
            Instruments::Fallback(fallback, _) => fallback.threads(),
        }
    }

    /// Which tier it is.
    pub(crate) fn tier(&self) -> Tier {
        match self {
            Instruments::Bpf(_) => Tier::Bpf,
            Instruments::Fallback(fallback, _) => fallback.tier(),
        }
    }

    /// Time between two samples on a CPU; between two looks where there are none.
    pub(crate) fn sample_period_ns(&self) -> Ns {
        match self {
            Instruments::Bpf(bpf) => bpf.sample_period_ns(),
            Instruments::Fallback(fallback, _) => fallback.sample_period_ns(),
        }
    }

    /// What it sees and what it does not.
    pub(crate) fn sources(&self) -> Vec<Source> {
        match self {
            Instruments::Bpf(bpf) => bpf.sources().to_vec(),
            Instruments::Fallback(fallback, calls) => {
                calls.iter().chain(fallback.sources()).cloned().collect()
            }
        }
    }

    /// How long the reader may sleep, if `pause` is what the traffic allows.
    pub(crate) fn pause(&self, pause: Duration) -> Duration {
        match self {
            Instruments::Bpf(bpf) => pause.min(Duration::from_nanos(bpf.pause_ns_max())),
            Instruments::Fallback(fallback, _) => fallback.pause(pause),
        }
    }

    /// Hands over what has come since; how many records that were. The newest may be kept for the next time.
    pub(crate) fn drain(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        match self {
            Instruments::Bpf(bpf) => bpf.drain(sink),
            Instruments::Fallback(fallback, _) => fallback.drain(sink),
        }
    }

    /// Hands over all that has come.
    pub(crate) fn drain_rest(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        match self {
            Instruments::Bpf(bpf) => bpf.drain_rest(sink),
            Instruments::Fallback(fallback, _) => fallback.drain(sink),
        }
    }

    /// Begins a window; to be asked before anything is handed over. Returns when that was.
    pub(crate) fn begin(&self) -> Ns {
        match self {
            Instruments::Bpf(_) => None,
            Instruments::Fallback(fallback, _) => fallback.began(),
        }
        .unwrap_or_else(sys::clock::monotonic_ns)
    }

    /// Ends a window; what happened in it is still to be handed over. Returns when that was.
    pub(crate) fn end(&mut self) -> Ns {
        match self {
            Instruments::Bpf(bpf) => bpf.end(),
            Instruments::Fallback(fallback, _) => fallback.end(),
        }
    }

    /// Hands over all that came before `until`.
    pub(crate) fn drain_until(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) {
        match self {
            Instruments::Bpf(bpf) => {
                bpf.drain_until(until, sink);
            }
            Instruments::Fallback(fallback, _) => fallback.drain_until(until, sink),
        }
    }

    /// What the code of all stacks is called, to be asked when the program has ended.
    pub(crate) fn names(&mut self, sink: &mut dyn FnMut(&Event)) {
        match self {
            Instruments::Bpf(bpf) => bpf.names(sink),
            Instruments::Fallback(fallback, _) => fallback.names(sink),
        }
    }

    /// Events lost since this was last asked. The fallback tells of its losses in its stream.
    pub(crate) fn newly_lost(&mut self) -> u64 {
        match self {
            Instruments::Bpf(bpf) => bpf.newly_lost(),
            Instruments::Fallback(..) => 0,
        }
    }

    /// Events lost in all.
    pub(crate) fn lost(&self) -> Seen<u64> {
        match self {
            Instruments::Bpf(bpf) => Seen::Value(bpf.lost()),
            Instruments::Fallback(fallback, _) => Seen::Value(fallback.lost()),
        }
    }

    /// The calls that returned.
    pub(crate) fn calls(&self) -> Seen<Vec<CallStats>> {
        match self {
            Instruments::Bpf(bpf) => Seen::Value(bpf.calls()),
            Instruments::Fallback(..) => Seen::unseen("system calls are counted with BPF only"),
        }
    }

    /// How the calls that were seen stand for all, where not all were.
    pub(crate) fn sliced(&mut self, end: Ns) -> Option<Sliced> {
        match self {
            Instruments::Bpf(bpf) => bpf.sliced(end),
            Instruments::Fallback(..) => None,
        }
    }

    /// What watching cost the program.
    pub(crate) fn cost(&self) -> Vec<Cost> {
        match self {
            Instruments::Bpf(bpf) => bpf.cost(),
            Instruments::Fallback(fallback, _) => fallback.cost(),
        }
    }

    /// Sources that turned out worse than they were said to be.
    pub(crate) fn worse(&self) -> Vec<Source> {
        match self {
            Instruments::Bpf(bpf) => bpf.worse(),
            Instruments::Fallback(fallback, _) => fallback.worse(),
        }
    }
}
