//! Which code ran and which code waited: the stacks of a recording, added up into the tree of
//! calls.
//!
//! Names come at the end of a recording and may be missing; then a place is called by its module
//! and address. What the tables say of the tree is left to `code/tables.rs`.

mod c_library;
mod frames;
pub(crate) mod own;
mod rust_library;
mod tables;

use crate::keys::StackOf;
use frames::Expanded;
pub(crate) use frames::{is_of_library, is_of_runtime};
use model::profile::{Activity, Moment, Owner, Profile, Weight};
use model::recording::{CodeLocation, Comm, Function, JIT_MODULE, SampleMode};
use model::run::Address;
use model::wait::StackFrame;
use model::{Event, Header, Ns, Pid, Seen, State, Tid};
use rustc_hash::FxHashMap;
pub(crate) use tables::{Amount, functions, lines, short_of};

/// The node of time that an interrupt took: it has no stack.
const INTERRUPTED: u32 = 0;

/// Most stacks that are kept one by one; beyond, each second one goes, again and again.
const MOMENTS: usize = 1 << 18;

/// This many nodes and sums take a millisecond to put together, which another CPU may do.
const LARGE: usize = 5000;

/// Stacks as they come.
#[derive(Debug)]
pub(crate) struct Code {
    root: Pid,
    places: Vec<CodeLocation>,
    /// Caller (0: none) and place; the first has the number 1.
    nodes: Vec<(u32, u32)>,
    names: FxHashMap<u32, Vec<Function>>,
    owners: Vec<Owner>,
    owner_of: FxHashMap<Tid, u32>,
    /// Threads that have had no stack yet.
    known: FxHashMap<Tid, (Pid, Comm)>,
    weights: FxHashMap<(u32, u32, Activity), (Ns, u64)>,
    moments: Vec<(Ns, u32, u32, Activity, Ns, u32)>,
    /// Of each thread that ended a wait of another its owner, once it has a stack; a moment refers
    /// to it by its number here plus one, 0 for none.
    wakers: Vec<Option<u32>>,
    waker_of: FxHashMap<Tid, u32>,
    thinned: u32,
    stacks: u64,
}

