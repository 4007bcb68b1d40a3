//! The books of traced threads closed: the final path and the ledgers, brought to the end of the wall.

use super::division::{Division, Known};
use super::files::folded;
use super::{BlockedIn, Doing, Index, Trace};
use crate::account::split::{Counts, add};
use crate::account::{
    Activity, Amount, Breakdown, Key, Member, Path, Pieces, Seeing, StepThread, ThreadTotals, Times, Total,
    WaitEnd, WaitTimes, by_activity, phases, wait_rows, window,
};
use crate::classify::{Evidence, classify};
use crate::code::Code;
use crate::keys::{ReasonKey, TargetKey};
use model::peers::{ConnectionRow, LookupRow};
use model::recording::{Comm, Counters, Trailer, Waker};
use model::run::{Faults, Thread as ThreadRow, Window};
use model::{Ns, Seen, State};
use rustc_hash::FxHashMap;

/// What the analysis of traced events gives, beside the pieces that every tier gives.
#[derive(Debug)]
pub(crate) struct Closed {
    /// The pieces.
    pub(crate) pieces: Pieces,
    /// Samples of all threads.
    pub(crate) samples: Counts,
    /// Threads' time on a CPU and runnable as booked here, and as the kernel counted it, over threads that ended.
    pub(crate) cpu: (Ns, Ns),
    /// See `cpu`.
    pub(crate) runqueue: (Ns, Ns),
    /// How often threads that ended were switched, by the kernel's count.
    pub(crate) switches: u64,
    /// Page faults of all threads, where the kernel counted them.
    pub(crate) faults: Option<Faults>,
    /// Connections by peer.
    pub(crate) connections: Vec<ConnectionRow>,
    /// Questions for names.
    pub(crate) lookups: Vec<LookupRow>,
}

/// Time as booked here, beside what the kernel counted of the same.
#[derive(Debug, Default)]
struct Compared {
    cpu: (Ns, Ns),
    runqueue: (Ns, Ns),
    switches: u64,
}

/// What the kernel has counted of threads that live on.
type Living = FxHashMap<u32, Counters>;

impl Trace {
    /// Closes the books.
    pub(crate) fn close(mut self, trailer: &Trailer, code: &Code) -> Closed {
        let end = self.settle(trailer);
        let window = self.window.as_ref().map(|attached| self.window_of(attached.target.clone()));
        let entries = if window.is_some() { self.ledgers() } else { self.last_path() };
        let division = self.division();
        let samples = division.of_tree;
        let living: Living = trailer.living.iter().copied().collect();
        let faults = self.faults(&living);
        let compared = self.compared(&living);
        let totals = by_activity(&entries, &self.books.activities);
        let breakdown = Breakdown::new(&folded(&totals), &division, &self.names);
        let tree_own_ns =
            self.in_use().iter().map(|index| self.threads[*index as usize].states.of(State::User)).sum();
        let known = Known::new(&totals, faults.map_or(0, |faults| faults.minor + faults.major), tree_own_ns);
        let pieces = Pieces {
            start: self.start,
            wall_ns: end - self.start,
            parts: breakdown.parts(|state, sum| known.of(state, sum)),
            steps: breakdown.steps(|index| self.step_thread(index)),
            phases: phases(self.books.slicing, end, &entries, &self.books.activities, &division),
            threads: self.thread_rows(&living, &division),
            waits: wait_rows(&self.books.waits, &wait_times(&totals), &self.names, Seeing::Traced(code)),
            window,
        };
        let Compared { cpu, runqueue, switches } = compared;
        let (connections, lookups) = (self.connections.rows(), self.names.lookups.rows());
        Closed { pieces, samples, cpu, runqueue, switches, faults, connections, lookups }
    }

