//! The threads of the tree, and the booking of their time.
//!
//! A thread's time since it was last heard of is booked when it is heard of again.

use super::hand_overs::Handed;
use super::occupants::{Occupants, Queued};
use super::predictor::Predictor;
use super::thread::{BlockedIn, Newcomer, Thread, TracedState};
use crate::account::split::{self, KINDS};
use crate::account::{
    Activity, ActivityId, Begins, Books, Ended, Interval, Path, Progress, Slicing, Slot, Times, Verdicts,
    WaitEnd, idle, keep_time, placeholder,
};
use crate::calls::Arch;
use crate::keys::{ReasonKey, WaitKey, WakerKey, Who};
use crate::under_way::UnderWay;
use crate::what_if::recorder::{Newborn, Recorder};
use model::recording::{
    Calls, Comm, Counters, Object, SwitchIn, SwitchOut, SwitchOutState, WaitContext, Waker,
};
use model::{Ns, Pid, State, Tid};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Slices of the ledgers of all threads of a window.
const SLICES_OF_ALL: usize = 256_000;

/// Threads that have a ledger of their own. Of what comes after, those that end share one: a build
/// of an hour starts hundreds of thousands of processes, and memory is not to grow with them.
const OWN_LEDGERS: usize = 20_000;

/// All threads, with the books of what they did.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Pid,
    /// Each thread's path is its own ledger, and no wake-up passes it on.
    pub(super) in_window: bool,
    /// The clocks that threads carry beside their paths, where they do.
    pub(super) predictor: Option<Box<Predictor>>,
    pub(super) threads: Vec<Thread>,
    by_tid: FxHashMap<Tid, Slot>,
    /// The shared ledger, once there is one, and the slots that are free again.
    shared: Option<Slot>,
    free: Vec<Slot>,
    pub(super) books: Books,
    arch: Arch,
    /// Threads that may be letting time pass, and when the last of them no longer did.
    passing: (u32, Ns),
    /// Command lines, by the slot of the thread that leads the process.
    pub(super) commands: FxHashMap<Slot, String>,
    /// When the most recent waits for locks began.
    pub(super) begins: Begins,
    /// What had the CPUs.
    pub(super) occupants: Occupants,
    /// Whose waits were ended by whom.
    pub(super) handed: Handed,
    /// How many waits were under way at once.
    pub(super) under_way: UnderWay,
    /// How often a thread was switched in.
    pub(super) switched_in: u64,
    /// What all threads did, step by step, where it is kept.
    pub(super) recorder: Option<Recorder>,
}

/// A thread that was switched out for the last time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Died {
    pub(super) slot: Slot,
    pub(super) at: Ns,
}

impl Tree {
    pub(super) fn new(root: Pid, start: Ns, in_window: bool, arch: Arch) -> Self {
        Self {
            root,
            in_window,
            predictor: None,
            threads: Vec::new(),
            by_tid: FxHashMap::default(),
            shared: None,
            free: Vec::new(),
            books: Books::new(Slicing::fine(start)),
            arch,
            passing: (0, 0),
            commands: FxHashMap::default(),
            begins: Begins::default(),
            occupants: Occupants::default(),
            handed: Handed::default(),
            under_way: UnderWay::default(),
            switched_in: 0,
            recorder: None,
        }
    }

    /// The time begins.
    pub(super) fn begins(&mut self, at: Ns) {
        self.books.slicing = Slicing::fine(at);
        self.bound_slices();
        if let Some(predictor) = &mut self.predictor {
            predictor.sites.begins(at);
        }
    }

    /// In a window each thread has a ledger of its own, with each slice: of thousands of threads
    /// there are fewer slices.
    fn bound_slices(&mut self) {
        if self.in_window {
            let threads = self.threads.len().max(1);
            self.books.slicing.at_most(u32::try_from(SLICES_OF_ALL / threads).unwrap_or(u32::MAX));
        }
    }

    pub(super) fn slot(&self, tid: Tid) -> Option<Slot> {
        self.by_tid.get(&tid).copied()
    }

