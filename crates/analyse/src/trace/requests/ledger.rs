//! What one request's time went to so far: it closes by construction, since whatever goes in goes
//! from where it ends to a later time.

use crate::keys::ReasonKey;
use crate::names::Names;
use model::requests::RequestTime;
use model::wait::{WaitCall, WaitTarget};
use model::{Ns, Seen, Tid};

/// Stretches of a request that are kept in order; the last one takes in what comes after.
const SPANS: usize = 64;
/// Parts that are told apart; what comes after them is one more.
const PARTS: usize = 128;
/// The same after a mark.
const PROVISIONAL: usize = 512;

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
    /// Both are of what is settled.
    pub(super) parts: Vec<(Part, Ns)>,
    pub(super) spans: Vec<Span>,
    /// What came after a mark, which may turn out to be of another request; and where that was.
    provisional: Vec<Span>,
    mark: Option<Ns>,
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
        Self { at, parts: Vec::new(), spans: Vec::new(), provisional: Vec::new(), mark: None }
    }

    /// Up to `to` it was spent at this, by this thread.
    pub(super) fn goes_on(&mut self, to: Ns, tid: Option<Tid>, part: Part) {
        if to <= self.at {
            return;
        }
        let from = std::mem::replace(&mut self.at, to);
        let span = Span { to, tid, part };
        match self.mark {
            Some(_) => push(&mut self.provisional, span, PROVISIONAL),
            None => self.add(from, span),
        }
    }

    fn add(&mut self, from: Ns, span: Span) {
        let ns = span.to - from;
        let has_room = self.parts.len() < PARTS;
        let part = if has_room { span.part } else { (RequestTime::Rest, ReasonKey::None) };
        match self.parts.iter_mut().find(|(known, _)| *known == span.part || *known == part) {
            Some((_, sum)) => *sum += ns,
            None => self.parts.push((part, ns)),
        }
        push(&mut self.spans, span, SPANS);
    }

    /// What comes from here on may be taken back.
    pub(super) fn marks(&mut self) {
        self.settles();
        self.mark = Some(self.at);
    }

    /// What came after the mark belongs to the request.
    pub(super) fn settles(&mut self) {
        let Some(mut from) = self.mark.take() else { return };
        for span in std::mem::take(&mut self.provisional) {
            self.add(from, span);
            from = span.to;
        }
    }

    /// What came after the mark does not.
    pub(super) fn takes_back(&mut self) {
        if let Some(mark) = self.mark.take() {
            self.provisional.clear();
            self.at = mark;
        }
    }
}

/// Adds a stretch; past the bound the last one takes it in.
fn push(spans: &mut Vec<Span>, span: Span, most: usize) {
    let full = spans.len() >= most;
    match spans.last_mut() {
        Some(last) if full || (last.tid, last.part) == (span.tid, span.part) => last.to = span.to,
        _ => spans.push(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Part = (RequestTime::OnCpu, ReasonKey::None);
    const UNREAD: Part = (RequestTime::Unread, ReasonKey::None);

    #[test]
    fn what_came_after_a_mark_can_be_taken_back() {
        let mut ledger = Ledger::new(100);
        ledger.goes_on(110, None, UNREAD);
        ledger.marks();
        ledger.goes_on(150, Some(1), CPU);
        let mut other = ledger.clone();
        ledger.takes_back();
        assert_eq!((ledger.at, &ledger.parts[..]), (110, &[(UNREAD, 10)][..]));
        other.settles();
        other.goes_on(120, Some(1), CPU);
        assert_eq!((other.at, &other.parts[..]), (150, &[(UNREAD, 10), (CPU, 40)][..]));
    }

    #[test]
    fn it_closes_past_its_bound() {
        let mut ledger = Ledger::new(0);
        for at in 1..=1000 {
            ledger.goes_on(at, None, if at % 2 == 0 { CPU } else { UNREAD });
        }
        assert_eq!(ledger.parts.iter().map(|(_, ns)| ns).sum::<Ns>(), 1000);
        assert_eq!((ledger.spans.len(), ledger.spans[SPANS - 1].to), (SPANS, 1000));
    }
}
