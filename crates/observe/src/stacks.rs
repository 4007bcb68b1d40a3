//! Turns raw stacks into nodes of the call tree: unwound as they arrive, symbolized when the
//! program has ended.
//!
//! A stack depends on the mappings at its time, so everything is processed in order of time:
//! mappings and stacks wait here until the events before them have been emitted. `code` unwinds and
//! symbolizes.

mod entered;
mod faults;
mod names;
mod python;
mod tree;

use crate::jvm;
use crate::source_text::Roots;
use crate::threads::Threads;
use ::python::record::{Stack, described};
use code::{Mapping, Processes, RawFrame, Registers, UnreadNames};
use entered::Entered;
use faults::FaultWaits;
use model::counters::Counter;
use model::coverage::Source;
use model::recording::{CodeLocation, Runtime, SampleMode};
use model::task::TaskDid;
use model::{Call, Event, Ns, Pid, Tid};
use names::SymbolGaps;
pub(crate) use python::expected;
use python::{PythonTarget, Pythons};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};
use tree::{FrameKey, Tree};

/// Files and processes without names that are listed.
const FILES_SAID: usize = 4;

/// How long all Java virtual machines together may take to write their names.
const JVMS_WITHIN: Duration = Duration::from_secs(5);

/// A copied stack.
#[derive(Debug)]
pub(crate) struct RawStack {
    pub(crate) tid: Tid,
    pub(crate) pid: Pid,
    pub(crate) of: StackKind,
    /// The user registers.
    pub(crate) registers: Registers,
    /// Addresses in the kernel, the innermost first.
    pub(crate) kernel: Vec<u64>,
    /// The user stack, from the stack pointer upwards.
    pub(crate) user: Vec<u8>,
    /// Its Python frames, where it has some.
    pub(crate) python: Option<Stack>,
}

/// The kind of stack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StackKind {
    Sample {
        mode: SampleMode,
        period_ns: u32,
    },
    Wait {
        weight_ns: Ns,
        call: Option<Call>,
    },
    /// A page fault that blocks from here on.
    Fault,
    /// A page fault of the sample.
    FaultSample,
    /// The wait that the thread was in when it was found.
    Found,
    /// The waker of another thread, at that time.
    Waker {
        woken: Tid,
        woken_at: Ns,
    },
}

/// Where a counter of the processor overflowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedAt {
    pub(crate) tid: Tid,
    pub(crate) pid: Pid,
    pub(crate) counter: Counter,
    pub(crate) count: u64,
    pub(crate) kernel: bool,
    pub(crate) ip: u64,
}

enum Item {
    Executed(Pid),
    Mapped(Pid, Mapping),
    /// A description of a Python code object, from the kernel half.
    Described(Vec<u8>),
    Stack(Box<RawStack>),
    Counted(CountedAt),
}

/// Stacks being processed.
pub(crate) struct Stacks {
    processes: Processes,
    tree: Tree,
    pythons: Pythons,
    /// Descriptions of Python processes that the kernel half does not have yet.
    targets: Vec<PythonTarget>,
    /// In reverse order of time, so that the next is at the end.
    waiting: Vec<(Ns, u64, Item)>,
    /// The number of items so far.
    came: u64,
    sorted: bool,
    frames: Vec<RawFrame>,
    /// Threads that are blocked in a page fault.
    faults: FaultWaits,
    /// By what kernel functions threads came into the kernel.
    entered: Entered,
    /// The number of stacks taken.
    pub(crate) taken: u64,
    /// What could not be symbolized, once names were looked up.
    unnamed: SymbolGaps,
    /// Whether Java virtual machines are asked for names.
    asks_jvms: bool,
    /// Java processes that gave no names, and why.
    silent_jvms: Vec<String>,
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stacks").field("taken", &self.taken).finish_non_exhaustive()
    }
}

impl Stacks {
    pub(crate) fn new() -> Self {
        Self {
            processes: Processes::new(),
            tree: Tree::default(),
            pythons: Pythons::default(),
            targets: Vec::new(),
            waiting: Vec::new(),
            came: 0,
            sorted: true,
            frames: Vec::new(),
            faults: FaultWaits::default(),
            entered: Entered::default(),
            taken: 0,
            unnamed: SymbolGaps::default(),
            asks_jvms: false,
            silent_jvms: Vec::new(),
        }
    }

