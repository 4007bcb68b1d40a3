//! The account where wake-ups and calls cannot be seen: from switches and looks (tier `perf`), or from looks
//! alone (tier `proc`). Coarser than the account of tier `bpf`, and closed like it.
//!
//! Events are held back until a look that is younger than they are has come, so that a wait can be given the reason
//! that the look saw; memory holds what comes between two looks, and what has ended.
//!
//! ```text
//! tier perf   events say when, looks say what      switch-out |------- wait -------| switch-in
//!                                                                look: "read, pipe"
//! tier proc   each look speaks for the time        look A: user    look B: sleeps
//!             around it, half-way to the next       user |  user    sleep  |  sleep
//! ```
//!
//! Where the path goes on from a wait is left to `tree`, what a wait is about to `wait`.

mod ledger;
mod tree;
mod wait;
mod window;

use crate::names::Names;
use crate::pieces::Pieces;
use crate::split::Kind;
use ledger::{Evidence, Ledger, Slices};
use model::recording::{Attached, Header, Left, Looked as Snapshot, Tier, Trailer};
use model::run::{Faults, Thread as ThreadRow, WaitRow};
use model::{Event, Ns, Pid, Seen, Tid};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use tree::{Doing, Mix, Newcomer, Tree, WaitId};

/// Events come at most this much later than a look that was taken after them.
const LATE_NS: Ns = 5_000_000;
/// A look speaks for no more than this to either side, in tier `proc`; beyond, nothing is known.
const REACH_NS: Ns = 50_000_000;
/// Unit in which `/proc` gives user and kernel time: what is added at once is one sample.
const TICK_NS: Ns = 10_000_000;
/// So many events without a look are worked through all the same, lest memory grow.
const HELD_MAX: usize = 1 << 20;

/// The account in the making.
#[derive(Debug)]
pub(crate) struct Poll {
    root: Pid,
    tier: Tier,
    names: Names,
    period_ns: Ns,
    tree: Tree,
    /// From the start of the wall on.
    ledger: Option<Ledger>,
    /// The end of the wall, where an event told it.
    ended_at: Option<Ns>,
    held: Vec<Event>,
    looks: VecDeque<(Ns, Vec<Snapshot>)>,
    newest: Ns,
    /// The root's first `execve` was seen.
    executed: bool,
    last_look: Option<Ns>,
    looks_within: u64,
    /// Threads that told of their end and may be seen in `/proc` for a while yet.
    gone: FxHashSet<Tid>,
    kernel_samples: u64,
    pooled: Mix,
    runnable: FxHashMap<Tid, (Ns, Ns)>,
    /// What was attached to: then every thread's own time counts, and there is no path.
    window: Option<Attached>,
}

/// The account, and what it rests on.
#[derive(Debug)]
pub(crate) struct Closed {
    /// What goes into the run.
    pub(crate) pieces: Pieces,
    /// Page faults that were seen of threads that were looked at.
    pub(crate) faults: Faults,
    /// Time on a CPU of all threads in a window, where both the switches and the scheduler tell.
    pub(crate) cpu: Option<Counted>,
    /// What the reader must know.
    pub(crate) notes: Vec<String>,
}

/// Time on a CPU as the switches and as the scheduler have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) ours_ns: Ns,
    pub(crate) theirs_ns: Ns,
    /// How often a thread came onto a CPU.
    pub(crate) switches: u64,
}

impl Poll {
    /// For the recording that begins with `header`, of tier `perf` or `proc`.
    pub(crate) fn new(header: &Header) -> Self {
        let mut tree = Tree::new(header.root);
        let start = header.attached.as_ref().map(|attached| attached.at);
        tree.slices = start.map(Slices::new);
        Self {
            root: header.root,
            tier: header.tier,
            names: Names::new(header),
            period_ns: header.sample_period_ns,
            tree,
            ledger: start.map(Ledger::new),
            ended_at: None,
            held: Vec::new(),
            looks: VecDeque::new(),
            newest: 0,
            executed: false,
            last_look: None,
            looks_within: 0,
            gone: FxHashSet::default(),
            kernel_samples: 0,
            pooled: Mix::default(),
            runnable: FxHashMap::default(),
            window: header.attached.clone(),
        }
    }

