//! From what the trace says of threads, as it says it, to the steps of a [`Program`].
//!
//! What is kept is bounded: past [`STEPS`] the program ends there, and says so.

use super::cpu_saturation::CpuSaturation;
use super::program::{
    Edge, Kind, KindId, Program, Queued, Sample, SampleClass, Step, StepRef, Thread, ThreadId, Token,
    behind_own,
};
use crate::account::{Slot, Verdicts};
use crate::code::Code;
use crate::keys::ReasonKey;
use model::recording::{Calls, Comm, SampleMode};
use model::{Ns, Pid, State, Tid};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Steps that are kept: about 40 bytes each, with what a replay needs of them.
const STEPS: u64 = 10_000_000;

/// A program as it grows.
#[derive(Debug)]
pub(crate) struct Recorder {
    program: Program,
    by_slot: Vec<Option<Tracked>>,
    cpu_saturation: CpuSaturation,
    kinds: FxHashMap<Kind, KindId>,
    programs: FxHashMap<Comm, u32>,
    /// Samples by mode and innermost place of the stack.
    classes: FxHashMap<(SampleMode, Option<u32>), u32>,
    nodes: Vec<(SampleMode, Option<u32>)>,
    /// Functions whose samples are told apart.
    functions: Vec<String>,
    most: u64,
}

/// A thread that lives.
#[derive(Debug, Clone)]
struct Tracked {
    thread: ThreadId,
    /// What its process executes.
    program: u32,
    /// For how long threads of the tree had had all CPUs when it last became ready.
    full_ns: Ns,
    /// Samples of what it has run since it was last heard of: class and time.
    samples: SmallVec<[(u32, u32); 4]>,
}

/// Who it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedThread {
    pub(crate) at: Ns,
    pub(crate) pid: Pid,
    pub(crate) tid: Tid,
    pub(crate) name: Comm,
    pub(crate) ledger_of: Slot,
}

/// A wait that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited {
    pub(crate) kind: (State, ReasonKey),
    pub(crate) futex: u64,
    pub(crate) by_exit: bool,
    pub(crate) under_way: bool,
    /// Time ended it.
    pub(crate) lets_pass: bool,
    pub(crate) ns: Ns,
    /// Where it goes on from, if a thread of the tree ended it.
    pub(crate) from: Option<Edge>,
}

impl Recorder {
    /// For a program with this root on this many CPUs. Samples of `functions` are told apart.
    pub(crate) fn new(root: Pid, cpus: u32, functions: Vec<String>) -> Self {
        let program = Program { root, ..Program::default() };
        Self {
            program,
            by_slot: Vec::new(),
            cpu_saturation: CpuSaturation::new(cpus),
            kinds: FxHashMap::default(),
            programs: FxHashMap::default(),
            classes: FxHashMap::default(),
            nodes: Vec::new(),
            functions,
            most: STEPS,
        }
    }

    /// Keeps no more than this many steps.
    pub(crate) fn keeps(&mut self, steps: u64) {
        self.most = steps;
    }

    /// A thread comes into the tree.
    pub(crate) fn begins(&mut self, slot: Slot, who: RecordedThread) {
        let RecordedThread { at, pid, tid, name, ledger_of } = who;
        let thread = self.program.threads.len() as ThreadId;
        if self.by_slot.len() <= slot as usize {
            self.by_slot.resize(slot as usize + 1, None);
        }
        let (program, full_ns) = (self.program(Comm::default()), self.cpu_saturation.full_ns(at));
        let tracked = Tracked { thread, program, full_ns, samples: SmallVec::new() };
        let tracked = self.program.cut.is_none().then_some(tracked);
        self.by_slot[slot as usize] = tracked;
        if self.program.cut.is_none() {
            self.program.threads.push(Thread { pid, tid, name, ledger_of, start: at, ..Thread::default() });
        }
    }

    /// It was created by this one, which does the next thing.
    pub(crate) fn forked(&mut self, parent: Slot, child: Slot) {
        let (Some(of_parent), Some(of_child)) = (self.tracked(parent), self.tracked(child)) else { return };
        let (parent_id, program, child_id) = (of_parent.thread, of_parent.program, of_child.thread);
        let step = self.program.thread(parent_id).steps.len() as u32;
        self.push(parent, Step::Fork(child_id));
        self.by_slot[child as usize].iter_mut().for_each(|child| child.program = program);
        let child = &mut self.program.threads[child_id as usize];
        child.executes.push((0, program));
        child.creator = Some(StepRef { thread: parent_id, step });
    }

    /// Its process executes another program.
    pub(crate) fn executes(&mut self, slot: Slot, name: Comm) {
        let program = self.program(name);
        if let Some(Some(tracked)) = self.by_slot.get_mut(slot as usize) {
            tracked.program = program;
            let thread = &mut self.program.threads[tracked.thread as usize];
            thread.executes.push((thread.steps.len() as u32, program));
        }
        self.named(slot, name);
    }

