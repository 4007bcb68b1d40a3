//! Who takes in the events of a recording, and in which order.

use crate::code::Code;
use crate::counters::Counters;
use crate::judge::measured::MeasuredChanges;
use crate::loads::Loads;
use crate::poll::Poll;
use crate::surroundings::Surroundings;
use crate::trace::Trace;
use model::recording::Tier;
use model::{Event, Header};

/// What takes the events in, one after the other.
#[derive(Debug)]
pub(crate) struct Consumers {
    pub(crate) header: Header,
    pub(crate) how: TierAnalysis,
    pub(crate) code: Code,
    pub(crate) surroundings: Surroundings,
    pub(crate) loads: Loads,
    pub(crate) counters: Counters,
    /// By which it is judged.
    pub(crate) measured: &'static MeasuredChanges,
}

/// How threads are seen.
#[derive(Debug)]
pub(crate) enum TierAnalysis {
    /// Every switch and wake-up was seen.
    Trace(Box<Trace>),
    /// A snapshot of the tree was taken.
    Poll(Box<Poll>),
}

impl Consumers {
    /// For a recording that begins with this header.
    pub(crate) fn new(header: &Header) -> Self {
        let how = match header.tier {
            Tier::Bpf => TierAnalysis::Trace(Box::new(Trace::new(header))),
            Tier::Perf | Tier::Proc => TierAnalysis::Poll(Box::new(Poll::new(header))),
        };
        let (code, surroundings) = (Code::new(header), Surroundings::new(header));
        let (loads, counters) = (Loads::default(), Counters::default());
        let measured = MeasuredChanges::shipped();
        Self { header: header.clone(), how, code, surroundings, loads, counters, measured }
    }

    /// What threads do is kept step by step, where all of it is seen.
    pub(crate) fn records(&mut self, functions: Vec<String>) {
        if let TierAnalysis::Trace(trace) = &mut self.how {
            trace.records(functions);
        }
    }

    /// No more than this many steps are kept.
    pub(crate) fn keeps(&mut self, steps: u64) {
        if let TierAnalysis::Trace(trace) = &mut self.how {
            trace.keeps(steps);
        }
    }

    /// Takes the next event.
    pub(crate) fn event(&mut self, event: &Event) {
        if is_impossible(event) {
            return;
        }
        self.surroundings.event(event);
        self.loads.event(event);
        self.counters.event(event);
        match &mut self.how {
            TierAnalysis::Trace(trace) => {
                let wait = trace.event(event);
                self.code.event(event, wait);
            }
            TierAnalysis::Poll(poll) => {
                poll.event(event);
                self.code.event(event, None);
            }
        }
    }
}

/// Whether it is of a CPU that no Linux has: no dwell recorded it, and a table of CPUs up to that
/// one would take any memory.
fn is_impossible(event: &Event) -> bool {
    /// The most that Linux can be built for on any architecture (`NR_CPUS`).
    const CPUS_MAX: u32 = 8192;
    match event {
        Event::Switch { cpu, .. }
        | Event::Woken { cpu, .. }
        | Event::Wake { cpu, .. }
        | Event::Ran { cpu, .. } => *cpu >= CPUS_MAX,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::Comm;

    #[test]
    fn only_cpus_that_there_may_be_have_events() {
        let ran = |cpu| Event::Ran { at: 9, from: 2, cpu, tid: 1, pid: 1, name: Comm::default() };
        assert!(!is_impossible(&ran(0)) && !is_impossible(&ran(8191)));
        assert!(is_impossible(&ran(8192)) && is_impossible(&ran(u32::MAX)));
    }
}
