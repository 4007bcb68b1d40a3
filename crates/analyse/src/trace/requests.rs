//! Requests that the tree serves: which thread works for which, and the time of each.
//!
//! ```text
//!   socket   ├ first byte came in            last byte of the answer given to the kernel ┤
//!   A        ····received──own code──[lock]──asks a peer··          ··received──own code──sent
//!   B                                         (A is at another)
//! ```
//!
//! A thread that receives on an accepted connection works for its request, until it receives
//! another. Who is woken by it, and works for none, goes on with what it works for (a queue within
//! the program). A connection that it opened and sends on belongs to the request, and so does who
//! receives on it. Each carries the ledger of the request so far, which is closed at any time; the
//! one who sends the answer has the account. This is what vPath (B. C. Tak et al., USENIX ATC 2009)
//! does for threads that take one request at a time, and beyond that for those that turn from one
//! to another.

mod distribution;
mod history;
mod latencies;
mod ledger;
mod parts;
mod request;
mod worker;

use crate::account::Slot;
use crate::keys::{CallKey, ReasonKey, TargetKey, WaitKey};
use distribution::Distribution;
use history::{Did, RequestId};
use ledger::{Ledger, Part};
use model::network::Endpoint;
use model::recording::SocketEnds;
use model::requests::RequestTime;
use model::{Ns, State, Tid};
use request::Request;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use worker::{Carried, Worker};

/// Connections that are followed at a time.
const CONNECTIONS: usize = 65_536;

/// Stacks that are remembered of each thread.
const STACKS: usize = 8;

/// What is sent on a connection after an answer, by a thread that did not work for the request,
/// belongs to the answer if it comes after at most as long as the request took, or this.
const ANSWER_PAUSE_NS: Ns = 10_000_000;

const IN_SOCKET: Part = (RequestTime::Unread, ReasonKey::None);
const ON_CPU: Part = (RequestTime::OnCpu, ReasonKey::None);
const NO_THREAD: Part = (RequestTime::NoThread, ReasonKey::None);

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Whether anything was received at all: before that there is nothing to follow.
    begun: bool,
    /// When the window began.
    start: Ns,
    workers: Vec<Worker>,
    connections: FxHashMap<SocketEnds, Connection>,
    open: FxHashMap<RequestId, Request>,
    next: RequestId,
    done: Distribution,
}

/// A connection of the tree.
#[derive(Debug)]
enum Connection {
    /// On which requests come in: the one under way.
    Served(Option<RequestId>),
    /// To a peer: the request for which something was sent there last, and its ledger then.
    Peer(RequestId, Box<Ledger>),
}

impl Requests {
    /// Requests that come in from then on.
    pub(super) fn from(start: Ns) -> Self {
        Self { start, ..Self::default() }
    }

    pub(super) fn begins(&mut self, at: Ns) {
        if self.start == 0 {
            self.start = at;
        }
    }

    fn worker(&mut self, slot: Slot) -> &mut Worker {
        let slot = slot as usize;
        if self.workers.len() <= slot {
            self.workers.resize_with(slot + 1, Worker::default);
        }
        &mut self.workers[slot]
    }

    /// A thread did this in a stretch of time.
    pub(super) fn passes(
        &mut self,
        (slot, tid): (Slot, Tid),
        (from, to): (Ns, Ns),
        (state, reason): (State, ReasonKey),
    ) {
        if !self.begun || to <= from {
            return;
        }
        let part = match state {
            State::User | State::Kernel => ON_CPU,
            State::Runqueue | State::Throttled => (RequestTime::Thread(state), ReasonKey::None),
            _ => (RequestTime::Thread(state), reason),
        };
        self.lets_go(slot);
        let worker = self.worker(slot);
        let from = from.max(worker.until);
        if to <= from {
            return;
        }
        (worker.tid, worker.until) = (tid, to);
        let waits =
            !matches!(part.0, RequestTime::OnCpu | RequestTime::Thread(State::Runqueue | State::Throttled));
        let mut of = None;
        if let Some(carried) = &mut worker.carries {
            carried.ledger.goes_on(to, Some(tid), part);
            carried.rests |= carried.answered && waits;
            of = Some(carried.request).filter(|_| !carried.rests);
        }
        let did = match (of, state) {
            _ if waits && worker.blocked == Some(true) => Did::Waited,
            (Some(request), _) => Did::Request(request, part),
            (None, State::Runqueue | State::Throttled) => Did::Queued(state),
            (None, State::User | State::Kernel) => Did::Ran,
            (None, State::Idle | State::Network) => Did::Waited,
            (None, _) => Did::HeldUp(part),
        };
        worker.history.add(from, to, did);
    }

