//! From what was seen to what it means: the account, the class, the tables.
//!
//! Pure: it opens no file, reads no clock and knows of no living process, so a kept recording gives what the live
//! one gave. Events go in one by one, and what is kept of them does not grow with their number.

pub mod calls;
mod class;
mod code;
mod compose;
mod connections;
pub mod extrapolate;
mod followed;
pub mod ladder;
mod looked;
mod lookups;
mod path;
mod pieces;
mod reason;
mod sliced;
mod split;
mod surroundings;
pub mod wake;

use calls::Arch;
use code::Code;
use followed::Followed;
use looked::Looked;
use model::recording::{Tier, Trailer};
use model::{Analysis, Event, Header, State};
use surroundings::Surroundings;

/// Takes a recording's events as they come and gives the run.
#[derive(Debug)]
pub struct Analyser {
    header: Header,
    how: How,
    code: Code,
    surroundings: Surroundings,
}

#[derive(Debug)]
enum How {
    /// Every switch and wake-up was seen.
    Followed(Box<Followed>),
    /// The tree was looked at from outside.
    Looked(Box<Looked>),
}

impl Analyser {
    /// For a recording that begins with this header.
    pub fn new(header: &Header) -> Self {
        let how = match header.tier {
            Tier::Bpf => How::Followed(Box::new(Followed::new(header))),
            Tier::Perf | Tier::Proc => How::Looked(Box::new(Looked::new(header))),
        };
        Self { header: header.clone(), how, code: Code::new(header), surroundings: Surroundings::new(header) }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        self.surroundings.event(event);
        match &mut self.how {
            How::Followed(followed) => {
                followed.event(event);
                let waited = match event {
                    Event::WaitStack { tid, .. } => followed.last_wait(*tid),
                    _ => None,
                };
                self.code.event(event, waited.unwrap_or(State::OtherWait));
            }
            How::Looked(looked) => {
                looked.event(event);
                self.code.event(event, State::OtherWait);
            }
        }
    }

    /// Closes the account.
    ///
    /// # Panics
    /// When the account does not close: a mistake in this crate, never in the recording.
    pub fn finish(self, trailer: &Trailer) -> Analysis {
        compose::run(self, trailer)
    }
}
