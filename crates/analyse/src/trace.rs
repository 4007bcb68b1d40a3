//! The account from events that were all seen: each thread's ledger, and the path that wake-ups
//! weave through them.
//!
//! Forwards, as events arrive. A thread's time since it was last heard of is booked when it is
//! heard of again:
//!
//! ```text
//!   A  ──user──[write──────]──user──┤out       on a CPU: its calls are booked, the rest is its own
//!                    │wake                     a wake-up from the tree hands A's path to B …
//!   B  ─┤out   pipe  └runqueue┤in ──user──     … one from elsewhere leaves B's wait on B's path
//! ```
//!
//! What is booked here is time (`tree`); putting it into words and shares is left to `close`.

mod clocked;
mod close;
mod division;
mod fault_places;
mod files;
mod hand_overs;
mod handover;
mod held;
mod limited;
mod occupants;
mod on_path;
mod prediction;
mod predictor;
mod processes;
mod requests;
mod samples;
mod sends;
mod struck;
mod thread;
mod tree;
mod wall;

use crate::account::{CompletedWait, Path, Progress, Slot, WaitEnd};
use crate::calls::{sends_a_signal, touches_a_peer, waits_for_room};
use crate::classify::{Evidence, becomes_ready, classify, for_a_name, is_for_several};
use crate::code::Code;
use crate::connections::{Connections, Until};
use crate::counted::CounterHit;
use crate::for_work::{HELD_NS_MAX, is_idle};
use crate::keys::{ReasonKey, StackOf, TargetKey, WaitKey};
use crate::names::Names;
use crate::untraced::{Untraced, call_of};
use crate::what_if::program::{Edge, Token};
use crate::what_if::recorder::{Recorder, Waited};
use fault_places::FaultSamples;
use hand_overs::HandedOver;
use model::recording::{
    AttachWindow, Calls, Comm, Counters, Event, Object, SocketEnds, SwitchOut, Trailer, WaitContext,
    WakeReason, Waker,
};
use model::task::TaskDid;
use model::{Call, Header, Ns, Pid, State, Tid};
use processes::Processes;
use requests::ReceivedFrom;
use samples::Samples;
use sends::{Sends, Source, is_local};
use thread::{BlockedIn, NewThread, Thread, TracedState};
use tree::Tree;
use wall::Wall;

pub(crate) use close::Closed;
pub(crate) use processes::Largest;

/// The ledgers as they grow.
#[derive(Debug)]
pub(crate) struct Trace {
    wall: Wall,
    tree: Tree,
    sends: Sends,
    samples: Samples,
    untraced: Untraced,
    names: Names,
    connections: Connections,
    processes: Processes,
    fault_samples: FaultSamples,
    /// What was attached to: then each thread's path is its own, and there is no root.
    window: Option<AttachWindow>,
    /// CPUs of the host.
    cpus: u32,
}

/// A wake-up of a thread of the tree.
#[derive(Debug, Clone, Copy)]
struct WakeUp<'a> {
    at: Ns,
    waker: &'a Waker,
    reasons: &'a [WakeReason],
    /// The calls of the thread that ran, up to now.
    calls: &'a Calls,
    /// The thread of the tree that ran.
    running: Option<Slot>,
}

/// Who ended a wait, and up to when what it tells goes.
#[derive(Debug, Clone, Copy)]
enum EndedBy {
    Running(Slot),
    Sent(Option<Token>),
}

impl Trace {
    pub(crate) fn new(header: &Header) -> Self {
        let start = header.attached.as_ref().map_or(0, |attached| attached.at);
        let names = Names::new(header);
        let mut tree =
            Tree::new(header.root, start, header.attached.is_some(), names.arch, header.units.clone());
        // A window has no end that could come earlier.
        tree.predictor = header.attached.is_none().then(Box::default);
        Self {
            wall: Wall::new(start),
            tree,
            sends: Sends::default(),
            samples: Samples::new(header.sample_period_ns),
            untraced: Untraced::default(),
            names,
            connections: Connections::default(),
            processes: Processes::default(),
            fault_samples: FaultSamples::default(),
            window: header.attached.clone(),
            cpus: header.host.cpus,
        }
    }

    /// What threads do is kept step by step, to be replayed. In a window it has no end.
    /// `functions`: those whose samples are told apart.
    pub(crate) fn records(&mut self, functions: Vec<String>) {
        let recorder = || Recorder::new(self.tree.root, self.cpus, functions);
        self.tree.recorder = self.window.is_none().then(recorder);
    }