    /// A process is running already: its mappings were never recorded.
    pub(crate) fn found(&mut self, pid: Pid) {
        // One that has exited in the meantime needs no mappings.
        for mapping in code::executable_mappings(pid).unwrap_or_default() {
            self.targets.extend(self.pythons.mapped(pid, &mapping));
            self.processes.mapped(pid, mapping);
        }
    }

    /// A process executes another program: its mappings are gone. This comes before the program
    /// maps its own code; [`Event::Exec`] comes after.
    pub(crate) fn executed(&mut self, at: Ns, pid: Pid) {
        self.add(at, Item::Executed(pid));
    }

    /// A new executable mapping of a file or of anonymous memory.
    pub(crate) fn mapped(&mut self, at: Ns, pid: Pid, mapping: Mapping) {
        self.add(at, Item::Mapped(pid, mapping));
    }

    /// As [`Self::mapped`]; an interpreter is described at once. What is processed before its turn
    /// comes (unwinding tables of large libraries) can take longer than a short script.
    pub(crate) fn mapped_now(&mut self, at: Ns, pid: Pid, mapping: Mapping, threads: &Threads) {
        if threads.expects_process(pid) {
            self.targets.extend(self.pythons.target(pid, &mapping).map(|(target, _)| target));
        }
        self.mapped(at, pid, mapping);
    }

    /// A Python code object was described.
    pub(crate) fn described(&mut self, at: Ns, record: &[u8]) {
        self.add(at, Item::Described(record.to_vec()));
    }

    /// New descriptions of Python processes for the kernel half, since the last call.
    pub(crate) fn targets(&mut self) -> Vec<PythonTarget> {
        std::mem::take(&mut self.targets)
    }

    /// Addresses in the kernel whose functions tell what samples are of, since the last call.
    pub(crate) fn entries(&mut self) -> Vec<u64> {
        self.entered.unasked()
    }

    /// The functions at these addresses.
    pub(crate) fn entries_named(&mut self, addresses: &[u64], names: Vec<Option<String>>) {
        self.entered.named(addresses, names);
    }

    /// A stack was taken.
    pub(crate) fn stack(&mut self, at: Ns, stack: Box<RawStack>) {
        self.taken += 1;
        if let StackKind::Sample { mode: SampleMode::Fault, .. } = stack.of {
            self.entered.came(&stack.kernel);
        }
        self.add(at, Item::Stack(stack));
    }

    /// A counter overflowed.
    pub(crate) fn counted(&mut self, at: Ns, counted: CountedAt) {
        self.add(at, Item::Counted(counted));
    }

    fn add(&mut self, at: Ns, item: Item) {
        self.came += 1;
        self.waiting.push((at, self.came, item));
        self.sorted = false;
    }

    /// Processes what came before `event`, and adds the stack of a sample to it. Call it before the
    /// event is added to the threads.
    pub(crate) fn before(&mut self, event: &mut Event, threads: &Threads, sink: &mut dyn FnMut(&Event)) {
        if let Some(at) = event.at() {
            self.work_off(at, threads, sink);
        }
        match event {
            Event::Sampled { at, tid, mode, node, .. } => {
                let Some(stack) = self.of_sample(*at, *tid, threads, sink) else { return };
                match self.is_interrupt(&stack) {
                    // As a softirq's: what it interrupted has nothing to do with it.
                    true => *mode = SampleMode::InterruptOutside,
                    false => *node = self.node(*at, &stack, sink),
                }
            }
            Event::FaultSampled { at, tid, node, .. } => {
                let stack = self.of_sample(*at, *tid, threads, sink);
                *node = stack.and_then(|stack| self.node(*at, &stack, sink));
            }
            _ => {}
        }
    }

