//! What each thread does and where the path lies, as events and snapshots say it in turn.

use super::late::{Late, Unsure, late};
use super::mix::{Mix, TICK_NS};
use super::path::{PathLedger, position};
use super::thread::{NewThread, PolledState, PolledWait};
use super::tree::Tree;
use crate::account::split::Kind;
use crate::calls::Arch;
use crate::classify::Classified;
use crate::counted::{CounterHit, Sampled};
use model::recording::{
    AttachWindow, Header, SwitchIn, SwitchOut, SwitchOutState, ThreadSnapshot as Snapshot, Tier,
};
use model::{Event, Ns, Pid, State, Tid};
use rustc_hash::{FxHashMap, FxHashSet};

/// A snapshot speaks for no more than this to either side, in tier `proc`; beyond, nothing is
/// known.
const REACH_NS: Ns = 50_000_000;

/// Of more threads than this it is not looked when each turned: the path is asked at each time.
const MOVED_MAX: usize = 1024;

/// What each thread was seen to wait for.
pub(super) type Waits = FxHashMap<Tid, Classified>;

/// What a snapshot says of a thread.
enum News {
    Is(Box<Snapshot>),
    /// It has run for a while before.
    Runs(Tid),
    IsGone(Tid),
}

/// The tree under way.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) root: Pid,
    pub(super) tier: Tier,
    period_ns: Ns,
    pub(super) tree: Tree,
    /// From the start of the wall on.
    pub(super) path: Option<PathLedger>,
    /// The end of the wall, where an event recorded it.
    pub(super) ended_at: Option<Ns>,
    /// The root's first `execve` was seen.
    executed: bool,
    last_look: Option<Ns>,
    /// Snapshots since the wall began.
    pub(super) looks: u64,
    /// Threads whose end was recorded and that may be seen in `/proc` for a while yet.
    gone: FxHashSet<Tid>,
    pub(super) kernel_samples: u64,
    /// Samples of all threads in what the account is about.
    pub(super) pooled: Mix,
    /// What the processor's counters counted on the path.
    pub(super) on_path: FxHashMap<CounterHit, Sampled>,
    /// What was attached to: then every thread's own time counts, and there is no path.
    pub(super) window: Option<AttachWindow>,
    /// Which waits ended late is not known for sure.
    pub(super) unsure: Unsure,
}

impl Watch {
    pub(super) fn new(header: &Header, arch: Arch) -> Self {
        let start = header.attached.as_ref().map(|attached| attached.at);
        Self {
            root: header.root,
            tier: header.tier,
            period_ns: header.sample_period_ns,
            tree: Tree::new(arch, start.unwrap_or(0)),
            path: start.map(PathLedger::new),
            ended_at: None,
            executed: false,
            last_look: None,
            looks: 0,
            gone: FxHashSet::default(),
            kernel_samples: 0,
            pooled: Mix::default(),
            on_path: FxHashMap::default(),
            window: header.attached.clone(),
            unsure: Unsure::default(),
        }
    }

    /// What comes before a window begins changes what threads are doing, and takes no time of it.
    pub(super) fn begin(&self) -> Ns {
        self.window.as_ref().map_or(0, |attached| attached.at)
    }

    /// Events, oldest first, up to a snapshot that saw these threads and waits.
    pub(super) fn events_until(&mut self, events: &[Event], waits: &Waits, threads: &[Snapshot]) {
        let late = match self.tier {
            Tier::Perf => late(events, self.last_look, threads, |tid| self.tree.get(tid)),
            _ => Vec::new(),
        };
        let mut waited = FxHashMap::<Tid, Vec<(State, Late)>>::default();
        self.events(events, waits, |watch, upto, done| {
            for late in late[*done..].iter().take_while(|late| late.at < upto) {
                *done += 1;
                if let Some(state) = watch.is_ready(late) {
                    waited.entry(late.tid).or_default().push((state, *late));
                }
            }
        });
        waited.values().for_each(|waits| self.unsure.add(waits));
    }

    /// A thread that waits is ready from here on; the state of its wait, where that counts.
    fn is_ready(&mut self, late: &Late) -> Option<State> {
        let thread = self.tree.get(late.tid)?;
        let PolledState::Blocked(PolledWait { wait, .. }) = thread.doing else { return None };
        if thread.by_looks || thread.since > late.at || self.ended_at.is_some() {
            return None;
        }
        self.advance(late.at);
        let counts = self.path.is_some() && (self.window.is_some() || self.is_on_path(late.tid));
        self.tree.does(late.at, late.tid, PolledState::Runnable);
        counts.then_some(wait.state)
    }