    /// No more than this many steps are kept.
    pub(crate) fn keeps(&mut self, steps: u64) {
        self.tree.recorder.iter_mut().for_each(|recorder| recorder.keeps(steps));
    }

    /// Takes one event; what the stack that it may have goes with, if that is of a completed wait.
    /// Events after the end of the root's last thread are ignored.
    pub(crate) fn event(&mut self, event: &Event) -> Option<StackOf> {
        match event {
            // As a rule recorded at the end, about what was before.
            Event::Established { ends, serves, .. } => self.names.roles.observe(*ends, *serves),
            Event::Connection(connection) => {
                self.connections.observe(connection, &self.names.roles);
                if connection.closed {
                    self.tree.requests.closed(connection.ends);
                }
            }
            Event::Lookup(lookup) => self.names.lookups.observe(lookup),
            Event::Path { dev, ino, path } => self.names.files.observe(*dev, *ino, path),
            Event::LocalSocket { ino, serves, name } => self.names.local_sockets.observe(*ino, *serves, name),
            Event::Command { pid, line } => {
                self.tree.runs_command(*pid, line);
                self.processes.runs_command(*pid, line);
            }
            Event::WaitStack { tid, .. } if self.wall.end.is_some() => {
                return self.ended(*tid).map(StackOf::from);
            }
            _ => {}
        }
        let (None, Some(at)) = (self.wall.end, event.at()) else { return None };
        // What comes before a window begins changes what threads are doing, and takes no time of
        // it.
        if self.wall.start == 0 {
            // Of a recording whose beginning is lost; otherwise the first event says when the wall
            // begins.
            self.wall.start = at;
            self.tree.begins(at);
        }
        self.tree.ledgers.slicing.fit(at);
        self.tree.recorder.iter_mut().for_each(|recorder| recorder.heard(at));
        match event {
            Event::Start { .. }
            | Event::Fork { .. }
            | Event::Exec { .. }
            | Event::Rename { .. }
            | Event::Exit { .. }
            | Event::MemoryPeak { .. }
            | Event::Alive { .. } => self.lives(event),
            Event::WaitStack { at, tid, node, weight_ns, .. } => {
                let ended = self.ended(*tid)?;
                self.tree.ledgers.waits.stack(ended.wait, ended.thread, *node, *weight_ns);
                if let Some(slot) = self.tree.slot(*tid) {
                    self.tree.requests.stack(slot, *at, Some(ended.wait), *node, *weight_ns);
                }
                return Some(ended.into());
            }
            Event::AliveStack { tid, node, .. } => {
                if let Some(slot) = self.tree.slot(*tid) {
                    self.tree.get_mut(slot).found_in(*node);
                }
            }
            Event::WakerStack { tid, woken_at, node, .. } => {
                if let Some(ended) = self.ended(*tid).filter(|ended| ended.at == *woken_at) {
                    self.tree.ledgers.waits.ended_from(&ended, *node);
                }
            }
            _ => self.runs(event),
        }
        None
    }

    /// What thread there is, and under what name.
    fn lives(&mut self, event: &Event) {
        match event {
            Event::Start { at, tid } => self.starts(*at, *tid),
            Event::Fork { at, tid, child, pid, name, calls } => {
                if let Some(parent) = self.tree.ran_until(*tid, *at, calls) {
                    let creator = self.tree.get(parent).pid;
                    match child == pid {
                        true => self.processes.begins(*pid, Some(creator), *at),
                        false => self.processes.joined(*pid),
                    }
                    self.forks(parent, *child, *pid, *name);
                }
            }
            Event::Exec { at, tid, pid, old_tid, name, .. } => {
                // A thread that executes takes the number of its group's leader.
                self.tree.renumber(*old_tid, *tid, *name);
                self.processes.executes(*pid, *name, *at);
                if let Some(slot) = self.tree.ran_until(*tid, *at, &Calls::new())
                    && let Some(predictor) = &mut self.tree.predictor
                {
                    predictor.executes(slot, *name);
                    self.tree.recorder.iter_mut().for_each(|recorder| recorder.executes(slot, *name));
                }
            }
            Event::Rename { tid, name, .. } => {
                if let Some(slot) = self.tree.slot(*tid) {
                    self.tree.get_mut(slot).name = *name;
                    self.tree.recorder.iter_mut().for_each(|recorder| recorder.named(slot, *name));
                }
            }
            Event::Exit { at, tid, calls, .. } => self.leaves(*at, *tid, calls),
            Event::MemoryPeak { pid, bytes, .. } => {
                self.processes.peaked(*pid, *bytes);
                self.fault_samples.peaked(*pid, *bytes);
            }
            Event::Alive { tid, pid, name, state, before, .. } => {
                let doing = TracedState::found(state, self.names.arch);
                self.found(*tid, *pid, *name, doing, *before);
            }
            _ => {}
        }
    }