    /// Adds its stack to a task that waits: return addresses, the innermost first.
    pub(crate) fn task_waits(
        &mut self,
        event: &mut Event,
        pid: Pid,
        callers: &[u64],
        sink: &mut dyn FnMut(&Event),
    ) {
        let Event::Task { did: TaskDid::Waits { node, .. }, .. } = event else { return };
        let mut at = 0;
        for caller in callers.iter().rev() {
            // A return address is that of the next instruction.
            if let Some(frame) = self.processes.at(pid, caller.saturating_sub(1)) {
                let key = FrameKey::Native(frame.file, frame.address);
                at = self.tree.node(self.processes.files(), at, key, sink);
            }
        }
        *node = (at > 0).then_some(at);
    }

    /// Whether a sample that is taken for one in a fault is in an interrupt: in the kernel's way
    /// back from it to the thread's own code.
    fn is_interrupt(&self, stack: &RawStack) -> bool {
        matches!(stack.of, StackKind::Sample { mode: SampleMode::Fault, .. })
            && self.entered.by_interrupt(&stack.kernel)
    }

    /// Notes what the event changes. Call it before the event is emitted.
    pub(crate) fn event(&mut self, event: &Event, threads: &Threads) {
        match event {
            Event::Fork { tid, child, pid, .. } if child == pid => {
                let parent = threads.pid_of(*tid);
                self.processes.forked(parent, *pid);
                self.pythons.forked(parent, *pid);
            }
            Event::Exit { tid, last: true, .. } => {
                let pid = threads.pid_of(*tid);
                self.processes.exited(pid);
                self.pythons.gone(pid);
            }
            _ => {}
        }
    }

    /// Emits the stack of a wait in a page fault that `event` ends. Call it after the event was
    /// emitted.
    pub(crate) fn after(&mut self, event: &Event, sink: &mut dyn FnMut(&Event)) {
        if let (Some((tid, node, weight_ns)), Some(at)) = (self.faults.after(event), event.at()) {
            sink(&Event::WaitStack { at, tid, node, weight_ns, call: None });
        }
    }

    /// What is missing of the code, for the coverage: `lost` stacks could not be delivered. None
    /// when nothing is.
    pub(crate) fn shortfall(&self, lost: u64) -> Option<Source> {
        let mut why = Vec::new();
        let mut remedy = "";
        if lost > 0 {
            why.push(format!("{lost} of {} stacks were lost", lost + self.taken));
            remedy = "dwell run --rate 99";
        }
        if let Some(said) = &self.unnamed.kernel {
            why.push(format!("kernel functions have no names: {said}"));
            remedy = "sudo sysctl kernel.kptr_restrict=0";
        }
        why.extend(self.pythons.unread.iter().cloned());
        why.extend(self.silent_jvms.iter().take(FILES_SAID).cloned());
        why.extend(self.unnamed.files.iter().take(FILES_SAID).map(UnreadNames::to_string));
        let silent = self.processes.files().silent();
        why.extend(
            silent
                .take(FILES_SAID)
                .map(|path| format!("{path} is not read: its file system does not answer")),
        );
        if !self.unnamed.jit_named {
            for name in &self.pythons.others {
                why.push(format!("functions of {name} code are not read, only those of its interpreter"));
                if *name == "Node.js" {
                    remedy = "node --perf-basic-prof …";
                }
            }
        }
        if self.unnamed.late > 0 {
            let places = self.unnamed.late;
            why.push(format!("symbolization ran out of time: {places} code locations lack lines or names"));
        }
        (!why.is_empty()).then(|| Source::partial("code", why.join("; "), remedy))
    }

    /// The users who could have written what files with code say.
    pub(crate) fn users(&self) -> &BTreeSet<u32> {
        self.processes.files().users()
    }

    /// The root directories in which programs see files.
    pub(crate) fn roots(&self) -> Roots {
        self.processes.files().roots()
    }

    /// Processes all that is left.
    pub(crate) fn rest(&mut self, threads: &Threads, sink: &mut dyn FnMut(&Event)) {
        self.work_off(Ns::MAX, threads, sink);
    }

