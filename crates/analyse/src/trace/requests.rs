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
//!
//! Of very many requests a random part is followed, and the others are counted only: it is known of
//! a thread that it works for one of those.
//!
//! Where other units are followed, each is what a thread does from its beginning to its end, and
//! nobody else works for it: between two sleeps (a cycle), or between two marks.

mod distribution;
mod handing;
mod history;
mod kinds;
mod latencies;
mod ledger;
mod parts;
mod request;
mod scheduled;
mod tasks;
mod worker;

use crate::account::{Slot, Verdicts};
use crate::keys::{CallKey, ReasonKey, TargetKey, WaitKey};
use distribution::Distribution;
use history::{Did, RequestId};
use kinds::Kinds;
use ledger::{Ledger, Part};
use model::recording::{Comm, SocketEnds};
use model::requests::{RequestTime, Unit, Units};
use model::{Ns, Pid, State, Tid};
use request::Request;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tasks::Tasks;
use worker::{Carried, Delivery, Worker, Workers};

/// Connections that are followed at a time.
const CONNECTIONS: usize = 65_536;
/// So often all of them are looked at for those that have ended, where there is no room: that takes
/// about a millisecond.
const SWEEP_NS: Ns = 100_000_000;

/// Stacks that are remembered of each thread.
const STACKS: usize = 8;

/// What is sent on a connection after an answer, by a thread that did not work for the request,
/// belongs to the answer if it comes after at most as long as the answer took to begin, or this.
const ANSWER_PAUSE_NS: Ns = 10_000_000;
/// The same of a thread that worked for it, and has waited since: ten times as long, or this.
const STREAM_PAUSE_NS: Ns = 1_000_000_000;

/// What threads work for that work for a request that is counted only. Others have numbers from 1.
const LEFT_OUT: RequestId = 0;

const IN_SOCKET: Part = (RequestTime::Unread, ReasonKey::None);
const ON_CPU: Part = (RequestTime::OnCpu, ReasonKey::None);
const RELEASED_LATE: Part = (RequestTime::ReleasedLate, ReasonKey::None);
const QUEUED: Part = (RequestTime::Thread(State::Runqueue), ReasonKey::None);
const NO_THREAD: Part = (RequestTime::NoThread, ReasonKey::None);

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Whether anything was received at all: before that there is nothing to follow.
    begun: bool,
    units: Units,
    /// When the window began.
    start: Ns,
    workers: Workers,
    tasks: Tasks,
    connections: FxHashMap<SocketEnds, Connection>,
    /// When those that have ended were last looked for.
    swept: Ns,
    open: FxHashMap<RequestId, Request>,
    next: RequestId,
    done: Distribution,
    /// Requests of clients that are of the tree: a part of others, where there are any.
    within: Distribution,
    kinds: Kinds,
    /// What the request asks for that this thread receives then.
    asked: Option<(Tid, Ns, Box<str>)>,
    /// Of how many the one was drawn that this thread receives then.
    drawn: Option<(Tid, Ns, u32)>,
    /// Some requests are counted only.
    some_left_out: bool,
    /// Which threads have waited at a futex, by process and address.
    futexes: FxHashMap<(Pid, u64), SmallVec<[Slot; 4]>>,
}

/// From whom something was received.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReceivedFrom {
    /// A client, of the tree or not.
    Client {
        /// It is.
        within: bool,
    },
    /// Whom the tree asks.
    Peer(TargetKey),
}

/// How a thread takes up a request.
#[derive(Debug, Clone, Copy)]
enum Taking {
    /// It receives it.
    New,
    /// It receives what came in then, for which the request had waited.
    Received(Part, Ns),
    /// It answers it, and had not been seen to take it up.
    Answers,
}

/// A connection of the tree.
#[derive(Debug)]
enum Connection {
    /// On which requests come in: the one under way.
    Served(Option<RequestId>),
    /// To a peer: the request for which something was sent there last, and its ledger then.
    Peer(RequestId, Box<Ledger>),
    /// To a peer: when something was sent last, by who works for no request that is known.
    Unclaimed(Ns),
}

impl Requests {
    /// Requests that come in from then on.
    pub(super) fn from(start: Ns, units: Units) -> Self {
        let (done, within) = (Distribution::of(units.clone()), Distribution::of(units.clone()));
        let begun = units.unit != Unit::Request;
        Self { start, units, begun, done, within, ..Self::default() }
    }