    /// What threads do.
    fn runs(&mut self, event: &Event) {
        match event {
            Event::Switch { at, cpu, out, into } => {
                // Order matters: switching out the root's last thread ends the wall.
                if let Some(out) = out {
                    self.tree.leaves_cpu(*cpu, *at, out.tid);
                }
                if let Some(into) = into {
                    self.tree.switched_in(*cpu, *at, into);
                }
                if let Some(out) = out {
                    self.switched_out(*at, out);
                }
            }
            Event::Woken { at, tid, waker, reasons, calls, .. } => {
                // The waker's own time up to now, before its path is read.
                let running = match waker {
                    Waker::Task { tid, name: None } => self.tree.ran_until(*tid, *at, calls),
                    Waker::Network { over, .. } => self.tree.ran_until(*over, *at, calls),
                    _ => None,
                };
                self.woken(*tid, WakeUp { at: *at, waker, reasons, calls, running });
            }
            Event::Flush { at, tid, calls } => {
                self.tree.ran_until(*tid, *at, calls);
            }
            Event::Sampled { at, tid, mode, period_ns, node, .. } => {
                let sample = self.samples.counted(*at, (*mode).into(), *period_ns);
                let slot = self.tree.slot(*tid).filter(|_| *at >= self.wall.start);
                if let (Some(slot), Some(sample)) = (slot, sample) {
                    let call = call_of(*mode).filter(|_| self.samples.is_untraced(*at));
                    self.tree.sampled(slot, *at, sample, call);
                    if self.samples.is_untraced(*at) {
                        self.untraced.sampled(*mode, sample);
                    }
                    if let Some(predictor) = &mut self.tree.predictor {
                        predictor.sampled(slot, *mode, *period_ns);
                    }
                    if let Some(node) = node {
                        self.tree.requests.stack(slot, *at, None, *node, (*period_ns).into());
                    }
                    let recorder = &mut self.tree.recorder;
                    recorder.iter_mut().for_each(|told| told.sampled(slot, *mode, *node, *period_ns));
                }
            }
            Event::Counted { at, tid, .. } => {
                let slot = self.tree.slot(*tid).filter(|_| *at >= self.wall.start);
                if let (Some(slot), Some(counted)) = (slot, CounterHit::of(event)) {
                    self.tree.counted(slot, *at, counted);
                }
            }
            Event::FaultSampled { at, tid, faults, mapping, node } => {
                if let Some(slot) = self.tree.slot(*tid).filter(|_| *at >= self.wall.start) {
                    self.fault_samples.sampled(self.tree.get(slot).pid, *mapping, *node, *faults);
                }
            }
            Event::Ran { at, from, cpu, tid, pid, name } => {
                self.tree.occupants.observe(*cpu, *from, *at, (*tid, *pid, *name));
            }
            Event::Send { at, tid, ends, calls } => self.sends(*at, *tid, *ends, calls),
            Event::Received { at, tid, ends, arrived, bytes, calls } => {
                if let Some(slot) = self.tree.ran_until(*tid, *at, calls) {
                    let within = self.sends.last(ends.reversed()).is_some();
                    let from = match self.names.roles.serves(*ends) {
                        true => {
                            self.connections.asked(*ends, arrived.unwrap_or(*at));
                            ReceivedFrom::Client { within }
                        }
                        false => ReceivedFrom::Peer(self.names.peer(*ends)),
                    };
                    self.tree.requests.received(slot, (*tid, *ends, from), (*arrived, *at), *bytes);
                }
            }
            Event::RequestKind { at, tid, kind } => self.tree.requests.asks_for(*tid, *at, kind),
            Event::Drawn { at, tid, one_in } => self.tree.requests.drawn(*tid, *at, *one_in),
            Event::Unit { at, tid, begins } => {
                if let Some(slot) = self.tree.slot(*tid) {
                    let name = self.tree.get(slot).name;
                    self.tree.requests.comes_past((slot, *tid, name), *at, *begins);
                }
            }
            Event::Task { did: TaskDid::Unfollowed, .. } => self.tree.requests.follow_no_task(),
            Event::Task { at, tid, task, did } => {
                if let Some(slot) = self.tree.slot(*tid) {
                    let pid = self.tree.get(slot).pid;
                    self.tree.requests.task((slot, *tid, pid), *at, *task, *did);
                }
            }
            Event::LeftOut { at, tid, ends, calls } => {
                if let Some(slot) = self.tree.ran_until(*tid, *at, calls) {
                    // A service that has answered asks for nothing.
                    self.tree.get_mut(slot).asks(None);
                    self.tree.requests.turns_to_left_out(slot, *ends, *at);
                }
            }
            Event::Tracing { at, calls } => self.samples.tracing(*at, *calls),
            Event::Group { group, .. } => {
                let allowed = group.cpus_allowed.value().map(|allowed| self.cpus.min(*allowed));
                let recorder = self.tree.recorder.as_mut().zip(allowed);
                recorder.into_iter().for_each(|(recorder, cpus)| recorder.may_use(cpus));
            }
            Event::Lost { .. } => self.tree.lose_sight(),
            _ => {}
        }
    }