    /// Takes the next event. Events and looks may come up to 5 ms out of order.
    pub(crate) fn event(&mut self, event: &Event) {
        let Some(at) = event.at() else { return };
        self.newest = self.newest.max(at);
        match event {
            Event::Look { at, threads } => self.looks.push_back((*at, threads.clone())),
            other => self.held.push(other.clone()),
        }
        while self.looks.front().is_some_and(|(at, _)| at + LATE_NS <= self.newest) {
            self.next_look();
        }
        if self.held.len() > HELD_MAX {
            let events = self.take_until(self.newest - LATE_NS);
            self.events(&events, &FxHashMap::default());
        }
    }

    /// The account, when all is over.
    pub(crate) fn close(mut self, trailer: &Trailer) -> Closed {
        while !self.looks.is_empty() {
            self.next_look();
        }
        let events = self.take_until(Ns::MAX);
        self.events(&events, &FxHashMap::default());
        let end = self.ended_at.unwrap_or(trailer.reaped_at).min(trailer.reaped_at);
        self.advance_past_looks(end, trailer);
        self.closed(end, trailer)
    }

    fn take_until(&mut self, at: Ns) -> Vec<Event> {
        let (mut now, later) =
            std::mem::take(&mut self.held).into_iter().partition::<Vec<_>, _>(|event| event.at() <= Some(at));
        self.held = later;
        now.sort_by_key(Event::at);
        now
    }

    /// Works through the oldest look and the events before it.
    fn next_look(&mut self) {
        let Some((at, threads)) = self.looks.pop_front() else { return };
        let events = self.take_until(at);
        let at = at.max(self.begin());
        let mut waits = FxHashMap::default();
        for looked in threads.iter().filter(|looked| matches!(looked.state, b'S' | b'D')) {
            let id = self.tree.id(wait::wait(looked, &mut self.names));
            waits.insert(looked.tid, id);
        }
        self.events(&events, &waits);
        // All dead: it says nothing of what they did, but that their window is over.
        if self.window.is_some() || threads.iter().any(|looked| !matches!(looked.state, b'Z' | b'X')) {
            self.look(at, threads, &waits);
            self.last_look = Some(at);
        }
    }

    /// What comes before a window begins changes what threads are doing, and takes no time of it.
    fn begin(&self) -> Ns {
        self.window.as_ref().map_or(0, |attached| attached.at)
    }

    /// Events, oldest first, up to a look that saw these waits.
    fn events(&mut self, events: &[Event], waits: &FxHashMap<Tid, WaitId>) {
        // Those that were still off their CPU when the look came: it saw that wait.
        let mut lasting: FxHashMap<Tid, usize> = FxHashMap::default();
        let mut blind_until = None;
        for (index, event) in events.iter().enumerate() {
            match event {
                Event::Switch { out, into, .. } => {
                    if let Some(into) = into {
                        lasting.remove(&into.tid);
                    }
                    if let Some(out) = out {
                        lasting.insert(out.tid, index);
                    }
                }
                Event::Lost { at, .. } => blind_until = blind_until.max(Some(*at)),
                _ => {}
            }
        }
        if blind_until.is_some() {
            self.lose_sight();
        }
        for (index, event) in events.iter().enumerate() {
            let seen =
                |tid: &Tid| lasting.get(tid).filter(|last| **last == index).and_then(|_| waits.get(tid));
            let blind = blind_until.is_some_and(|until| event.at() <= Some(until));
            self.happens(event, |tid| seen(&tid).copied(), blind);
        }
    }

    /// What the threads do is not known until they are next heard of.
    fn lose_sight(&mut self) {
        self.lose_sight_of(|_| true);
    }

    fn lose_sight_of(&mut self, lost: impl Fn(Tid) -> bool) {
        let Some(ledger) = &self.ledger else { return };
        let now = ledger.now();
        for tid in self.tree.tids().into_iter().filter(|tid| lost(*tid)) {
            self.tree.does(now, tid, Doing::Unseen);
        }
    }

