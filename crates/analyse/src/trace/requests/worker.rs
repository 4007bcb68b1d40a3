//! A thread, as far as it works for requests: for which, and what it did most recently.

use super::history::{History, RequestId};
use super::ledger::{Ledger, Part};
use crate::account::Slot;
use model::{Ns, Tid};
use std::collections::VecDeque;

/// A thread, as far as it works for requests.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) tid: Tid,
    /// What it did is known up to then.
    pub(super) until: Ns,
    pub(super) carries: Option<Carried>,
    /// It waits; for whichever of several comes first?
    pub(super) blocked: Option<bool>,
    /// When it last answered a request, or handed on what it was asked within the program.
    pub(super) delivered: Ns,
    /// Who of the tree ended its last wait.
    pub(super) woken_by: Option<Delivery>,
    pub(super) history: History,
    /// The last stacks that were taken of it: when, of what, where, and for how much they stand.
    pub(super) stacks: VecDeque<(Ns, Part, u32, Ns)>,
}

/// A thread has ended the wait of another for whatever comes: with something that it has done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    pub(super) by: Slot,
    /// When, and when it had delivered something before.
    pub(super) at: Ns,
    pub(super) before: Ns,
}

/// What a thread works for.
#[derive(Debug, Clone)]
pub(super) struct Carried {
    pub(super) request: RequestId,
    pub(super) ledger: Ledger,
    /// It was woken to go on with it.
    pub(super) handed: bool,
    /// The ledger's mark is where it began to wait for whatever comes.
    pub(super) in_wait: bool,
    /// It has sent an answer, and has waited since: what it does then is for no request, unless it
    /// sends more of the answer.
    pub(super) answered: bool,
    pub(super) rests: bool,
}

impl Carried {
    pub(super) fn taken(request: RequestId, ledger: Ledger) -> Self {
        Self { request, ledger, handed: false, in_wait: false, answered: false, rests: false }
    }

    pub(super) fn handed(&self) -> Self {
        let mut ledger = self.ledger.clone();
        ledger.settles();
        Self { handed: true, ..Self::taken(self.request, ledger) }
    }
}