    /// A thread's last completed wait.
    fn ended(&self, tid: Tid) -> Option<CompletedWait> {
        self.tree.by_tid(tid)?.last_wait
    }

    fn starts(&mut self, at: Ns, tid: Tid) {
        self.tree.begins(at);
        let pid = self.tree.root;
        let root = NewThread {
            at,
            tid,
            pid,
            name: Comm::default(),
            path: Path::default(),
            creator: None,
            doing: TracedState::Running,
        };
        let root = self.tree.add(root);
        self.processes.begins(pid, None, at);
        self.tree.occupants.begins(tid, at);
        self.wall.begin(at, root);
    }

    fn forks(&mut self, parent: Slot, tid: Tid, pid: Pid, name: Comm) {
        let Thread { since: at, path, .. } = self.tree.get(parent);
        let path = if self.window.is_some() { Path::default() } else { path.clone() };
        let (creator, doing) = (Some(parent), TracedState::Runnable);
        let child = NewThread { at: *at, tid, pid, name, path, creator, doing };
        let child = self.tree.add(child);
        self.tree.recorder.iter_mut().for_each(|recorder| recorder.forked(parent, child));
        self.tree.requests.forked(parent, child);
        if pid == self.tree.root {
            self.wall.joined();
        }
    }

    /// A thread lived already. Recorded again where it was found to be otherwise than was thought.
    fn found(&mut self, tid: Tid, pid: Pid, name: Comm, doing: TracedState, before: Counters) {
        let (at, path) = (self.wall.start, Path::default());
        let known = self.tree.slot(tid);
        if known.is_none() {
            self.processes.found(pid, name, tid == pid, at);
        }
        let slot = known.unwrap_or_else(|| {
            let doing = TracedState::Runnable;
            self.tree.add(NewThread { at, tid, pid, name, path, creator: None, doing })
        });
        self.tree.becomes(slot, at, doing);
        self.tree.get_mut(slot).before = before;
    }

    fn switched_out(&mut self, at: Ns, out: &SwitchOut) {
        let Some(died) = self.tree.switched_out(at, out) else { return };
        let thread = self.tree.get(died.slot);
        self.processes.left(thread.pid, thread.spent(), died.at);
        if self.tree.get(died.slot).pid == self.tree.root {
            // The program ends with its last thread; another that ended has handed on what it had.
            let ended_before = |last: &Slot| *last != died.slot && self.tree.get(*last).doing.is_dead();
            if let Some(before) = self.wall.last.filter(ended_before) {
                self.tree.retire(before);
            }
            self.wall.left(died.at, died.slot);
        } else {
            self.tree.retire(died.slot);
        }
    }