    /// The books beside the kernel's counters, of threads that ended; in a window of all.
    fn compared(&self, living: &Living) -> Compared {
        let mut all = Compared::default();
        for index in self.in_use() {
            let thread = &self.threads[index as usize];
            let living = living.get(&thread.tid).filter(|_| self.window.is_some());
            if let Some(counters) = thread.counters.or_else(|| Some(since(*living?, thread.before))) {
                all.cpu.0 += thread.states.sum(State::on_cpu);
                all.cpu.1 += counters.cpu_ns;
                all.runqueue.0 += thread.states.of(State::Runqueue) + thread.states.of(State::Throttled);
                all.runqueue.1 += counters.runqueue_ns;
                all.switches += counters.voluntary_switches + counters.involuntary_switches;
            }
        }
        if self.window.is_some() {
            // Of those that live the kernel was not asked.
            all.switches = self.came;
        }
        all
    }

    /// Brings every ledger to the end of the wall, which it returns.
    fn settle(&mut self, trailer: &Trailer) -> Ns {
        // The root's end was not seen (events were lost): it was reaped, and what came before has no evidence.
        let end = self.end.unwrap_or(trailer.reaped_at).max(self.start);
        for index in self.in_use() {
            let thread = &self.threads[index as usize];
            if matches!(thread.doing, Doing::Dead) || thread.since >= end {
                continue;
            }
            let state = match &thread.doing {
                Doing::Blocked(BlockedIn { wait, .. }) => {
                    let evidence = Evidence::traced(wait, &Waker::Unknown, TargetKey::External);
                    classify(evidence, self.names.arch).state
                }
                Doing::Stopped => State::Stopped,
                Doing::Runnable => State::Runqueue,
                Doing::Running | Doing::Dead | Doing::Unknown => State::Unexplained,
            };
            if self.window.is_some() {
                self.cut(index, end, state);
                continue;
            }
            self.book(
                index,
                end,
                if self.end.is_some() { state } else { State::Unexplained },
                ReasonKey::None,
            );
        }
        if self.end.is_none() && self.window.is_none() {
            self.last = Some(self.last_of_root(end));
        }
        end
    }

    /// Brings a thread's ledger to the end of the window. A wait that goes on counts with its part.
    fn cut(&mut self, index: Index, end: Ns, state: State) {
        let thread = &self.threads[index as usize];
        let ns = end - thread.since;
        let reason = match thread.doing.clone() {
            Doing::Blocked(BlockedIn { wait, .. }) => {
                self.threads[index as usize].waited.add(self.names.arch, wait.call, ns);
                let about = self.about(&wait);
                let evidence = Evidence::traced(&wait, &Waker::Unknown, about);
                let reason = classify(evidence, self.names.arch).reason();
                self.books.waits.record((state, reason), ns, WaitEnd::UNKNOWN);
                reason
            }
            _ => ReasonKey::None,
        };
        self.book(index, end, state, reason);
    }

    /// The path of the thread that the program ended with.
    fn last_path(&self) -> FxHashMap<Key, Amount> {
        let last = self.threads.get(self.last.unwrap_or(0) as usize);
        last.map(|thread| thread.path.entries(self.books.slicing)).unwrap_or_default()
    }

    /// The ledgers of a window's threads, by activity: of those that did something, or of all where none did.
    fn ledgers(&self) -> FxHashMap<Key, Amount> {
        let mut all = FxHashMap::default();
        for index in self.told() {
            // An activity is a thread's own.
            all.extend(self.threads[index as usize].path.entries(self.books.slicing));
        }
        all
    }

    /// Threads that the account of a window is about.
    fn told(&self) -> Vec<Index> {
        let (idle, active): (Vec<_>, Vec<_>) =
            self.in_use().into_iter().partition(|index| self.is_idle(*index));
        if active.is_empty() { idle } else { active }
    }

    fn window_of(&self, target: String) -> Window {
        let member = |index: Index| {
            let thread = &self.threads[index as usize];
            Member { pid: thread.pid, life_ns: thread.since - thread.born, idle: self.is_idle(index) }
        };
        window(target, &self.in_use().into_iter().map(member).collect::<Vec<_>>())
    }

    /// Slots that hold a thread.
    fn in_use(&self) -> Vec<Index> {
        let free: rustc_hash::FxHashSet<Index> = self.free.iter().copied().collect();
        (0..self.threads.len() as Index).filter(|index| !free.contains(index)).collect()
    }