    /// Who was handed a request is done with it when it is answered, or another goes on with it.
    fn lets_go(&mut self, slot: Slot) {
        let worker = self.worker(slot);
        let Some(request) = worker.carries.as_ref().filter(|of| of.handed).map(|of| of.request) else {
            return;
        };
        if self.open.get(&request).is_none_or(|of| of.answer.is_some() || of.front != slot) {
            self.turns_from(slot);
        }
    }

    /// A thread blocks: what it is woken for may be another request.
    pub(super) fn blocks(&mut self, slot: Slot, of_several: bool) {
        if !self.begun {
            return;
        }
        let worker = self.worker(slot);
        worker.blocked = Some(of_several);
        if let Some(carried) = &mut worker.carries {
            carried.parked = Some(carried.ledger.clone());
        }
    }

    /// A blocked thread is woken, by this one of the tree.
    pub(super) fn woken(&mut self, slot: Slot, by: Option<Slot>, wait: WaitKey) {
        if !self.begun {
            return;
        }
        let by = by.filter(|by| *by != slot);
        let worker = self.worker(slot);
        (worker.blocked, worker.woken_by) = (None, by);
        let Some(by) = by else { return };
        self.lets_go(by);
        self.is_let_go_on(slot, by, wait);
        let Some(carried) = self.worker(by).carries.as_ref().map(Carried::handed) else { return };
        let request = carried.request;
        if self.open.get(&request).is_none_or(|of| of.answer.is_some()) || !self.is_free(slot, request) {
            return;
        }
        self.turns_from(slot);
        self.worker(slot).carries = Some(carried);
        self.open.entry(request).and_modify(|of| of.front = slot);
    }

    /// The wait of a thread that works for a request was ended by another.
    fn is_let_go_on(&mut self, slot: Slot, by: Slot, (state, reason): WaitKey) {
        self.worker(slot.max(by));
        let (waited, by) = (&self.workers[slot as usize], &self.workers[by as usize]);
        let Some(Carried { request, parked: Some(parked), .. }) = &waited.carries else { return };
        if let Some(of) = self.open.get_mut(request) {
            of.held_by(by, *request, (RequestTime::Thread(state), reason), parked.at);
        }
    }

    /// Whether a thread goes on with this request when it is woken by one that works for it.
    fn is_free(&self, slot: Slot, request: RequestId) -> bool {
        let Some(carried) = self.workers.get(slot as usize).and_then(|worker| worker.carries.as_ref()) else {
            return true;
        };
        let of = self.open.get(&carried.request);
        carried.request == request
            || of.is_none_or(|of| of.answer.is_some() || (carried.handed && of.front != slot))
    }

    /// A thread was created by another.
    pub(super) fn forked(&mut self, parent: Slot, child: Slot) {
        if !self.begun {
            return;
        }
        *self.worker(child) = Worker::default();
        let carried = self.worker(parent).carries.as_ref().map(Carried::handed);
        let is_open =
            |carried: &Carried| self.open.get(&carried.request).is_some_and(|of| of.answer.is_none());
        let carried = carried.filter(is_open);
        if let Some(carried) = carried {
            self.open.entry(carried.request).and_modify(|of| of.front = child);
            self.worker(child).carries = Some(carried);
        }
    }

    /// A thread has ended.
    pub(super) fn ends(&mut self, slot: Slot) {
        if self.begun {
            self.turns_from(slot);
            *self.worker(slot) = Worker::default();
        }
    }