    fn woken(&mut self, tid: Tid, wake: WakeUp<'_>) {
        let Some(slot) = self.tree.slot(tid) else { return };
        let thread = self.tree.get_mut(slot);
        match &thread.doing {
            TracedState::Blocked(BlockedIn { wait, .. }) => {
                let asked = thread.asked.filter(|ends| self.connections.owes(*ends));
                let wait = awaited(wait, wake, asked);
                self.wait_ends(slot, &wait, wake);
            }
            TracedState::Stopped => {
                self.tree.charge(slot, wake.at, State::Stopped, ReasonKey::None);
                self.tree.becomes(slot, wake.at, TracedState::Runnable);
            }
            // One that was preempted on its way out waits for a CPU, and may block as soon as it
            // has one.
            TracedState::Running | TracedState::Runnable => thread.woken_early = true,
            TracedState::Dead | TracedState::Unknown => {}
        }
    }

    /// A blocked thread is woken: its wait is known as far as it will be, and its path goes on
    /// where the waker's is.
    fn wait_ends(&mut self, slot: Slot, wait: &WaitContext, wake: WakeUp<'_>) {
        let (at, since) = (wake.at, self.tree.get(slot).since);
        let source = self.source(slot, wait, wake);
        let kind = self.record(slot, wait, wake, source.is_some());
        self.hands_over(slot, source, wake, (kind, at.saturating_sub(since)));
        // Its own wait, also where the path goes on with who ended it.
        let by = wake.running.filter(|_| matches!(wake.waker, Waker::Task { .. }));
        let Thread { tid, pid, name, .. } = *self.tree.get(slot);
        self.tree.requests.woken((slot, tid, pid), by, (since, at), kind);
        if kind.0 == State::Sleep {
            self.tree.requests.slept((slot, tid, name), (since, at));
        }
        let mut from = None;
        match source {
            Some(Source::Running(by)) => {
                from = Some((EndedBy::Running(by), self.tree.get(by).since));
                self.tree.held_up_by_thread(slot, by, kind);
            }
            Some(Source::Sent(ends)) => {
                if let Some(sent) = self.sends.last(ends) {
                    from = Some((EndedBy::Sent(sent.token), sent.at));
                    self.tree.held_up_by_sent(slot, sent, kind);
                }
            }
            None => {}
        }
        // What is left: all of it, or the way from the sender to here.
        if at > self.tree.get(slot).since {
            match self.passes(slot, kind.0, wait, wake.waker) {
                Some(progress) => self.tree.let_pass(slot, at, kind, progress),
                None => self.tree.charge_wait(slot, at, kind),
            }
        }
        let from = from.map(|(by, until)| (by, at.saturating_sub(until)));
        self.keep_wait(slot, since, kind, wait, wake, from);
        self.tree.becomes(slot, at, TracedState::Runnable);
    }

    /// Counts a wait that a thread of the tree ended: one that runs, or had sent something.
    fn hands_over(&mut self, slot: Slot, source: Option<Source>, wake: WakeUp<'_>, wait: (WaitKey, Ns)) {
        let runs = || wake.running.filter(|_| matches!(wake.waker, Waker::Task { .. }));
        let by = match source {
            Some(Source::Running(by)) => Some(by),
            Some(Source::Sent(ends)) => self.sends.last(ends).map(|sent| sent.sender),
            None => runs(),
        };
        let thread = self.tree.get_mut(slot);
        thread.handed = None;
        let (to, ledger, (kind, waited_ns)) = (thread.who(), thread.ledger_of, wait);
        // One that ended before a window began does not belong to it.
        let counts = waited_ns > 0 || self.window.is_none();
        let Some(by) = by.filter(|by| *by != slot && counts) else { return };
        let from = self.tree.get(by).who();
        let one = HandedOver { from, to, ledger, wait: kind, waited_ns };
        let row = self.tree.handed.adds(one);
        let thread = self.tree.get_mut(slot);
        thread.handed = row;
        thread.last_wait.iter_mut().for_each(|wait| wait.handed_by = Some(from.tid));
    }

    /// Keeps a completed wait as a step, with where it goes on from and for how long from there.
    fn keep_wait(
        &mut self,
        slot: Slot,
        since: Ns,
        kind: WaitKey,
        wait: &WaitContext,
        wake: WakeUp<'_>,
        from: Option<(EndedBy, Ns)>,
    ) {
        let thread = self.tree.get(slot);
        let (ns, under_way) = (thread.since - since, thread.doing.progress().is_some());
        let Some(recorder) = &mut self.tree.recorder else { return };
        let futex = if let Object::Futex { address } = wait.on { address } else { 0 };
        let exits = |call| matches!(self.names.arch.name(call), Some("exit" | "exit_group"));
        let by_exit = from.is_some() && current(wake.calls).is_some_and(exits);
        let lets_pass = ended_by_nobody(wait, wake.waker);
        let from = from.and_then(|(by, lag_ns)| {
            let token = match by {
                EndedBy::Running(waker) => recorder.releases(waker),
                EndedBy::Sent(token) => token,
            };
            Some(Edge { token: token?, lag_ns })
        });
        recorder.waited(slot, Waited { kind, futex, by_exit, under_way, lets_pass, ns, from });
    }