    /// The thread whose path is the program's when no end was seen: one of the root's that lives, else the one that
    /// died last, with what came after it unexplained.
    fn last_of_root(&mut self, end: Ns) -> Index {
        let of_root =
            (0..self.threads.len() as Index).filter(|index| self.threads[*index as usize].pid == self.root);
        let living =
            of_root.clone().find(|index| !matches!(self.threads[*index as usize].doing, Doing::Dead));
        // Of a recording that never heard of the root nothing is known but that it ran.
        let last = living.or(self.last).unwrap_or_else(|| {
            self.born(self.start, self.root, self.root, Comm::default(), Path::default(), Doing::Running)
        });
        self.book(last, end, State::Unexplained, ReasonKey::None);
        last
    }

    /// Page faults of all threads, as far as the kernel counted them.
    fn faults(&self, living: &Living) -> Option<Faults> {
        let faults = self.in_use().into_iter().filter_map(|index| self.faults_of(index, living));
        faults.reduce(|sum, more| Faults { minor: sum.minor + more.minor, major: sum.major + more.major })
    }

    fn faults_of(&self, index: Index, living: &Living) -> Option<Faults> {
        let thread = &self.threads[index as usize];
        let counters = thread.counters.or_else(|| Some(since(*living.get(&thread.tid)?, thread.before)))?;
        Some(Faults { minor: counters.minor_faults, major: counters.major_faults })
    }

    fn division(&self) -> Division {
        let mut of_tree = Counts::default();
        self.in_use().into_iter().for_each(|index| add(&mut of_tree, self.threads[index as usize].samples));
        Division { of_threads: self.threads.iter().map(|thread| thread.samples).collect(), of_tree }
    }

    /// What a step says of its thread: its process has the name of the thread that leads it.
    fn step_thread(&self, index: Index) -> StepThread {
        let thread = &self.threads[index as usize];
        let leader = self.by_tid.get(&thread.pid).map(|leader| &self.threads[*leader as usize]);
        let leader = leader.filter(|leader| leader.pid == thread.pid).unwrap_or(thread);
        StepThread { pid: thread.pid, tid: thread.tid, process: leader.name }
    }

    fn thread_rows(&self, living: &Living, division: &Division) -> Vec<ThreadRow> {
        let row = |index: Index| {
            let thread = &self.threads[index as usize];
            let mut states = Times::default();
            for (state, ns) in thread.states.rows() {
                // All of its samples are in what is its own.
                let activity = Activity::seen(index, state, ReasonKey::None);
                states.add_divided(&[(activity, Total { ns, ..Total::default() })], division);
            }
            let faults = self.faults_of(index, living);
            let row = ThreadTotals {
                pid: thread.pid,
                tid: thread.tid,
                name: thread.name,
                life_ns: thread.since - thread.born,
                outlived: !thread.doing.is_dead(),
                idle: self.window.is_some() && self.is_idle(index),
                states,
                faults: faults.map_or_else(|| Seen::unseen("the thread's end was not seen"), Seen::Value),
            };
            row.row()
        };
        self.in_use().into_iter().map(row).collect()
    }
}

/// What was counted since `before`.
pub(super) fn since(now: Counters, before: Counters) -> Counters {
    Counters {
        cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
        runqueue_ns: now.runqueue_ns.saturating_sub(before.runqueue_ns),
        minor_faults: now.minor_faults.saturating_sub(before.minor_faults),
        major_faults: now.major_faults.saturating_sub(before.major_faults),
        voluntary_switches: now.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: now.involuntary_switches.saturating_sub(before.involuntary_switches),
    }
}

/// What of each kind of wait counts in the account.
fn wait_times(totals: &[(Activity, Total)]) -> WaitTimes {
    let mut path_ns = FxHashMap::default();
    for (activity, total) in totals {
        *path_ns.entry((activity.state, activity.reason)).or_insert(0) += total.ns;
    }
    WaitTimes { path_ns, total_ns: None }
}
