//! Who goes on with a request when a wait ends: whether what ended it hands something over, is a
//! result, or lets a lock go.

use super::history::{Did, RequestId};
use super::{Carried, LEFT_OUT, Requests, part};
use crate::account::Slot;
use crate::keys::WaitKey;
use model::{Ns, Pid};

/// Futexes, and what tasks wait at, of which it is remembered who waited there, and how many of
/// each. Past it all are forgotten.
const FUTEXES: usize = 65_536;
const WAITERS: usize = 32;

impl Requests {
    /// Notes who waits at a futex, or at what tasks wait at. Whether it is a lock: whoever ended
    /// this wait has waited there too.
    pub(super) fn waits_at(&mut self, slot: Slot, by: Option<Slot>, place: Option<(Pid, u64)>) -> bool {
        let Some(place) = place else { return false };
        if self.futexes.len() >= FUTEXES {
            self.futexes.clear();
        }
        let waiters = self.futexes.entry(place).or_default();
        if !waiters.contains(&slot) && waiters.len() < WAITERS {
            waiters.push(slot);
        }
        by.is_some_and(|by| waiters.contains(&by))
    }

    /// Who is woken by a thread goes on with what that works for.
    pub(super) fn hands_on(&mut self, by: Slot, slot: Slot, at: Ns) {
        let given = self.workers[by].carries.as_ref().map(|given| (given.request, given.handed));
        let Some((request, was_handed)) = given else { return };
        if self.open.get(&request).is_none_or(|of| of.answered.is_some()) || !self.is_free(slot, request) {
            return;
        }
        let Some(mut given) = self.workers[by].carries.as_ref().map(Carried::handed) else { return };
        let had = self.worker(slot).carries.as_ref().filter(|had| had.request == request);
        let returns = had.map(|had| had.handed);
        if let Some(handed) = returns {
            // Back to who had asked for it: the other is done.
            given.handed = handed;
            if was_handed {
                self.turns_from(by, false);
                self.worker(by).delivered = at;
            }
        }
        self.turns_from(slot, false);
        self.worker(slot).carries = Some(given);
        self.open.entry(request).and_modify(|of| of.front = slot);
    }

    /// Whether a thread goes on with this request when it is woken by one that works for it.
    pub(super) fn is_free(&self, slot: Slot, request: RequestId) -> bool {
        let Some(carried) = self.workers.get(slot).and_then(|worker| worker.carries.as_ref()) else {
            return true;
        };
        let of = self.open.get(&carried.request);
        carried.request == request
            || of.is_none_or(|of| of.answered.is_some() || (carried.handed && of.front != slot))
    }

    /// Whether the wait of a thread that works for a request was for the result of another that
    /// works for none that is known: then what that did since it last delivered something is the
    /// request's.
    pub(super) fn is_result(&mut self, slot: Slot, by: Slot, kind: WaitKey, at: Ns) -> bool {
        let is_known = |of: &Carried| !of.answered && of.request != LEFT_OUT;
        if self.workers[by].carries.as_ref().is_some_and(is_known) {
            return false;
        }
        if self.worker(slot).carries.as_ref().is_some_and(|of| of.request == LEFT_OUT) {
            self.worker(by).delivered = at;
            return false;
        }
        let mut worker = std::mem::take(self.worker(slot));
        let other = &self.workers[by];
        let is_open = |of: &&mut Carried| !of.answered && of.ledger.at < at;
        let carried = worker.carries.as_mut().filter(is_open);
        let of = carried.and_then(|carried| Some((self.open.get_mut(&carried.request)?, carried)));
        let found = of.is_some();
        if let Some((of, Carried { request, ledger, .. })) = of {
            let since = ledger.at;
            of.has_stacks_of(other, since, Some(other.delivered));
            other.history.since((since, Some(other.delivered)), *request, part(kind), |to, part| {
                ledger.goes_on(to.min(at), Some(other.tid), part);
            });
            ledger.goes_on(at, Some(other.tid), part(kind));
            worker.history.add(since, at, Did::Request(*request, part(kind)));
            worker.until = at;
        }
        self.workers[slot] = worker;
        if found {
            self.worker(by).delivered = at;
        }
        found
    }

    /// The wait of a thread that works for a request was ended by another.
    pub(super) fn is_let_go_on(&mut self, slot: Slot, by: Slot, from: Ns, kind: WaitKey) {
        let (waited, by) = (&self.workers[slot], &self.workers[by]);
        let Some(Carried { request, answered: false, .. }) = &waited.carries else { return };
        let its = by.carries.as_ref().and_then(|carried| self.open.get(&carried.request));
        let own = its.map(|its| its.held.clone()).unwrap_or_default();
        if let Some(of) = self.open.get_mut(request) {
            of.held_by((by, &own), *request, part(kind), from);
        }
    }
}