    /// What of the others' progress takes the place of a completed wait on the path; None where
    /// the wait is the path's whatever they did.
    fn passes(
        &self,
        slot: Slot,
        state: State,
        wait: &WaitContext,
        waker: &Waker,
    ) -> Option<&'static [Progress]> {
        let TracedState::Blocked(blocked) = &self.tree.get(slot).doing else { return None };
        match state {
            _ if self.window.is_some() => None,
            State::Sleep | State::Idle => Some(&Progress::ALL),
            _ if ended_by_nobody(wait, waker) => Some(&Progress::ALL),
            // A loop that waits for whichever of its connections comes first holds nothing up while
            // the tree has the CPUs, or wants them.
            State::Network if blocked.of_several => Some(&[Progress::OnCpu, Progress::Runnable]),
            _ => None,
        }
    }

    /// Records a completed wait in the table of waits; gives its kind. `by_tree`: a thread of the
    /// tree sent what ended it.
    fn record(&mut self, slot: Slot, wait: &WaitContext, wake: WakeUp<'_>, by_tree: bool) -> WaitKey {
        let WakeUp { at, waker, reasons, calls, running } = wake;
        let signalled =
            current(calls).and_then(|call| self.names.arch.name(call)).is_some_and(sends_a_signal);
        let call = self.tree.waits_in(self.tree.get(slot).pid, wait);
        let thread = self.tree.get_mut(slot);
        let begin = thread.since.min(at);
        let ns = at - begin;
        thread.waited.add(self.names.arch, wait.call, ns);
        if let Some(call) = wait.call.filter(|_| !self.samples.traced_through(begin, at)) {
            self.untraced.waited(call, ns);
        }
        let (found, stack) = match &thread.doing {
            TracedState::Blocked(blocked) => (blocked.found, blocked.stack),
            _ => (false, None),
        };
        let file = self.names.file_of(wait);
        let local = self.names.local_sockets.end(&wait.on);
        let roles = Some(&self.names.roles);
        let evidence = Evidence { call, signalled, local, roles, ..Evidence::traced(wait, waker, file) };
        let mut classified = classify(evidence, self.names.arch);
        let in_window = self.window.is_some();
        if (in_window || !by_tree) && is_idle(in_window, classified, evidence, self.names.arch) {
            classified.state = State::Idle;
        }
        let of_a_futex = classified.state == State::Lock && matches!(classified.target, TargetKey::Futex(_));
        if of_a_futex && found && stack.is_none() && ns >= HELD_NS_MAX {
            classified.state = State::Idle;
        }
        let answer = |socket| self.names.lookups.answer(socket, begin, at);
        classified.target = for_a_name(classified.target, wait, waker, answer);
        let kind @ (state, _) = classified.key();
        let by = self.tree.waker(waker);
        let ended = CompletedWait { at, thread: 0, wait: kind, by, ns, handed_by: None };
        let ended = self.tree.ended(slot, ended);
        // One that ended before the window began does not belong to it.
        if ns > 0 || self.window.is_none() {
            let holder = running.filter(|_| state == State::Lock && matches!(waker, Waker::Task { .. }));
            let holder = holder.map(|holder| self.tree.did_since(holder, begin));
            let request = reasons.iter().find_map(|reason| match reason {
                WakeReason::Request(request) if state == State::Disk => Some(*request),
                _ => None,
            });
            self.tree.under_way.waited(state, begin, at);
            self.tree.ledgers.waits.record(
                kind,
                ended.thread,
                ns,
                WaitEnd { waker: ended.by, request, holder },
            );
            if let Some(node) = stack {
                self.tree.ledgers.waits.stack(kind, ended.thread, node, ns);
            }
            self.tree.limited(slot, begin, ended, running);
        }
        if state == State::Network {
            let call = wait.call.and_then(|call| self.names.arch.name(call));
            let until = match call {
                _ if times_out(wait, waker) => Until::TimeWasUp,
                Some(call) if waits_for_room(call) => Until::Room,
                _ => Until::SomethingCame,
            };
            self.connections.waited(wait, waker, until, (begin, at));
        }
        kind
    }

    /// Where the path goes on of a thread whose wait a thread of the tree has ended.
    fn source(&self, slot: Slot, wait: &WaitContext, wake: WakeUp<'_>) -> Option<Source> {
        match wake.waker {
            _ if self.window.is_some() => None,
            Waker::Task { name: None, .. } => {
                wake.running.filter(|waker| *waker != slot).map(Source::Running)
            }
            Waker::Network { ready, .. } => {
                self.sends.source(wait, *ready, wake.running, self.is_in_a_peer_call(wake.calls))
            }
            _ => None,
        }
    }

    fn is_in_a_peer_call(&self, calls: &Calls) -> bool {
        current(calls).and_then(|call| self.names.arch.name(call)).is_some_and(touches_a_peer)
    }

    fn sends(&mut self, at: Ns, tid: Tid, ends: SocketEnds, calls: &Calls) {
        let Some(sender) = self.tree.ran_until(tid, at, calls) else { return };
        self.connections.sent(ends, at);
        self.tree.requests.sent(sender, ends, self.names.roles.serves(ends), at);
        // A service that has answered asks for nothing. Of local sockets limits are not followed: a
        // line for a log must not hide whom the thread has asked.
        if ends.local_socket().is_none() {
            let asks = !self.names.roles.serves(ends);
            self.tree.get_mut(sender).asks(Some(ends).filter(|_| asks));
        }
        let token = self.tree.recorder.as_mut().and_then(|recorder| recorder.releases(sender));
        self.sends.add(ends, |sent| {
            self.tree.sends(sender, sent);
            sent.token = token;
        });
    }

    fn leaves(&mut self, at: Ns, tid: Tid, calls: &Calls) {
        let Some(slot) = self.tree.ran_until(tid, at, calls) else { return };
        let alone =
            calls.iter().any(|call| call.count == 0 && self.names.arch.name(call.call) == Some("exit"));
        if self.tree.get(slot).pid == self.tree.root && !alone && !self.wall.leaving_together {
            // The whole process ends, and this thread says so.
            self.wall.leaving_together = true;
            self.tree.exit_group(slot);
        }
    }

    /// The account, at the end of the recording.
    pub(crate) fn close(self, trailer: &Trailer, code: &Code) -> Closed {
        let Self { wall, tree, untraced, names, connections, processes, fault_samples, window, .. } = self;
        let ended =
            close::TraceAtEnd { wall, tree, untraced, names, connections, processes, fault_samples, window };
        close::close(ended, trailer, code)
    }
}