    /// A thread received something; `serves`: on a connection that was accepted.
    pub(super) fn received(
        &mut self,
        slot: Slot,
        (tid, ends, serves): (Tid, SocketEnds, bool),
        (arrived, at): (Option<Ns>, Ns),
        bytes: u32,
    ) {
        self.begun = true;
        self.worker(slot).tid = tid;
        if serves {
            self.receives_from_client(slot, ends, (arrived, at), bytes);
        } else if let Some(Connection::Peer(request, asked)) = self.connections.get(&ends) {
            let (request, asked) = (*request, Ledger::clone(asked));
            let peer = Endpoint::new(ends.remote, ends.remote_port);
            let part = (RequestTime::Peer, ReasonKey::Wait(CallKey::Unseen, TargetKey::Tcp(peer)));
            self.takes(slot, request, Some(asked), part, arrived.unwrap_or(at), at);
        }
    }

    fn receives_from_client(
        &mut self,
        slot: Slot,
        ends: SocketEnds,
        (arrived, at): (Option<Ns>, Ns),
        bytes: u32,
    ) {
        let known = match self.connections.get(&ends) {
            Some(Connection::Served(request)) => *request,
            _ => None,
        };
        let answered = known.and_then(|known| self.open.get(&known)).map(|of| of.answer.is_some());
        match (known, answered) {
            (Some(known), Some(false)) if bytes > 0 => {
                self.takes(slot, known, None, NO_THREAD, arrived.unwrap_or(at), at);
                return;
            }
            (Some(known), _) => self.finishes(known),
            (None, _) => {}
        }
        if bytes == 0 {
            self.connections.remove(&ends);
            return;
        }
        if self.connections.len() >= CONNECTIONS && !self.connections.contains_key(&ends) {
            return;
        }
        let began = arrived.unwrap_or(at).min(at);
        self.next += 1;
        let request = self.next;
        self.connections.insert(ends, Connection::Served(Some(request)));
        let (left, answer, stacks, held) = (None, None, SmallVec::new(), SmallVec::new());
        self.open.insert(request, Request { client: ends, began, left, front: slot, answer, stacks, held });
        self.takes(slot, request, Some(Ledger::new(began)), IN_SOCKET, at, at);
    }

    /// A thread takes up a request. `known`: its ledger at some time; from then to `ready` it
    /// waited for `part`, and since for this thread.
    fn takes(
        &mut self,
        slot: Slot,
        request: RequestId,
        known: Option<Ledger>,
        part: Part,
        ready: Ns,
        at: Ns,
    ) {
        let carried = self.worker(slot).carries.as_ref();
        if carried.is_some_and(|carried| carried.request == request) {
            return;
        }
        self.turns_from(slot);
        let Some(of) = self.open.get(&request) else { return };
        let front = self.workers.get(of.front as usize).filter(|_| of.front != slot);
        let live = front.and_then(|worker| {
            let carried = worker.carries.as_ref().filter(|carried| carried.request == request)?;
            carried.parked.as_ref().filter(|_| worker.blocked.is_some()).or(Some(&carried.ledger))
        });
        let all = [known.as_ref(), of.left.as_ref(), of.answer.as_ref(), live];
        let latest =
            all.into_iter().flatten().filter(|ledger| ledger.at <= at).max_by_key(|ledger| ledger.at);
        let mut ledger = latest.cloned().unwrap_or_else(|| Ledger::new(of.began));
        let worker = &self.workers[slot as usize];
        let (ready, gap_from) = (ready.min(at), ledger.at);
        let since = if part.0 == RequestTime::Unread {
            ledger.at
        } else {
            ledger.goes_on(ready, None, part);
            ledger.at
        };
        let tid = worker.tid;
        worker.history.since(since, request, part, |to, part| ledger.goes_on(to.min(at), Some(tid), part));
        ledger.goes_on(at, Some(tid), part);
        if let Some(of) = self.open.get_mut(&request) {
            let by = worker.woken_by.and_then(|by| self.workers.get(by as usize));
            if let Some(by) = by.filter(|_| part == NO_THREAD) {
                of.held_by(by, request, part, gap_from);
            }
            let meanwhile = worker.stacks.iter().filter(|(at, ..)| *at > since);
            of.stacks.extend(
                meanwhile
                    .map(|(_, (_, reason), node, ns)| ((RequestTime::OtherRequest, *reason), *node, *ns)),
            );
        }
        self.worker(slot).carries = Some(Carried::taken(request, ledger));
        self.open.entry(request).and_modify(|of| of.front = slot);
    }