    /// `before`: what comes before the event of this time, with how much of that has come.
    fn events(&mut self, events: &[Event], waits: &Waits, mut before: impl FnMut(&mut Self, Ns, &mut usize)) {
        let mut done = 0;
        // Those that were still off their CPU when the snapshot came: it saw that wait.
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
            self.lose_sight_of(|_| true);
        }
        for (index, event) in events.iter().enumerate() {
            let seen = |tid: Tid| {
                let lasts = lasting.get(&tid) == Some(&index);
                waits.get(&tid).filter(|_| lasts).copied()
            };
            let blind = blind_until.is_some_and(|until| event.at() <= Some(until));
            before(self, event.at().unwrap_or(0), &mut done);
            self.event(event, seen, blind);
        }
    }

    /// What these threads do is not known until they are next heard of.
    fn lose_sight_of(&mut self, lost: impl Fn(Tid) -> bool) {
        let Some(now) = self.path.as_ref().map(PathLedger::now) else { return };
        for tid in self.tree.tids().into_iter().filter(|tid| lost(*tid)) {
            self.tree.does(now, tid, PolledState::Unknown);
        }
    }

    /// One event; `seen` gives the wait that a snapshot saw a thread in that is switched out by
    /// this event.
    fn event(&mut self, event: &Event, seen: impl Fn(Tid) -> Option<Classified>, blind: bool) {
        let Some(at) = event.at().map(|at| at.max(self.begin())) else { return };
        self.executes(event);
        // In tier proc only snapshots say what happened.
        if self.tier == Tier::Proc || self.ended_at.is_some() {
            return;
        }
        self.advance(at);
        match event {
            Event::Exec { tid, pid, name, .. } => {
                let who = NewThread { tid: *tid, pid: *pid, parent: 0, name: *name };
                self.tree.add(at, who, PolledState::Running);
                self.renamed(*tid, *name);
            }
            Event::Rename { tid, name, .. } => self.renamed(*tid, *name),
            Event::Fork { tid, child, pid, name, .. } => {
                let parent = self.tree.process_of(*tid).unwrap_or(0);
                self.gone.remove(child);
                let who = NewThread { tid: *child, pid: *pid, parent, name: *name };
                self.tree.add(at, who, PolledState::Runnable);
            }
            Event::Exit { tid, .. } => self.exits(at, *tid),
            Event::Switch { out, into, .. } if !blind => self.switches(at, out.as_ref(), into.as_ref(), seen),
            Event::Sampled { tid, mode, .. } => self.sample(*tid, Kind::from(*mode) == Kind::User, 1),
            Event::Counted { tid, .. } => self.counted(*tid, event),
            _ => {}
        }
    }

    /// The root's first `execve` begins the wall.
    fn executes(&mut self, event: &Event) {
        let Event::Exec { entered, tid, pid, name, .. } = event else { return };
        if *pid == self.root && !self.executed {
            // What was seen of the held program before is no part of it.
            self.executed = true;
            self.path = Some(PathLedger::new(*entered));
            self.tree.begin(*entered);
            let who = NewThread { tid: *tid, pid: *pid, parent: 0, name: *name };
            self.tree.add(*entered, who, PolledState::Running);
        }
    }

    fn renamed(&mut self, tid: Tid, name: model::recording::Comm) {
        if let Some(thread) = self.tree.get_mut(tid) {
            thread.name = name;
        }
    }

    fn exits(&mut self, at: Ns, tid: Tid) {
        let of_root = self.tree.process_of(tid) == Some(self.root);
        self.tree.dies(at, tid);
        self.gone.insert(tid);
        if of_root && !self.tree.has(self.root) {
            self.ended_at = Some(at);
        }
    }

    fn switches(
        &mut self,
        at: Ns,
        out: Option<&SwitchOut>,
        into: Option<&SwitchIn>,
        seen: impl Fn(Tid) -> Option<Classified>,
    ) {
        for tid in out.map(|out| out.tid).into_iter().chain(into.map(|into| into.tid)) {
            if let Some(thread) = self.tree.get_mut(tid) {
                thread.by_looks = false;
            }
        }
        if let Some(out) = out {
            let blocked = || match seen(out.tid) {
                Some(wait) => PolledState::Blocked(PolledWait::looked(wait)),
                None => self.tree.get(out.tid).map_or(PolledState::Unknown, |thread| thread.usual_wait()),
            };
            let doing = match &out.left {
                SwitchOutState::Runnable => PolledState::Runnable,
                SwitchOutState::Stopped => PolledState::Stopped,
                SwitchOutState::Blocked(_) => blocked(),
                SwitchOutState::Dead(_) => PolledState::Unknown,
            };
            self.tree.does(at, out.tid, doing);
        }
        if let Some(into) = into {
            self.tree.does(at, into.tid, PolledState::Running);
        }
    }

    /// `times` samples found the thread in user or kernel mode.
    fn sample(&mut self, tid: Tid, user: bool, times: u64) {
        let counts = self.window.is_some() || self.path.is_some() && self.is_on_path(tid);
        self.kernel_samples += u64::from(!user) * times;
        let Some(thread) = self.tree.get_mut(tid) else { return };
        thread.mix.add(user, times);
        if counts {
            thread.path_mix.add(user, times);
            self.pooled.add(user, times);
        }
    }

    /// A counter's sample struck in this thread.
    fn counted(&mut self, tid: Tid, event: &Event) {
        if self.window.is_some() || self.path.is_none() || !self.is_on_path(tid) {
            return;
        }
        if let Some((place, sum)) = CounterHit::of(event) {
            *self.on_path.entry(place).or_default() += sum;
        }
    }

    /// The path lies in this thread now.
    fn is_on_path(&self, tid: Tid) -> bool {
        position(&self.tree, self.root).is_some_and(|at| at.thread.tid == tid)
    }

    /// The wall up to `at` belongs to the path as it has been since the last event.
    fn advance(&mut self, at: Ns) {
        if self.ended_at.is_some() {
            return;
        }
        if let Some(path) = &mut self.path
            && at > path.now()
        {
            let activity = position(&self.tree, self.root).and_then(|position| position.activity());
            path.charge(at, activity, &mut self.tree.ledgers);
        }
    }

    /// A snapshot of all threads.
    pub(super) fn look(&mut self, at: Ns, threads: Vec<Snapshot>, waits: &Waits) {
        if self.tier == Tier::Proc {
            self.begin_with(at, &threads);
        }
        if self.path.is_some() && self.ended_at.is_none() {
            self.looks += 1;
        }
        for (since, news) in self.news(at, threads, waits) {
            self.advance(since);
            match news {
                News::Is(looked) => self.look_at(since, *looked, waits),
                News::Runs(tid) => self.tree.does(since, tid, PolledState::Running),
                News::IsGone(tid) => self.tree.dies(since, tid),
            }
        }
        self.last_look = Some(at);
    }

    /// What a snapshot says, and since when it is so, in order of time. With switches, these say
    /// when.
    fn news(&mut self, at: Ns, threads: Vec<Snapshot>, waits: &Waits) -> Vec<(Ns, News)> {
        let gone = self.missing(&threads);
        let last = self.spoken_for_since(&threads).filter(|last| {
            let in_wall = self.path.as_ref().is_some_and(|path| path.start() <= *last);
            let few = threads.len() <= MOVED_MAX;
            self.tier == Tier::Proc && in_wall && few && at.saturating_sub(*last) <= 2 * REACH_NS
        });
        let otherwise = match (self.tier, last) {
            (Tier::Proc, Some(last)) => last + at.saturating_sub(last) / 2,
            (Tier::Proc, None) => {
                self.half_way_to(at, &threads, waits);
                self.path.as_ref().map_or(at, PathLedger::now)
            }
            _ => at,
        };
        let mut news = Vec::with_capacity(threads.len());
        for looked in threads {
            let (runs, since) = last.map_or((None, None), |last| self.since(last, at, &looked));
            news.extend(runs.map(|runs| (runs, News::Runs(looked.tid))));
            news.push((since.unwrap_or(otherwise), News::Is(Box::new(looked))));
        }
        let end = |tid| last.and_then(|_| self.next_one(tid, &news)).unwrap_or(otherwise);
        let ends: Vec<_> = gone.into_iter().map(|tid| (end(tid), News::IsGone(tid))).collect();
        news.splice(0..0, ends);
        news.sort_by_key(|(since, _)| *since);
        news
    }

    /// The last snapshot. Before the first one, the beginning of the program, where the kernel
    /// counts its CPU time: it had none before.
    fn spoken_for_since(&self, threads: &[Snapshot]) -> Option<Ns> {
        let counted = threads.iter().all(|looked| busy_ns(looked).is_some());
        let began = self.path.as_ref().map(PathLedger::start);
        self.last_look.or(began.filter(|_| counted && self.executed))
    }

    /// When a thread turned to what this snapshot saw, by the time in which it was on a CPU or
    /// ready since the last one, as the kernel counted it; and when it began to run in between, if
    /// both saw it wait.
    fn since(&self, last: Ns, at: Ns, looked: &Snapshot) -> (Option<Ns>, Option<Ns>) {
        let known = self.tree.get(looked.tid);
        let before = known.and_then(|thread| thread.looked.as_ref()).map_or(Some(0), busy_ns);
        let Some((now, before)) = busy_ns(looked).zip(before) else { return (None, None) };
        let busy = now.saturating_sub(before).min(at.saturating_sub(last));
        let waited = known.map(|thread| matches!(thread.doing, PolledState::Blocked(_)));
        match (waited, looked.state) {
            // Who waits for a CPU is counted when it has one.
            (None | Some(true), b'R') if busy > 0 => (None, Some(at - busy)),
            (Some(false), b'S' | b'D') => (None, Some(last + busy)),
            (Some(true), b'S' | b'D') if busy > 0 => {
                let runs = last + (at - last - busy) / 2;
                (Some(runs), Some(runs + busy))
            }
            _ => (None, None),
        }
    }

    /// When a process began after this thread's had ended, where one came and one went of their
    /// parent's: one begins there when the other has ended.
    fn next_one(&self, tid: Tid, news: &[(Ns, News)]) -> Option<Ns> {
        let lived = |doing| matches!(doing, PolledState::Running | PolledState::Blocked(_));
        let thread = self.tree.get(tid).filter(|thread| lived(thread.doing))?;
        let parent = self.tree.parent_of(thread.pid)?;
        let looks = news.iter().filter_map(|(since, news)| match news {
            News::Is(looked) => Some((*since, looked)),
            _ => None,
        });
        if looks.clone().any(|(_, looked)| looked.pid == thread.pid) {
            return None;
        }
        let mut new = looks.filter(|(_, looked)| looked.parent == parent && !self.tree.has(looked.pid));
        let (begun, _) = new.next()?;
        new.next().is_none().then_some(begun)
    }

    /// Without an `execve` to begin with, the wall begins with the first snapshot of the root.
    fn begin_with(&mut self, at: Ns, threads: &[Snapshot]) {
        if self.path.is_none() && threads.iter().any(|looked| looked.pid == self.root) {
            self.path = Some(PathLedger::new(at));
            self.tree.begin(at);
        }
    }

    /// What the last snapshot saw holds until half-way to this one; no further than a snapshot
    /// speaks for, but where the kernel's count says that a thread did not stir in between.
    fn half_way_to(&mut self, at: Ns, threads: &[Snapshot], waits: &Waits) {
        let Some(start) = self.path.as_ref().map(PathLedger::start) else { return };
        match self.last_look.filter(|last| *last >= start) {
            Some(last) => {
                let middle = last + at.saturating_sub(last) / 2;
                self.advance(middle.min(last + REACH_NS));
            }
            // The first one speaks for the time since the start.
            None => self.lose_sight_of(|_| true),
        }
        let reach = at.saturating_sub(REACH_NS);
        if self.path.as_ref().is_some_and(|path| path.now() < reach) {
            let unmoved: FxHashSet<Tid> = threads
                .iter()
                .filter(|looked| self.did_not_stir(at, looked, waits.get(&looked.tid)))
                .map(|looked| looked.tid)
                .collect();
            self.lose_sight_of(|tid| !unmoved.contains(&tid));
            self.advance(reach);
        }
    }

    /// Whether a thread did the same from the last snapshot to this one: it was in the same wait,
    /// without a CPU in between; or it was on a CPU all of the time, or had waited for one, but for
    /// what the kernel's count of who runs is behind.
    fn did_not_stir(&self, at: Ns, looked: &Snapshot, wait: Option<&Classified>) -> bool {
        let Some(thread) = self.tree.get(looked.tid) else { return false };
        let last = thread.looked.as_ref();
        if thread.doing == PolledState::Running && looked.state == b'R' {
            let busy = busy_ns(looked).zip(last.and_then(busy_ns));
            let busy = busy.map_or(0, |(now, before)| now.saturating_sub(before));
            return at.saturating_sub(self.last_look.unwrap_or(at)) <= busy + busy / 10;
        }
        let before = last.and_then(|last| last.cpu_ns.value());
        let same_wait =
            wait.is_some_and(|wait| thread.doing == PolledState::Blocked(PolledWait::looked(*wait)));
        same_wait && before.is_some() && before == looked.cpu_ns.value()
    }

    /// Threads that are in the tree but not in this snapshot have ended. Where there are switches
    /// these record most ends; not those of threads that are no longer traced, which have had no
    /// event since the last snapshot either.
    fn missing(&self, threads: &[Snapshot]) -> Vec<Tid> {
        let living = threads.iter().filter(|looked| !is_over(looked));
        let there: FxHashSet<Tid> = living.map(|looked| looked.tid).collect();
        let last_look = self.last_look.unwrap_or(0);
        let heard_of = |tid| self.tree.get(tid).is_some_and(|thread| thread.since >= last_look);
        // The root's last thread has the wall until it is reaped.
        let is_gone = |tid: &Tid| {
            !there.contains(tid) && *tid != self.root && (self.tier == Tier::Proc || !heard_of(*tid))
        };
        self.tree.tids().into_iter().filter(is_gone).collect()
    }

    fn look_at(&mut self, at: Ns, looked: Snapshot, waits: &Waits) {
        let tid = looked.tid;
        if is_over(&looked) || self.path.is_none() || self.gone.contains(&tid) {
            return;
        }
        let now = match looked.state {
            b'S' | b'D' if looked.wchan.value().is_some_and(|function| is_freezer(function)) => {
                PolledState::Stopped
            }
            b'S' | b'D' => {
                let wait = waits.get(&tid).copied().unwrap_or(Classified::UNSEEN);
                PolledState::Blocked(PolledWait::looked(wait))
            }
            b'T' | b't' => PolledState::Stopped,
            b'R' => PolledState::Running,
            // Idle and parked threads are the kernel's own.
            _ => PolledState::Unknown,
        };
        let who = NewThread { tid, pid: looked.pid, parent: looked.parent, name: looked.name };
        self.tree.add(at, who, now);
        self.tree.has_parent(looked.pid, looked.parent);
        if tid == looked.pid {
            self.tree.has_pipes(looked.pid, &looked.pipes);
        }
        let (in_window, last_look, tier) = (self.window.is_some(), self.last_look, self.tier);
        let Some(thread) = self.tree.get_mut(tid) else { return };
        if in_window {
            thread.counted_before(at, &looked, last_look.is_none(), 2 * REACH_NS);
        }
        let doing = thread.agreed(now, thread.ran_until(&looked), last_look, tier);
        if let Some(doing) = doing {
            self.tree.does(at, tid, doing);
        }
        self.used(tid, &looked);
        if let Some(thread) = self.tree.get_mut(tid) {
            thread.name = looked.name;
            thread.looked = Some(looked);
        }
    }

    /// What the kernel's counters of a thread say since they were last read.
    fn used(&mut self, tid: Tid, looked: &Snapshot) {
        let Some(thread) = self.tree.get_mut(tid) else { return };
        let (ticks, by_looks) = (thread.used(looked, self.tier == Tier::Proc), thread.by_looks);
        if self.tier == Tier::Proc {
            self.sample(tid, true, ticks.user);
            self.sample(tid, false, ticks.kernel);
        } else if by_looks {
            // Beside other threads' samples: a tick is worth as many.
            let worth = TICK_NS / self.period_ns.max(1);
            self.sample(tid, true, ticks.user * worth);
            if self.kernel_samples > 0 {
                self.sample(tid, false, ticks.kernel * worth);
            }
        }
    }

    /// The last snapshot speaks for what is left. Where there was none, only what the tree used
    /// is known.
    pub(super) fn advance_past_looks(&mut self, end: Ns, used_ns: Ns) {
        let Some(start) = self.path.as_ref().map(PathLedger::start) else { return };
        if self.tier == Tier::Proc {
            let known_until = match self.last_look.filter(|_| self.looks > 0) {
                Some(last) => last + REACH_NS,
                None => start + used_ns,
            };
            if end > known_until {
                self.advance(known_until);
                self.lose_sight_of(|_| true);
            }
        }
        self.ended_at = None;
        self.advance(end);
    }
}

/// Whether this kernel function is where the threads of a frozen control group are held: of the
/// second version of control groups (as a part of what takes signals, where the compiler made it
/// one, and nothing else sleeps there as `S`), and of the first.
fn is_freezer(function: &str) -> bool {
    ["do_freezer_trap", "get_signal", "__refrigerator"].iter().any(|name| function.starts_with(name))
}

/// How long a thread was on a CPU or ready, as the kernel counts it.
fn busy_ns(of: &Snapshot) -> Option<Ns> {
    Some(of.cpu_ns.value()?.saturating_add(*of.runqueue_ns.value()?))
}

/// Whether it has ended, and was not reaped yet.
pub(super) fn is_over(looked: &Snapshot) -> bool {
    matches!(looked.state, b'Z' | b'X')
}
