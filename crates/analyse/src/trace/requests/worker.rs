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
    /// Who of the tree ended its last wait.
    pub(super) woken_by: Option<Slot>,
    pub(super) history: History,
    /// The last stacks that were taken of it: when, of what, where, and for how much they stand.
    pub(super) stacks: VecDeque<(Ns, Part, u32, Ns)>,
}

/// What a thread works for.
#[derive(Debug, Clone)]
pub(super) struct Carried {
    pub(super) request: RequestId,
    pub(super) ledger: Ledger,
    /// The ledger as it was when the thread blocked last: if what it does next is for another, it
    /// waited for that.
    pub(super) parked: Option<Ledger>,
    /// It was woken to go on with it.
    pub(super) handed: bool,
    /// It has sent an answer, and has waited since: what it does then is for no request, unless it
    /// sends more of the answer.
    pub(super) answered: bool,
    pub(super) rests: bool,
}

impl Carried {
    pub(super) fn taken(request: RequestId, ledger: Ledger) -> Self {
        Self { request, ledger, parked: None, handed: false, answered: false, rests: false }
    }

    pub(super) fn handed(&self) -> Self {
        Self { handed: true, ..Self::taken(self.request, self.ledger.clone()) }
    }
}
