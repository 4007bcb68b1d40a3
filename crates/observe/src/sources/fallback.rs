//! The sources without BPF: perf events with snapshots of `/proc`, or snapshots alone.

use super::instruments::Instruments;
use super::perf::{Perf, PerfRefusal};
use super::proc::Poller;
use crate::access;
use crate::settings::Rate;
use crate::source_text::Roots;
use crate::threads::Threads;
use model::counters::CountersObserved;
use model::coverage::Source;
use model::recording::{Comm, Cost, Tier};
use model::{Event, Ns, Pid, Seen};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use sys::clock::monotonic_ns;

/// The default sampling period of a thread.
const SAMPLE_PERIOD_NS: Ns = 1_000_000;
/// The same for a running program: as for a long program with BPF.
const SAMPLE_PERIOD_NS_LIVING: Ns = 2_985_000;

/// The overhead of a switch in or out with the two events of `perf`; 550 in a pipe ping-pong.
const SWITCH_COST_NS: (Ns, Ns) = (300, 700);
/// The overhead of one sample: an interrupt, expensive in a virtual machine.
const SAMPLE_COST_NS: (Ns, Ns) = (1000, 5000);

/// The same of one sample of a counter, without a stack.
const COUNTED_COST_NS: (Ns, Ns) = (300, 2000);

/// Perf events, if available, and snapshots.
#[derive(Debug)]
pub(crate) struct Fallback {
    tree: ObservedTree,
    perf: Option<Perf>,
    looker: Poller,
    threads: Threads,
    sources: Vec<Source>,
    switches: u64,
    samples: u64,
}

/// The observed processes.
#[derive(Debug)]
enum ObservedTree {
    /// A held child that will execute the program.
    Held {
        root: Pid,
        /// Its file in `/proc`, which disappears with the program.
        dir: PathBuf,
        /// Without events, the program starts when it is let go.
        start: Option<Ns>,
    },
    /// Running processes.
    Living {
        /// The first snapshot of the window, until it is emitted; later the last one.
        look: Option<Event>,
    },
}

/// Which events to emit.
#[derive(Debug, Clone, Copy)]
enum DrainLimit {
    /// Those whose order is certain.
    Now,
    /// Those before this time.
    Time(Ns),
    /// All.
    Rest,
}

/// What is unseen with snapshots alone.
fn without_events(refused: Option<&PerfRefusal>) -> Vec<Source> {
    let not_tried = PerfRefusal {
        tried: "perf events".to_owned(),
        said: "not requested".to_owned(),
        remedy: "drop --source".to_owned(),
    };
    let why = refused.unwrap_or(&not_tried);
    vec![why.source("switches"), why.source("code")]
}

impl Fallback {
    /// Perf events and snapshots of the held program.
    ///
    /// # Errors
    /// When the events are refused; snapshots alone may still be available.
    pub(crate) fn with_events(root: Pid, rate: Rate) -> Result<Self, PerfRefusal> {
        let perf = Perf::start(root, rate.period_ns(SAMPLE_PERIOD_NS))?;
        let sources = perf.sources();
        Ok(Self::held(root, Some(perf), sources))
    }

    /// Snapshots alone; `refused` is the reason, where events were tried.
    pub(crate) fn looks_alone(root: Pid, refused: Option<&PerfRefusal>) -> Self {
        Self::held(root, None, without_events(refused))
    }

    fn held(root: Pid, perf: Option<Perf>, sources: Vec<Source>) -> Self {
        let looker = Poller::start(&[root]);
        let start = perf.is_none().then(monotonic_ns);
        let dir = PathBuf::from(format!("/proc/{root}"));
        Self::new(ObservedTree::Held { root, dir, start }, perf, looker, Threads::new(root), sources)
    }

    /// Perf events and snapshots of all processes that `listed` returns and of their children.
    ///
    /// # Errors
    /// When the events are refused; snapshots alone may still be available.
    pub(crate) fn attach_with_events(
        listed: &mut dyn FnMut() -> Vec<Pid>,
        rate: Rate,
    ) -> Result<Self, PerfRefusal> {
        let mut threads = Threads::new(0);
        let perf = Perf::attach(listed, rate.period_ns(SAMPLE_PERIOD_NS_LIVING), &mut threads)?;
        let sources = perf.sources();
        Ok(Self::living(&listed(), Some(perf), threads, sources))
    }

    /// Snapshots alone of these and of their children; `refused` is the reason, where events were
    /// tried.
    pub(crate) fn attach_looks_alone(pids: &[Pid], refused: Option<&PerfRefusal>) -> Self {
        Self::living(pids, None, Threads::new(0), without_events(refused))
    }

    fn living(pids: &[Pid], perf: Option<Perf>, threads: Threads, mut sources: Vec<Source>) -> Self {
        sources.extend(access::partly(pids));
        let mut looker = Poller::start(pids);
        // The first snapshot takes longest, since it opens the files; the window begins with the
        // second.
        looker.look_on();
        let look = Some(looker.look_on());
        Self::new(ObservedTree::Living { look }, perf, looker, threads, sources)
    }

    fn new(
        tree: ObservedTree,
        perf: Option<Perf>,
        looker: Poller,
        threads: Threads,
        mut sources: Vec<Source>,
    ) -> Self {
        sources.extend(looker.sources());
        Self { tree, perf, looker, threads, sources, switches: 0, samples: 0 }
    }

    /// With why there is no BPF in the coverage, if it was wanted.
    pub(crate) fn instead_of_bpf(mut self, wall: Option<access::AccessDenial>) -> Self {
        let no_calls = wall.map(|wall| Source::none("calls and wake-ups", wall.why, wall.remedy));
        self.sources.splice(0..0, no_calls);
        self
    }

