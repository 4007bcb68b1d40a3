//! What is left where BPF is refused: perf events with looks at `/proc` beside them, or looks alone.

use super::perf::{Perf, Refused};
use super::proc::Looker;
use crate::access;
use crate::settings::Rate;
use crate::threads::Threads;
use model::coverage::Source;
use model::recording::{Comm, Cost, Tier};
use model::{Event, Ns, Pid};
use std::path::PathBuf;
use std::time::Duration;
use sys::clock::monotonic_ns;

/// Between two samples of a thread on a CPU, unless another rate is asked for.
const SAMPLE_PERIOD_NS: Ns = 1_000_000;
/// The same of what lives already, which is no short command: as often as a program that lasts is sampled with BPF.
const SAMPLE_PERIOD_NS_LIVING: Ns = 2_985_000;

/// What coming onto or leaving a CPU costs with the two events of `perf` to be taken along; a pipe ping-pong showed 550.
const SWITCH_COST_NS: (Ns, Ns) = (300, 700);
/// What one sample costs: an interrupt, dear in a virtual machine.
const SAMPLE_COST_NS: (Ns, Ns) = (1000, 5000);

/// Perf events, if they may be had, and looks.
#[derive(Debug)]
pub(crate) struct Fallback {
    whom: Whom,
    perf: Option<Perf>,
    looker: Looker,
    threads: Threads,
    sources: Vec<Source>,
    switches: u64,
    samples: u64,
}

/// What is watched.
#[derive(Debug)]
enum Whom {
    /// A held child that will execute the program.
    Held {
        root: Pid,
        /// In `/proc`: gone when the program is.
        dir: PathBuf,
        /// Where there are no events, the program begins when it is let go, which follows at once.
        start: Option<Ns>,
    },
    /// What lives already.
    Living {
        /// The look that the window begins with, until it is handed over; later the one that it ends with.
        look: Option<Event>,
    },
}

/// How much is handed over.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// What is settled.
    Now,
    /// What came before.
    Time(Ns),
    /// All that is left.
    Rest,
}

/// What is not seen where there are looks alone.
fn without_events(refused: Option<&Refused>) -> Vec<Source> {
    let not_tried = Refused {
        tried: "perf events".to_owned(),
        said: "not asked for".to_owned(),
        remedy: "leave out the choice of a source".to_owned(),
    };
    let why = refused.unwrap_or(&not_tried);
    vec![why.source("switches"), why.source("code")]
}

impl Fallback {
    /// Perf events and looks at the held program.
    ///
    /// # Errors
    /// When the events are refused; looks alone may still be had.
    pub(crate) fn with_events(root: Pid, rate: Rate) -> Result<Self, Refused> {
        let perf = Perf::start(root, rate.period_ns(SAMPLE_PERIOD_NS))?;
        let sources = perf.sources();
        Ok(Self::held(root, Some(perf), sources))
    }

    /// Looks alone; `refused` says why, where events were tried.
    pub(crate) fn looks_alone(root: Pid, refused: Option<&Refused>) -> Self {
        Self::held(root, None, without_events(refused))
    }

    fn held(root: Pid, perf: Option<Perf>, sources: Vec<Source>) -> Self {
        let looker = Looker::start(&[root]);
        let start = perf.is_none().then(monotonic_ns);
        let dir = PathBuf::from(format!("/proc/{root}"));
        Self::new(Whom::Held { root, dir, start }, perf, looker, Threads::new(root), sources)
    }

    /// Perf events on, and looks at, all that `listed` lists and what it starts.
    ///
    /// # Errors
    /// When the events are refused; looks alone may still be had.
    pub(crate) fn attach_with_events(
        listed: &mut dyn FnMut() -> Vec<Pid>,
        rate: Rate,
    ) -> Result<Self, Refused> {
        let mut threads = Threads::new(0);
        let perf = Perf::attach(listed, rate.period_ns(SAMPLE_PERIOD_NS_LIVING), &mut threads)?;
        let sources = perf.sources();
        Ok(Self::living(&listed(), Some(perf), threads, sources))
    }

    /// Looks alone at these and what they start; `refused` says why, where events were tried.
    pub(crate) fn attach_looks_alone(pids: &[Pid], refused: Option<&Refused>) -> Self {
        Self::living(pids, None, Threads::new(0), without_events(refused))
    }

    fn living(pids: &[Pid], perf: Option<Perf>, threads: Threads, mut sources: Vec<Source>) -> Self {
        sources.extend(access::partly(pids));
        let mut looker = Looker::start(pids);
        // The first look takes longest, since it opens what it reads; the second one the window begins with.
        looker.look_on();
        let look = Some(looker.look_on());
        Self::new(Whom::Living { look }, perf, looker, threads, sources)
    }

    fn new(
        whom: Whom,
        perf: Option<Perf>,
        looker: Looker,
        threads: Threads,
        mut sources: Vec<Source>,
    ) -> Self {
        sources.extend(looker.sources());
        Self { whom, perf, looker, threads, sources, switches: 0, samples: 0 }
    }