    pub(super) fn get(&self, slot: Slot) -> &Thread {
        &self.threads[slot as usize]
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut Thread {
        &mut self.threads[slot as usize]
    }

    /// The living thread with this number.
    pub(super) fn by_tid(&self, tid: Tid) -> Option<&Thread> {
        self.slot(tid).map(|slot| self.get(slot))
    }

    pub(super) fn add(&mut self, who: Newcomer) -> Slot {
        let many = self.threads.len() >= OWN_LEDGERS && who.pid != self.root;
        if many && self.shared.is_none() {
            let (name, path) = (Comm::from("(others)"), Path::default());
            let doing = TracedState::Dead;
            let others = Newcomer { at: 0, tid: 0, pid: 0, name, path, creator: None, doing };
            self.shared = Some(self.put(others, None));
        }
        let (tid, shared) = (who.tid, self.shared.filter(|_| many));
        let slot = self.put(who, shared);
        self.by_tid.insert(tid, slot);
        slot
    }

    fn put(&mut self, who: Newcomer, shared: Option<Slot>) -> Slot {
        let slot = self.free.pop().unwrap_or(self.threads.len() as Slot);
        let ledger_of = shared.unwrap_or(slot);
        let own = self.books.activities.id(Activity::seen(ledger_of, State::User, ReasonKey::None));
        self.books.cover.change(who.at, None, who.doing.progress());
        if let Some(recorder) = &mut self.recorder {
            let Newcomer { at, pid, tid, name, .. } = who;
            recorder.begins(slot, Newborn { at, pid, tid, name, ledger_of });
        }
        if let Some(predictor) = &mut self.predictor {
            predictor.adds(slot, who.at, who.doing.progress().is_some(), who.creator);
        }
        let thread = Thread::new(who, ledger_of, own);
        match self.threads.get_mut(slot as usize) {
            Some(free) => *free = thread,
            None => {
                self.threads.push(thread);
                self.bound_slices();
            }
        }
        slot
    }

    /// A thread does something else from then on; what it did before.
    pub(super) fn becomes(&mut self, slot: Slot, at: Ns, doing: TracedState) -> TracedState {
        let thread = &mut self.threads[slot as usize];
        let was = std::mem::replace(&mut thread.doing, doing);
        let lets_pass = thread.doing.lets_pass();
        if let (TracedState::Runnable, Some(recorder)) = (&thread.doing, &mut self.recorder) {
            recorder.is_ready(slot, at);
        }
        let (progressed, progresses) = (was.progress(), thread.doing.progress());
        self.books.cover.change(at, progressed, progresses);
        if progressed.is_some() != progresses.is_some()
            && let Some(predictor) = &mut self.predictor
        {
            predictor.becomes(slot, at, progresses.is_some());
        }
        match (was.lets_pass(), lets_pass) {
            (false, true) => self.passing.0 += 1,
            (true, false) => self.passing = (self.passing.0.saturating_sub(1), at),
            _ => {}
        }
        was
    }

    /// A thread goes on under another number and name.
    pub(super) fn renumber(&mut self, old_tid: Tid, tid: Tid, name: Comm) {
        if let Some(slot) = self.by_tid.remove(&old_tid) {
            self.by_tid.insert(tid, slot);
            let thread = self.get_mut(slot);
            (thread.tid, thread.name) = (tid, name);
        }
    }

    /// A process was found to run this.
    pub(super) fn runs_command(&mut self, pid: Pid, line: &str) {
        if let Some(slot) = self.slot(pid).filter(|slot| self.get(*slot).ledger_of == *slot) {
            self.commands.insert(slot, line.to_owned());
        }
    }

    /// Slots that hold a thread.
    pub(super) fn in_use(&self) -> Vec<Slot> {
        let free: FxHashSet<Slot> = self.free.iter().copied().collect();
        (0..self.threads.len() as Slot).filter(|slot| !free.contains(slot)).collect()
    }

    /// The threads of a window that did nothing but wait for work. The many that share a ledger are
    /// not kept apart.
    pub(super) fn idle(&self) -> FxHashSet<Slot> {
        self.of_window(Thread::life, idle)
    }

    /// Those that only keep time for the others.
    pub(super) fn keep_time(&self) -> FxHashSet<Slot> {
        self.of_window(Thread::pace, keep_time)
    }

    /// Those threads of a window with a ledger of their own that are told so among all of them.
    fn of_window<T>(&self, what: impl Fn(&Thread) -> T, tell: impl Fn(&[T]) -> Vec<bool>) -> FxHashSet<Slot> {
        let own = |slot: &Slot| self.get(*slot).ledger_of == *slot && Some(*slot) != self.shared;
        let slots: Vec<Slot> =
            if self.in_window { self.in_use().into_iter().filter(own).collect() } else { Vec::new() };
        let all: Vec<_> = slots.iter().map(|slot| what(self.get(*slot))).collect();
        slots.into_iter().zip(tell(&all)).filter(|(_, told)| *told).map(|(slot, _)| slot).collect()
    }

    /// Events were lost: what threads that were not off their CPU did since is not known.
    pub(super) fn lose_sight(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.doubtful |= thread.doing.is_active());
    }

