//! The ledgers of traced threads closed: the final path and the ledgers, brought to the end of the
//! wall.

use super::division::{Division, OwnTimeSamples};
use super::fault_places::FaultSamples;
use super::files::folded;
use super::prediction::prediction;
use super::processes::{Largest, Processes};
use super::thread::{BlockedIn, NewThread, Thread, TracedState};
use super::tree::Tree;
use super::wall::Wall;
use crate::account::split::{Counts, Late, add};
use crate::account::{
    Activity, Amount, Breakdown, Key, Member, Path, Pieces, Seeing, Slot, StepThread, ThreadTotals, Times,
    Total, Verdicts, WaitEnd, WaitTimes, by_activity, phases, resolved, wait_rows, window,
};
use crate::bounded::Bounded;
use crate::classify::{Evidence, classify};
use crate::code::Code;
use crate::connections::Connections;
use crate::counted::{CounterHit, Sampled};
use crate::for_work::{HELD_NS_MAX, is_idle};
use crate::keys::{ReasonKey, TargetKey};
use crate::names::Names;
use crate::peer_processes;
use crate::rivals::Rivals;
use crate::untraced::{InCalls, Untraced};
use crate::what_if::program::Program;
use crate::what_if::recorder::Recorder;
use crate::{disk_requests, file_rows, sliced};
use model::recording::{AttachWindow, Comm, Counters, Ending, Trailer, Waker};
use model::run::{Faults, ThreadLedger as ThreadRow};
use model::tables::Tables;
use model::{Ns, Prediction, Seen, State, Tid};
use rustc_hash::{FxHashMap, FxHashSet};

/// What the analysis of traced events gives, in addition to the pieces that every tier gives.
#[derive(Debug)]
pub(crate) struct Closed {
    /// The pieces.
    pub(crate) pieces: Pieces,
    /// Threads' time on a CPU and runnable as booked here, and as the kernel counted it, over
    /// threads that ended.
    pub(crate) cpu: (Ns, Ns),
    /// See `cpu`.
    pub(crate) runqueue: (Ns, Ns),
    /// How often threads that ended were switched, by the kernel's count.
    pub(crate) switches: u64,
    /// What traced events tell: the others are still unseen.
    pub(crate) tables: Tables,
    /// Other programs that threads waited behind.
    pub(crate) rivals: Rivals,
    /// The largest of them, where the end of one was seen or one lived on.
    pub(crate) largest: Option<Largest>,
    /// What it would have gained without parts of it.
    pub(crate) prediction: Seen<Prediction>,
    /// What all threads did, step by step, and what the numbers in it stand for.
    pub(crate) recorded: Option<(Program, Names)>,
    /// What is known of calls that were not traced.
    pub(crate) untraced: Untraced,
    /// What the processor's counters counted on the path; none in a window.
    pub(crate) on_path: Option<Vec<(CounterHit, Sampled)>>,
    /// Requests were followed from task to task, of programs that schedule these themselves.
    pub(crate) follows_tasks: bool,
}

/// Time as added up here, and the kernel's count of the same.
#[derive(Debug, Default)]
struct Compared {
    cpu: (Ns, Ns),
    runqueue: (Ns, Ns),
    switches: u64,
}

/// What the kernel has counted of threads that live on.
type Living = FxHashMap<Tid, Counters>;

/// All that is known of a traced program at its end.
#[derive(Debug)]
pub(super) struct TraceAtEnd {
    pub(super) wall: Wall,
    pub(super) tree: Tree,
    pub(super) untraced: Untraced,
    pub(super) names: Names,
    pub(super) connections: Connections,
    pub(super) processes: Processes,
    pub(super) fault_samples: FaultSamples,
    pub(super) window: Option<AttachWindow>,
}

