//! Keeps what tracing calls costs within its bound: asked between drains, it attaches and detaches
//! the programs of calls.
//!
//! What `slices.rs` decides from is the tree's time on a CPU at an exact moment, which only the
//! stream knows. So a moment at which a slice ends or begins is noted first, with what is counted
//! then. The stream is drained up to it as time goes by, and only then is the note worked off.
//! Nothing here waits, and nothing here drains.

use super::cost;
use super::decode::Seen;
use super::slices::{Ran, Slices, Turn};
use super::tracing::Tracing;
use crate::settings::MaxOverhead;
use crate::threads::Threads;
use aya::Ebpf;
use model::recording::Sliced;
use model::{CallStats, Event, Ns};
use sys::clock::monotonic_ns;

/// The slices, and the programs that they switch.
pub(super) struct Controller {
    slices: Slices,
    tracing: Tracing,
    noted: Option<Noted>,
}

/// A moment that the stream has not come to yet, and what was counted then.
struct Noted {
    at: Ns,
    ran: Ran,
    counts: Vec<CallStats>,
    edge: Edge,
}

/// What a moment is to a slice.
enum Edge {
    /// The programs are attached, as far as `calls` says.
    Begin { calls: bool },
    /// It may be over.
    End,
}

impl Controller {
    pub(super) fn new(bound: MaxOverhead, tracing: Tracing) -> Self {
        Self { slices: Slices::new(bound), tracing, noted: None }
    }

    /// The moment up to which the stream is to be drained before anything else, where there is one.
    pub(super) fn noted(&self) -> Option<Ns> {
        self.noted.as_ref().map(|noted| noted.at)
    }

    /// When it has to be asked next, where that is known.
    pub(super) fn next(&self) -> Option<Ns> {
        self.slices.next()
    }

    /// The stream has come to the moment that was noted. `last` where the recording ends with it:
    /// then a slice goes on to its end. An event is to be handed over at once.
    pub(super) fn work_off(
        &mut self,
        ebpf: &mut Ebpf,
        seen: Seen,
        threads: &Threads,
        last: bool,
    ) -> Option<Event> {
        let Noted { at, ran, counts, edge } = self.noted.take()?;
        let busy_ns = threads.busy_until(at);
        match edge {
            Edge::Begin { calls } => {
                self.slices.begun(at, ran, busy_ns, &counts);
                Some(Event::Tracing { at, calls })
            }
            Edge::End if last => None,
            Edge::End => {
                let turn = self.slices.turn(at, ran, busy_ns, || counts)?;
                self.switch(turn, ebpf, seen)
            }
        }
    }

    /// To be asked after each drain. An event is to be handed over at once.
    pub(super) fn decide(&mut self, ebpf: &mut Ebpf, seen: Seen, threads: &Threads) -> Option<Event> {
        let now = monotonic_ns();
        if self.noted.is_some() || self.slices.next().is_some_and(|next| now < next) {
            return None;
        }
        let ran = cost::ran(ebpf, seen);
        if self.slices.in_slice() {
            self.noted = Some(Noted { at: now, ran, counts: cost::calls(ebpf), edge: Edge::End });
            return None;
        }
        // While all calls are traced this is asked each time: about will do.
        let turn = self.slices.turn(now, ran, threads.busy_until(now), || cost::calls(ebpf))?;
        self.switch(turn, ebpf, seen)
    }

    /// Should it fail, calls are traced on, or no more: what is reported is what is so.
    fn switch(&mut self, turn: Turn, ebpf: &mut Ebpf, seen: Seen) -> Option<Event> {
        if turn == Turn::OnTimed {
            self.tracing.time();
        }
        let calls = self.tracing.set(ebpf, turn != Turn::Off);
        if turn != Turn::Off {
            let (at, ran, counts) = (monotonic_ns(), cost::ran(ebpf, seen), cost::calls(ebpf));
            self.noted = Some(Noted { at, ran, counts, edge: Edge::Begin { calls } });
            return None;
        }
        if let Some(cost) = self.tracing.cost(ebpf) {
            self.slices.cost_is(cost);
        }
        Some(Event::Tracing { at: monotonic_ns(), calls })
    }

    /// How the calls that were traced stand for all, where they were traced in slices. `busy_ns` is
    /// the tree's time on a CPU up to the end.
    pub(super) fn sums(&mut self, busy_ns: Ns, counts: impl FnOnce() -> Vec<CallStats>) -> Option<Sliced> {
        self.slices.sums(busy_ns, counts)
    }
}
