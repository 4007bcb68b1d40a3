//! The books closed: the final path and the ledgers, in words and shares that sum to the wall clock.

use super::waits::{About, Requests};
use super::{Doing, Index, Trace};
use crate::classify::{Evidence, classify};
use crate::code::Code;
use crate::judge::causes::interpreter_lock;
use crate::keys::{ReasonKey, TargetKey, WaitKey, WakerKey};
use crate::path::{Amount, Key, Path};
use crate::pieces::Pieces;
use crate::split::{Counts, Own, add, interval, late, split};
use model::peers::{ConnectionRow, LookupRow};
use model::recording::{Comm, Counters, Trailer, Waker};
use model::run::{Phases, Thread, WaitRow, Window};
use model::wait::{Reason, SyscallName, WaitCall, WaitTarget};
use model::{Basis, Ns, Part, Pid, Seen, State, Step};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Faults over all threads, where the kernel told.
    pub(crate) faults: Option<(u64, u64)>,
    /// Connections by peer.
    pub(crate) connections: Vec<ConnectionRow>,
    /// Questions for names.
    pub(crate) lookups: Vec<LookupRow>,
}

/// Time, how often it began, and samples.
type Sum = (Ns, u64, Counts);

impl Trace {
    /// Closes the books.
    pub(crate) fn close(mut self, trailer: &Trailer, code: &Code) -> Closed {
        let end = self.settle(trailer);
        let window = self.window.as_ref().map(|attached| self.window_of(attached.target.clone()));
        let entries = if window.is_some() { self.ledgers() } else { self.last_path() };
        let samples = self.samples();
        let living: FxHashMap<_, _> = trailer.living.iter().copied().collect();
        let faults = self.faults(&living);
        let known = faults.map_or(0, |(minor, major)| minor + major);
        let (steps, parts) = self.steps_and_parts(&entries, samples, known);
        let phases = self.phases(&entries, samples, end);
        let waits = self.wait_rows(&steps_by_reason(&entries, &self.place_of), code);
        let mut cpu = (0, 0);
        let mut runqueue = (0, 0);
        let mut switches = 0;
        for index in self.in_use() {
            let thread = &self.threads[index as usize];
            let living = living.get(&thread.tid).filter(|_| window.is_some());
            if let Some(counters) = thread.counters.or_else(|| Some(since(*living?, thread.before))) {
                let of =
                    |states: &[State]| states.iter().map(|state| thread.states[*state as usize]).sum::<Ns>();
                cpu.0 += of(&[State::Kernel, State::User, State::Fault]);
                cpu.1 += counters.cpu_ns;
                runqueue.0 += of(&[State::Runqueue, State::Throttled]);
                runqueue.1 += counters.runqueue_ns;
                switches += counters.voluntary_switches + counters.involuntary_switches;
            }
        }
        if window.is_some() {
            // Of those that live the kernel was not asked.
            switches = self.came;
        }
        let threads = self.thread_rows(&living, samples);
        let pieces = Pieces {
            start: self.start,
            wall_ns: end - self.start,
            parts,
            steps,
            phases,
            threads,
            waits,
            window,
        };
        let (connections, lookups) = (self.connections.rows(), self.names.lookups.rows());
        Closed { pieces, samples, cpu, runqueue, switches, faults, connections, lookups }
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
                Doing::Blocked(wait, _) => {
                    let evidence = Evidence::traced(wait, &Waker::Unknown, TargetKey::External);
                    classify(evidence, self.names.arch).state
                }
                Doing::Stopped => State::Stopped,
                Doing::Runnable => State::Runqueue,
                Doing::Running | Doing::Dead => State::Unexplained,
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
            Doing::Blocked(wait, _) => {
                self.threads[index as usize].waited.add(self.names.arch, wait.call, ns);
                let about = self.about(&wait);
                let evidence = Evidence::traced(&wait, &Waker::Unknown, about);
                let reason = classify(evidence, self.names.arch).reason();
                self.waits.record(state, reason, ns, WakerKey::Unknown, About::default());
                reason
            }
            _ => ReasonKey::None,
        };
        self.book(index, end, state, reason);
    }

    /// The path of the thread that the program ended with.
    fn last_path(&self) -> FxHashMap<Key, Amount> {
        let last = self.threads.get(self.last.unwrap_or(0) as usize);
        last.map(|thread| thread.path.entries(self.slicing)).unwrap_or_default()
    }

    /// The ledgers of a window's threads, by place: of those that did something, or of all where none did.
    fn ledgers(&self) -> FxHashMap<Key, Amount> {
        let mut all = FxHashMap::default();
        for index in self.told() {
            // A place is a thread's own.
            all.extend(self.threads[index as usize].path.entries(self.slicing));
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
        let life = |index: &Index| {
            let thread = &self.threads[*index as usize];
            thread.since - thread.born
        };
        let in_use = self.in_use();
        let processes: BTreeSet<Pid> = in_use.iter().map(|index| self.threads[*index as usize].pid).collect();
        let idle: Vec<_> = in_use.iter().copied().filter(|index| self.is_idle(*index)).collect();
        Window {
            target,
            processes: processes.len() as u64,
            threads_active: (in_use.len() - idle.len()) as u64,
            threads_idle: idle.len() as u64,
            thread_ns: self.told().iter().map(life).sum(),
            idle_ns: idle.iter().map(life).sum(),
        }
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

    /// Minor and major faults of all threads, as far as the kernel told.
    fn faults(&self, living: &FxHashMap<u32, Counters>) -> Option<(u64, u64)> {
        let counters = self.in_use().into_iter().filter_map(|index| {
            let thread = &self.threads[index as usize];
            thread.counters.or_else(|| Some(since(*living.get(&thread.tid)?, thread.before)))
        });
        counters
            .map(|of| (of.minor_faults, of.major_faults))
            .reduce(|sum, more| (sum.0 + more.0, sum.1 + more.1))
    }

    fn samples(&self) -> Counts {
        let mut sum = Counts::default();
        self.in_use().into_iter().for_each(|index| add(&mut sum, self.threads[index as usize].samples));
        sum
    }

    /// A thread's own time, split by its samples in the same place, by all of its samples, or by those of the whole
    /// tree, whichever is the first to have any.
    fn own(&self, index: Index, ns: Ns, here: Counts, of_tree: Counts) -> Own {
        split(ns, [here, self.threads[index as usize].samples, of_tree])
    }

    fn steps_and_parts(
        &self,
        entries: &FxHashMap<Key, Amount>,
        of_tree: Counts,
        faults: u64,
    ) -> (Vec<Step>, Vec<Part>) {
        let mut by_place: BTreeMap<u32, Sum> = BTreeMap::new();
        for (key, amount) in entries {
            let sum = by_place.entry(key.place).or_default();
            sum.0 += amount.ns;
            sum.1 += amount.count;
            add(&mut sum.2, amount.samples);
        }
        let mut steps = Vec::new();
        let mut own_ns = 0;
        let mut entry_ns = 0;
        let mut own_samples = Counts::default();
        for (place, (ns, count, samples)) in self.without_files(by_place) {
            let (index, state, reason) = place;
            let thread = &self.threads[index as usize];
            let mut step = |state, reason: Reason, ns, count| {
                if ns > 0 {
                    let (pid, tid, process) = (thread.pid, thread.tid, self.process_name(index));
                    steps.push(Step { pid, tid, process, state, reason, ns, count });
                }
            };
            if state == State::User {
                own_ns += ns;
                add(&mut own_samples, samples);
                let own = self.own(index, ns, samples, of_tree);
                entry_ns += own.kernel();
                step(State::Fault, Reason::None, own.fault, count);
                step(State::Kernel, Reason::SyscallEntry, own.entry, count);
                step(State::Kernel, Reason::SyscallsSampled, own.call, count);
                step(State::User, Reason::None, own.user, count);
            } else {
                step(state, self.names.reason(reason), ns, count);
            }
        }
        steps.sort_by_cached_key(|step| (Reverse(step.ns), step.tid, step.reason.to_string()));
        // The tree's faults, as far as its own time is on the path.
        let tree_own: Ns = self
            .in_use()
            .iter()
            .map(|index| self.threads[*index as usize].states[State::User as usize])
            .sum();
        let on_path = if tree_own == 0 {
            0
        } else {
            (u128::from(faults) * u128::from(own_ns) / u128::from(tree_own)) as u64
        };
        let parts = parts(&steps, own_ns, entry_ns, own_samples, late(on_path, own_ns));
        (steps, parts)
    }

    /// The places with what is about files put together, but for a file that is more than half of the like.
    fn without_files(&self, by_place: BTreeMap<u32, Sum>) -> Vec<((Index, State, ReasonKey), Sum)> {
        let mut likes: BTreeMap<u32, Vec<(ReasonKey, Sum)>> = BTreeMap::new();
        let mut first: FxHashMap<(Index, State, ReasonKey), u32> = FxHashMap::default();
        for (place, sum) in by_place {
            let (index, state, reason) = self.place_of[place as usize];
            let like = *first.entry((index, state, reason.of_many())).or_insert(place);
            likes.entry(like).or_default().push((reason, sum));
        }
        let mut places = Vec::new();
        for (like, members) in likes {
            let (index, state, _) = self.place_of[like as usize];
            let all: Ns = members.iter().map(|(_, sum)| sum.0).sum();
            let alone = members.len() == 1;
            let mut rest: Option<(ReasonKey, Sum)> = None;
            for (reason, sum) in members {
                match &mut rest {
                    _ if alone || sum.0 > all / 2 => places.push(((index, state, reason), sum)),
                    Some((_, more)) => {
                        more.0 += sum.0;
                        more.1 += sum.1;
                        add(&mut more.2, sum.2);
                    }
                    None => rest = Some((reason.of_many(), sum)),
                }
            }
            places.extend(rest.map(|(reason, sum)| ((index, state, reason), sum)));
        }
        places
    }

    fn process_name(&self, index: Index) -> String {
        let thread = &self.threads[index as usize];
        let leader = self.by_tid.get(&thread.pid).map(|leader| &self.threads[*leader as usize]);
        leader.filter(|leader| leader.pid == thread.pid).unwrap_or(thread).name.to_text()
    }

    fn phases(&self, entries: &FxHashMap<Key, Amount>, of_tree: Counts, end: Ns) -> Phases {
        let slice_ns = self.slicing.slice_ns();
        let count = (end - self.start).div_ceil(slice_ns) as usize;
        let mut slices = vec![[0; State::ALL.len()]; count];
        for (key, amount) in entries {
            let Some(slice) = slices.get_mut(key.slice as usize) else { continue };
            let (index, state, _) = self.place_of[key.place as usize];
            if state == State::User {
                put(slice, self.own(index, amount.ns, amount.samples.map(u64::from), of_tree));
            } else {
                slice[state as usize] += amount.ns;
            }
        }
        Phases { slice_ns, slices: slices.iter().map(by_state).collect() }
    }

    fn thread_rows(&self, living: &FxHashMap<u32, Counters>, of_tree: Counts) -> Vec<Thread> {
        let row = |index: Index| {
            let thread = &self.threads[index as usize];
            let mut states = thread.states;
            let ns = std::mem::take(&mut states[State::User as usize]);
            put(&mut states, self.own(index, ns, thread.samples, of_tree));
            let counters = thread.counters.or_else(|| Some(since(*living.get(&thread.tid)?, thread.before)));
            let counted = |of: fn(&Counters) -> u64| match &counters {
                Some(counters) => Seen::Value(of(counters)),
                None => Seen::unseen("the thread's end was not seen"),
            };
            Thread {
                pid: thread.pid,
                tid: thread.tid,
                name: thread.name.to_text(),
                life_ns: thread.since - thread.born,
                outlived: !matches!(thread.doing, Doing::Dead),
                idle: self.window.is_some() && self.is_idle(index),
                states: by_state(&states),
                minor_faults: counted(|counters| counters.minor_faults),
                major_faults: counted(|counters| counters.major_faults),
            }
        };
        self.in_use().into_iter().map(row).collect()
    }

    fn wait_rows(&self, on_path: &FxHashMap<WaitKey, Ns>, code: &Code) -> Vec<WaitRow> {
        let mut path_ns: FxHashMap<WaitKey, Ns> = FxHashMap::default();
        for ((state, reason), ns) in on_path {
            *path_ns.entry(self.waits.row_of(*state, *reason)).or_default() += ns;
        }
        let row = |(state, reason, wait): (State, ReasonKey, &super::waits::Wait)| {
            let (device, requests) = self.requests(state, reason, &wait.requests);
            let figure = |of: fn(&Requests) -> Option<Ns>| {
                requests.as_ref().and_then(|requests| match of(requests) {
                    Some(figure) => Seen::Value(figure),
                    None => Seen::unseen("the kernel does not keep when requests are made"),
                })
            };
            let stack = wait.main_stack().map(|node| code.stack(node));
            let (call, on) = match reason {
                ReasonKey::Wait(call, target) => {
                    let lock = matches!(target, TargetKey::Futex(_))
                        .then(|| stack.as_deref().and_then(interpreter_lock::awaited))
                        .flatten();
                    let target = lock.map_or_else(|| self.names.target(target), WaitTarget::InterpreterLock);
                    (self.names.call(call), target)
                }
                _ => (WaitCall::Unseen, WaitTarget::External(Seen::Absent)),
            };
            WaitRow {
                reason: state,
                call,
                on,
                calls: wait.lengths.total(),
                total_ns: wait.total_ns,
                path_ns: path_ns.get(&(state, reason)).copied().unwrap_or(0),
                p50_ns: wait.lengths.quantile(0.5),
                p99_ns: wait.lengths.quantile(0.99),
                max_ns: wait.lengths.max(),
                by: wait.wakers(state == State::Lock, code),
                histogram: wait.lengths.octaves(),
                device,
                requests: figure(|requests| Some(requests.count)),
                queue_ns: figure(|requests| requests.queue_ns),
                device_ns: figure(|requests| Some(requests.device_ns)),
                stack: match stack {
                    Some(stack) => Seen::Value(stack),
                    None => Seen::unseen("no stack was taken of so short a wait, or of its kind"),
                },
            }
        };
        let mut rows: Vec<_> = self.waits.rows().map(row).collect();
        rows.sort_by_cached_key(|row| {
            (Reverse(row.total_ns), row.call.syscall().map(SyscallName::to_string))
        });
        rows
    }

    /// The device that waits on a disk were for, and what of their time is known by request.
    fn requests<'a>(
        &self,
        state: State,
        reason: ReasonKey,
        requests: &'a Requests,
    ) -> (Seen<String>, Seen<&'a Requests>) {
        if state != State::Disk {
            return (Seen::Absent, Seen::Absent);
        }
        if requests.count > 0 {
            return (self.names.files.device(requests.dev), Seen::Value(requests));
        }
        let device = match reason {
            ReasonKey::Wait(_, TargetKey::File(file)) => self.names.files.device_of(file),
            _ => Seen::unseen("no request was seen that ended such a wait"),
        };
        (device, Seen::unseen("no request was seen that ended such a wait"))
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

fn steps_by_reason(
    entries: &FxHashMap<Key, Amount>,
    place_of: &[(Index, State, ReasonKey)],
) -> FxHashMap<WaitKey, Ns> {
    let mut sums = FxHashMap::default();
    for (key, amount) in entries {
        let (_, state, reason) = place_of[key.place as usize];
        *sums.entry((state, reason)).or_insert(0) += amount.ns;
    }
    sums
}

fn by_state(states: &[Ns; State::ALL.len()]) -> Vec<(State, Ns)> {
    State::ALL.into_iter().map(|state| (state, states[state as usize])).filter(|(_, ns)| *ns > 0).collect()
}

fn put(states: &mut [Ns; State::ALL.len()], own: Own) {
    states[State::User as usize] += own.user;
    states[State::Fault as usize] += own.fault;
    states[State::Kernel as usize] += own.kernel();
}

/// The steps by state. User, fault and the entries of calls are parts of one sampled figure; the rest is measured.
fn parts(steps: &[Step], own_ns: Ns, entry_ns: Ns, samples: Counts, late: Ns) -> Vec<Part> {
    let mut parts = Vec::new();
    for state in State::ALL {
        let ns = steps.iter().filter(|step| step.state == state).map(|step| step.ns).sum();
        if ns == 0 {
            continue;
        }
        let (basis, lo_ns, hi_ns) = match state {
            State::User | State::Fault => {
                let (lo, hi) = interval(state, ns, own_ns, samples, late);
                (Basis::Sampled, lo, hi)
            }
            State::Kernel if entry_ns > 0 => {
                let (lo, hi) = interval(state, entry_ns, own_ns, samples, 0);
                (Basis::Sampled, ns - entry_ns + lo, ns - entry_ns + hi)
            }
            _ => (Basis::Measured, ns, ns),
        };
        parts.push(Part { state, ns, basis, lo_ns, hi_ns });
    }
    parts
}
