//! The account from events that were all seen: each thread's ledger, and the path that wake-ups weave through them.
//!
//! Forwards, as events arrive. A thread's time since it was last heard of is booked when it is heard of again:
//!
//! ```text
//!   A  ──user──[write──────]──user──┤out          on a CPU: its calls are booked, the rest is its own
//!                    │wake                        a wake-up from the tree hands A's path to B …
//!   B  ─┤out   pipe  └runqueue┤in ──user──        … one from elsewhere leaves B's wait on B's path
//! ```
//!
//! What is booked here is time; putting it into words and shares is `close.rs`.

mod close;
mod division;
mod files;
mod window;

use crate::account::split::{self, Counts, Kind, one};
use crate::account::{
    Activity, ActivityId, Begins, Books, Ended, HolderTimes, Interval, Path, Slicing, Slot, ThreadState,
    Times, WaitEnd,
};
use crate::calls::touches_a_peer;
use crate::classify::{Evidence, becomes_ready, classify, for_a_name, is_for_several};
use crate::connections::Connections;
use crate::keys::{ReasonKey, TargetKey, WakerKey};
use crate::names::Names;
use model::recording::{
    Attached, Calls, Comm, Counters, Ends, Event, In, Left, Object, Out, Wait, WakeReason, Waker,
};
use model::{Call, Header, Ns, Pid, State, Tid};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub(crate) use close::Closed;

/// A thread, by its place in [`Trace::threads`].
type Index = Slot;

/// Threads that have a ledger of their own. Of what comes after, those that end share one: a build of an hour starts
/// hundreds of thousands of processes, and memory is not to grow with them.
const OWN_LEDGERS: usize = 20_000;

/// Connections within this host whose last send is remembered. Past it all are forgotten: an answer still on its way
/// then stays a wait.
const SENDS: usize = 8192;

/// What a thread does, as far as it has been heard of.
type Doing = ThreadState<BlockedIn>;

/// A wait that a thread is in.
#[derive(Debug, Clone)]
struct BlockedIn {
    wait: Wait,
    /// A wake-up was seen before the switch: it may have been for this wait.
    woken_early: bool,
}

#[derive(Debug)]
struct Thread {
    pid: Pid,
    tid: Tid,
    name: Comm,
    doing: Doing,
    /// Booked up to here; the path too.
    since: Ns,
    born: Ns,
    path: Path,
    /// A wake-up came while it ran, or was on its way out.
    woken_early: bool,
    /// It came onto a CPU and nothing has been booked since.
    just_came: bool,
    /// Its last wait that is over: stacks of it come later.
    last_wait: Option<Ended>,
    /// Events were lost: what it did since is not known.
    doubtful: bool,
    states: Times,
    samples: Counts,
    counters: Option<Counters>,
    /// What the kernel had counted when the thread was found alive.
    before: Counters,
    /// What it did while others waited for locks.
    holder: HolderTimes,
    /// How it waited, for whether it did anything in a window.
    waited: window::Waited,
    /// Whose ledger its time is in: its own, or the one that is shared by the many.
    ledger_of: Index,
    own: ActivityId,
}

/// What a thread was last known to have sent, for the other end that a soft interrupt wakes later.
#[derive(Debug)]
struct Sent {
    sender: Index,
    at: Ns,
    path: Path,
}

/// The ledgers as they grow.
#[derive(Debug)]
pub(crate) struct Trace {
    root: Pid,
    sample_period_ns: Ns,
    start: Ns,
    end: Option<Ns>,
    books: Books,
    threads: Vec<Thread>,
    /// The shared ledger, once there is one, and the slots that are free again.
    shared: Option<Index>,
    free: Vec<Index>,
    by_tid: FxHashMap<Tid, Index>,
    sent: FxHashMap<Ends, Sent>,
    /// When the latest waits for locks began.
    begins: Begins,
    names: Names,
    connections: Connections,
    root_alive: u32,
    leaving_together: bool,
    last: Option<Index>,
    lost: u64,
    /// When the tracing of calls was last taken off, and on again.
    tracing: (Ns, Ns),
    /// How often a thread came onto a CPU.
    came: u64,
    /// What was attached to: then each thread's path is its own, and there is no root.
    window: Option<Attached>,
}