/// The account of such a program.
pub(super) fn close(mut ended: TraceAtEnd, trailer: &Trailer, code: &Code) -> Closed {
    // What is booked from here on was not observed.
    let recorder = ended.recorded();
    let end = ended.settle(trailer);
    let TraceAtEnd {
        wall,
        mut tree,
        untraced,
        mut names,
        connections,
        mut processes,
        mut fault_samples,
        window,
    } = ended;
    for (pid, bytes) in &trailer.peaks {
        processes.peaked(*pid, *bytes);
        fault_samples.peaked(*pid, *bytes);
    }
    for thread in threads(&tree).filter(|thread| !thread.doing.is_dead()) {
        processes.lives_on(thread.pid, thread.spent());
    }
    let covered = tree.ledgers.cover.read(end);
    let keep_time = tree.keep_time();
    let who = |slot| tree.get(slot).who();
    let verdicts =
        Verdicts::new(&tree.ledgers.waits, code, window.is_some().then_some(&who), keep_time, &mut names);
    let program = recorder.map(|recorder| recorder.finish(code, &verdicts));
    tree.revise(&verdicts);
    let mut tables = Tables::unseen();
    tables.hand_overs = Seen::Value(std::mem::take(&mut tree.handed).table(&verdicts, &names));
    tables.waits_at_once = Seen::Value(std::mem::take(&mut tree.under_way).table());
    let waits = std::mem::take(&mut tree.ledgers.waits);
    let idle = tree.idle();
    let predictor = tree.predictor.take();
    let mut on_path = None;
    let entries = match window {
        Some(_) => ledgers(&mut tree, &idle),
        None => {
            let charged = last_path(&wall, &tree);
            let before = if tree.struck.places.is_empty() { Vec::new() } else { charged.clone() };
            let resolved = resolved(charged, &tree.ledgers);
            on_path = last(&wall, &tree).map(|thread| tree.counted_on(&thread.path, &before, &resolved));
            resolved
        }
    };
    let division = division(&tree);
    let living: Living = trailer.living.iter().copied().collect();
    let faults = faults(&tree, &living);
    let ledgers = &tree.ledgers;
    let mut totals = by_activity(entries.iter().copied(), &ledgers.activities);
    for (activity, total) in &mut totals {
        if let ReasonKey::Syscall(call) = activity.reason {
            total.count = sliced::counted(trailer, call, total.count);
        }
    }
    let mut breakdown = Breakdown::new(&folded(&totals), &division, &names);
    let phases =
        phases(ledgers.slicing, end, entries.iter().copied(), &ledgers.activities, &division, &mut breakdown);
    let tree_own_ns = threads(&tree).map(|thread| thread.states.of(State::User)).sum();
    let late = Late::after(faults.map_or(0, |faults| faults.minor + faults.major), sliced::calls(trailer));
    let known = OwnTimeSamples::new(&totals, late, tree_own_ns);
    let prediction = match predictor {
        Some(mut predictor) => prediction(&wall, &mut predictor, &names, &known, trailer.sliced.is_some()),
        // A window.
        None => Seen::Absent,
    };
    let Compared { cpu, runqueue, switches } = compared(&tree, &living);
    let follows_tasks = tree.requests.follow_tasks();
    if let Some(requests) = std::mem::take(&mut tree.requests).finish(&verdicts) {
        let left_out = trailer.requests_left_out.unwrap_or(0);
        let mut table = requests.table(left_out, wall.start, &names, code);
        if let Some(followed) = trailer.units_followed {
            table.followed_ns = followed.until.map(|until| until.saturating_sub(wall.start));
            (table.following_ns, table.elsewhere) = (Some(followed.each_ns), followed.others);
        }
        tables.requests = Seen::Value(table);
    } else if connections.serves_none() {
        tables.requests = Seen::Absent;
    }
    let pieces = Pieces {
        start: wall.start,
        wall_ns: end - wall.start,
        parts: breakdown.parts(|state, sum| known.of(state, sum)),
        steps: breakdown.steps(|slot| step_thread(&tree, slot)),
        phases,
        covered: Some(covered),
        threads: thread_rows(&tree, &living, &division, &idle),
        waits: wait_rows(
            waits,
            &wait_times(&totals),
            &names,
            Seeing::Traced(code, &|slot| tree.get(slot).who()),
        ),
        window: window.map(|attached| self::window(attached.target, &members(&tree, &idle))),
    };
    tables.connections = Seen::Value(peer_processes::of(connections.rows(), &trailer.peer_processes));
    tables.lookups = Seen::Value(names.lookups.rows());
    tables.files = file_rows::table(trailer, &names, &pieces.threads);
    tables.disk_requests = disk_requests::table(trailer, &names, &pieces.threads);
    tables.fault_places = Seen::Value(fault_samples.table(code, &names, &pieces.threads));
    if let Some(faults) = faults {
        tables.faults = Seen::Value(faults);
    }
    let largest = processes.largest();
    tables.programs = Seen::Value(processes.close(end, division.of_tree.0));
    let rivals = tree.occupants.rivals;
    let recorded = program.map(|program| (program, names));
    Closed {
        pieces,
        cpu,
        runqueue,
        switches,
        tables,
        rivals,
        largest,
        prediction,
        recorded,
        untraced,
        on_path,
        follows_tasks,
    }
}