    /// The waker as the table of waits has it.
    pub(super) fn waker(&self, waker: &Waker) -> WakerKey {
        match waker {
            Waker::Task { tid, name: Some(name) } => {
                WakerKey::Outside(Who { name: *name, pid: 0, tid: *tid })
            }
            Waker::Task { tid, name: None } => {
                self.by_tid(*tid).map_or(WakerKey::Unknown, |thread| WakerKey::Thread(thread.who()))
            }
            Waker::Timer => WakerKey::Timer,
            Waker::Device => WakerKey::Device,
            Waker::Network { .. } => WakerKey::Network,
            Waker::Interrupt => WakerKey::Interrupt,
            Waker::Unknown => WakerKey::Unknown,
        }
    }

    /// What a thread did, as its ledger has it.
    pub(super) fn activity(&self, slot: Slot, state: State, reason: ReasonKey) -> Activity {
        Activity::seen(self.get(slot).ledger_of, state, reason)
    }

    /// The thread with whose path its time is booked: in a window, the many that share a ledger
    /// share that too.
    fn path_of(&self, slot: Slot) -> Slot {
        if self.in_window { self.get(slot).ledger_of } else { slot }
    }

    /// Books a thread's time up to `at` as all of one kind.
    pub(super) fn book(&mut self, slot: Slot, at: Ns, state: State, reason: ReasonKey) {
        if let Some(recorder) = &mut self.recorder {
            let ns = at.saturating_sub(self.threads[slot as usize].since);
            recorder.passes(slot, ns, (state, reason));
        }
        self.book_as(slot, at, (state, reason), true);
    }

    /// Books a completed wait, of which the recorder is told as a whole.
    pub(super) fn book_wait(&mut self, slot: Slot, at: Ns, kind: WaitKey) {
        self.book_as(slot, at, kind, true);
    }

    /// The same; `begins`: it counts as one more of its kind.
    fn book_as(&mut self, slot: Slot, at: Ns, (state, reason): (State, ReasonKey), begins: bool) {
        let (activity, path_of) = (self.activity(slot, state, reason), self.path_of(slot));
        let id = self.books.activities.id(activity);
        self.clock_waits(slot, at, (state, reason), id);
        let thread = &mut self.threads[slot as usize];
        let interval = Interval { activity, from: thread.since, to: at.max(thread.since) };
        if interval.ns() == 0 && self.in_window {
            return;
        }
        thread.spend(&self.begins, interval.to, &[(state, interval.ns())]);
        let path = &mut self.threads[path_of as usize].path;
        path.add(self.books.slicing, interval.from, interval.to, &[], id, begins);
        if is_under_way(state) && self.is_passed_over(interval.from) {
            self.books.whole_tree.add(self.books.slicing, interval.from, interval.to, &[], id, false);
        }
    }

    /// Books a wait that holds nothing up while others of the tree are under way in one of these
    /// ways: as what they did meanwhile, for as long as any was.
    pub(super) fn let_pass(&mut self, slot: Slot, at: Ns, (state, reason): WaitKey, progress: &[Progress]) {
        let (since, before) = (self.get(slot).since, self.get(slot).covered);
        let ns = at.saturating_sub(since);
        let covered = self.books.cover.read(at).since(before).within(ns);
        let thread = self.get(slot).ledger_of;
        let wait = self.books.activities.id(self.activity(slot, state, reason));
        self.clock_waits(slot, at, (state, reason), wait);
        let others = progress.iter().copied().filter(|progress| covered.of(*progress) > 0);
        let mut inside: SmallVec<[(ActivityId, Ns, u64); 3]> = others
            .map(|progress| {
                let placeholder = placeholder(thread, progress, wait);
                (self.books.activities.id(placeholder), covered.of(progress), 0)
            })
            .collect();
        // The wait is counted once, also where others were under way through all of it.
        let alone_ns = ns - inside.iter().map(|(_, ns, _)| ns).sum::<Ns>();
        if let Some((_, _, count)) = inside.first_mut().filter(|_| alone_ns == 0) {
            *count = 1;
        }
        let thread = &mut self.threads[slot as usize];
        thread.spend(&self.begins, since + ns, &[(state, ns)]);
        if state == State::Sleep {
            thread.passed.add(ns, covered);
        }
        thread.path.add(self.books.slicing, since, since + ns, &inside, wait, true);
    }