    /// One event; `seen` tells the wait that a look saw a thread in that leaves its CPU by this event.
    fn happens(&mut self, event: &Event, seen: impl Fn(Tid) -> Option<WaitId>, blind: bool) {
        let Some(at) = event.at().map(|at| at.max(self.begin())) else { return };
        if let Event::Exec { entered, tid, pid, name, .. } = event
            && *pid == self.root
            && !self.executed
        {
            // What was seen of the held program before is no part of it.
            self.executed = true;
            self.ledger = Some(Ledger::new(*entered));
            self.tree.forget_threads();
            let who = Newcomer { tid: *tid, pid: *pid, parent: 0, name: *name };
            self.tree.add(*entered, who, Doing::Cpu);
        }
        // In tier proc only looks say what happened.
        if self.tier == Tier::Proc || self.ended_at.is_some() {
            return;
        }
        self.advance(at);
        match event {
            Event::Exec { tid, pid, name, .. } => {
                if let Some(thread) = self.tree.get_mut(*tid) {
                    thread.name = *name;
                } else {
                    let who = Newcomer { tid: *tid, pid: *pid, parent: 0, name: *name };
                    self.tree.add(at, who, Doing::Cpu);
                }
            }
            Event::Rename { tid, name, .. } => {
                if let Some(thread) = self.tree.get_mut(*tid) {
                    thread.name = *name;
                }
            }
            Event::Fork { tid, child, pid, name, .. } => {
                let parent = self.tree.process_of(*tid).unwrap_or(0);
                self.gone.remove(child);
                let who = Newcomer { tid: *child, pid: *pid, parent, name: *name };
                self.tree.add(at, who, Doing::Ready);
            }
            Event::Exit { tid, .. } => {
                let of_root = self.tree.process_of(*tid) == Some(self.root);
                self.tree.dies(at, *tid);
                self.gone.insert(*tid);
                if of_root && !self.tree.has(self.root) {
                    self.ended_at = Some(at);
                }
            }
            Event::Switch { out, into, .. } if !blind => {
                let heard_of = out.iter().map(|out| out.tid).chain(into.iter().map(|into| into.tid));
                for tid in heard_of {
                    if let Some(thread) = self.tree.get_mut(tid) {
                        thread.by_looks = false;
                    }
                }
                if let Some(out) = out {
                    let doing = match &out.left {
                        Left::Runnable => Doing::Ready,
                        Left::Stopped => Doing::Stopped,
                        Left::Blocked(_) => match seen(out.tid) {
                            Some(wait) => Doing::Wait(wait, true),
                            None => self.tree.usual_wait(out.tid),
                        },
                        Left::Dead(_) => Doing::Unseen,
                    };
                    self.tree.does(at, out.tid, doing);
                }
                if let Some(into) = into {
                    self.tree.does(at, into.tid, Doing::Cpu);
                }
            }
            Event::Sampled { tid, mode, .. } => self.sample(*tid, Kind::from(*mode) == Kind::User, 1),
            _ => {}
        }
    }

    /// `times` samples found the thread in user or kernel mode.
    fn sample(&mut self, tid: Tid, user: bool, times: u64) {
        let on_path = self.window.is_some()
            || self.ledger.is_some() && self.tree.path().is_some_and(|place| place.tid == tid);
        self.kernel_samples += u64::from(!user) * times;
        let Some(thread) = self.tree.get_mut(tid) else { return };
        thread.mix.add(user, times);
        if on_path {
            thread.path_mix.add(user, times);
            self.pooled.add(user, times);
        }
    }

    /// The wall up to `at` belongs to the path as it has been since the last event.
    fn advance(&mut self, at: Ns) {
        if self.ended_at.is_some() {
            return;
        }
        if let Some(ledger) = &mut self.ledger
            && at > ledger.now()
        {
            ledger.charge(at, self.tree.path().filter(|place| place.doing != Doing::Unseen));
        }
    }

    fn look(&mut self, at: Ns, threads: Vec<Snapshot>, waits: &FxHashMap<Tid, WaitId>) {
        if self.tier == Tier::Proc {
            self.begin_with(at, &threads);
            self.half_way_to(at, &threads, waits);
        } else {
            self.advance(at);
        }
        if self.ledger.is_some() && self.ended_at.is_none() {
            self.looks_within += 1;
        }
        let from = self.ledger.as_ref().map_or(at, Ledger::now);
        let since = if self.tier == Tier::Proc { from } else { at };
        self.miss(since, &threads);
        for looked in threads {
            self.look_at(since, looked, waits);
        }
    }

    /// Without an `execve` to begin with, the wall begins with the first look at the root.
    fn begin_with(&mut self, at: Ns, threads: &[Snapshot]) {
        if self.ledger.is_none() && threads.iter().any(|looked| looked.pid == self.root) {
            self.ledger = Some(Ledger::new(at));
        }
    }