/// The call that a running thread is in.
fn current(calls: &Calls) -> Option<Call> {
    calls.iter().rev().find(|call| call.count == 0).map(|call| call.call)
}

/// Whether time ended a wait that is not for a device: its limit, or a timer's signal.
fn times_out(wait: &WaitContext, waker: &Waker) -> bool {
    Evidence::traced(wait, waker, TargetKey::External).timed_out()
}

/// Whether time ended a wait that others of the tree may have held up: one for a peer on another
/// host is for that peer.
fn ended_by_nobody(wait: &WaitContext, waker: &Waker) -> bool {
    times_out(wait, waker) && !matches!(wait.on, Object::Net(ends) if !is_local(ends))
}

/// What was waited for. What a thread polls is known from the waker, which works on what became
/// ready; of a local socket on the other end. Where time ended it, it was what the thread has
/// `asked` for and has no answer to.
fn awaited(wait: &WaitContext, wake: WakeUp<'_>, asked: Option<SocketEnds>) -> WaitContext {
    if let Some(ends) = asked.filter(|_| is_for_several(wait) && times_out(wait, wake.waker)) {
        return WaitContext { on: Object::Net(ends), ..*wait };
    }
    let ready = wake.reasons.iter().find_map(|reason| match reason {
        WakeReason::Object(on) if is_for_several(wait) && becomes_ready(on) => Some(on),
        _ => None,
    });
    let on = match ready {
        Some(Object::Unix { ino, peer }) => Object::Unix { ino: *peer, peer: *ino },
        Some(on) => on.clone(),
        None => wait.on.clone(),
    };
    WaitContext { on, ..*wait }
}