    pub(super) fn begins(&mut self, at: Ns) {
        if self.start == 0 {
            self.start = at;
        }
    }

    fn worker(&mut self, slot: Slot) -> &mut Worker {
        self.workers.get_or_make(slot)
    }

    /// A thread did this in a stretch of time.
    pub(super) fn passes(&mut self, (slot, tid): (Slot, Tid), span: (Ns, Ns), kind: WaitKey) {
        self.passes_as((self.tasks.worker(slot), tid), span, kind);
    }

    /// A worker did this in a stretch of time: a thread, or a task on this one.
    fn passes_as(&mut self, (slot, tid): (Slot, Tid), (from, to): (Ns, Ns), kind: WaitKey) {
        if !self.begun || to <= from {
            return;
        }
        self.lets_go(slot);
        let unit = self.units.unit;
        let worker = self.worker(slot);
        let from = from.max(worker.until);
        if to <= from {
            return;
        }
        (worker.tid, worker.until) = (tid, to);
        if matches!(kind.0, State::User | State::Kernel) {
            worker.blocked = None;
        }
        let is_new = worker.carries.as_ref().is_some_and(|carried| carried.ledger.parts.is_empty());
        let part = match (unit, kind.0) {
            (Unit::Cycle, State::Runqueue) if is_new => RELEASED_LATE,
            _ => part(kind),
        };
        let of_several = worker.blocked == Some(true);
        let waits =
            !matches!(part.0, RequestTime::OnCpu | RequestTime::Thread(State::Runqueue | State::Throttled));
        let for_work = matches!(kind.0, State::Idle | State::Network);
        let mut of = None;
        // Between two cycles nothing is.
        let between = unit == Unit::Cycle && kind.0 == State::Sleep;
        let at_left_out = worker.carries.as_ref().is_some_and(|carried| carried.request == LEFT_OUT);
        if at_left_out && waits && (of_several || for_work) {
            // It is done with that one; when it turns to another such one that is told.
            worker.carries = None;
        } else if at_left_out {
            of = Some(LEFT_OUT);
        } else if let Some(carried) = worker.carries.as_mut().filter(|_| !between) {
            // What it is woken for may be another request.
            let none = waits && of_several && (for_work || kind.0 == State::Sleep);
            carried.ledger.goes_on(to, Some(tid).filter(|_| !none), if none { NO_THREAD } else { part });
            carried.rests |= carried.answered && waits;
            of = Some(carried.request).filter(|_| !carried.rests);
        }
        let did = match (of, kind.0) {
            _ if waits && of_several => Did::Waited,
            (Some(request), _) => Did::Request(request, part),
            (None, State::Runqueue | State::Throttled) => Did::Queued(kind.0),
            (None, State::User | State::Kernel) => Did::Ran,
            (None, _) if for_work => Did::Waited,
            (None, _) => Did::HeldUp(part),
        };
        worker.history.add(from, to, did);
    }

    /// Who was handed a request is done with it when it is answered.
    fn lets_go(&mut self, slot: Slot) {
        let worker = self.worker(slot);
        let Some(request) = worker.carries.as_ref().filter(|of| of.handed).map(|of| of.request) else {
            return;
        };
        if self.open.get(&request).is_none_or(|of| of.answered.is_some() && of.front != slot) {
            self.turns_from(slot, false);
        }
    }

    /// A thread blocks.
    pub(super) fn blocks(&mut self, slot: Slot, of_several: bool) {
        self.blocks_as(self.tasks.worker(slot), of_several);
    }

    fn blocks_as(&mut self, slot: Slot, of_several: bool) {
        if !self.begun || self.units.unit != Unit::Request {
            return;
        }
        let worker = self.worker(slot);
        worker.blocked = Some(of_several);
        if let Some(carried) = worker.carries.as_mut().filter(|of| of_several && !of.answered) {
            carried.ledger.marks();
            carried.in_wait = true;
        }
    }

    /// The wait of a thread ended, by this one of the tree if any.
    pub(super) fn woken(
        &mut self,
        (slot, tid, pid): (Slot, Tid, Pid),
        by: Option<Slot>,
        (from, at): (Ns, Ns),
        kind: WaitKey,
    ) {
        if !self.begun {
            return;
        }
        let runs_tasks = self.tasks.has(slot);
        let slot = self.tasks.worker(slot);
        // To a thread that runs tasks nothing is handed: it goes to them.
        let by = by.map(|by| self.tasks.worker(by)).filter(|by| *by != slot && !runs_tasks);
        let place = match kind.1 {
            ReasonKey::Wait(_, TargetKey::Futex(address) | TargetKey::TimedFutex(address)) => {
                Some((pid, address))
            }
            _ => None,
        };
        let is_lock = self.waits_at(slot, by, place.filter(|(_, address)| *address != 0));
        self.wait_ends((slot, tid), by, (from, at), kind, (is_lock, !is_lock && place.is_some()));
    }

