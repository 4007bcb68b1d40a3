//! What is left where BPF is refused: perf events with looks at `/proc` beside them, or looks alone.

use super::perf::{Perf, Refused};
use super::proc::Looker;
use crate::record::Rate;
use model::coverage::Source;
use model::recording::{Comm, Cost, Tier};
use model::{Event, Ns, Pid};
use std::path::PathBuf;
use std::time::Duration;
use sys::clock::monotonic_ns;

/// Between two samples of a thread on a CPU, unless another rate is asked for.
const SAMPLE_PERIOD_NS: Ns = 1_000_000;

/// What coming onto or leaving a CPU costs with the two events of `perf` to be taken along; a pipe ping-pong showed 550.
const SWITCH_COST_NS: (Ns, Ns) = (300, 700);
/// What one sample costs: an interrupt, dear in a virtual machine.
const SAMPLE_COST_NS: (Ns, Ns) = (1000, 5000);

/// Perf events, if they may be had, and looks.
#[derive(Debug)]
pub(crate) struct Fallback {
    root: Pid,
    root_dir: PathBuf,
    perf: Option<Perf>,
    looker: Looker,
    sources: Vec<Source>,
    /// Where there are no events, the program begins when it is let go, which follows at once.
    start: Option<Ns>,
    switches: u64,
    samples: u64,
}

impl Fallback {
    /// Perf events and looks at the held program.
    ///
    /// # Errors
    /// When the events are refused; looks alone may still be had.
    pub(crate) fn with_events(root: Pid, rate: Rate) -> Result<Self, Refused> {
        let perf = Perf::start(root, rate.period_ns(SAMPLE_PERIOD_NS))?;
        let sources = perf.sources();
        Ok(Self::new(root, Some(perf), sources))
    }

    /// Looks alone; `refused` says why, where events were tried.
    pub(crate) fn looks_alone(root: Pid, refused: Option<&Refused>) -> Self {
        let not_tried = Refused {
            tried: "perf events".to_owned(),
            said: "not asked for".to_owned(),
            remedy: "leave out the choice of a source".to_owned(),
        };
        let why = refused.unwrap_or(&not_tried);
        Self::new(root, None, vec![why.source("switches"), why.source("code")])
    }

    fn new(root: Pid, perf: Option<Perf>, mut sources: Vec<Source>) -> Self {
        let looker = Looker::start(root);
        sources.extend(looker.sources());
        let start = perf.is_none().then(monotonic_ns);
        let root_dir = PathBuf::from(format!("/proc/{root}"));
        Self { root, root_dir, perf, looker, sources, start, switches: 0, samples: 0 }
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

    /// Hands over what has come since, and looks if it is time; all that is left when the root has been reaped. Returns
    /// how many events that were.
    pub(crate) fn drain(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        if let Some(at) = self.start.take() {
            let (tid, name) = (self.root, Comm::default());
            sink(&Event::Exec { at, entered: at, tid, pid: tid, old_tid: tid, name });
        }
        let mut events = 0;
        let (switches, samples) = (&mut self.switches, &mut self.samples);
        let mut counted = |event: &Event| {
            events += 1;
            match event {
                Event::Switch { .. } => *switches += 1,
                Event::Sample { .. } => *samples += 1,
                _ => {}
            }
            sink(event);
        };
        let over = !self.root_dir.exists();
        if let Some(perf) = &mut self.perf {
            if over { perf.finish(&mut counted) } else { perf.drain(&mut counted) }
        }
        if !over
            && self.looker.due() <= monotonic_ns()
            && let Some(look) = self.looker.look()
        {
            counted(&look);
        }
        events
    }

    /// What the code of all stacks is called, to be asked when the program has ended.
    pub(crate) fn names(&mut self, sink: &mut dyn FnMut(&Event)) {
        if let Some(perf) = &mut self.perf {
            perf.names(sink);
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