    /// What the last look saw holds until half-way to this one; no further than a look speaks for, but where the
    /// kernel's count says that a thread did not stir in between.
    fn half_way_to(&mut self, at: Ns, threads: &[Snapshot], waits: &FxHashMap<Tid, WaitId>) {
        let Some(start) = self.ledger.as_ref().map(Ledger::start) else { return };
        match self.last_look.filter(|last| *last >= start) {
            Some(last) => {
                let middle = last + at.saturating_sub(last) / 2;
                self.advance(middle.min(last + REACH_NS));
            }
            // The first look speaks for the time since the start.
            None => self.lose_sight(),
        }
        let reach = at.saturating_sub(REACH_NS);
        if self.ledger.as_ref().is_some_and(|ledger| ledger.now() < reach) {
            let unmoved: FxHashSet<Tid> = threads
                .iter()
                .filter(|looked| self.did_not_stir(looked, waits.get(&looked.tid).copied()))
                .map(|looked| looked.tid)
                .collect();
            self.lose_sight_of(|tid| !unmoved.contains(&tid));
            self.advance(reach);
        }
    }

    /// Whether a thread waited through from the last look to this one: in the same wait, without a CPU in between.
    fn did_not_stir(&self, looked: &Snapshot, wait: Option<WaitId>) -> bool {
        let Some(thread) = self.tree.get(looked.tid) else { return false };
        let before = thread.looked.as_ref().and_then(|last| last.cpu_ns.value());
        let same_wait = matches!(thread.doing, Doing::Wait(id, true) if Some(id) == wait);
        same_wait && before.is_some() && before == looked.cpu_ns.value()
    }

    /// Threads that are in the tree but not in this look have ended. Where there are switches they tell of most ends; not of
    /// the threads that are not followed any more, of which nothing was heard since the last look either.
    fn miss(&mut self, at: Ns, threads: &[Snapshot]) {
        let there: std::collections::HashSet<Tid> = threads
            .iter()
            .filter(|looked| !matches!(looked.state, b'Z' | b'X'))
            .map(|looked| looked.tid)
            .collect();
        let last_look = self.last_look.unwrap_or(0);
        for tid in self.tree.tids() {
            let heard_of = self.tree.get(tid).is_some_and(|thread| thread.since >= last_look);
            if self.tier != Tier::Proc && heard_of {
                continue;
            }
            // The root's last thread has the wall until it is reaped.
            if !there.contains(&tid) && tid != self.root {
                self.tree.dies(at, tid);
            }
        }
    }

    fn look_at(&mut self, at: Ns, looked: Snapshot, waits: &FxHashMap<Tid, WaitId>) {
        let tid = looked.tid;
        if matches!(looked.state, b'Z' | b'X') || self.ledger.is_none() || self.gone.contains(&tid) {
            return;
        }
        let now = match looked.state {
            b'S' | b'D' => Doing::Wait(waits.get(&tid).copied().unwrap_or(tree::UNSEEN_WAIT), true),
            b'T' | b't' => Doing::Stopped,
            b'R' => Doing::Cpu,
            // Idle and parked threads are the kernel's own.
            _ => Doing::Unseen,
        };
        let who = Newcomer { tid, pid: looked.pid, parent: looked.parent, name: looked.name };
        self.tree.add(at, who, now);
        self.tree.has_parent(looked.pid, looked.parent);
        if tid == looked.pid {
            self.tree.has_pipes(looked.pid, &looked.pipes);
        }
        self.lived_before(at, &looked);
        let ran = self.tree.get(tid).is_some_and(|thread| ran_since(thread.looked.as_ref(), &looked));
        self.agree(at, tid, now, ran);
        self.used(tid, &looked);
        if let Some(thread) = self.tree.get_mut(tid) {
            thread.name = looked.name;
            thread.looked = Some(looked);
        }
    }

    /// Brings what is thought of a thread into line with what was seen of it; `ran`: it used a CPU since the last look.
    fn agree(&mut self, at: Ns, tid: Tid, now: Doing, ran: bool) {
        let Some(thread) = self.tree.get(tid) else { return };
        let since_before_last_look = self.last_look.is_some_and(|last| thread.since < last);
        // Off its CPU, say the switches, and yet it ran; or never off it, and yet it waits: they are not told any more (a
        // set-user-id program).
        let untold = match (thread.doing, now) {
            (Doing::Wait(..) | Doing::Ready, Doing::Cpu) => ran,
            (Doing::Cpu, Doing::Wait(..)) => true,
            _ => false,
        };
        let by_looks = thread.by_looks || untold && since_before_last_look && self.tier == Tier::Perf;
        let doing = match (self.tier, thread.doing, now) {
            (Tier::Proc, ..) => now,
            _ if by_looks => now,
            (_, Doing::Wait(..) | Doing::Ready, Doing::Cpu) => Doing::Ready,
            (_, Doing::Cpu, Doing::Cpu) => return,
            // It may have left its CPU while the look was taken: its own switch will say so.
            (_, Doing::Cpu, _) if !since_before_last_look => return,
            (_, Doing::Wait(_, true), Doing::Wait(..)) => return,
            _ => now,
        };
        if let Some(thread) = self.tree.get_mut(tid) {
            thread.by_looks = by_looks;
        }
        self.tree.does(at, tid, doing);
    }

