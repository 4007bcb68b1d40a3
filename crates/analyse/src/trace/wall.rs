//! When the wall clock begins and ends: with the root's process.

use crate::account::Slot;
use model::Ns;

/// The wall, and what of the root's process it depends on.
#[derive(Debug)]
pub(super) struct Wall {
    pub(super) start: Ns,
    /// The end of the root's last thread, once it was seen.
    pub(super) end: Option<Ns>,
    /// Threads of the root's process that live.
    alive: u32,
    /// One of them ends them all.
    pub(super) leaving_together: bool,
    /// The one that ended last, or began first.
    pub(super) last: Option<Slot>,
}

impl Wall {
    pub(super) fn new(start: Ns) -> Self {
        Self { start, end: None, alive: 0, leaving_together: false, last: None }
    }

    /// The root's first thread begins.
    pub(super) fn begin(&mut self, start: Ns, first: Slot) {
        (self.start, self.alive, self.last) = (start, 1, Some(first));
    }

    /// Another thread of the root's process begins.
    pub(super) fn joined(&mut self) {
        self.alive += 1;
    }

    /// One of them ends.
    pub(super) fn left(&mut self, at: Ns, thread: Slot) {
        self.last = Some(thread);
        self.alive = self.alive.saturating_sub(1);
        if self.alive == 0 {
            self.end = Some(at);
        }
    }
}