    /// A thread's time up to `at` is about to be booked as a wait, or as time in the run queue: as
    /// the activity with this number.
    fn clock_waits(&mut self, slot: Slot, at: Ns, kind: WaitKey, id: ActivityId) {
        let Some(predictor) = &mut self.predictor else { return };
        let thread = &self.threads[slot as usize];
        debug_assert_eq!(predictor.clocks(slot).at(), thread.since, "with nothing edited they are its time");
        let wants_cpu = matches!(kind.0, State::Runqueue | State::Throttled);
        if !wants_cpu && !matches!(kind.1, ReasonKey::Wait(..)) {
            return predictor.rests(slot, at);
        }
        // Of a group of activities or of threads it does not tell which this is.
        let id = Some(id).filter(|id| thread.ledger_of == slot && self.books.activities.is_for(*id, kind.1));
        predictor.waits((slot, thread.pid), at, kind, id);
    }

    /// Nobody goes on with the clocks of this thread.
    pub(super) fn forget_clocks(&mut self, slot: Slot) {
        if let Some(predictor) = &mut self.predictor {
            predictor.forgets(slot);
        }
    }

    /// Whether another thread may have let time pass after `from`: what others did meanwhile is
    /// kept only then.
    pub(super) fn is_passed_over(&self, from: Ns) -> bool {
        !self.in_window && (self.passing.0 > 0 || self.passing.1 > from)
    }

    /// Books a running thread's time up to `at`: its calls, and the rest as its own. Whatever is
    /// heard of a thread that runs begins with this.
    pub(super) fn ran_until(&mut self, tid: Tid, at: Ns, calls: &Calls) -> Option<Slot> {
        let slot = self.slot(tid)?;
        let was = self.becomes(slot, at, TracedState::Running);
        if std::mem::take(&mut self.get_mut(slot).doubtful) {
            self.book(slot, at, State::Unexplained, ReasonKey::None);
        } else if matches!(was, TracedState::Running) {
            self.book_calls(slot, at, calls);
        } else {
            // It was not seen to be switched in.
            self.book(slot, at, State::Unexplained, ReasonKey::NoWakeUp);
        }
        Some(slot)
    }

    fn book_calls(&mut self, slot: Slot, at: Ns, calls: &Calls) {
        let Thread { since, ledger_of, .. } = *self.get(slot);
        let at = at.max(since);
        let mut room = at - since;
        if let Some(recorder) = &mut self.recorder {
            recorder.runs(slot, calls, room);
        }
        let mut inside: SmallVec<[(ActivityId, Ns, u64); 8]> = SmallVec::new();
        for call in calls {
            let activity = Activity::seen(ledger_of, State::Kernel, ReasonKey::Syscall(call.call));
            let ns = call.ns.min(room);
            room -= ns;
            inside.push((self.books.activities.id(activity), ns, u64::from(call.count)));
        }
        if let Some(predictor) = &mut self.predictor {
            let calls = calls.iter().zip(&inside).map(|(call, (_, ns, _))| (call.call, *ns));
            predictor.runs(slot, at, room, calls);
        }
        let path_of = self.path_of(slot);
        let thread = &mut self.threads[slot as usize];
        thread.spend(&self.begins, at, &[(State::Kernel, at - since - room), (State::User, room)]);
        let (own, begins) = (thread.own, std::mem::take(&mut thread.just_in));
        let path = &mut self.threads[path_of as usize].path;
        path.add(self.books.slicing, since, at, &inside, own, begins);
        if self.is_passed_over(since) {
            self.books.whole_tree.add(self.books.slicing, since, at, &inside, own, false);
        }
    }

