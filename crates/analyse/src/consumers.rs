//! Who takes in the events of a recording, and in which order.

use crate::code::Code;
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
    pub(crate) how: How,
    pub(crate) code: Code,
    pub(crate) surroundings: Surroundings,
    pub(crate) loads: Loads,
}

/// How threads are seen.
#[derive(Debug)]
pub(crate) enum How {
    /// Every switch and wake-up was seen.
    Trace(Box<Trace>),
    /// A snapshot of the tree was taken.
    Poll(Box<Poll>),
}

impl Consumers {
    /// For a recording that begins with this header.
    pub(crate) fn new(header: &Header) -> Self {
        let how = match header.tier {
            Tier::Bpf => How::Trace(Box::new(Trace::new(header))),
            Tier::Perf | Tier::Proc => How::Poll(Box::new(Poll::new(header))),
        };
        let (code, surroundings) = (Code::new(header), Surroundings::new(header));
        Self { header: header.clone(), how, code, surroundings, loads: Loads::default() }
    }

    /// What threads do is kept step by step, where all of it is seen.
    pub(crate) fn records(&mut self, functions: Vec<String>) {
        if let How::Trace(trace) = &mut self.how {
            trace.records(functions);
        }
    }

    /// No more than so many steps are kept.
    pub(crate) fn keeps(&mut self, steps: u64) {
        if let How::Trace(trace) = &mut self.how {
            trace.keeps(steps);
        }
    }

    /// Takes the next event.
    pub(crate) fn event(&mut self, event: &Event) {
        self.surroundings.event(event);
        self.loads.event(event);
        match &mut self.how {
            How::Trace(trace) => {
                let wait = trace.event(event);
                self.code.event(event, wait.map(|(state, _)| state));
            }
            How::Poll(poll) => {
                poll.event(event);
                self.code.event(event, None);
            }
        }
    }
}
