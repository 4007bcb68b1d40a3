//! From what was seen to what it means: the account, the class, the tables.
//!
//! Pure: it opens no file, reads no clock and knows of no living process, so a kept recording gives
//! what the live one gave. Events go in one by one, and what is kept of them does not grow with
//! their number.

mod account;
mod bounded;
mod bounds;
pub mod calls;
mod classify;
mod code;
pub mod compare;
mod compose;
mod connections;
mod consumers;
mod counted;
mod counters;
mod disk_requests;
pub mod doctor;
pub mod extrapolate;
mod file_rows;
mod files;
mod for_work;
mod grid;
pub mod identity;
pub mod judge;
mod kept;
mod kernel_faults;
mod keys;
pub mod lab;
pub mod ladder;
mod loads;
mod local_sockets;
mod lookups;
mod memory_peak;
mod names;
mod own_tasks;
mod peer_processes;
mod poll;
mod purpose;
mod rivals;
mod roles;
pub mod service;
mod services;
mod sliced;
mod surroundings;
mod syscall_rows;
mod trace;
mod turns;
mod under_way;
mod untraced;
pub mod wake;
pub mod what_if;

pub use bounds::bounded_command;
use consumers::Consumers;
use judge::measured::MeasuredChanges;
pub use kept::{Changed, whole};
use model::account::DoesNotClose;
use model::join::Joiner;
use model::recording::Trailer;
use model::{Event, Header, RunResult};

/// Takes a recording's events as they come and gives the run.
#[derive(Debug)]
pub struct Analyser {
    /// What older recordings tell in parts is joined before anything else sees it.
    joiner: Joiner,
    consumers: Consumers,
}

impl Analyser {
    /// For a recording that begins with this header.
    pub fn new(header: &Header) -> Self {
        Self { joiner: Joiner::default(), consumers: Consumers::new(header) }
    }

    /// Judges by these changes of other programs, and not by those that dwell has with it.
    #[must_use]
    pub fn judged_by(mut self, measured: &'static MeasuredChanges) -> Self {
        self.consumers.measured = measured;
        self
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        let consumers = &mut self.consumers;
        self.joiner.join(event, &mut |event| consumers.event(event));
    }

    /// Closes the account, and judges it.
    ///
    /// # Errors
    /// The account does not close: a mistake in this crate, or no dwell recorded these events.
    pub fn finish(mut self, trailer: &Trailer) -> Result<RunResult, DoesNotClose> {
        let consumers = &mut self.consumers;
        self.joiner.finish(&mut |event| consumers.event(event));
        Ok(compose::run(self.consumers, trailer)?.0)
    }
}
