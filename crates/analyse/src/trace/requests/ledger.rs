//! What one request's time went to so far: it closes by construction, since whatever goes in goes
//! from where it ends to a later time.

use crate::keys::ReasonKey;
use crate::names::Names;
use model::requests::RequestTime;
use model::wait::{WaitCall, WaitTarget};
use model::{Ns, Seen, Tid};
use smallvec::SmallVec;

/// Stretches of a request that are kept in order; the last one takes in what comes after.
const SPANS: usize = 64;

/// What a stretch is spent at, and for what.
pub(super) type Part = (RequestTime, ReasonKey);

/// The call of a wait, and what it was for.
pub(super) type Wait = (Seen<WaitCall>, Seen<WaitTarget>);

pub(super) fn wait(names: &Names, reason: ReasonKey) -> Wait {
    match reason {
        ReasonKey::Wait(call, on) => (Seen::Value(names.call(call)), Seen::Value(names.target(on))),
        _ => (Seen::Absent, Seen::Absent),
    }
}

/// A request's time, from when it came in to `at`.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    pub(super) at: Ns,
    parts: SmallVec<[(Part, Ns); 6]>,
    spans: Vec<Span>,
}

/// A stretch of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) to: Ns,
    pub(super) tid: Option<Tid>,
    pub(super) part: Part,
}

impl Ledger {
    /// A request that came in then.
    pub(super) fn new(at: Ns) -> Self {
        Self { at, parts: SmallVec::new(), spans: Vec::new() }
    }

    /// Up to `to` it was spent at this, by this thread.
    pub(super) fn goes_on(&mut self, to: Ns, tid: Option<Tid>, part: Part) {
        if to <= self.at {
            return;
        }
        let ns = to - self.at;
        self.at = to;
        match self.parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, sum)) => *sum += ns,
            None => self.parts.push((part, ns)),
        }
        let full = self.spans.len() >= SPANS;
        match self.spans.last_mut() {
            Some(last) if full || (last.tid, last.part) == (tid, part) => last.to = to,
            _ => self.spans.push(Span { to, tid, part }),
        }
    }

    pub(super) fn parts(&self) -> &[(Part, Ns)] {
        &self.parts
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }
}