    /// It has another name.
    pub(crate) fn named(&mut self, slot: Slot, name: Comm) {
        if let Some(thread) = self.tracked(slot).map(|tracked| tracked.thread) {
            self.program.threads[thread as usize].name = name;
        }
    }

    /// It has run for so long: in these calls, and the rest outside of them.
    pub(crate) fn runs(&mut self, slot: Slot, calls: &Calls, mut room_ns: Ns) {
        for call in calls {
            let ns = call.ns.min(room_ns);
            room_ns -= ns;
            if ns > 0 || call.count > 0 {
                let kind = self.kind(Kind::call(call.call));
                self.push(slot, Step::Run { kind, returned: call.count, ns });
            }
        }
        let Some(Some(tracked)) = self.by_slot.get_mut(slot as usize) else { return };
        let (thread, samples) = (tracked.thread, std::mem::take(&mut tracked.samples));
        if room_ns > 0 || !samples.is_empty() {
            let step = self.program.thread(thread).steps.len() as u32;
            let kind = self.kind(Kind::own());
            self.push(slot, Step::Run { kind, returned: 0, ns: room_ns });
            let samples = samples.into_iter().map(|(class, ns)| Sample { step, class, ns });
            self.program.threads[thread as usize].samples.extend(samples);
        }
    }

    /// A sample was taken of what it runs, outside of calls that are timed.
    pub(crate) fn sampled(&mut self, slot: Slot, mode: SampleMode, node: Option<u32>, ns: u32) {
        let next = self.nodes.len() as u32;
        let class = *self.classes.entry((mode, node)).or_insert(next);
        if class == next {
            self.nodes.push((mode, node));
        }
        if let Some(Some(tracked)) = self.by_slot.get_mut(slot as usize) {
            tracked.samples.push((class, ns));
        }
    }

    /// It was out of quota, stopped, or did what nobody saw.
    pub(crate) fn passes(&mut self, slot: Slot, ns: Ns, (state, reason): (State, ReasonKey)) {
        if ns > 0 {
            let throttled = state == State::Throttled;
            let kind = self.kind(Kind { under_way: throttled, ..Kind::active(state, reason) });
            self.push(slot, Step::Wait { kind, ns });
        }
    }

    /// The tree may use this many CPUs from now on.
    pub(crate) fn may_use(&mut self, cpus: u32) {
        self.cpu_saturation.may_use(cpus);
    }

    /// A thread of the tree comes to a CPU, or leaves it.
    pub(crate) fn on_cpu(&mut self, cpu: u32, at: Ns, comes: bool) {
        self.cpu_saturation.change(cpu, at, comes);
    }

    /// It is ready to run.
    pub(crate) fn is_ready(&mut self, slot: Slot, at: Ns) {
        let full_ns = self.cpu_saturation.full_ns(at);
        if let Some(Some(tracked)) = self.by_slot.get_mut(slot as usize) {
            tracked.full_ns = full_ns;
        }
    }

    /// It was ready to run, and has got this CPU. What others had of it since a thread of the tree
    /// last had it is kept, so that each time of theirs is kept once. Before that it waited behind
    /// its own: while they had all CPUs, the replay says for how long.
    pub(crate) fn queued(
        &mut self,
        slot: Slot,
        cpu: u32,
        (from, to): (Ns, Ns),
        meanwhile: &[(ReasonKey, Ns)],
    ) {
        let full_ns = self.cpu_saturation.full_ns(to);
        let Some(tracked) = self.tracked(slot) else { return };
        let full_ns = full_ns.saturating_sub(tracked.full_ns);
        let left = self.cpu_saturation.left(cpu).clamp(from, to.max(from));
        let is_own = |reason: &ReasonKey| matches!(reason, ReasonKey::PreemptedByOwn(_));
        let most =
            |own: bool| meanwhile.iter().map(|(reason, _)| *reason).find(|reason| is_own(reason) == own);
        let own = most(true).unwrap_or_else(behind_own);
        let others = most(false).unwrap_or(ReasonKey::PreemptedUnseen);
        let behind_own_ns = full_ns.min(left - from);
        let last = if others == ReasonKey::IdleCpu { Queued::Waking } else { Queued::BehindOthers };
        for (queued, reason, ns) in [
            (Queued::BehindOwn, own, behind_own_ns),
            (Queued::LeftBehind, own, left - from - behind_own_ns),
            (last, others, to.saturating_sub(left)),
        ] {
            if ns > 0 || queued == Queued::BehindOwn {
                let kind = self.kind(Kind::queued(queued, reason));
                self.push(slot, Step::Queue { kind, ns });
            }
        }
    }

    /// It goes on with what it does at the end of the recording.
    pub(crate) fn goes_on(&mut self, slot: Slot, ns: Ns, on_cpu: bool, under_way: bool) {
        if on_cpu {
            return self.runs(slot, &Calls::new(), ns);
        }
        let kind = self.kind(Kind { under_way, ..Kind::active(State::Unexplained, ReasonKey::NotObserved) });
        self.push(slot, Step::Wait { kind, ns });
    }