impl Code {
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            root: header.root,
            places: Vec::new(),
            nodes: Vec::new(),
            names: FxHashMap::default(),
            owners: Vec::new(),
            owner_of: FxHashMap::default(),
            known: FxHashMap::default(),
            weights: FxHashMap::default(),
            moments: Vec::new(),
            wakers: Vec::new(),
            waker_of: FxHashMap::default(),
            thinned: 1,
            stacks: 0,
        }
    }

    /// Takes one event; `waited` is what the thread of a [`Event::WaitStack`] waited for, and
    /// who of the tree ended that.
    pub(crate) fn event(&mut self, event: &Event, waited: Option<StackOf>) {
        match event {
            Event::Place { place, .. } => self.places.push(place.clone()),
            Event::Node { caller, place, .. } => {
                // A caller comes before what it calls; else stacks could go round for ever.
                let caller = if *caller as usize <= self.nodes.len() { *caller } else { 0 };
                self.nodes.push((caller, *place));
            }
            Event::Named { place, functions } => {
                self.names.insert(*place, functions.clone());
            }
            Event::Sampled { at, tid, node, mode, period_ns, .. } => {
                self.sampled(*at, *tid, *node, *mode, Ns::from(*period_ns));
            }
            Event::SampleStack { at, tid, node, mode, period_ns } => {
                self.sampled(*at, *tid, Some(*node), *mode, Ns::from(*period_ns));
            }
            Event::WaitStack { at, tid, node, weight_ns, .. } => {
                let state = waited.map_or(State::OtherWait, |waited| waited.state);
                let by = waited.and_then(|waited| waited.by).map_or(0, |by| self.waker(by));
                self.add(*at, *tid, *node, Activity::Waiting(state), *weight_ns, by);
            }
            Event::Start { tid, .. } => self.met(*tid, self.root, Comm::default()),
            Event::Fork { child, pid, name, .. } | Event::Alive { tid: child, pid, name, .. } => {
                self.met(*child, *pid, *name)
            }
            Event::Exec { tid, pid, old_tid, name, .. } => {
                if let Some(owner) = self.owner_of.remove(old_tid) {
                    self.owner_of.insert(*tid, owner);
                }
                match self.waker_of.remove(old_tid) {
                    Some(waker) => self.waker_of.insert(*tid, waker),
                    None => self.waker_of.remove(tid),
                };
                self.known.remove(old_tid);
                self.renamed(*tid, Some(*pid), *name);
            }
            Event::Rename { tid, name, .. } => self.renamed(*tid, None, *name),
            Event::Look { threads, .. } => {
                for thread in threads {
                    self.renamed(thread.tid, Some(thread.pid), thread.name);
                }
            }
            Event::Exit { .. }
            | Event::Switch { .. }
            | Event::Woken { .. }
            | Event::Flush { .. }
            | Event::Send { .. }
            | Event::Received { .. }
            | Event::RequestKind { .. }
            | Event::LeftOut { .. }
            | Event::Drawn { .. }
            | Event::Unit { .. }
            | Event::Task { .. }
            | Event::WakerStack { .. }
            | Event::AliveStack { .. }
            | Event::MemoryPeak { .. }
            | Event::Established { .. }
            | Event::Load { .. }
            | Event::Refaults { .. }
            | Event::FaultSampled { .. }
            | Event::Counted { .. }
            | Event::Lost { .. }
            | Event::Path { .. }
            | Event::Connection(_)
            | Event::Lookup(_)
            | Event::Command { .. }
            | Event::LocalSocket { .. }
            | Event::Surroundings { .. }
            | Event::Tracing { .. }
            | Event::Ran { .. }
            | Event::Group { .. } => {}
            // The joiner leaves none of these.
            Event::Wake { .. } | Event::Sample { .. } | Event::Because { .. } | Event::Page { .. } => {}
        }
    }

    /// A new thread; the one that had its TID before is gone.
    fn met(&mut self, tid: Tid, pid: Pid, name: Comm) {
        self.owner_of.remove(&tid);
        self.waker_of.remove(&tid);
        self.known.insert(tid, (pid, name));
    }

    /// What moments refer to a thread by that ended a wait. It may have had no stack yet.
    fn waker(&mut self, tid: Tid) -> u32 {
        let next = self.wakers.len() as u32;
        let waker = *self.waker_of.entry(tid).or_insert(next);
        if waker == next {
            self.wakers.push(self.owner_of.get(&tid).copied());
        }
        waker + 1
    }

    fn renamed(&mut self, tid: Tid, pid: Option<Pid>, name: Comm) {
        if let Some(owner) = self.owner_of.get(&tid) {
            self.owners[*owner as usize].name = name.to_text();
            return;
        }
        let pid = pid.or_else(|| self.known.get(&tid).map(|(pid, _)| *pid)).unwrap_or(tid);
        self.known.insert(tid, (pid, name));
    }

    /// A sample of a thread on a CPU. One without a stack is left out, unless it was in an
    /// interrupt, which has none.
    fn sampled(&mut self, at: Ns, tid: Tid, node: Option<u32>, mode: SampleMode, ns: Ns) {
        let doing = match mode {
            SampleMode::User => Activity::User,
            SampleMode::Interrupt | SampleMode::InterruptOutside => Activity::Interrupt,
            SampleMode::Call(_)
            | SampleMode::Kernel
            | SampleMode::Fault
            | SampleMode::Entry
            | SampleMode::InterruptInCall(_) => Activity::Kernel,
        };
        match (doing, node) {
            (Activity::Interrupt, _) => self.put(at, tid, INTERRUPTED, doing, ns, 0),
            (_, Some(node)) => self.add(at, tid, node, doing, ns, 0),
            (_, None) => {}
        }
    }

    fn add(&mut self, at: Ns, tid: Tid, node: u32, doing: Activity, ns: Ns, by: u32) {
        if node > 0 && node as usize <= self.nodes.len() {
            self.put(at, tid, node, doing, ns, by);
        }
    }

    fn put(&mut self, at: Ns, tid: Tid, node: u32, doing: Activity, ns: Ns, by: u32) {
        let next = self.owners.len() as u32;
        let owner = *self.owner_of.entry(tid).or_insert(next);
        if owner == next {
            let (pid, name) = self.known.remove(&tid).unwrap_or((tid, Comm::default()));
            self.owners.push(Owner { pid, tid, name: name.to_text() });
            if let Some(waker) = self.waker_of.get(&tid) {
                self.wakers[*waker as usize] = Some(owner);
            }
        }
        let weight = self.weights.entry((node, owner, doing)).or_default();
        weight.0 += ns;
        weight.1 += 1;
        self.stacks += 1;
        if self.stacks.is_multiple_of(u64::from(self.thinned)) {
            self.moments.push((at, node, owner, doing, ns, by));
        }
        if self.moments.len() >= MOMENTS {
            self.thinned *= 2;
            let mut index = 0;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
    }

    /// A stack, the innermost first.
    pub(crate) fn stack(&self, node: u32) -> Vec<StackFrame> {
        let mut stack = Vec::new();
        let mut at = node;
        while let Some((caller, place)) = (at as usize).checked_sub(1).and_then(|at| self.nodes.get(at)) {
            let frames = frames::of(self.places.get(*place as usize), self.names.get(place));
            stack.extend(frames.iter().map(frames::short));
            at = *caller;
        }
        frames::fold_unnamed(&mut stack);
        stack
    }

    /// The innermost function of a stack, with its module.
    pub(crate) fn function(&self, node: u32) -> Option<(String, String)> {
        let (_, place) = self.nodes.get((node as usize).checked_sub(1)?)?;
        let frames = frames::of(self.places.get(*place as usize), self.names.get(place));
        frames.into_iter().next().map(|frame| (frame.function, frame.module))
    }

    /// Whether a function of this name is on a stack.
    pub(crate) fn passes_through(&self, node: u32, function: &str) -> bool {
        let mut at = node;
        while let Some((caller, place)) = (at as usize).checked_sub(1).and_then(|at| self.nodes.get(at)) {
            let frames = frames::of(self.places.get(*place as usize), self.names.get(place));
            if frames.iter().any(|frame| frame.function == function) {
                return true;
            }
            at = *caller;
        }
        false
    }

    /// Where a stack is in the program's own code: in a script, or past the C library and what
    /// runtimes do for a lock.
    pub(crate) fn own_frame(&self, node: u32) -> Seen<StackFrame> {
        let mut own = None;
        let mut at = node;
        while let Some((caller, place)) = (at as usize).checked_sub(1).and_then(|at| self.nodes.get(at)) {
            let found = self.places.get(*place as usize);
            let script = matches!(found, Some(CodeLocation::Script { .. }));
            if script || own.is_none() && !found.is_some_and(frames::is_in_library) {
                let frames = frames::of(found, self.names.get(place));
                let frame =
                    frames.into_iter().find(|frame| script || !frames::is_of_runtime(&frame.function));
                own = frame.map(|frame| frames::short(&frame));
            }
            if script {
                break;
            }
            at = *caller;
        }
        own.map_or_else(|| Seen::unseen("no code of the program in its stack"), Seen::Value)
    }

    /// The frame of a stack that a person who looks for a place would change: past libraries and
    /// runtimes, as the table of places has it. Else [`Self::own_frame`].
    pub(crate) fn own_place(&self, node: u32) -> Seen<StackFrame> {
        let mut frames = Vec::new();
        let mut at = node;
        while let Some((caller, place)) = (at as usize).checked_sub(1).and_then(|at| self.nodes.get(at)) {
            frames.extend(frames::of(self.places.get(*place as usize), self.names.get(place)));
            at = *caller;
        }
        match own::best(frames.iter().map(own::of_frame)) {
            Some(at) => Seen::Value(own::shown(&frames[at])),
            None => self.own_frame(node),
        }
    }

    /// The program's own code by instruction, most time first: by `precise` samples of cycles, as
    /// (node, cycles, samples), where there are any.
    pub(crate) fn addresses(&self, precise: &[(u32, f64, u64)]) -> Vec<Address> {
        let mut sums: FxHashMap<u32, (Ns, u64)> = FxHashMap::default();
        for ((node, _, _), (ns, count)) in
            self.weights.iter().filter(|((_, _, doing), _)| *doing == Activity::User)
        {
            let sum = sums.entry(self.nodes[*node as usize - 1].1).or_default();
            sum.0 += ns;
            sum.1 += count;
        }
        let cycles: f64 = precise.iter().map(|(_, cycles, _)| cycles).sum();
        if cycles > 0.0 {
            // The time is that of the samples of time; how it divides is known better.
            let ns_each = sums.values().map(|(ns, _)| *ns as f64).sum::<f64>() / cycles;
            sums.clear();
            for (node, cycles, samples) in precise {
                let Some((_, place)) = self.nodes.get((*node as usize).wrapping_sub(1)) else { continue };
                let sum = sums.entry(*place).or_default();
                sum.0 += (cycles * ns_each).round() as Ns;
                sum.1 += samples;
            }
        }
        let address = |(place, (ns, samples)): (u32, (Ns, u64))| match self.places.get(place as usize) {
            Some(CodeLocation::Native { module, address }) => {
                Some(Address { module: module.clone(), address: *address, ns, samples })
            }
            Some(CodeLocation::Jit { address, .. }) => {
                Some(Address { module: JIT_MODULE.to_owned(), address: *address, ns, samples })
            }
            _ => None,
        };
        let mut all: Vec<Address> = sums.into_iter().filter_map(address).collect();
        all.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| (&a.module, a.address).cmp(&(&b.module, b.address))));
        all
    }

    /// Whether the tree is so large that putting it together takes milliseconds.
    pub(crate) fn is_large(&self) -> bool {
        self.nodes.len() + self.weights.len() > LARGE
    }

    /// The tree with all its names. Moments are by the clock of events, not yet by the wall.
    pub(crate) fn profile(&self) -> Profile {
        let mut expanded = Expanded::default();
        let mut innermost: Vec<Option<u32>> = Vec::with_capacity(self.nodes.len());
        // The frames of each place, the outermost first: many nodes are of one place.
        let mut frames_of: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (caller, place) in &self.nodes {
            // A caller is recorded before its callees; one that is missing was lost with the start
            // of a recording.
            let mut at =
                (*caller as usize).checked_sub(1).and_then(|at| innermost.get(at).copied().flatten());
            let frames = frames_of.entry(*place).or_insert_with(|| {
                let frames = frames::of(self.places.get(*place as usize), self.names.get(place));
                frames.into_iter().rev().map(|frame| expanded.frame(frame)).collect()
            });
            for frame in frames {
                at = Some(expanded.node(at, *frame));
            }
            innermost.push(at);
        }
        let interrupts = self.weights.keys().any(|(node, _, _)| *node == INTERRUPTED).then(|| {
            let frame = expanded.frame(frames::interrupts());
            expanded.node(None, frame)
        });
        let node = |node: u32| match node {
            INTERRUPTED => interrupts,
            _ => innermost[node as usize - 1],
        };
        let mut weights: Vec<_> = self
            .weights
            .iter()
            .filter_map(|((at, thread, doing), (ns, count))| {
                Some(Weight { node: node(*at)?, thread: *thread, doing: *doing, ns: *ns, count: *count })
            })
            .collect();
        weights.sort_by_key(|weight| (weight.thread, weight.node, weight.doing));
        let mut moments: Vec<_> = self
            .moments
            .iter()
            .filter_map(|(at, of, thread, doing, ns, by)| {
                let by = by.checked_sub(1).and_then(|by| self.wakers[by as usize]);
                Some(Moment { at_ns: *at, node: node(*of)?, thread: *thread, doing: *doing, ns: *ns, by })
            })
            .collect();
        moments.sort_by_key(|moment| moment.at_ns);
        let broken = expanded.broken(&weights);
        Profile {
            frames: expanded.frames,
            nodes: expanded.nodes,
            threads: self.owners.clone(),
            weights,
            moments,
            thinned: self.thinned,
            stacks: self.stacks,
            broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::{Language, Tier};

    #[test]
    fn the_own_place_of_a_stack_is_past_what_it_was_built_on() {
        let mut code = Code::new(&crate::poll::tests::header(Tier::Bpf));
        let script = |file: &str, function: &str, line| CodeLocation::Script {
            language: Language::Python,
            function: function.into(),
            file: file.into(),
            line,
            first_line: line,
        };
        let places = [
            script("/srv/shop.py", "fetch_price", 8),
            script("/usr/lib/python3.11/socket.py", "readinto", 706),
            CodeLocation::Native { module: "/usr/lib/libc.so.6".into(), address: 1 },
        ];
        for (at, place) in places.into_iter().enumerate() {
            code.event(&Event::Place { id: at as u32, place }, None);
            code.event(&Event::Node { id: at as u32 + 1, caller: at as u32, place: at as u32 }, None);
        }
        let texts = [code.own_frame(3), code.own_place(3), code.own_place(0)];
        let texts = texts.map(|frame| frame.value().map(ToString::to_string));
        let own = [Some("readinto (socket.py:706)"), Some("fetch_price (shop.py:8)"), None];
        assert_eq!(texts, own.map(|text| text.map(str::to_owned)));
    }
}