    /// Emits the names of all code locations. `ask_kernel` symbolizes kernel addresses, if it can.
    pub(crate) fn names(
        &mut self,
        ask_kernel: impl FnOnce(&[u64]) -> Option<Vec<Option<String>>>,
        sink: &mut dyn FnMut(&Event),
    ) {
        if self.asks_jvms {
            self.ask_jvms();
        }
        self.unnamed = names::emit(&self.tree, &self.processes, ask_kernel, sink);
    }

    /// From now on Java virtual machines that still run are asked for names before these are looked
    /// up.
    pub(crate) fn asks_jvms(&mut self) {
        self.asks_jvms = true;
    }

    /// Has the Java virtual machines that still run write their perf maps.
    fn ask_jvms(&mut self) {
        let deadline = Instant::now() + JVMS_WITHIN;
        for pid in self.processes.makers(Runtime::HotSpot) {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Err(why) = jvm::write_perf_map(pid, left.min(jvm::ANSWER_WITHIN)) {
                self.silent_jvms.push(format!("Java process {pid} gave no names: {why}"));
            }
        }
    }

    fn work_off(&mut self, until: Ns, threads: &Threads, sink: &mut dyn FnMut(&Event)) {
        self.sort();
        while self.waiting.last().is_some_and(|(at, ..)| *at < until) {
            if let Some((at, _, item)) = self.waiting.pop() {
                self.item(at, item, threads, sink);
            }
        }
    }

    /// The stack that a sample of this time left; none where it has not come.
    fn of_sample(
        &mut self,
        at: Ns,
        tid: Tid,
        threads: &Threads,
        sink: &mut dyn FnMut(&Event),
    ) -> Option<Box<RawStack>> {
        self.sort();
        // What has the same time is descriptions that the stack needs, as a rule.
        while self.waiting.last().is_some_and(|(of, ..)| *of == at) {
            match self.waiting.pop() {
                Some((_, _, Item::Stack(stack)))
                    if stack.tid == tid
                        && matches!(stack.of, StackKind::Sample { .. } | StackKind::FaultSample) =>
                {
                    return Some(stack);
                }
                Some((at, _, item)) => self.item(at, item, threads, sink),
                None => {}
            }
        }
        None
    }

    fn sort(&mut self) {
        if !self.sorted {
            // A code object's description has the time of the stack that follows it.
            self.waiting.sort_unstable_by_key(|(at, came, _)| Reverse((*at, *came)));
            self.sorted = true;
        }
    }

    fn item(&mut self, at: Ns, item: Item, threads: &Threads, sink: &mut dyn FnMut(&Event)) {
        match item {
            Item::Executed(pid) => {
                self.processes.executed(pid);
                self.pythons.gone(pid);
            }
            // What processes outside the tree map is of no concern.
            Item::Mapped(pid, _) if !threads.has_process(pid) => {}
            Item::Mapped(pid, mapping) => {
                self.targets.extend(self.pythons.mapped(pid, &mapping));
                self.processes.mapped(pid, mapping);
            }
            Item::Described(record) => {
                if let Some(described) = described(&record) {
                    self.pythons.described(&described);
                }
            }
            Item::Stack(stack) => self.told_alone(at, &stack, sink),
            Item::Counted(counted) => {
                let node = self.place(&counted, sink);
                let CountedAt { tid, counter, count, kernel, .. } = counted;
                sink(&Event::Counted { at, tid, counter, count, kernel, node });
            }
        }
    }

    /// A stack that is of no sample, or whose sample has gone on without it.
    fn told_alone(&mut self, at: Ns, stack: &RawStack, sink: &mut dyn FnMut(&Event)) {
        if self.is_interrupt(stack) {
            return;
        }
        let Some(node) = self.node(at, stack, sink) else { return };
        let tid = stack.tid;
        sink(&match stack.of {
            StackKind::Fault => return self.faults.stack(tid, node),
            // Without its sample it says nothing.
            StackKind::FaultSample => return,
            StackKind::Sample { mode, period_ns } => Event::SampleStack { at, tid, node, mode, period_ns },
            StackKind::Wait { weight_ns, call } => Event::WaitStack { at, tid, node, weight_ns, call },
            StackKind::Waker { woken, woken_at } => Event::WakerStack { at, tid: woken, woken_at, node },
            StackKind::Found => Event::AliveStack { at, tid, node },
        });
    }

