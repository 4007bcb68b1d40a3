//! The threads of the tree: which there are, and what each does.
//!
//! A thread's time since it was last heard of is booked when it is heard of again.

mod charging;
mod switches;

use super::hand_overs::Handed;
use super::occupants::Occupants;
use super::predictor::Predictor;
use super::requests::Requests;
use super::struck::Struck;
use super::thread::{NewThread, Thread, TracedState};
use crate::account::{
    Activity, Begins, CompletedWait, Ledgers, Path, Slicing, Slot, Times, Verdicts, idle, keep_time, split,
};
use crate::calls::Arch;
use crate::keys::{CallKey, ReasonKey, WakerKey, Who};
use crate::under_way::UnderWay;
use crate::what_if::recorder::{RecordedThread, Recorder};
use model::recording::{Comm, Counters, Object, WaitContext, Waker};
use model::requests::Units;
use model::{Call, Ns, Pid, State, Tid};
use rustc_hash::{FxHashMap, FxHashSet};

/// Slices of the ledgers of all threads of a window.
const SLICES_OF_ALL: usize = 256_000;

/// Threads that have a ledger of their own. Of what comes after, those that end share one: a build
/// of an hour starts hundreds of thousands of processes, and memory is not to grow with them.
const OWN_LEDGERS: usize = 20_000;

/// All threads, with the ledgers of what they did.
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
    pub(super) ledgers: Ledgers,
    arch: Arch,
    /// Threads that may be letting time pass, and when the last of them no longer did.
    passing: (u32, Ns),
    /// Command lines, by the slot of the thread that leads the process.
    pub(super) commands: FxHashMap<Slot, String>,
    /// When the most recent waits for locks began.
    pub(super) begins: Begins,
    /// What had the CPUs.
    pub(super) occupants: Occupants,
    /// What the processor's counters counted.
    pub(super) struck: Struck,
    /// Whose waits were ended by whom.
    pub(super) handed: Handed,
    /// How many waits were under way at once.
    pub(super) under_way: UnderWay,
    /// How often a thread was switched in.
    pub(super) switched_in: u64,
    /// What all threads did, step by step, where it is kept.
    pub(super) recorder: Option<Recorder>,
    /// The requests that it serves.
    pub(super) requests: Requests,
}

/// A thread that was switched out for the last time.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadExit {
    pub(super) slot: Slot,
    pub(super) at: Ns,
}

impl Tree {
    pub(super) fn new(root: Pid, start: Ns, in_window: bool, arch: Arch, units: Units) -> Self {
        Self {
            root,
            in_window,
            predictor: None,
            threads: Vec::new(),
            by_tid: FxHashMap::default(),
            shared: None,
            free: Vec::new(),
            ledgers: Ledgers::new(Slicing::fine(start)),
            arch,
            passing: (0, 0),
            commands: FxHashMap::default(),
            begins: Begins::default(),
            occupants: Occupants::default(),
            struck: Struck::default(),
            handed: Handed::default(),
            under_way: UnderWay::default(),
            switched_in: 0,
            recorder: None,
            requests: Requests::from(start, units),
        }
    }

    /// The time begins.
    pub(super) fn begins(&mut self, at: Ns) {
        self.ledgers.slicing = Slicing::fine(at);
        self.requests.begins(at);
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
            self.ledgers.slicing.at_most(u32::try_from(SLICES_OF_ALL / threads).unwrap_or(u32::MAX));
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

    pub(super) fn add(&mut self, who: NewThread) -> Slot {
        let many = self.threads.len() >= OWN_LEDGERS;
        if many && self.shared.is_none() {
            let (name, path) = (Comm::from("(others)"), Path::default());
            let doing = TracedState::Dead;
            let others = NewThread { at: 0, tid: 0, pid: 0, name, path, creator: None, doing };
            self.shared = Some(self.put(others, None));
        }
        let (tid, shared) = (who.tid, self.shared.filter(|_| many));
        let slot = self.put(who, shared);
        self.by_tid.insert(tid, slot);
        slot
    }

    fn put(&mut self, who: NewThread, shared: Option<Slot>) -> Slot {
        let slot = self.free.pop().unwrap_or(self.threads.len() as Slot);
        let ledger_of = shared.unwrap_or(slot);
        let own = self.ledgers.activities.id(Activity::seen(ledger_of, State::User, ReasonKey::None));
        self.ledgers.cover.change(who.at, None, who.doing.progress());
        if let Some(recorder) = &mut self.recorder {
            let NewThread { at, pid, tid, name, .. } = who;
            recorder.begins(slot, RecordedThread { at, pid, tid, name, ledger_of });
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
        self.ledgers.cover.change(at, progressed, progresses);
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

    /// Where a thread of this process waits. The kernel's own make no calls: what would be the
    /// number of one is 0, with nothing that it is about, and they have no command line.
    pub(super) fn waits_in(&self, pid: Pid, wait: &WaitContext) -> CallKey {
        let has_command = || self.slot(pid).is_some_and(|leader| self.commands.contains_key(&leader));
        let in_none = wait.call == Some(Call(0)) && wait.on == Object::Unknown;
        let of_kernel = self.in_window && in_none && !has_command();
        if of_kernel { CallKey::Unseen } else { CallKey::traced(wait.call) }
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

    /// The threads that only keep time for the others.
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

    /// Nobody goes on with the clocks of this thread.
    pub(super) fn forget_clocks(&mut self, slot: Slot) {
        if let Some(predictor) = &mut self.predictor {
            predictor.forgets(slot);
        }
    }

    /// Frees what a thread had with which the program does not end.
    pub(super) fn retire(&mut self, slot: Slot) {
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
    pub(super) fn ended(&mut self, slot: Slot, ended: CompletedWait) -> CompletedWait {
        let in_window = self.in_window;
        let thread = self.get_mut(slot);
        let ended = CompletedWait { thread: thread.ledger_of, ..ended };
        thread.last_wait = Some(ended);
        thread.unsettled.add(ended.wait, ended.ns, in_window);
        ended
    }

    /// Waits, and time by state, as they turned out.
    pub(super) fn revise(&mut self, verdicts: &Verdicts) {
        self.ledgers.activities.revise(|activity| verdicts.revise(activity));
        self.ledgers.waits = verdicts.sort(std::mem::take(&mut self.ledgers.waits));
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

fn add_counters(sum: &mut Counters, more: Counters) {
    sum.cpu_ns = sum.cpu_ns.saturating_add(more.cpu_ns);
    sum.runqueue_ns = sum.runqueue_ns.saturating_add(more.runqueue_ns);
    sum.minor_faults = sum.minor_faults.saturating_add(more.minor_faults);
    sum.major_faults = sum.major_faults.saturating_add(more.major_faults);
    sum.voluntary_switches = sum.voluntary_switches.saturating_add(more.voluntary_switches);
    sum.involuntary_switches = sum.involuntary_switches.saturating_add(more.involuntary_switches);
}