    /// The wait of a worker ended. `may_be_result`: who ended it may have worked for it.
    fn wait_ends(
        &mut self,
        (slot, tid): (Slot, Tid),
        by: Option<Slot>,
        (from, at): (Ns, Ns),
        kind: WaitKey,
        (is_lock, may_be_result): (bool, bool),
    ) {
        by.map(|by| self.worker(by).tid);
        self.worker(slot);
        // Nobody else works for a cycle.
        let asks = by.filter(|_| self.units.unit == Unit::Request);
        let is_result = asks.is_some_and(|by| {
            self.lets_go(by);
            self.lets_go(slot);
            may_be_result && self.is_result(slot, by, kind, at)
        });
        // Of a result it is known what the other did in this time.
        self.passes_as((slot, tid), (from, at), kind);
        if let Some(by) = by.filter(|_| !is_result) {
            self.is_let_go_on(slot, by, from, kind);
        }
        let polled = self.workers[slot].blocked == Some(true);
        let delivery = by.filter(|_| polled).map(|by| {
            let before = std::mem::replace(&mut self.workers[by].delivered, at);
            Delivery { by, at, before }
        });
        let worker = self.worker(slot);
        (worker.blocked, worker.woken_by, worker.until) = (None, delivery, worker.until.max(at));
        if let Some(by) = by.filter(|_| !is_lock && self.units.unit == Unit::Request) {
            self.hands_on(by, slot, at);
        }
    }

    /// A thread has slept: there one of its cycles ended, and another one begins.
    pub(super) fn slept(&mut self, (slot, tid, name): (Slot, Tid, Comm), (from, at): (Ns, Ns)) {
        if self.units.unit != Unit::Cycle
            || self.units.thread.is_some_and(|only| only.bytes() != name.bytes())
        {
            return;
        }
        self.unit_ends(slot, from);
        self.unit_begins((slot, tid, name), at);
    }

    /// A thread comes past a mark, and so is on a CPU: there a piece of work begins or ends. A call
    /// that ends and has not begun had begun before the window.
    pub(super) fn comes_past(&mut self, (slot, tid, name): (Slot, Tid, Comm), at: Ns, begins: bool) {
        match &mut self.worker(slot).carries {
            _ if begins => self.unit_begins((slot, tid, name), at),
            Some(carried) => {
                carried.ledger.goes_on(at, Some(tid), ON_CPU);
                self.unit_ends(slot, at);
            }
            None => self.done.began_before += u64::from(self.units.unit == Unit::Call),
        }
    }

    /// A thread begins what nobody else works for. What it was at has no end.
    fn unit_begins(&mut self, (slot, tid, name): (Slot, Tid, Comm), at: Ns) {
        self.leaves_unit(slot).then(|| self.done.abandoned += 1);
        self.next += 1;
        let request = self.next;
        let kind = Some(self.kinds.number(&format!("{} ({tid})", name.to_text())));
        let thread = SocketEnds::default();
        self.open.insert(request, Request { kind, ..Request::new(thread, at, slot) });
        self.worker(slot).carries = Some(Carried::taken(request, Ledger::new(at)));
    }

    /// It ended then.
    fn unit_ends(&mut self, slot: Slot, at: Ns) {
        let Some(Carried { request, ledger, .. }) = self.worker(slot).carries.take() else { return };
        if let Some(of) = self.open.get_mut(&request) {
            (of.answered, of.left) = (Some((at, at)), Some(ledger));
        }
        self.finishes(request);
    }

    /// It does not end any more. Whether there was one.
    fn leaves_unit(&mut self, slot: Slot) -> bool {
        let carried = self.worker(slot).carries.take();
        carried.is_some_and(|carried| self.open.remove(&carried.request).is_some())
    }

    /// A thread was created by another.
    pub(super) fn forked(&mut self, parent: Slot, child: Slot) {
        if !self.begun || self.units.unit != Unit::Request {
            return;
        }
        *self.worker(child) = Worker::default();
        if !self.tasks.has(parent) {
            self.has_made(parent, child);
        }
    }