impl TraceAtEnd {
    /// What all threads did, with what those were doing at the end that live on.
    fn recorded(&mut self) -> Option<Recorder> {
        let (mut recorder, end) = (self.tree.recorder.take()?, self.wall.end?);
        for slot in self.tree.in_use() {
            let Thread { doing, since, .. } = self.tree.get(slot);
            let on_cpu = matches!(doing, TracedState::Running);
            recorder.goes_on(slot, end.saturating_sub(*since), on_cpu, doing.progress().is_some());
        }
        Some(recorder)
    }

    /// Brings every ledger to the end of the wall, which it returns.
    fn settle(&mut self, trailer: &Trailer) -> Ns {
        // The root's end was not seen (events were lost): it was reaped, and what came before has
        // no evidence.
        let end = self.wall.end.unwrap_or(trailer.reaped_at).max(self.wall.start);
        // A program that a signal did not end is recorded up to there, like a window.
        let goes_on = matches!(trailer.ending, Ending::Window(_));
        // It may be long after the last event.
        self.tree.ledgers.slicing.fit(end.saturating_sub(1));
        for slot in self.tree.in_use() {
            let thread = self.tree.get(slot);
            if thread.doing.is_dead() || thread.since >= end {
                continue;
            }
            let state = self.state_of(thread);
            if self.window.is_some() || goes_on {
                self.cut(slot, end, state);
            } else {
                let state = if self.wall.end.is_some() { state } else { State::Unexplained };
                self.tree.charge(slot, end, state, ReasonKey::None);
            }
        }
        if self.wall.end.is_none() && self.window.is_none() {
            self.wall.last = Some(self.last_of_root(end));
        }
        end
    }

    /// What a thread does that goes on.
    fn state_of(&self, thread: &Thread) -> State {
        match &thread.doing {
            TracedState::Blocked(BlockedIn { wait, .. }) => {
                let local = self.names.local_sockets.end(&wait.on);
                let traced = Evidence::traced(wait, &Waker::Unknown, TargetKey::External);
                let call = self.tree.waits_in(thread.pid, wait);
                let evidence = Evidence { call, local, roles: Some(&self.names.roles), ..traced };
                let classified = classify(evidence, self.names.arch);
                if is_idle(self.window.is_some(), classified, evidence, self.names.arch) {
                    State::Idle
                } else {
                    classified.state
                }
            }
            TracedState::Stopped => State::Stopped,
            TracedState::Runnable => State::Runqueue,
            TracedState::Running | TracedState::Dead | TracedState::Unknown => State::Unexplained,
        }
    }