    fn hand_over(
        &mut self,
        until: DrainLimit,
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
                DrainLimit::Now => perf.drain(threads, &mut counted),
                DrainLimit::Time(until) => perf.drain_until(until, threads, &mut counted),
                DrainLimit::Rest => perf.finish(threads, &mut counted),
            }
        }
        self.looker.take_news().iter().for_each(&mut counted);
        if let Some(look) = look {
            threads.event(look);
            counted(look);
        }
        events
    }
}

impl Instruments for Fallback {
    fn tier(&self) -> Tier {
        if self.perf.is_some() { Tier::Perf } else { Tier::Proc }
    }

    fn threads(&self) -> &Threads {
        &self.threads
    }

    fn sample_period_ns(&self) -> Ns {
        self.perf.as_ref().map_or_else(|| self.looker.period(), Perf::period_ns)
    }

    fn sources(&self) -> Vec<Source> {
        self.sources.clone()
    }

    fn worse(&self) -> Vec<Source> {
        let of_code = self.perf.iter().filter_map(|perf| perf.shortfall());
        let of_switches = self.perf.iter().filter_map(|perf| perf.entrusted());
        let of_looks = self.looker.sources().into_iter();
        of_looks.filter(|source| !self.sources.contains(source)).chain(of_code).chain(of_switches).collect()
    }

    fn let_go(&mut self) {
        if let ObservedTree::Held { start: Some(start), .. } = &mut self.tree {
            *start = monotonic_ns();
        }
    }

    fn pause(&self, pause: Duration) -> Duration {
        pause.min(Duration::from_nanos(self.looker.due().saturating_sub(monotonic_ns())))
    }

    /// Takes a snapshot if one is due. Emits all that is left when a root that was started here has
    /// been reaped.
    fn drain(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        let mut over = false;
        let mut first = None;
        match &mut self.tree {
            ObservedTree::Held { root, dir, start } => {
                over = !dir.exists();
                if let Some(at) = start.take() {
                    let (tid, name) = (*root, Comm::default());
                    first = Some(Event::Exec { at, entered: at, tid, pid: tid, old_tid: tid, name });
                }
            }
            ObservedTree::Living { look } => first = look.take(),
        }
        let is_due = !over && self.looker.due() <= monotonic_ns();
        let look = match &self.tree {
            _ if !is_due => None,
            ObservedTree::Held { .. } => self.looker.look(),
            ObservedTree::Living { .. } => Some(self.looker.look_on()),
        };
        self.hand_over(
            if over { DrainLimit::Rest } else { DrainLimit::Now },
            first.as_ref(),
            look.as_ref(),
            sink,
        )
    }

    fn drain_rest(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        self.drain(sink)
    }

    /// The time of the first snapshot of the window: counters of threads are relative to it.
    fn begin(&self) -> Ns {
        match &self.tree {
            ObservedTree::Living { look } => look.as_ref().and_then(Event::at),
            ObservedTree::Held { .. } => None,
        }
        .unwrap_or_else(monotonic_ns)
    }

    /// With a last snapshot, at the returned time.
    fn end(&mut self) -> Ns {
        let last = self.looker.look_on();
        let at = last.at().unwrap_or_else(monotonic_ns);
        if let ObservedTree::Living { look } = &mut self.tree {
            *look = Some(last);
        }
        at
    }

    /// And the last snapshot.
    fn drain_until(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) -> u64 {
        let last = match &mut self.tree {
            ObservedTree::Living { look } => look.take(),
            ObservedTree::Held { .. } => None,
        };
        self.hand_over(DrainLimit::Time(until), None, last.as_ref(), sink)
    }

    fn asks_jvms(&mut self) {
        if let Some(perf) = &mut self.perf {
            perf.asks_jvms();
        }
    }

    fn names(&mut self, sink: &mut dyn FnMut(&Event)) {
        if let Some(perf) = &mut self.perf {
            perf.names(&self.threads, sink);
        }
    }

    fn users(&self) -> BTreeSet<u32> {
        self.perf.as_ref().map(|perf| perf.users().clone()).unwrap_or_default()
    }

    fn roots(&self) -> Roots {
        self.perf.as_ref().map(|perf| perf.roots()).unwrap_or_default()
    }

    /// They are in the stream too.
    fn lost(&self) -> Seen<u64> {
        Seen::Value(self.perf.as_ref().map_or(0, Perf::lost))
    }

    fn counters(&self) -> Seen<CountersObserved> {
        let unseen = || Seen::unseen("they are sampled with perf events, or BPF");
        self.perf.as_ref().map_or_else(unseen, Perf::counters)
    }

    /// Snapshots cost the host, not the program.
    fn cost(&self) -> Vec<Cost> {
        let counted = self.perf.as_ref().map_or(0, Perf::counted);
        [
            ("switches", self.switches, SWITCH_COST_NS),
            ("samples", self.samples, SAMPLE_COST_NS),
            ("counter samples", counted, COUNTED_COST_NS),
        ]
        .into_iter()
        .filter(|(_, times, _)| *times > 0)
        .map(|(what, times, each_ns)| Cost { what: what.into(), times, each_ns })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_events_the_wall_begins_when_the_program_is_let_go() {
        let mut fallback = Fallback::looks_alone(std::process::id(), None);
        let prepared = monotonic_ns();
        fallback.let_go();
        let mut events = Vec::new();
        fallback.drain(&mut |event| events.push(event.clone()));
        assert!(matches!(events.first(), Some(Event::Exec { entered, .. }) if *entered >= prepared));
    }
}