    /// What the kernel's counters of a thread say since they were last read.
    fn used(&mut self, tid: Tid, looked: &Snapshot) {
        let Some(thread) = self.tree.get(tid) else { return };
        let last = thread.looked.as_ref();
        let by_looks = thread.by_looks;
        let was_runnable = last.is_some_and(|last| last.state == b'R') || looked.state == b'R';
        let since = |now: &Seen<Ns>, last: Option<&Seen<Ns>>| {
            let now = now.value().copied().unwrap_or(0);
            now.saturating_sub(last.and_then(Seen::value).copied().unwrap_or(now))
        };
        let waited = since(&looked.runqueue_ns, last.map(|last| &last.runqueue_ns));
        let ran = since(&looked.cpu_ns, last.map(|last| &last.cpu_ns));
        let ticks = |now: Ns, last: Option<Ns>| now.saturating_sub(last.unwrap_or(0)) / TICK_NS;
        let user = ticks(looked.user_ns, last.map(|last| last.user_ns));
        let kernel = ticks(looked.kernel_ns, last.map(|last| last.kernel_ns));
        if was_runnable {
            let sum = self.runnable.entry(tid).or_default();
            sum.0 += waited;
            sum.1 += ran;
        }
        if self.tier == Tier::Proc {
            self.sample(tid, true, user);
            self.sample(tid, false, kernel);
        } else if by_looks {
            // Beside other threads' samples: a tick is worth as many.
            let worth = TICK_NS / self.period_ns.max(1);
            self.sample(tid, true, user * worth);
            if self.kernel_samples > 0 {
                self.sample(tid, false, kernel * worth);
            }
        }
    }

    /// The last look speaks for what is left. Where there was none, only what the tree used is known.
    fn advance_past_looks(&mut self, end: Ns, trailer: &Trailer) {
        let Some(start) = self.ledger.as_ref().map(Ledger::start) else { return };
        if self.tier == Tier::Proc {
            let used = trailer.rusage.value().map_or(0, |used| used.user_ns + used.kernel_ns);
            let known_until = match self.last_look.filter(|_| self.looks_within > 0) {
                Some(last) => last + REACH_NS,
                None => start + used,
            };
            if end > known_until {
                self.advance(known_until);
                self.lose_sight();
            }
        }
        self.ended_at = None;
        self.advance(end);
    }

    fn closed(mut self, end: Ns, trailer: &Trailer) -> Closed {
        if let Some(attached) = self.window.take() {
            return self.close_window(attached, trailer);
        }
        let ledger = self.ledger.take().unwrap_or_else(|| Ledger::new(end));
        let start = ledger.start();
        let wall_ns = ledger.now() - start;
        let end = ledger.now();
        let threads = self.tree.close(end);
        let on_cpu_ns = ledger.on_cpu().values().sum();
        let samples_hide_kernel = self.tier == Tier::Perf && self.kernel_samples == 0;
        let by_looks = |(tid, _): &(Tid, (Ns, Ns))| {
            self.tier == Tier::Proc || threads.iter().any(|thread| thread.tid == *tid && thread.by_looks)
        };
        let evidence = Evidence {
            tree: &self.tree,
            names: &self.names,
            threads: threads.iter().map(|thread| (thread.tid, thread)).collect(),
            only_user_each_ns: samples_hide_kernel.then_some(self.period_ns),
            rusage: trailer.rusage.value(),
            runnable: self.runnable.into_iter().filter(by_looks).collect(),
            looks: (self.tier == Tier::Proc).then_some(self.looks_within),
            pooled: self.pooled,
            on_cpu_ns,
        };
        let (parts, steps) = ledger.parts_and_steps(&evidence);
        let pieces = Pieces {
            start,
            wall_ns,
            parts,
            steps,
            phases: ledger.phases(&evidence),
            threads: threads.iter().map(|thread| thread_row(thread, &evidence, self.root)).collect(),
            waits: wait_rows(&self.tree, &self.names, ledger.waits(), None),
            window: None,
        };
        let looked = || threads.iter().filter_map(|thread| thread.looked.as_ref());
        let faults = Faults {
            minor: looked().map(|looked| looked.minor_faults).sum(),
            major: looked().map(|looked| looked.major_faults).sum(),
        };
        Closed { pieces, faults, cpu: None, notes: notes(self.tier, self.looks_within, wall_ns) }
    }
}