    /// Brings a thread's ledger to the end of the window, or of the recording of a program that
    /// goes on. A wait that goes on counts with its part.
    fn cut(&mut self, slot: Slot, end: Ns, mut state: State) {
        let thread = self.tree.get_mut(slot);
        let is_all_of_it = thread.since <= self.wall.start;
        let ns = end - thread.since;
        let reason = match thread.doing.clone() {
            TracedState::Blocked(BlockedIn { wait, stack, .. }) => {
                thread.waited.add(self.names.arch, wait.call, ns);
                let (pid, of) = (thread.pid, thread.ledger_of);
                let idled = thread.states.of(State::Idle) > thread.states.of(State::Lock);
                let call = self.tree.waits_in(pid, &wait);
                let file = self.names.file_of(&wait);
                let local = self.names.local_sockets.end(&wait.on);
                let roles = Some(&self.names.roles);
                let traced = Evidence::traced(&wait, &Waker::Unknown, file);
                let evidence = Evidence { call, local, roles, ..traced };
                let reason = classify(evidence, self.names.arch).reason();
                // Unless its stack tells what it was for: a pool without work is far more usual
                // than a lock that is held for so long. A thread that waited for work before waits
                // for it again.
                let for_work = is_all_of_it || stack.is_none() && (ns >= HELD_NS_MAX || idled);
                if self.window.is_some()
                    && for_work
                    && matches!(reason, ReasonKey::Wait(_, TargetKey::Futex(_)))
                {
                    state = State::Idle;
                }
                self.tree.under_way.waited(state, end - ns, end);
                self.tree.ledgers.waits.record((state, reason), of, ns, WaitEnd::UNKNOWN);
                if let Some(node) = stack {
                    self.tree.ledgers.waits.stack((state, reason), of, node, ns);
                }
                self.tree.get_mut(slot).unsettled.add((state, reason), ns, true);
                reason
            }
            _ => ReasonKey::None,
        };
        self.tree.charge(slot, end, state, reason);
    }

    /// The thread whose path is the program's when no end was seen: one of the root's that lives,
    /// else the one that died last, with what came after it unexplained.
    fn last_of_root(&mut self, end: Ns) -> Slot {
        let root = self.tree.root;
        let lives = |thread: &Thread| thread.pid == root && !thread.doing.is_dead();
        let living = self.tree.threads.iter().position(lives).map(|slot| slot as Slot);
        // Of a recording that never heard of the root nothing is known but that it ran.
        let last = living.or(self.wall.last).unwrap_or_else(|| {
            let (name, path) = (Comm::default(), Path::default());
            let at = self.wall.start;
            let doing = TracedState::Running;
            self.tree.add(NewThread { at, tid: root, pid: root, name, path, creator: None, doing })
        });
        self.tree.charge(last, end, State::Unexplained, ReasonKey::None);
        last
    }
}

/// The path of the thread that the program ended with.
fn last_path(wall: &Wall, tree: &Tree) -> Vec<(Key, Amount)> {
    last(wall, tree).map(|thread| thread.path.entries(tree.ledgers.slicing)).unwrap_or_default()
}

/// The thread that the program ended with.
fn last<'a>(wall: &Wall, tree: &'a Tree) -> Option<&'a Thread> {
    tree.threads.get(wall.last.unwrap_or(0) as usize)
}

/// The ledgers of a window's threads: the active ones, or all where none was active.
/// Each thread's own is gone then: of thousands they are most of what there is in memory.
fn ledgers(tree: &mut Tree, idle: &FxHashSet<Slot>) -> Vec<(Key, Amount)> {
    let (idle, active): (Vec<_>, Vec<_>) = tree.in_use().into_iter().partition(|slot| idle.contains(slot));
    let (counted, others) = if active.is_empty() { (idle, active) } else { (active, idle) };
    others.into_iter().for_each(|slot| drop(std::mem::take(&mut tree.get_mut(slot).path)));
    let mut all = Vec::new();
    for slot in counted {
        let path = std::mem::take(&mut tree.get_mut(slot).path);
        // An activity is a thread's own.
        all.extend(path.entries(tree.ledgers.slicing));
    }
    all
}

/// The threads as a window counts them.
fn members(tree: &Tree, idle: &FxHashSet<Slot>) -> Vec<Member> {
    let member = |slot: Slot| {
        let thread = tree.get(slot);
        Member { pid: thread.pid, life_ns: thread.since - thread.born, idle: idle.contains(&slot) }
    };
    tree.in_use().into_iter().map(member).collect()
}

