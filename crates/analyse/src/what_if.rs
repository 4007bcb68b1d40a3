//! What the wall clock of a kept run would have been with edits: `fsync=0`, `lock=0`, `cpus=8`.
//!
//! ```text
//!   events ─► trace ─► Recorder ─► Program ──┬─ path, alone ──────────────► what is surely saved
//!                                            ├─ Lengths ─► replay ─► path ─► what is saved at most
//!   text ───► Edit ──► Sites ────────────────┘                              what bounds it then
//! ```
//!
//! The trace sees the threads as in every analysis and tells the recorder what each did; nothing is
//! classified here again. What it means: `docs/method/what-if.md`.

mod account;
mod asked;
mod chance;
mod cpu_saturation;
pub mod edit;
mod lengths;
mod missing;
mod others_share;
mod own;
mod path;
pub(crate) mod program;
pub(crate) mod recorder;
mod refused;
mod replay;
mod result;
mod sites;
mod solo_clock;
mod timeline;
mod times;
mod walls;

use crate::compose;
use crate::consumers::Consumers;
use crate::names::Names;
pub use edit::Edit;
use model::join::Joiner;
use model::recording::{Tier, Trailer};
use model::timeline::Timeline;
use model::{Event, Header, Ns, RunResult, WhatIf};
use program::Program;
pub use refused::Refused;
use std::time::Duration;

/// Takes a recording's events and replays it with edits.
#[derive(Debug)]
pub struct Replayer {
    joiner: Joiner,
    consumers: Consumers,
    edits: Vec<Edit>,
    events: u64,
    started_at: Option<Ns>,
}

/// Edits at once.
const EDITS: usize = 64;

impl Replayer {
    /// For a recording that begins with this header.
    ///
    /// # Errors
    /// When a recording of this kind cannot be replayed.
    pub fn new(header: &Header, edits: Vec<Edit>) -> Result<Self, Refused> {
        match (&header.attached, header.tier) {
            (Some(_), _) => return Err(Refused::Window),
            (None, Tier::Perf | Tier::Proc) => return Err(Refused::Tier(header.tier)),
            (None, Tier::Bpf) => {}
        }
        if edits.len() > EDITS {
            return Err(Refused::TooMany(edits.len()));
        }
        let mut consumers = Consumers::new(header);
        consumers.records(edits.iter().filter_map(Edit::function).map(str::to_owned).collect());
        Ok(Self { joiner: Joiner::default(), consumers, edits, events: 0, started_at: None })
    }

    /// Keeps no more than this many steps of threads; the default is ten million, which take about
    /// 400 MB.
    #[must_use]
    pub fn keeping(mut self, steps: u64) -> Self {
        self.consumers.keeps(steps);
        self
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        self.events += 1;
        self.started_at = self.started_at.or(event.at());
        let consumers = &mut self.consumers;
        self.joiner.join(event, &mut |event| consumers.event(event));
    }

    /// The run, and what its threads did over time.
    ///
    /// # Errors
    /// As [`Replayer::finish`].
    pub fn timeline(self, trailer: &Trailer) -> Result<(RunResult, Timeline), Refused> {
        let (analysis, program, names) = self.analysed(trailer)?;
        let timeline = timeline::timeline(&program, &names, analysis.run.wall_ns);
        Ok((analysis, timeline))
    }

    /// Replays it.
    ///
    /// # Errors
    /// When the recording is not whole or does not close, or an edit names nothing in it.
    pub fn finish(mut self, trailer: &Trailer) -> Result<WhatIf, Refused> {
        let (edits, events) = (std::mem::take(&mut self.edits), self.events);
        let (analysis, program, names) = self.analysed(trailer)?;
        let given = result::Given { program: &program, names: &names, run: &analysis.run, edits: &edits };
        given.result(events, trailer)
    }

    /// The run, and its threads step by step.
    fn analysed(mut self, trailer: &Trailer) -> Result<(RunResult, Program, Names), Refused> {
        if let Some(until) = trailer.kept_until {
            let kept_ns = until.saturating_sub(self.started_at.unwrap_or(until));
            return Err(Refused::Cut(Duration::from_nanos(kept_ns)));
        }
        let consumers = &mut self.consumers;
        self.joiner.finish(&mut |event| consumers.event(event));
        let (analysis, recorded) = compose::run(self.consumers, trailer)?;
        let (program, names) = recorded.ok_or(Refused::Unfinished)?;
        Ok((analysis, program, names))
    }
}