    /// The place alone of an overflow, as a node without callers.
    fn place(&mut self, counted: &CountedAt, sink: &mut dyn FnMut(&Event)) -> Option<u32> {
        let key = match counted.kernel {
            true => FrameKey::Other(CodeLocation::Kernel { address: counted.ip }),
            false => {
                let frame = self.processes.at(counted.pid, counted.ip)?;
                FrameKey::Native(frame.file, frame.address)
            }
        };
        let node = self.tree.node(self.processes.files(), 0, key, sink);
        (node > 0).then_some(node)
    }

    /// Unwinds a stack, and tells what is new of its places, and the load that it was at. Its
    /// innermost node; none where nothing was found.
    fn node(&mut self, at: Ns, stack: &RawStack, sink: &mut dyn FnMut(&Event)) -> Option<u32> {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let broke = self.processes.unwind(stack.pid, &stack.registers, &stack.user, &mut frames);
        let files = self.processes.files();
        let keys = match &stack.python {
            Some(python) => self.pythons.merged(files, &frames, broke.is_none(), python),
            None => frames.iter().map(|frame| FrameKey::Native(frame.file, frame.address)).collect(),
        };
        let mut node = 0;
        // Python's own frames continue the stack.
        let broke = broke.filter(|_| stack.python.as_ref().is_none_or(|python| python.frames.is_empty()));
        // During `execve` there is nothing to unwind.
        let broke = broke.filter(|_| !frames.is_empty() || stack.kernel.is_empty());
        if let Some(broke) = broke {
            node = self.tree.node(
                self.processes.files(),
                node,
                FrameKey::Other(CodeLocation::Broke { why: broke.to_string() }),
                sink,
            );
        }
        for key in keys.into_iter().rev() {
            node = self.tree.node(files, node, key, sink);
        }
        for (depth, address) in stack.kernel.iter().enumerate().rev() {
            // A return address is that of the next instruction, which may belong to the next
            // function.
            let address = if depth == 0 { *address } else { address.saturating_sub(1) };
            node = self.tree.node(files, node, FrameKey::Other(CodeLocation::Kernel { address }), sink);
        }
        let own = matches!(stack.of, StackKind::Sample { mode: SampleMode::User, .. });
        if let Some(first) = frames.first().filter(|_| own && node > 0)
            && let Some(load) = self.processes.load(*first, &stack.registers)
        {
            sink(&Event::Load { at, tid: stack.tid, node, load });
        }
        self.frames = frames;
        (node > 0).then_some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample in the kernel that is in no call, whose stack is of this function: what it is then,
    /// and whether it has a stack.
    fn sampled_in(function: Option<&str>) -> (SampleMode, bool) {
        let (at, tid, period_ns, mode) = (9, 7, 1000, SampleMode::Fault);
        let mut stacks = Stacks::new();
        let (registers, user) = (crate::machine::here().of_bpf([0; 8], &[]), Vec::new());
        let of = StackKind::Sample { mode, period_ns };
        let stack = RawStack { tid, pid: 7, of, registers, kernel: vec![0x100], user, python: None };
        stacks.stack(at, Box::new(stack));
        let asked = stacks.entries();
        stacks.entries_named(&asked, vec![function.map(str::to_owned); asked.len()]);
        let mut event = Event::Sampled { at, tid, mode, ip: 0x100, period_ns, node: None };
        stacks.before(&mut event, &Threads::default(), &mut |_| {});
        let Event::Sampled { mode, node, .. } = event else { panic!("{event:?}") };
        (mode, node.is_some())
    }

    #[test]
    fn a_fault_is_what_came_by_an_exception() {
        assert_eq!(sampled_in(Some("asm_exc_page_fault")), (SampleMode::Fault, true));
        assert_eq!(sampled_in(Some("asm_sysvec_reschedule_ipi")), (SampleMode::InterruptOutside, false));
        assert_eq!(sampled_in(None), (SampleMode::Fault, true), "no function has a name");
    }
}