fn threads(tree: &Tree) -> impl Iterator<Item = &Thread> {
    tree.in_use().into_iter().map(|slot| tree.get(slot))
}

/// The ledgers against the kernel's counters, of threads that ended; in a window of all.
fn compared(tree: &Tree, living: &Living) -> Compared {
    let mut all = Compared::default();
    for thread in threads(tree) {
        let living = living.get(&thread.tid).filter(|_| tree.in_window);
        if let Some(counters) = thread.counted(living) {
            all.cpu.0 += thread.states.sum(State::on_cpu);
            all.cpu.1 = all.cpu.1.saturating_add(counters.cpu_ns);
            all.runqueue.0 += thread.states.of(State::Runqueue) + thread.states.of(State::Throttled);
            all.runqueue.1 = all.runqueue.1.saturating_add(counters.runqueue_ns);
            let switches = counters.voluntary_switches.saturating_add(counters.involuntary_switches);
            all.switches = all.switches.saturating_add(switches);
        }
    }
    if tree.in_window {
        // The kernel was not asked about threads that live on.
        all.switches = tree.switched_in;
    }
    all
}

/// Page faults of all threads, as far as the kernel counted them.
fn faults(tree: &Tree, living: &Living) -> Option<Faults> {
    let faults = threads(tree).filter_map(|thread| faults_of(thread, living));
    faults.reduce(|sum, more| Faults { minor: sum.minor + more.minor, major: sum.major + more.major })
}

fn faults_of(thread: &Thread, living: &Living) -> Option<Faults> {
    let counters = thread.counted(living.get(&thread.tid))?;
    Some(Faults { minor: counters.minor_faults, major: counters.major_faults })
}

fn division(tree: &Tree) -> Division {
    let mut of_tree = Counts::default();
    threads(tree).for_each(|thread| add(&mut of_tree, thread.samples));
    let mut in_calls = InCalls::default();
    threads(tree).for_each(|thread| in_calls.add_all(&thread.in_calls));
    Division {
        of_threads: tree.threads.iter().map(|thread| (thread.samples, thread.in_calls.clone())).collect(),
        of_tree: (of_tree, in_calls),
    }
}

/// What a step says of its thread: its process has the name of the thread that leads it.
fn step_thread(tree: &Tree, slot: Slot) -> StepThread {
    let thread = tree.get(slot);
    let leader = tree.by_tid(thread.pid).filter(|leader| leader.pid == thread.pid).unwrap_or(thread);
    StepThread { pid: thread.pid, tid: thread.tid, process: leader.name }
}

fn thread_rows(tree: &Tree, living: &Living, division: &Division, idle: &FxHashSet<Slot>) -> Vec<ThreadRow> {
    let row = |slot: Slot| {
        let thread = tree.get(slot);
        let mut states = Times::default();
        for (state, ns) in thread.states.rows() {
            // All of its samples are in what is its own.
            let activity = Activity::seen(slot, state, ReasonKey::None);
            states.add_divided(&[(activity, Total { ns, ..Total::default() })], division);
        }
        let faults = faults_of(thread, living);
        let row = ThreadTotals {
            pid: thread.pid,
            tid: thread.tid,
            name: thread.name,
            command: tree.commands.get(&slot).cloned(),
            life_ns: thread.since - thread.born,
            outlived: !thread.doing.is_dead(),
            idle: idle.contains(&slot),
            states,
            passed: thread.passed,
            faults: faults.map_or_else(|| Seen::unseen("the thread's exit was not observed"), Seen::Value),
        };
        row.row()
    };
    tree.in_use().into_iter().map(row).collect()
}

/// What of each kind of wait counts in the account.
fn wait_times(totals: &[(Activity, Total)]) -> WaitTimes {
    let mut path_ns = FxHashMap::default();
    for (activity, total) in totals.iter().filter(|(activity, _)| !activity.state.on_cpu()) {
        *path_ns.entry(((activity.state, activity.reason), activity.thread)).or_insert(0) += total.ns;
    }
    WaitTimes { path_ns, total_ns: None }
}

impl Bounded for Faults {}
