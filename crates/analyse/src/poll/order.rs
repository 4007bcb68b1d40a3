//! Events and snapshots in the order in which they happened.
//!
//! Events are held back until a snapshot that is younger than they are has come, so that a wait
//! can be given the reason that the snapshot saw; memory holds what comes between two of them.

use model::recording::ThreadSnapshot as Snapshot;
use model::{Event, Ns};
use std::collections::VecDeque;

/// Events come at most this much later than a snapshot that was taken after them.
const LATE_NS: Ns = 5_000_000;
/// After this number of events without a snapshot they are processed anyway, so that memory does
/// not grow.
const HELD_MAX: usize = 1 << 20;

/// What is held back.
#[derive(Debug, Default)]
pub(super) struct Order {
    held: Vec<Event>,
    looks: VecDeque<(Ns, Vec<Snapshot>)>,
    newest: Ns,
}

/// What is next: events, oldest first, and the snapshot that was taken after them, if it has come.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) events: Vec<Event>,
    pub(super) look: Option<(Ns, Vec<Snapshot>)>,
}

impl Order {
    /// Takes the next. Events and snapshots may come up to 5 ms out of order.
    pub(super) fn push(&mut self, event: &Event) {
        let Some(at) = event.at() else { return };
        self.newest = self.newest.max(at);
        match event {
            Event::Look { at, threads } => self.looks.push_back((*at, threads.clone())),
            other => self.held.push(other.clone()),
        }
    }

    /// What can be worked through now.
    pub(super) fn next(&mut self) -> Option<Batch> {
        if self.looks.front().is_some_and(|(at, _)| at.saturating_add(LATE_NS) <= self.newest) {
            return self.next_look();
        }
        let is_full = self.held.len() > HELD_MAX;
        is_full.then(|| Batch { events: self.take_until(self.newest.saturating_sub(LATE_NS)), look: None })
    }

    /// What is left, when no more comes.
    pub(super) fn rest(&mut self) -> Option<Batch> {
        if let Some(batch) = self.next_look() {
            return Some(batch);
        }
        let events = self.take_until(Ns::MAX);
        (!events.is_empty()).then_some(Batch { events, look: None })
    }

    fn next_look(&mut self) -> Option<Batch> {
        let (at, threads) = self.looks.pop_front()?;
        Some(Batch { events: self.take_until(at), look: Some((at, threads)) })
    }

    fn take_until(&mut self, at: Ns) -> Vec<Event> {
        let (mut now, later) =
            std::mem::take(&mut self.held).into_iter().partition::<Vec<_>, _>(|event| event.at() <= Some(at));
        self.held = later;
        now.sort_by_key(Event::at);
        now
    }
}