    /// A thread has ended.
    pub(super) fn ends(&mut self, slot: Slot) {
        if !self.begun {
            return;
        }
        if self.units.unit != Unit::Request {
            self.leaves_unit(slot).then(|| self.done.under_way += 1);
        }
        self.tasks.forget(slot);
        self.turns_from(slot, false);
        *self.worker(slot) = Worker::default();
    }

    /// What the request asks for that a thread receives now.
    pub(super) fn asks_for(&mut self, tid: Tid, at: Ns, kind: &str) {
        if self.units.unit == Unit::Request {
            self.asked = Some((tid, at, kind.into()));
        }
    }

    /// The request that a thread receives now was drawn of this many.
    pub(super) fn drawn(&mut self, tid: Tid, at: Ns, one_in: u32) {
        self.drawn = Some((tid, at, one_in));
    }

    /// A thread received something.
    pub(super) fn received(
        &mut self,
        slot: Slot,
        (tid, ends, from): (Tid, SocketEnds, ReceivedFrom),
        (arrived, at): (Option<Ns>, Ns),
        bytes: u32,
    ) {
        self.begun |= matches!(from, ReceivedFrom::Client { .. });
        if !self.begun || self.units.unit != Unit::Request {
            return;
        }
        let slot = self.tasks.worker(slot);
        self.worker(slot).tid = tid;
        let peer = match from {
            ReceivedFrom::Client { within } => {
                return self.receives_from_client(slot, (ends, within), (arrived, at), bytes);
            }
            ReceivedFrom::Peer(peer) => peer,
        };
        let part = (RequestTime::Peer, ReasonKey::Wait(CallKey::Unseen, peer));
        let arrived = arrived.unwrap_or(at).min(at);
        let asked_at = match self.connections.get(&ends) {
            Some(Connection::Peer(request, asked)) if bytes > 0 && self.is_awaited(*request) => {
                let (request, asked) = (*request, Ledger::clone(asked));
                return self.takes(slot, request, Some(asked), Taking::Received(part, arrived), at);
            }
            Some(Connection::Unclaimed(at)) => *at,
            // It was asked for a request that is over, or the connection ends.
            Some(Connection::Peer(..)) => return drop(self.connections.remove(&ends)),
            _ if self.some_left_out && bytes > 0 => return self.takes_left_out(slot, at),
            _ => return,
        };
        self.connections.remove(&ends);
        self.worker(slot).exchange = Some((asked_at, arrived, part)).filter(|_| bytes > 0);
    }

    /// A thread works for a request that is counted only, of this connection: what was followed
    /// there has ended.
    pub(super) fn turns_to_left_out(&mut self, slot: Slot, ends: SocketEnds, at: Ns) {
        if !self.begun || self.units.unit != Unit::Request {
            return;
        }
        self.some_left_out = true;
        let slot = self.tasks.worker(slot);
        if let Some(Connection::Served(request)) = self.connections.get_mut(&ends)
            && let Some(request) = request.take()
        {
            self.finishes(request);
        }
        self.takes_left_out(slot, at);
    }

    fn takes_left_out(&mut self, slot: Slot, at: Ns) {
        self.turns_from(slot, false);
        let worker = self.worker(slot);
        worker.delivered = at;
        worker.carries = Some(Carried::taken(LEFT_OUT, Ledger::new(at)));
    }