    pub(super) fn sampled(&mut self, slot: Slot, at: Ns, sample: [u32; KINDS]) {
        let (path_of, slicing) = (self.path_of(slot), self.books.slicing);
        let thread = self.get_mut(slot);
        split::add(&mut thread.samples, sample);
        let own = thread.own;
        self.get_mut(path_of).path.sample(slicing, at, own, sample);
        if self.is_passed_over(at) {
            self.books.whole_tree.sample(slicing, at, own, sample);
        }
    }

    /// A thread is about to be switched out of this CPU.
    pub(super) fn leaves_cpu(&mut self, cpu: u32, at: Ns, tid: Tid) {
        let who = self.by_tid(tid).map(|thread| (thread.name, thread.pid)).unwrap_or_default();
        self.occupants.leaves(cpu, at, tid, who);
        self.recorder.iter_mut().for_each(|recorder| recorder.on_cpu(cpu, at, false));
    }

    /// A thread is switched in.
    pub(super) fn switched_in(&mut self, cpu: u32, at: Ns, into: &SwitchIn) {
        let Some(slot) = self.slot(into.tid) else { return };
        self.occupants.comes(cpu, at);
        self.recorder.iter_mut().for_each(|recorder| recorder.on_cpu(cpu, at, true));
        self.switched_in += 1;
        let thread = self.get_mut(slot);
        thread.just_in = true;
        let since = thread.since;
        let doubtful = std::mem::take(&mut thread.doubtful);
        if let Some(row) = thread.handed.take().filter(|_| !doubtful) {
            self.handed.runs(row, at.saturating_sub(since));
        }
        match self.becomes(slot, at, TracedState::Running) {
            _ if doubtful => self.book(slot, at, State::Unexplained, ReasonKey::None),
            TracedState::Runnable | TracedState::Blocked(BlockedIn { woken_early: true, .. }) => {
                let throttled = into.throttled_ns.min(at.saturating_sub(since));
                if throttled > 0 {
                    self.book(slot, since + throttled, State::Throttled, ReasonKey::None);
                }
                self.book_queued(slot, cpu, at, into);
            }
            TracedState::Stopped => self.book(slot, at, State::Stopped, ReasonKey::None),
            TracedState::Blocked(_) => {
                let kind = (State::Unexplained, ReasonKey::NoWakeUp);
                // A stack of it is not of a wait that somebody was seen to end.
                let thread = self.get_mut(slot);
                thread.last_wait.iter_mut().for_each(|wait| wait.handed_by = None);
                let of = thread.ledger_of;
                self.books.waits.record(kind, of, at.saturating_sub(since), WaitEnd::UNKNOWN);
                self.book(slot, at, State::Unexplained, ReasonKey::NoWakeUp);
            }
            TracedState::Running | TracedState::Dead | TracedState::Unknown => {
                self.book(slot, at, State::Unexplained, ReasonKey::None);
            }
        }
    }

    /// Books a wait for a CPU, by who had it. Of each kind of them the wait is counted once.
    fn book_queued(&mut self, slot: Slot, cpu: u32, at: Ns, into: &SwitchIn) {
        let from = self.get(slot).since;
        let after_own = into.ran.is_some_and(|(tid, _)| self.slot(tid).is_some());
        let meanwhile = self.occupants.meanwhile(Queued { cpu, from, to: at, into, after_own });
        self.recorder.iter_mut().for_each(|told| told.queued(slot, cpu, (from, at), &meanwhile));
        let mut counted = SmallVec::<[_; 4]>::new();
        let mut to = from;
        for (reason, ns) in meanwhile {
            to += ns;
            let kind = std::mem::discriminant(&reason);
            let begins = !counted.contains(&kind);
            counted.push(kind);
            self.book_as(slot, to, (State::Runqueue, reason), begins);
        }
    }