impl Trace {
    pub(crate) fn new(header: &Header) -> Self {
        let start = header.attached.as_ref().map_or(0, |attached| attached.at);
        Self {
            root: header.root,
            sample_period_ns: header.sample_period_ns,
            start,
            end: None,
            books: Books::new(Slicing::fine(start)),
            threads: Vec::new(),
            shared: None,
            free: Vec::new(),
            by_tid: FxHashMap::default(),
            sent: FxHashMap::default(),
            begins: Begins::default(),
            names: Names::new(header),
            connections: Connections::default(),
            root_alive: 0,
            leaving_together: false,
            last: None,
            lost: 0,
            tracing: (Ns::MAX, 0),
            came: 0,
            window: header.attached.clone(),
        }
    }

    /// Whether calls were not traced then.
    fn untraced(&self, at: Ns) -> bool {
        let (off, on) = self.tracing;
        if off == Ns::MAX {
            false
        } else if off > on {
            at >= off
        } else {
            at >= off && at < on
        }
    }

    /// Takes one event. Events after the end of the root's last thread are ignored.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            // Told when all is over, as a rule, of what was before.
            Event::Connection(connection) => return self.connections.told(connection),
            Event::Lookup(lookup) => return self.names.lookups.told(lookup),
            Event::Path { dev, ino, path } => return self.names.files.told(*dev, *ino, path),
            _ => {}
        }
        let (None, Some(at)) = (self.end, event.at()) else { return };
        // What comes before a window begins changes what threads are doing, and takes no time of it.
        if self.start == 0 {
            // Of a recording whose beginning is lost; otherwise the first event says when the wall begins.
            self.start = at;
            self.books.slicing = Slicing::fine(at);
        }
        self.books.slicing.fit(at);
        match event {
            Event::Switch { at, out, into, .. } => {
                // Who came first: the leaver may be the root's last thread, which closes the books.
                if let Some(into) = into {
                    self.came(*at, into);
                }
                if let Some(out) = out {
                    self.left(*at, out);
                }
            }
            Event::Woken { at, tid, waker, reasons, calls, .. } => {
                self.woken(*at, *tid, waker, reasons, calls);
            }
            Event::Flush { at, tid, calls } => {
                self.ran_until(*tid, *at, calls);
            }
            Event::Sampled { at, tid, mode, period_ns, .. } => {
                self.sampled(*at, *tid, (*mode).into(), *period_ns);
            }
            Event::Send { at, tid, ends, calls } => self.sends(*at, *tid, *ends, calls),
            Event::Start { at, tid } => {
                self.start = *at;
                self.books.slicing = Slicing::fine(*at);
                self.root_alive = 1;
                self.last =
                    Some(self.born(*at, *tid, self.root, Comm::default(), Path::default(), Doing::Running));
            }
            Event::Fork { at, tid, child, pid, name, calls } => {
                let Some(parent) = self.ran_until(*tid, *at, calls) else { return };
                let path = if self.window.is_some() {
                    Path::default()
                } else {
                    self.threads[parent as usize].path.clone()
                };
                let since = self.threads[parent as usize].since;
                self.born(since, *child, *pid, *name, path, Doing::Runnable);
                if *pid == self.root {
                    self.root_alive += 1;
                }
            }
            Event::Exec { at, tid, old_tid, name, .. } => {
                // A thread that executes takes the number of its group's leader.
                if let Some(index) = self.by_tid.remove(old_tid) {
                    self.by_tid.insert(*tid, index);
                    let thread = &mut self.threads[index as usize];
                    thread.tid = *tid;
                    thread.name = *name;
                }
                self.ran_until(*tid, *at, &Calls::new());
            }
            Event::Exit { at, tid, calls, .. } => self.leaves(*at, *tid, calls),
            Event::Rename { tid, name, .. } => {
                if let Some(index) = self.by_tid.get(tid) {
                    self.threads[*index as usize].name = *name;
                }
            }
            Event::Lost { events, .. } => {
                self.lost += events;
                for thread in &mut self.threads {
                    thread.doubtful |= thread.doing.is_active();
                }
            }
            Event::WaitStack { tid, node, weight_ns, .. } => {
                if let Some(ended) = self.ended(*tid) {
                    self.books.waits.stack(ended.wait, *node, *weight_ns);
                }
            }
            Event::WakerStack { tid, woken_at, node, .. } => {
                if let Some(ended) = self.ended(*tid).filter(|ended| ended.at == *woken_at) {
                    self.books.waits.ended_from(&ended, *node);
                }
            }
            Event::Tracing { at, calls: true } => self.tracing.1 = *at,
            Event::Tracing { at, calls: false } => self.tracing.0 = *at,
            Event::Look { .. }
            | Event::Place { .. }
            | Event::Node { .. }
            | Event::SampleStack { .. }
            | Event::Named { .. }
            | Event::Path { .. }
            | Event::Connection(_)
            | Event::Lookup(_)
            | Event::Surroundings { .. } => {}
            // The joiner leaves none of these.
            Event::Wake { .. } | Event::Sample { .. } | Event::Because { .. } | Event::Page { .. } => {}
            Event::Alive { tid, pid, name, state, before, .. } => {
                self.found(*tid, *pid, *name, state, *before);
            }
        }
    }

    /// In which state a thread blocked last.
    pub(crate) fn last_wait(&self, tid: Tid) -> Option<State> {
        self.ended(tid).map(|ended| ended.wait.0)
    }

    fn ended(&self, tid: Tid) -> Option<Ended> {
        let index = self.by_tid.get(&tid)?;
        self.threads[*index as usize].last_wait
    }

    fn born(&mut self, at: Ns, tid: Tid, pid: Pid, name: Comm, path: Path, doing: Doing) -> Index {
        let many = self.threads.len() >= OWN_LEDGERS && pid != self.root;
        if many && self.shared.is_none() {
            let name = Comm::from("(others)");
            self.shared = Some(self.place_thread(0, 0, 0, name, Path::default(), Doing::Dead, None));
        }
        let shared = self.shared.filter(|_| many);
        let index = self.place_thread(at, tid, pid, name, path, doing, shared);
        self.by_tid.insert(tid, index);
        index
    }

    fn place_thread(
        &mut self,
        at: Ns,
        tid: Tid,
        pid: Pid,
        name: Comm,
        path: Path,
        doing: Doing,
        shared: Option<Index>,
    ) -> Index {
        let index = self.free.pop().unwrap_or(self.threads.len() as Index);
        let ledger_of = shared.unwrap_or(index);
        let own = self.books.activities.id(Activity::seen(ledger_of, State::User, ReasonKey::None));
        let thread = Thread {
            pid,
            tid,
            name,
            doing,
            since: at,
            born: at,
            path,
            woken_early: false,
            just_came: true,
            last_wait: None,
            doubtful: false,
            states: Times::default(),
            samples: Counts::default(),
            counters: None,
            before: Counters::default(),
            holder: HolderTimes::default(),
            waited: window::Waited::default(),
            ledger_of,
            own,
        };
        match self.threads.get_mut(index as usize) {
            Some(slot) => *slot = thread,
            None => self.threads.push(thread),
        }
        index
    }

    /// Adds the ledger of one of the many that has ended to the shared one, and frees its slot.
    fn share_ledger(&mut self, index: Index, shared: Index) {
        let thread = &self.threads[index as usize];
        let (life, states, samples) = (thread.since - thread.born, thread.states, thread.samples);
        let counters = thread.counters.unwrap_or_default();
        let sum = &mut self.threads[shared as usize];
        sum.since += life;
        sum.states.add_all(states);
        split::add(&mut sum.samples, samples);
        let all = sum.counters.get_or_insert_default();
        all.cpu_ns += counters.cpu_ns;
        all.runqueue_ns += counters.runqueue_ns;
        all.minor_faults += counters.minor_faults;
        all.major_faults += counters.major_faults;
        all.voluntary_switches += counters.voluntary_switches;
        all.involuntary_switches += counters.involuntary_switches;
        self.free.push(index);
    }

    /// What a thread did, as its ledger has it.
    fn activity(&self, index: Index, state: State, reason: ReasonKey) -> Activity {
        Activity::seen(self.threads[index as usize].ledger_of, state, reason)
    }

    /// The thread with whose path its time is booked: in a window, the many that share a ledger
    /// share that too.
    fn path_of(&self, index: Index) -> Index {
        if self.window.is_some() { self.threads[index as usize].ledger_of } else { index }
    }

    /// Books a thread's time up to `at` as all of one kind.
    fn book(&mut self, index: Index, at: Ns, state: State, reason: ReasonKey) {
        let activity = self.activity(index, state, reason);
        let path_of = self.path_of(index);
        let thread = &mut self.threads[index as usize];
        let interval = Interval { activity, from: thread.since, to: at.max(thread.since) };
        if interval.ns() == 0 && self.window.is_some() {
            return;
        }
        thread.states.add(state, interval.ns());
        thread.holder.add(&self.begins, interval.from, interval.to, &[(state, interval.ns())]);
        thread.since = interval.to;
        self.books.book(&mut self.threads[path_of as usize].path, &interval, true);
    }

    /// Books a running thread's time up to `at`: its calls, and the rest as its own. Whatever is heard of a thread
    /// that runs begins with this.
    fn ran_until(&mut self, tid: Tid, at: Ns, calls: &Calls) -> Option<Index> {
        let index = *self.by_tid.get(&tid)?;
        let thread = &self.threads[index as usize];
        if thread.doubtful {
            self.threads[index as usize].doubtful = false;
            self.threads[index as usize].doing = Doing::Running;
            self.book(index, at, State::Unexplained, ReasonKey::None);
            return Some(index);
        }
        match &thread.doing {
            Doing::Running => {}
            // It was not seen to come onto its CPU.
            _ => {
                self.book(index, at, State::Unexplained, ReasonKey::NoWakeUp);
                self.threads[index as usize].doing = Doing::Running;
                return Some(index);
            }
        }
        let since = thread.since;
        let at = at.max(since);
        let mut room = at - since;
        let mut inside: SmallVec<[(ActivityId, Ns, u64); 8]> = SmallVec::new();
        for call in calls {
            let activity = self.activity(index, State::Kernel, ReasonKey::Syscall(call.call));
            let ns = call.ns.min(room);
            room -= ns;
            inside.push((self.books.activities.id(activity), ns, u64::from(call.count)));
        }
        let (path_of, slicing) = (self.path_of(index), self.books.slicing);
        let thread = &mut self.threads[index as usize];
        let parts = [(State::Kernel, at - since - room), (State::User, room)];
        parts.iter().for_each(|(state, ns)| thread.states.add(*state, *ns));
        thread.holder.add(&self.begins, since, at, &parts);
        let (own, begun) = (thread.own, std::mem::take(&mut thread.just_came));
        thread.since = at;
        self.threads[path_of as usize].path.add(slicing, since, at, &inside, own, begun);
        Some(index)
    }

    fn left(&mut self, at: Ns, out: &Out) {
        let Some(index) = self.ran_until(out.tid, at, &out.calls) else { return };
        let thread = &mut self.threads[index as usize];
        let woken_early = std::mem::take(&mut thread.woken_early);
        thread.doing = match &out.left {
            Left::Runnable => Doing::Runnable,
            Left::Blocked(wait) => {
                if matches!(wait.on, Object::Futex { .. }) {
                    self.begins.add(thread.since);
                }
                Doing::Blocked(BlockedIn { wait: wait.clone(), woken_early })
            }
            Left::Stopped => Doing::Stopped,
            Left::Dead(counters) => {
                // Whoever died has run; without that, the record of its counters was lost.
                // Its time is told from when it was of the tree, the rest from its birth.
                let before = Counters { cpu_ns: 0, runqueue_ns: 0, ..thread.before };
                thread.counters = (counters.cpu_ns > 0).then(|| close::since(*counters, before));
                Doing::Dead
            }
        };
        if matches!(thread.doing, Doing::Dead) {
            let (pid, since) = (thread.pid, thread.since);
            self.by_tid.remove(&out.tid);
            if pid == self.root {
                self.last = Some(index);
                self.root_alive = self.root_alive.saturating_sub(1);
                if self.root_alive == 0 {
                    self.end = Some(since);
                }
            } else {
                let thread = &mut self.threads[index as usize];
                // Nobody continues on a dead thread's path: who waited for it has it by now. In a window it is the
                // thread's own.
                if self.window.is_none() {
                    thread.path = Path::default();
                }
                if thread.ledger_of != index {
                    let shared = thread.ledger_of;
                    self.share_ledger(index, shared);
                }
            }
        }
    }

    fn came(&mut self, at: Ns, into: &In) {
        let Some(index) = self.by_tid.get(&into.tid).copied() else { return };
        let thread = &mut self.threads[index as usize];
        thread.just_came = true;
        self.came += 1;
        if std::mem::take(&mut thread.doubtful) {
            self.book(index, at, State::Unexplained, ReasonKey::None);
        } else {
            match &thread.doing {
                Doing::Runnable | Doing::Blocked(BlockedIn { woken_early: true, .. }) => {
                    let reason = match into.ran {
                        Some((0, _)) => ReasonKey::IdleCpu,
                        Some((_, name)) => ReasonKey::Preempted(name),
                        None => ReasonKey::PreemptedUnseen,
                    };
                    let throttled = into.throttled_ns.min(at.saturating_sub(thread.since));
                    if throttled > 0 {
                        let until = thread.since + throttled;
                        self.book(index, until, State::Throttled, ReasonKey::None);
                    }
                    self.book(index, at, State::Runqueue, reason);
                }
                Doing::Stopped => self.book(index, at, State::Stopped, ReasonKey::None),
                Doing::Blocked(_) => {
                    let kind = (State::Unexplained, ReasonKey::NoWakeUp);
                    self.books.waits.record(kind, at.saturating_sub(thread.since), WaitEnd::UNKNOWN);
                    self.book(index, at, State::Unexplained, ReasonKey::NoWakeUp);
                }
                Doing::Running | Doing::Dead | Doing::Unknown => {
                    self.book(index, at, State::Unexplained, ReasonKey::None);
                }
            }
        }
        self.threads[index as usize].doing = Doing::Running;
    }

    fn waker(&self, waker: &Waker) -> WakerKey {
        match waker {
            Waker::Task { name: Some(name), .. } => WakerKey::Outside(*name),
            Waker::Task { tid, name: None } => match self.by_tid.get(tid) {
                Some(index) => WakerKey::Thread(self.threads[*index as usize].name),
                None => WakerKey::Unknown,
            },
            Waker::Timer => WakerKey::Timer,
            Waker::Device => WakerKey::Device,
            Waker::Network { .. } => WakerKey::Network,
            Waker::Interrupt => WakerKey::Interrupt,
            Waker::Unknown => WakerKey::Unknown,
        }
    }

    fn woken(&mut self, at: Ns, tid: Tid, waker: &Waker, reasons: &[WakeReason], calls: &Calls) {
        // The waker's own time up to now, before its path is looked at.
        let running = match waker {
            Waker::Task { tid, name: None } => self.ran_until(*tid, at, calls),
            Waker::Network { over, .. } if self.by_tid.contains_key(over) => self.ran_until(*over, at, calls),
            _ => None,
        };
        let Some(index) = self.by_tid.get(&tid).copied() else { return };
        let thread = &mut self.threads[index as usize];
        let wait = match &thread.doing {
            Doing::Blocked(BlockedIn { wait, .. }) => told_by(wait, reasons),
            Doing::Stopped => {
                self.book(index, at, State::Stopped, ReasonKey::None);
                self.threads[index as usize].doing = Doing::Runnable;
                return;
            }
            Doing::Running => {
                thread.woken_early = true;
                return;
            }
            Doing::Runnable | Doing::Dead | Doing::Unknown => return,
        };
        let ns = at.saturating_sub(thread.since);
        thread.waited.add(self.names.arch, wait.call, ns);
        let about = self.about(&wait);
        let mut classified = classify(Evidence::traced(&wait, waker, about), self.names.arch);
        let answer = |socket| self.names.lookups.answer(socket, at.saturating_sub(ns), at);
        classified.target = for_a_name(classified.target, &wait, waker, answer);
        let (state, reason) = classified.key();
        let by = self.waker(waker);
        self.threads[index as usize].last_wait = Some(Ended { at, wait: (state, reason), by, ns });
        // One that was over before the window began is none of it.
        if ns > 0 || self.window.is_none() {
            let holder = running.filter(|_| state == State::Lock && matches!(waker, Waker::Task { .. }));
            let holder = holder.map(|waker| self.threads[waker as usize].holder.since(at.saturating_sub(ns)));
            let request = reasons.iter().find_map(|reason| match reason {
                WakeReason::Request(request) if state == State::Disk => Some(*request),
                _ => None,
            });
            self.books.waits.record((state, reason), ns, WaitEnd { waker: by, request, holder });
        }
        if state == State::Network {
            self.connections.waited(&wait, waker, ns);
        }
        let source = match waker {
            _ if self.window.is_some() => None,
            Waker::Task { name: None, .. } => running.filter(|waker| *waker != index).map(Source::Running),
            Waker::Network { ready, .. } => self.sender(&wait, *ready, running, calls),
            _ => None,
        };
        let (path, until) = match source {
            Some(Source::Running(waker)) => {
                let waker = &self.threads[waker as usize];
                (waker.path.clone(), waker.since)
            }
            Some(Source::Sent(ends)) => (self.sent[&ends].path.clone(), self.sent[&ends].at),
            None => (Path::default(), 0),
        };
        let thread = &mut self.threads[index as usize];
        // Two clocks may be a few hundred nanoseconds apart; and what was sent before this thread blocked did not
        // hold it up. Then it keeps its own path.
        if until > thread.since {
            thread.states.add(state, until - thread.since);
            thread.holder.add(&self.begins, thread.since, until, &[(state, until - thread.since)]);
            thread.path = path;
            thread.since = until;
        }
        // What is left: all of it, or the way from the sender to here.
        if at > self.threads[index as usize].since {
            self.book(index, at, state, reason);
        }
        self.threads[index as usize].doing = Doing::Runnable;
    }

    /// The file, or swap, that a wait is about if it is about one.
    fn about(&mut self, wait: &Wait) -> TargetKey {
        match wait.on {
            Object::SwapPage => TargetKey::Swap,
            Object::Page { dev, ino } => TargetKey::File(self.names.files.at(dev, ino)),
            _ => TargetKey::File(self.names.files.of(&wait.on)),
        }
    }

    /// Who of the tree is at the other end of a socket that became ready in a soft interrupt.
    fn sender(&self, wait: &Wait, ready: Option<Ends>, over: Option<Index>, calls: &Calls) -> Option<Source> {
        let ends = match (&wait.on, ready) {
            (_, Some(ready)) => Some(ready),
            (model::recording::Object::Net(ends), None) => Some(*ends),
            _ => None,
        };
        let last_sent = ends.map(Ends::reversed).filter(|ends| self.sent.contains_key(ends));
        let sender_runs = over.filter(|over| {
            let known = last_sent.is_some_and(|ends| self.sent[&ends].sender == *over);
            // Its first word on a connection is not known as such before its call is over: being in a call that
            // can have done it, while a socket of this host became ready, is taken for it.
            known || (ends.is_none_or(is_local) && last_sent.is_none() && self.is_in_a_peer_call(calls))
        });
        sender_runs.map(Source::Running).or(last_sent.map(Source::Sent))
    }

    fn is_in_a_peer_call(&self, calls: &Calls) -> bool {
        let current: Option<Call> = calls.iter().rev().find(|call| call.count == 0).map(|call| call.call);
        current.and_then(|call| self.names.arch.name(call)).is_some_and(touches_a_peer)
    }

    fn sends(&mut self, at: Ns, tid: Tid, ends: Ends, calls: &Calls) {
        let Some(sender) = self.ran_until(tid, at, calls) else { return };
        self.connections.sent(ends);
        if is_local(ends) {
            let path = self.threads[sender as usize].path.clone();
            let at = self.threads[sender as usize].since;
            if self.sent.len() >= SENDS && !self.sent.contains_key(&ends) {
                self.sent.clear();
            }
            self.sent.insert(ends, Sent { sender, at, path });
        }
    }

    fn leaves(&mut self, at: Ns, tid: Tid, calls: &Calls) {
        let Some(index) = self.ran_until(tid, at, calls) else { return };
        let thread = &self.threads[index as usize];
        let alone =
            calls.iter().any(|call| call.count == 0 && self.names.arch.name(call.call) == Some("exit"));
        if thread.pid != self.root || alone || self.leaving_together {
            return;
        }
        // The whole process ends, and this thread says so: what the others do from here on is its doing.
        self.leaving_together = true;
        let (path, since) = (thread.path.clone(), thread.since);
        for other in 0..self.threads.len() as Index {
            let thread = &mut self.threads[other as usize];
            if other == index || thread.pid != self.root || matches!(thread.doing, Doing::Dead) {
                continue;
            }
            match &thread.doing {
                Doing::Running if since > thread.since => {
                    thread.states.add(State::User, since - thread.since);
                    thread.since = since;
                }
                Doing::Runnable if since > thread.since => {
                    thread.states.add(State::Runqueue, since - thread.since);
                    thread.since = since;
                }
                // A blocked one is woken by the signal of the leaver, which hands over the path by itself.
                _ => continue,
            }
            if thread.since == since {
                thread.path = path.clone();
            }
        }
    }

    fn sampled(&mut self, at: Ns, tid: Tid, kind: Kind, period_ns: u32) {
        // Time in calls is measured where they are traced; it needs no samples.
        if kind == Kind::Call && !self.untraced(at) {
            return;
        }
        let Some(index) = self.by_tid.get(&tid).copied().filter(|_| at >= self.start) else { return };
        let (path_of, slicing) = (self.path_of(index), self.books.slicing);
        let weight = (Ns::from(period_ns) / self.sample_period_ns.max(1)).clamp(1, 1000) as u32;
        let thread = &mut self.threads[index as usize];
        let sample = one(kind, weight);
        split::add(&mut thread.samples, sample);
        let (own, at) = (thread.own, at.max(self.start));
        self.threads[path_of as usize].path.sample(slicing, at, own, sample);
    }
}

/// Where a woken thread's path continues.
enum Source {
    /// On a thread that runs now.
    Running(Index),
    /// On what was last sent from these ends.
    Sent(Ends),
}

/// What was waited for. What a thread polls is told by the waker, who works on what became ready.
fn told_by(wait: &Wait, reasons: &[WakeReason]) -> Wait {
    let ready = reasons.iter().find_map(|reason| match reason {
        WakeReason::Object(on) if is_for_several(wait) && becomes_ready(on) => Some(on),
        _ => None,
    });
    ready.map_or_else(|| wait.clone(), |on| Wait { on: on.clone(), ..wait.clone() })
}

/// Whether both ends are on this host: the same address, or a loopback one.
fn is_local(ends: Ends) -> bool {
    let loopback = |address: [u8; 16]| {
        let address = std::net::Ipv6Addr::from(address);
        address.to_canonical().is_loopback()
    };
    ends.local == ends.remote || loopback(ends.remote) || loopback(ends.local)
}