    fn receives_from_client(
        &mut self,
        slot: Slot,
        (ends, within): (SocketEnds, bool),
        (arrived, at): (Option<Ns>, Ns),
        bytes: u32,
    ) {
        let (seen, known) = match self.connections.get(&ends) {
            Some(Connection::Served(request)) => (true, *request),
            _ => (false, None),
        };
        if let Some(of) = known.and_then(|known| self.open.get_mut(&known)) {
            of.heard_all |= bytes == 0;
            if of.answered.is_none() && bytes > 0 {
                let ready = arrived.unwrap_or(at);
                let request = known.unwrap_or_default();
                return self.takes(slot, request, None, Taking::Received(NO_THREAD, ready), at);
            }
        }
        if bytes == 0 {
            // Of a local connection nothing more is heard.
            if ends.local_socket().is_some() && known.is_none_or(|known| !self.is_awaited(known)) {
                self.closed(ends);
            }
            return;
        }
        known.into_iter().for_each(|known| self.finishes(known));
        if !seen && !self.has_room(at) {
            return;
        }
        self.next += 1;
        let request = self.next;
        self.connections.insert(ends, Connection::Served(Some(request)));
        // The first of a connection that was open before: when it came in is not known.
        let unseen = arrived.is_none() && !seen;
        let began = if unseen { 0 } else { arrived.unwrap_or(at).min(at) };
        let tid = self.worker(slot).tid;
        let kind = self.asked.take().filter(|(by, when, _)| (*by, *when) == (tid, at));
        let kind = kind.map(|(_, _, kind)| self.kinds.number(&kind));
        let drawn = self.drawn.take().filter(|(by, when, _)| (*by, *when) == (tid, at));
        let one_in = drawn.map_or(1, |(.., one_in)| one_in);
        self.open.insert(request, Request { within, kind, one_in, ..Request::new(ends, began, slot) });
        let known = Ledger::new(if unseen { at } else { began });
        self.takes(slot, request, Some(known), Taking::New, at);
    }

    /// Whether a request has had no part of its answer yet.
    fn is_awaited(&self, request: RequestId) -> bool {
        self.open.get(&request).is_some_and(|of| of.answered.is_none())
    }

    /// A thread takes up a request, of which this may be known.
    fn takes(&mut self, slot: Slot, request: RequestId, known: Option<Ledger>, taking: Taking, at: Ns) {
        let (part, ready) = match taking {
            Taking::New => (IN_SOCKET, None),
            Taking::Received(part, ready) => (part, Some(ready)),
            Taking::Answers => (NO_THREAD, None),
        };
        self.worker(slot);
        let mut ledger = None;
        if let Some(carried) = self.workers[slot].carries.as_mut().filter(|of| of.request == request) {
            let polled = std::mem::take(&mut carried.in_wait) && part.0 == RequestTime::Peer;
            if !polled {
                return carried.ledger.settles();
            }
            carried.ledger.takes_back();
            ledger = Some(carried.ledger.clone());
        }
        if !self.open.contains_key(&request) {
            return;
        }
        let exchange = self.worker(slot).exchange.take().filter(|_| matches!(taking, Taking::Answers));
        self.turns_from(slot, matches!(taking, Taking::Answers));
        let Some(of) = self.open.get(&request) else { return };
        let mut ledger = ledger.unwrap_or_else(|| self.latest(slot, request, of, known, at));
        // What came in from a peer, of which nobody knew for whom it was asked, was for this one.
        if let Some((asked, arrived, part)) = exchange.filter(|(asked, ..)| *asked >= ledger.at) {
            ledger.goes_on(asked, None, NO_THREAD);
            ledger.goes_on(arrived, None, part);
        }
        let worker = &self.workers[slot];
        let gap_from = ledger.at;
        let (ready, own) = match taking {
            Taking::Answers => {
                let ready = worker.history.last_woken(gap_from).unwrap_or(gap_from);
                (ready, Some(ready.max(worker.delivered)))
            }
            _ => (ready.unwrap_or(gap_from).min(at), None),
        };
        // What ended the wait of a loop is what it answers next.
        let delivery = worker.woken_by.filter(|_| matches!(taking, Taking::Answers));
        if let (Some(Delivery { by, at, before }), Some(of)) = (delivery, self.open.get_mut(&request)) {
            let by = &self.workers[by];
            let own = Some(before);
            of.has_stacks_of(by, gap_from, own);
            by.history.since((gap_from, own), request, part, |to, part| {
                ledger.goes_on(to.min(at), Some(by.tid), part);
            });
        }
        ledger.goes_on(ready.min(at), None, part);
        // A task is ready when the answer is there, and the scheduler has it until it runs.
        let part = match part.0 {
            RequestTime::Peer if Worker::is_task(slot) => QUEUED,
            _ => part,
        };
        let (since, tid) = (ledger.at, worker.tid);
        worker
            .history
            .since((since, own), request, part, |to, part| ledger.goes_on(to.min(at), Some(tid), part));
        ledger.goes_on(at, Some(tid), part);
        if let Some(of) = self.open.get_mut(&request) {
            of.has_stacks_of(worker, since, own);
            of.front = slot;
        }
        ledger.marks();
        let worker = self.worker(slot);
        worker.carries = Some(Carried::taken(request, ledger));
        if delivery.is_some() {
            worker.woken_by = None;
        }
    }

