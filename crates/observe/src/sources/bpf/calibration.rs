//! What instruments cost in this program on this machine: the kernel times them for a short time,
//! once, before calls are traced in windows.
//!
//! The same instrument takes 150 ns in a loop of calls and 600 in a server that sleeps between two
//! requests, since its code and data are in no cache then. So constants cannot keep a bound.

use super::runs::{EachNs, InstrumentRuns, Others};
use super::tracing::Tracing;
use crate::settings::MaxOverhead;
use aya::Ebpf;
use model::Ns;

/// It begins when the program has made so many calls: half of what is always traced.
const BEGINS_AT_CALLS: u64 = 12_500;
/// It lasts at least so long, and for so many calls.
const LASTS_NS: Ns = 3_000_000;
const LASTS_CALLS: u64 = 1000;

#[derive(Debug)]
enum State {
    /// Until there are calls.
    Waits,
    Runs {
        since: Ns,
        from: InstrumentRuns,
        others: Others,
    },
    Ended,
}

/// Times instruments once.
#[derive(Debug)]
pub(super) struct Calibration {
    state: State,
}

impl Calibration {
    /// Without a bound there is nothing to keep.
    pub(super) fn new(bound: MaxOverhead) -> Self {
        let state = match bound {
            MaxOverhead::Share(_) => State::Waits,
            MaxOverhead::Unbounded => State::Ended,
        };
        Self { state }
    }

    /// Call it while all calls are traced. The costs, when they are known.
    pub(super) fn step(
        &mut self,
        now: Ns,
        ran: InstrumentRuns,
        tracing: &mut Tracing,
        ebpf: &mut Ebpf,
    ) -> Option<EachNs> {
        match self.state {
            State::Waits if ran.calls >= BEGINS_AT_CALLS => {
                self.state = State::Ended;
                if tracing.time(true) {
                    let (timed, others) = (tracing.timed(ebpf)?, tracing.others_timed(ebpf)?);
                    let from = InstrumentRuns { timed: Some(timed), ..ran };
                    self.state = State::Runs { since: now, from, others };
                }
                None
            }
            State::Runs { since, from, others }
                if now.saturating_sub(since) >= LASTS_NS && ran.calls >= from.calls + LASTS_CALLS =>
            {
                self.state = State::Ended;
                let (timed, others_now) = (tracing.timed(ebpf), tracing.others_timed(ebpf));
                tracing.time(false);
                let ran = InstrumentRuns { timed: Some(timed?), ..ran };
                Some(EachNs::measured((from, others), (ran, others_now?)))
            }
            State::Waits | State::Runs { .. } | State::Ended => None,
        }
    }
}