/// Whether a thread used a CPU between two looks, by the kernel's count.
fn ran_since(last: Option<&Snapshot>, now: &Snapshot) -> bool {
    match (last.and_then(|last| last.cpu_ns.value()), now.cpu_ns.value()) {
        (Some(before), Some(after)) => after > before,
        _ => false,
    }
}

/// What this tier's account rests on, in words.
fn notes(tier: Tier, looks: u64, wall_ns: Ns) -> Vec<String> {
    let every_ms = wall_ns as f64 / 1e6 / looks.max(1) as f64;
    let rests = match tier {
        Tier::Proc => "the account rests on",
        _ => "switches were seen; what was waited for rests on",
    };
    vec![
        format!("{rests} {looks} looks at /proc, one each {every_ms:.1} ms"),
        "where the path goes on from a wait is inferred from what the other threads did at the time"
            .to_owned(),
    ]
}

impl Mix {
    fn add(&mut self, user: bool, times: u64) {
        *(if user { &mut self.user } else { &mut self.kernel }) += times;
    }
}

fn thread_row(thread: &tree::Thread, evidence: &Evidence<'_>, root: Pid) -> ThreadRow {
    let states = evidence.states(thread);
    let faults = |count: fn(&Snapshot) -> u64| match &thread.looked {
        Some(looked) => Seen::Value(count(looked)),
        None => Seen::unseen("it ended before it was looked at"),
    };
    ThreadRow {
        pid: thread.pid,
        tid: thread.tid,
        name: thread.name.to_text(),
        life_ns: states.iter().map(|(_, ns)| ns).sum(),
        outlived: thread.died.is_none() && thread.pid != root,
        idle: false,
        states,
        minor_faults: faults(|looked| looked.minor_faults),
        major_faults: faults(|looked| looked.major_faults),
    }
}

/// Waits by kind: `path` says what of them counts in the account, `all` (where counters tell more than looks do) of what.
fn wait_rows(
    tree: &Tree,
    names: &Names,
    path: impl Iterator<Item = (WaitId, Ns)>,
    all: Option<&[(WaitId, Ns)]>,
) -> Vec<WaitRow> {
    let by_kind = |waits: &mut dyn Iterator<Item = (WaitId, Ns)>| {
        let mut sums = vec![0; tree.totals.len()];
        waits.for_each(|(id, ns)| sums[tree.kinds[id as usize]] += ns);
        sums
    };
    let path_ns = by_kind(&mut { path });
    let all_ns: Vec<Ns> = match all {
        Some(all) => by_kind(&mut all.iter().copied()),
        None => tree.totals.iter().map(|totals| totals.total_ns).collect(),
    };
    let why = "requests to disks are not told apart from outside";
    let by_request = Seen::unseen(why);
    let rows = tree.totals.iter().zip(path_ns.into_iter().zip(all_ns));
    let mut rows: Vec<WaitRow> = rows
        .filter(|(totals, _)| totals.durations.total() > 0)
        .map(|(totals, ns)| (totals, ns, names.wait(totals.key)))
        .map(|(totals, (path_ns, total_ns), (call, on))| WaitRow {
            reason: totals.key.0,
            call,
            on,
            calls: totals.durations.total(),
            total_ns,
            path_ns,
            p50_ns: totals.durations.quantile(0.5),
            p99_ns: totals.durations.quantile(0.99),
            max_ns: totals.durations.max(),
            stack: Seen::unseen("no stacks are taken"),
            device: by_request.clone(),
            requests: Seen::unseen(why),
            queue_ns: Seen::unseen(why),
            device_ns: Seen::unseen(why),
            by: Vec::new(),
            histogram: Vec::new(),
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.total_ns));
    rows
}

#[cfg(test)]
mod tests;