    /// The most that is known of a request before then, but for what this thread knows.
    fn latest(&self, slot: Slot, request: RequestId, of: &Request, known: Option<Ledger>, at: Ns) -> Ledger {
        let front = self.workers.get(of.front).filter(|_| of.front != slot);
        let live = front.and_then(|front| {
            let carried = front.carries.as_ref().filter(|carried| carried.request == request)?;
            let mut ledger = carried.ledger.clone();
            match carried.answered || (carried.in_wait && front.blocked.is_some()) {
                true => ledger.takes_back(),
                false => ledger.settles(),
            }
            Some(ledger)
        });
        let all = [known, of.left.clone(), live];
        let latest =
            all.into_iter().flatten().filter(|ledger| ledger.at <= at).max_by_key(|ledger| ledger.at);
        latest.unwrap_or_else(|| Ledger::new(of.began))
    }

    /// A thread works no longer for what it worked for. `not_for_it`: nor did it since it took it
    /// up.
    fn turns_from(&mut self, slot: Slot, not_for_it: bool) {
        let Some(mut carried) = self.worker(slot).carries.take() else { return };
        let Some(of) = self.open.get_mut(&carried.request) else { return };
        match carried.answered || carried.in_wait || not_for_it {
            true => carried.ledger.takes_back(),
            false => carried.ledger.settles(),
        }
        let is_its = of.answered.is_none() || of.front == slot;
        if is_its && of.left.as_ref().is_none_or(|left| left.at < carried.ledger.at) {
            of.left = Some(carried.ledger);
        }
    }

    /// A thread sent something.
    pub(super) fn sent(&mut self, slot: Slot, ends: SocketEnds, serves: bool, at: Ns) {
        if !self.begun || self.units.unit != Unit::Request {
            return;
        }
        let slot = self.tasks.worker(slot);
        if !serves {
            return self.asks(slot, ends, at);
        }
        let Some(Connection::Served(Some(request))) = self.connections.get(&ends) else { return };
        let request = *request;
        let carried = self.worker(slot).carries.as_ref().filter(|carried| carried.request == request);
        let (carries, rests) = (carried.is_some(), carried.is_some_and(|carried| carried.rests));
        let Some(of) = self.open.get(&request) else { return };
        let first = of.answered.map_or(at, |(first, _)| first);
        let pause = first.saturating_sub(of.began).max(ANSWER_PAUSE_NS);
        let pause = if carries { (10 * pause).max(STREAM_PAUSE_NS) } else { pause };
        if (!carries || rests) && of.answered.is_some_and(|(_, last)| at > last + pause) {
            return;
        }
        self.takes(slot, request, None, Taking::Answers, at);
        let worker = self.worker(slot);
        worker.delivered = at;
        if let Some(carried) = &mut worker.carries {
            (carried.answered, carried.rests) = (true, false);
            carried.ledger.marks();
        }
        self.open.entry(request).and_modify(|of| (of.answered, of.front) = (Some((first, at)), slot));
    }

    /// A thread sent something to a peer: for what it works for.
    fn asks(&mut self, slot: Slot, ends: SocketEnds, at: Ns) {
        let has_room = self.connections.contains_key(&ends) || self.has_room(at);
        // Who receives may be heard of before who sends.
        if let Some(Connection::Served(Some(request))) = self.connections.get(&ends.reversed())
            && let Some(of) = self.open.get_mut(request)
        {
            of.within = true;
        }
        let some_left_out = self.some_left_out;
        let asks = match self.worker(slot).carries.as_mut() {
            _ if !has_room => None,
            Some(carried) if carried.request == LEFT_OUT => None,
            Some(carried) if !carried.answered => {
                carried.ledger.settles();
                carried.in_wait = false;
                Some(Connection::Peer(carried.request, Box::new(carried.ledger.clone())))
            }
            // It may be one that is counted only.
            _ if some_left_out => None,
            _ => Some(Connection::Unclaimed(at)),
        };
        match asks {
            Some(asks) => drop(self.connections.insert(ends, asks)),
            None => drop(self.connections.remove(&ends)),
        }
    }

    /// A stack was taken of a thread, which stands for so much of its time.
    pub(super) fn stack(&mut self, slot: Slot, at: Ns, wait: Option<WaitKey>, node: u32, ns: Ns) {
        if !self.begun {
            return;
        }
        // A wait of its scheduler is no wait of a request.
        if wait.is_some() && self.tasks.has(slot) && self.tasks.worker(slot) == slot {
            return;
        }
        self.stack_of(self.tasks.worker(slot), at, wait.map_or(ON_CPU, part), node, ns);
    }