    /// A thread works no longer for what it worked for.
    fn turns_from(&mut self, slot: Slot) {
        let Some(carried) = self.worker(slot).carries.take() else { return };
        let Some(of) = self.open.get_mut(&carried.request) else { return };
        let ledger = carried.parked.unwrap_or(carried.ledger);
        if of.left.as_ref().is_none_or(|left| left.at < ledger.at) {
            of.left = Some(ledger);
        }
    }

    /// A thread sent something.
    pub(super) fn sent(&mut self, slot: Slot, ends: SocketEnds, serves: bool, at: Ns) {
        if !self.begun {
            return;
        }
        let carried = self.worker(slot).carries.clone();
        if !serves {
            let open = carried
                .filter(|carried| self.open.get(&carried.request).is_some_and(|of| of.answer.is_none()));
            let has_room = self.connections.len() < CONNECTIONS || self.connections.contains_key(&ends);
            match open {
                Some(Carried { request, ledger, .. }) if has_room => {
                    self.connections.insert(ends, Connection::Peer(request, Box::new(ledger)));
                }
                _ => drop(self.connections.remove(&ends)),
            }
            return;
        }
        let Some(Connection::Served(Some(request))) = self.connections.get(&ends) else { return };
        let request = *request;
        let Some(of) = self.open.get(&request) else { return };
        let is_carried = carried.is_some_and(|carried| carried.request == request);
        if let (false, Some(answer)) = (is_carried, &of.answer) {
            let pause = (answer.at - of.began).max(ANSWER_PAUSE_NS);
            if at > answer.at + pause {
                return;
            }
        }
        self.takes(slot, request, None, NO_THREAD, self.woken_up(slot, at), at);
        let carried = self.worker(slot).carries.as_mut();
        let answer = carried.map(|carried| {
            (carried.answered, carried.rests) = (true, false);
            carried.ledger.clone()
        });
        self.open.entry(request).and_modify(|of| of.answer = answer);
    }

    /// Since when a thread that goes on with a request by itself may have known that it could: it
    /// turned to others before.
    fn woken_up(&self, slot: Slot, at: Ns) -> Ns {
        self.workers.get(slot as usize).map_or(at, |worker| worker.history.last_woken(at))
    }

    /// A stack was taken of a thread, which stands for so much of its time.
    pub(super) fn stack(&mut self, slot: Slot, at: Ns, wait: Option<WaitKey>, node: u32, ns: Ns) {
        if !self.begun {
            return;
        }
        let part = wait.map_or(ON_CPU, |(state, reason)| (RequestTime::Thread(state), reason));
        let worker = self.worker(slot);
        if worker.stacks.len() >= STACKS {
            worker.stacks.pop_front();
        }
        worker.stacks.push_back((at, part, node, ns));
        let Some(request) = worker.carries.as_ref().filter(|of| !of.rests).map(|of| of.request) else {
            return;
        };
        if let Some(of) = self.open.get_mut(&request).filter(|of| of.answer.is_none()) {
            of.stacks.push((part, node, ns));
        }
    }

    /// What was sent last on its connection was the end of its answer.
    fn finishes(&mut self, request: RequestId) {
        let Some(of) = self.open.remove(&request) else { return };
        match &of.answer {
            _ if of.began < self.start => self.done.began_before += 1,
            Some(answer) => self.done.add(&of, answer),
            None => self.done.abandoned += 1,
        }
    }

    /// A connection has ended.
    pub(super) fn closed(&mut self, ends: SocketEnds) {
        if let Some(Connection::Served(Some(request))) = self.connections.remove(&ends) {
            self.finishes(request);
        }
    }

    /// At the end: what is known of all of them. None where none was seen.
    pub(super) fn finish(mut self) -> Option<Distribution> {
        let mut open: Vec<_> = self.open.keys().copied().collect();
        open.sort_unstable();
        for request in open {
            if self.open.get(&request).is_some_and(|of| of.answer.is_none() && of.began >= self.start) {
                self.done.under_way += 1;
                self.open.remove(&request);
            } else {
                self.finishes(request);
            }
        }
        Some(self.done).filter(|done| !done.is_empty())
    }
}