    /// It has waited.
    pub(crate) fn waited(&mut self, slot: Slot, waited: Waited) {
        let Waited { kind: (state, reason), futex, by_exit, under_way, lets_pass, ns, from } = waited;
        if self.tracked(slot).is_none() {
            return;
        }
        let kind = self.kind(Kind { futex, by_exit, under_way, lets_pass, ..Kind::active(state, reason) });
        let step = match from {
            None => Step::Wait { kind, ns },
            Some(edge) => {
                self.program.edges.push(edge);
                Step::Await { kind, edge: self.program.edges.len() as u32 - 1, ns }
            }
        };
        self.push(slot, step);
    }

    /// It is ended with its process, by this one: what it would have done no longer matters.
    pub(crate) fn killed_by_exit_group(&mut self, slot: Slot, leader: Slot, ns: Ns) {
        let Some(token) = self.releases(leader) else { return };
        let (kind, from) = ((State::Stopped, ReasonKey::None), Some(Edge { token, lag_ns: 0 }));
        let (by_exit, under_way, lets_pass) = (true, true, false);
        self.waited(slot, Waited { kind, futex: 0, by_exit, under_way, lets_pass, ns, from });
    }

    /// Another thread goes on from what it has done so far. Of several one after the other gets a
    /// CPU, so each has a step of its own.
    pub(crate) fn releases(&mut self, slot: Slot) -> Option<Token> {
        let thread = self.tracked(slot)?.thread;
        let (token, step) =
            (self.program.releases.len() as Token, self.program.thread(thread).steps.len() as u32);
        self.program.releases.push(StepRef { thread, step });
        self.push(slot, Step::Release(token));
        Some(token)
    }

    /// It has ended.
    pub(crate) fn ends(&mut self, slot: Slot) {
        let Some(place) = self.by_slot.get_mut(slot as usize) else { return };
        if let Some(tracked) = place.take() {
            self.program.threads[tracked.thread as usize].ended = true;
        }
    }

    /// Nothing more is kept when there is no room for it.
    pub(crate) fn heard(&mut self, at: Ns) {
        if self.program.steps >= self.most && self.program.cut.is_none() {
            self.program.cut = Some(at);
            self.by_slot.clear();
        }
    }

    /// The program, with its waits as they turned out.
    pub(crate) fn finish(self, code: &Code, verdicts: &Verdicts) -> Program {
        let Self { mut program, mut kinds, nodes, functions, cpu_saturation, .. } = self;
        let class = |(mode, node): (SampleMode, Option<u32>)| {
            let on_stack = |function: &String| node.is_some_and(|node| code.passes_through(node, function));
            let functions = functions.iter().enumerate().filter(|(_, function)| on_stack(function));
            SampleClass { mode, functions: functions.map(|(at, _)| at as u8).collect() }
        };
        program.cpus = cpu_saturation.cpus();
        program.classes = nodes.into_iter().map(class).collect();
        let leaders = program.threads.iter().filter(|thread| thread.pid == thread.tid);
        let names: FxHashMap<Pid, Comm> = leaders.map(|thread| (thread.pid, thread.name)).collect();
        for thread in &mut program.threads {
            thread.process = names.get(&thread.pid).copied().unwrap_or(thread.name);
            thread.steps.shrink_to_fit();
            for step in &mut thread.steps {
                let (Step::Wait { kind, .. } | Step::Await { kind, .. }) = step else { continue };
                let was = program.kinds[*kind as usize];
                let (state, reason) = verdicts.of((was.state, was.reason), thread.ledger_of);
                let is = Kind { state, reason, is_lock: verdicts.is_lock(was.futex), ..was };
                if is != was {
                    *kind = interned(&mut kinds, &mut program.kinds, is);
                }
            }
        }
        program
    }

    fn tracked(&self, slot: Slot) -> Option<&Tracked> {
        self.by_slot.get(slot as usize)?.as_ref()
    }

    /// Adds the next step of a thread.
    fn push(&mut self, slot: Slot, step: Step) {
        if let Some(thread) = self.tracked(slot).map(|tracked| tracked.thread) {
            self.program.threads[thread as usize].steps.push(step);
            self.program.steps += 1;
        }
    }

    fn kind(&mut self, kind: Kind) -> KindId {
        interned(&mut self.kinds, &mut self.program.kinds, kind)
    }

    fn program(&mut self, name: Comm) -> u32 {
        interned(&mut self.programs, &mut self.program.programs, name)
    }
}

/// The number of something that is kept once.
fn interned<T: Copy + Eq + std::hash::Hash>(ids: &mut FxHashMap<T, u32>, all: &mut Vec<T>, one: T) -> u32 {
    *ids.entry(one).or_insert_with(|| {
        all.push(one);
        all.len() as u32 - 1
    })
}
