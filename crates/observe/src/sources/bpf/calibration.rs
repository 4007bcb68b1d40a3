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

/// It begins when the program has made this many calls: half of what is always traced.
const BEGINS_AT_CALLS: u64 = 12_500;
/// It lasts at least so long, and for this many calls.
const LASTS_NS: Ns = 3_000_000;
const LASTS_CALLS: u64 = 1000;
/// And at most so long, since timing costs something.
const LASTS_NS_MAX: Ns = 1_000_000_000;

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
        Self { state: if bound.share().is_some() { State::Waits } else { State::Ended } }
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
                tracing.time(true);
                self.state = match tracing.timed(ebpf).zip(tracing.others_timed(ebpf)) {
                    Some((timed, others)) => {
                        let from = InstrumentRuns { timed: Some(timed), ..ran };
                        State::Runs { since: now, from, others }
                    }
                    None => State::Ended,
                };
                None
            }
            State::Runs { since, from, others }
                if has_ended(now.saturating_sub(since), ran.calls.saturating_sub(from.calls)) =>
            {
                self.state = State::Ended;
                let timed = tracing.timed(ebpf).zip(tracing.others_timed(ebpf));
                tracing.time(false);
                let (timed, others_now) = timed?;
                let ran = InstrumentRuns { timed: Some(timed), ..ran };
                Some(EachNs::measured((from, others), (ran, others_now)))
            }
            State::Waits | State::Runs { .. } | State::Ended => None,
        }
    }
}

fn has_ended(ns: Ns, calls: u64) -> bool {
    (ns >= LASTS_NS && calls >= LASTS_CALLS) || ns >= LASTS_NS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_for_a_thousand_calls_but_not_for_long() {
        assert!(!has_ended(LASTS_NS - 1, 5000) && !has_ended(LASTS_NS_MAX - 1, 999));
        assert!(has_ended(LASTS_NS, 1000) && has_ended(LASTS_NS_MAX, 0));
    }
}