    /// A thread is switched out; if that is the end of it, it is forgotten by its number.
    pub(super) fn switched_out(&mut self, at: Ns, out: &SwitchOut) -> Option<Died> {
        let slot = self.ran_until(out.tid, at, &out.calls)?;
        let thread = &mut self.threads[slot as usize];
        let doing = match &out.left {
            SwitchOutState::Runnable => TracedState::Runnable,
            SwitchOutState::Blocked(wait) => {
                if matches!(wait.on, Object::Futex { .. }) {
                    self.begins.add(thread.since);
                }
                let woken_early = std::mem::take(&mut thread.woken_early);
                let wait = WaitContext { call: thread.blocks_in(wait.call, self.arch), ..wait.clone() };
                TracedState::Blocked(BlockedIn::new(wait, woken_early, self.arch))
            }
            SwitchOutState::Stopped => TracedState::Stopped,
            SwitchOutState::Dead(counters) => {
                thread.died(*counters);
                TracedState::Dead
            }
        };
        let (died, is_dead) = (Died { slot, at: thread.since }, doing.is_dead());
        self.becomes(slot, at, doing);
        self.threads[slot as usize].covered = self.books.cover.read(at);
        if is_dead {
            self.by_tid.remove(&out.tid);
            self.predictor.iter_mut().for_each(|predictor| predictor.dies(slot));
            self.recorder.iter_mut().for_each(|recorder| recorder.ends(slot));
        }
        is_dead.then_some(died)
    }

    /// Frees what a thread that is not of the root had.
    pub(super) fn bury(&mut self, slot: Slot) {
        // No thread continues on a dead thread's path: what waited for it has it by now. In a
        // window it is the thread's own.
        if !self.in_window {
            self.get_mut(slot).path = Path::default();
            self.forget_clocks(slot);
        }
        let shared = self.get(slot).ledger_of;
        if shared != slot {
            self.share_ledger(slot, shared);
        }
    }

    /// Adds the ledger of one of the many that has ended to the shared one, and frees its slot.
    fn share_ledger(&mut self, slot: Slot, shared: Slot) {
        let thread = self.get(slot);
        let (life, states, samples) = (thread.since - thread.born, thread.states, thread.samples);
        let counters = thread.counters.unwrap_or_default();
        let sum = self.get_mut(shared);
        sum.since += life;
        sum.states.add_all(states);
        split::add(&mut sum.samples, samples);
        add_counters(sum.counters.get_or_insert_default(), counters);
        self.free.push(slot);
    }

    /// A wait of this thread has completed: it counts with the thread's ledger.
    pub(super) fn ended(&mut self, slot: Slot, ended: Ended) -> Ended {
        let in_window = self.in_window;
        let thread = self.get_mut(slot);
        let ended = Ended { thread: thread.ledger_of, ..ended };
        thread.last_wait = Some(ended);
        thread.unsettled.add(ended.wait, ended.ns, in_window);
        ended
    }

    /// Waits, and time by state, as they turned out.
    pub(super) fn revise(&mut self, verdicts: &Verdicts) {
        self.books.activities.revise(|activity| verdicts.revise(activity));
        self.books.waits = verdicts.sort(std::mem::take(&mut self.books.waits));
        for thread in &mut self.threads {
            for (wait, ns) in thread.unsettled.0.drain(..) {
                thread.states.moves(wait.0, verdicts.of(wait, thread.ledger_of).0, ns);
            }
            if verdicts.keeps_time(thread.ledger_of) {
                thread.states.moves(State::Sleep, State::Idle, thread.states.of(State::Sleep));
            }
        }
    }

    /// What a thread did since a wait for a lock began.
    pub(super) fn did_since(&self, slot: Slot, begin: Ns) -> Times {
        self.get(slot).holder.since(begin)
    }
}

impl Thread {
    /// Its time up to then was of these states.
    pub(super) fn spend(&mut self, begins: &Begins, to: Ns, parts: &[(State, Ns)]) {
        parts.iter().for_each(|(state, ns)| self.states.add(*state, *ns));
        self.holder.add(begins, self.since, to, parts);
        self.since = to;
    }
}

/// Whether a thread in this state is under way: nothing within the tree holds it up.
fn is_under_way(state: State) -> bool {
    matches!(state, State::Runqueue | State::Throttled | State::Disk | State::Network)
}

fn add_counters(sum: &mut Counters, more: Counters) {
    sum.cpu_ns = sum.cpu_ns.saturating_add(more.cpu_ns);
    sum.runqueue_ns = sum.runqueue_ns.saturating_add(more.runqueue_ns);
    sum.minor_faults = sum.minor_faults.saturating_add(more.minor_faults);
    sum.major_faults = sum.major_faults.saturating_add(more.major_faults);
    sum.voluntary_switches = sum.voluntary_switches.saturating_add(more.voluntary_switches);
    sum.involuntary_switches = sum.involuntary_switches.saturating_add(more.involuntary_switches);
}