    /// The threads, as far as what was handed over reports them.
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Which tier it is.
    pub(crate) fn tier(&self) -> Tier {
        if self.perf.is_some() { Tier::Perf } else { Tier::Proc }
    }

    /// Time between two samples of a thread on a CPU; between two looks where there are none.
    pub(crate) fn sample_period_ns(&self) -> Ns {
        self.perf.as_ref().map_or_else(|| self.looker.period(), Perf::period_ns)
    }

    /// What it sees, and why not more; more is known when it is over.
    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Sources that turned out worse than they were said to be.
    pub(crate) fn worse(&self) -> Vec<Source> {
        let of_code = self.perf.iter().filter_map(|perf| perf.shortfall());
        let of_switches = self.perf.iter().filter_map(|perf| perf.entrusted());
        let of_looks = self.looker.sources().into_iter();
        of_looks.filter(|source| !self.sources.contains(source)).chain(of_code).chain(of_switches).collect()
    }

    /// Until the next look, or for `pause` if that is shorter.
    pub(crate) fn pause(&self, pause: Duration) -> Duration {
        pause.min(Duration::from_nanos(self.looker.due().saturating_sub(monotonic_ns())))
    }

    /// Hands over what has come since, and looks if it is time; all that is left when a root that was started here has been
    /// reaped. Returns how many events that were.
    pub(crate) fn drain(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        let mut over = false;
        let mut first = None;
        match &mut self.whom {
            Whom::Held { root, dir, start } => {
                over = !dir.exists();
                if let Some(at) = start.take() {
                    let (tid, name) = (*root, Comm::default());
                    first = Some(Event::Exec { at, entered: at, tid, pid: tid, old_tid: tid, name });
                }
            }
            Whom::Living { look } => first = look.take(),
        }
        let is_due = !over && self.looker.due() <= monotonic_ns();
        let look = match &self.whom {
            _ if !is_due => None,
            Whom::Held { .. } => self.looker.look(),
            Whom::Living { .. } => Some(self.looker.look_on()),
        };
        self.hand_over(if over { Until::Rest } else { Until::Now }, first.as_ref(), look.as_ref(), sink)
    }

    /// When the look was taken that the window begins with: counters of threads count from there on.
    pub(crate) fn began(&self) -> Option<Ns> {
        match &self.whom {
            Whom::Living { look } => look.as_ref().and_then(Event::at),
            Whom::Held { .. } => None,
        }
    }

    /// Ends a window with a last look, at the time that is returned.
    pub(crate) fn end(&mut self) -> Ns {
        let last = self.looker.look_on();
        let at = last.at().unwrap_or_else(monotonic_ns);
        if let Whom::Living { look } = &mut self.whom {
            *look = Some(last);
        }
        at
    }

    /// Hands over all that came before `until`, the end of the window, and the look that ended it.
    pub(crate) fn drain_until(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) {
        let last = match &mut self.whom {
            Whom::Living { look } => look.take(),
            Whom::Held { .. } => None,
        };
        self.hand_over(Until::Time(until), None, last.as_ref(), sink);
    }

    fn hand_over(
        &mut self,
        until: Until,
        first: Option<&Event>,
        look: Option<&Event>,
        sink: &mut dyn FnMut(&Event),
    ) -> u64 {
        let mut events = 0;
        let (switches, samples) = (&mut self.switches, &mut self.samples);
        let mut counted = |event: &Event| {
            events += 1;
            match event {
                Event::Switch { .. } => *switches += 1,
                Event::Sampled { .. } => *samples += 1,
                _ => {}
            }
            sink(event);
        };
        let threads = &mut self.threads;
        if let Some(first) = first {
            threads.event(first);
            counted(first);
        }
        if let Some(perf) = &mut self.perf {
            match until {
                Until::Now => perf.drain(threads, &mut counted),
                Until::Time(until) => perf.drain_until(until, threads, &mut counted),
                Until::Rest => perf.finish(threads, &mut counted),
            }
        }
        if let Some(look) = look {
            threads.event(look);
            counted(look);
        }
        events
    }

    /// What the code of all stacks is called, to be asked when the program has ended.
    pub(crate) fn names(&mut self, sink: &mut dyn FnMut(&Event)) {
        if let Some(perf) = &mut self.perf {
            perf.names(&self.threads, sink);
        }
    }

    /// Events lost so far; they stand in the stream too.
    pub(crate) fn lost(&self) -> u64 {
        self.perf.as_ref().map_or(0, Perf::lost)
    }

    /// How often each instrument ran in the tree's time. Looks cost the host, not the program.
    pub(crate) fn cost(&self) -> Vec<Cost> {
        [("switches", self.switches, SWITCH_COST_NS), ("samples", self.samples, SAMPLE_COST_NS)]
            .into_iter()
            .filter(|(_, times, _)| *times > 0)
            .map(|(what, times, each_ns)| Cost { what: what.into(), times, each_ns })
            .collect()
    }
}