    fn stack_of(&mut self, slot: Slot, at: Ns, part: Part, node: u32, ns: Ns) {
        let worker = self.worker(slot);
        if worker.stacks.len() >= STACKS {
            worker.stacks.pop_front();
        }
        worker.stacks.push_back((at, part, node, ns));
        let carried = worker.carries.as_ref().filter(|of| !of.answered);
        if let Some(of) = carried.map(|of| of.request).and_then(|request| self.open.get_mut(&request)) {
            of.has_stack(part, node, ns);
        }
    }

    /// What was sent last on its connection was the end of its answer.
    fn finishes(&mut self, request: RequestId) {
        let Some(mut of) = self.open.remove(&request) else { return };
        let done = if of.within { &mut self.within } else { &mut self.done };
        if of.began < self.start {
            done.began_before += 1;
            return;
        }
        let Some((_, last)) = of.answered else {
            done.abandoned += 1;
            return;
        };
        let front = self.workers.get_mut(of.front);
        let carried = front.and_then(|front| front.carries.take_if(|carried| carried.request == request));
        let carried = carried.map(|mut carried| {
            carried.ledger.takes_back();
            carried.ledger
        });
        match [carried, of.left.take()].into_iter().flatten().find(|answer| answer.at == last) {
            Some(answer) => {
                let tid = self.workers.get(of.front).map_or(0, |worker| worker.tid);
                done.add(of, tid, answer);
            }
            None => done.lost += 1,
        }
    }

    /// Whether one more connection can be known.
    fn has_room(&mut self, at: Ns) -> bool {
        let is_full = |connections: &FxHashMap<_, _>| connections.len() >= CONNECTIONS;
        if is_full(&self.connections) && at.saturating_sub(self.swept) >= SWEEP_NS {
            self.swept = at;
            self.forgets_local();
        }
        !is_full(&self.connections)
    }

    /// That a local connection ends is heard only where its client ends it: those that were
    /// answered, or asked for what is over, have ended.
    fn forgets_local(&mut self) {
        let awaited = |of: &Connection| match of {
            Connection::Served(request) => request.is_some_and(|request| self.is_awaited(request)),
            Connection::Peer(request, _) => self.is_awaited(*request),
            Connection::Unclaimed(_) => false,
        };
        let ended: Vec<SocketEnds> = self
            .connections
            .iter()
            .filter(|(ends, of)| ends.local_socket().is_some() && !awaited(of))
            .map(|(ends, _)| *ends)
            .collect();
        ended.into_iter().for_each(|ends| self.closed(ends));
    }

    /// A connection has ended.
    pub(super) fn closed(&mut self, ends: SocketEnds) {
        if let Some(Connection::Served(Some(request))) = self.connections.remove(&ends) {
            self.finishes(request);
        }
    }

    /// At the end: what is known of all of them. None where none was seen.
    /// `verdicts`: what waits turned out to be.
    pub(super) fn finish(mut self, verdicts: &Verdicts) -> Option<Distribution> {
        let mut open: Vec<_> = self.open.keys().copied().collect();
        open.sort_unstable();
        for request in open {
            let is_open = |of: &Request| of.answered.is_none() && of.began >= self.start && !of.heard_all;
            match self.open.get(&request).filter(|of| is_open(of)).map(|of| of.within) {
                Some(within) => {
                    let done = if within { &mut self.within } else { &mut self.done };
                    done.under_way += 1;
                    self.open.remove(&request);
                }
                None => self.finishes(request),
            }
        }
        let (done, within) = (self.done, self.within);
        let rank = |of: &Distribution| (of.has_answers(), !of.is_empty());
        let mut best = if rank(&within) > rank(&done) { within } else { done };
        best.kinds = self.kinds;
        best.revise(|part| parts::revised(part, verdicts));
        let asked = self.units.unit != Unit::Request;
        Some(best).filter(|best| asked || !best.is_empty())
    }
}

/// What a thread does, as a part of a request's time.
fn part((state, reason): WaitKey) -> Part {
    match state {
        State::User | State::Kernel => ON_CPU,
        State::Runqueue | State::Throttled => (RequestTime::Thread(state), ReasonKey::None),
        _ => (RequestTime::Thread(state), reason),
    }
}
