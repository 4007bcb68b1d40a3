//! From what was seen to what it means: the account, the class, the tables.
//!
//! Pure: it opens no file, reads no clock and knows of no living process, so a kept recording gives what the live
//! one gave. Events go in one by one, and what is kept of them does not grow with their number.

mod account;
pub mod calls;
mod classify;
mod code;
pub mod compare;
mod compose;
mod connections;
pub mod extrapolate;
mod files;
mod grid;
pub mod judge;
mod keys;
pub mod ladder;
mod lookups;
mod names;
mod poll;
mod sliced;
mod surroundings;
mod trace;
pub mod wake;

use calls::Arch;
use code::Code;
use model::join::Joiner;
use model::recording::{Tier, Trailer};
use model::{Analysis, Diagnosis, Event, Header};
use poll::Poll;
use surroundings::Surroundings;
use trace::Trace;

/// Takes a recording's events as they come and gives the run.
#[derive(Debug)]
pub struct Analyser {
    /// What older recordings tell in parts is joined before anything else sees it.
    joiner: Joiner,
    consumers: Consumers,
}

/// What takes the events in, one after the other.
#[derive(Debug)]
struct Consumers {
    header: Header,
    how: How,
    code: Code,
    surroundings: Surroundings,
}

#[derive(Debug)]
enum How {
    /// Every switch and wake-up was seen.
    Trace(Box<Trace>),
    /// The tree was looked at from outside.
    Poll(Box<Poll>),
}

impl Analyser {
    /// For a recording that begins with this header.
    pub fn new(header: &Header) -> Self {
        let how = match header.tier {
            Tier::Bpf => How::Trace(Box::new(Trace::new(header))),
            Tier::Perf | Tier::Proc => How::Poll(Box::new(Poll::new(header))),
        };
        let (code, surroundings) = (Code::new(header), Surroundings::new(header));
        let consumers = Consumers { header: header.clone(), how, code, surroundings };
        Self { joiner: Joiner::default(), consumers }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        let consumers = &mut self.consumers;
        self.joiner.join(event, &mut |event| consumers.event(event));
    }

    /// Closes the account.
    ///
    /// # Panics
    /// When the account does not close: a mistake in this crate, never in the recording.
    pub fn finish(mut self, trailer: &Trailer) -> Analysis {
        let consumers = &mut self.consumers;
        self.joiner.finish(&mut |event| consumers.event(event));
        compose::run(self.consumers, trailer)
    }
}

impl Consumers {
    fn event(&mut self, event: &Event) {
        self.surroundings.event(event);
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

/// What an analysis means; `tier` is what the recording was made with.
pub fn diagnose(tier: Tier, analysis: &Analysis) -> Diagnosis {
    judge::diagnose(&judge::Evidence::of(tier, &analysis.run, &analysis.profile))
}
