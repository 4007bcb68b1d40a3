//! The source with everything: every switch, wake-up and call of the tree, seen in the kernel.
//!
//! `dwell.bpf.c` is the kernel half (its object is made by `build.rs`), `wire.h` and `decode.rs` are the two sides
//! of what passes between them, by way of `buffers.rs`. This file loads, attaches, drains and reads the counts at the
//! end.

mod alive;
mod buffers;
mod clock;
mod decode;
mod mappings;
mod names;
mod types;
mod waits;

use super::arguments;
use crate::record::Rate;
use crate::stacks::{self, Of, Stacks};
use alive::LookHere;
use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, RingBuf};
use aya::programs::{BtfTracePoint, Program, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, VerifierLogLevel};
use buffers::{Buffers, segments_per_cpu};
use clock::Clock;
use decode::{BUCKETS, CPU_WORDS, DENSE, Decoder, OfStacks, STATS_WORDS};
use mappings::{Mappings, Told};
use model::coverage::{Extent, Source};
use model::recording::Cost;
use model::{Call, CallStats, Event, Ns, Pid, Tid};
use python::TARGET_LEN;
use rustc_hash::FxHashMap;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::{fs, io, iter, thread};
use sys::clock::monotonic_ns;
use sys::shared::Words;
use waits::WaitPeriod;

/// The kernel half, for this architecture.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/dwell.bpf.o"));

/// Without these there is no account. The one that takes longest to load comes first.
const NEEDED: &[&str] = &[
    "sched_switch",
    "sys_enter",
    "sys_exit",
    "sched_waking",
    "sched_process_fork",
    "sched_wakeup_new",
    "sched_process_exec",
    "sched_process_exit",
    "task_rename",
    "softirq_entry",
    "softirq_exit",
    "irq_handler_entry",
    "irq_handler_exit",
    "hrtimer_expire_entry",
    "hrtimer_expire_exit",
];

/// Younger kernels have these; without them a wait on a local network peer may stay a wait.
const WANTED: &[&str] = &["sk_data_ready", "sock_send_length"];

/// Threads that are followed at once, and one more; what is left out is counted. 300 bytes each.
const BOOKS: u32 = 16 * 1024;

/// Where the map `settings` counts stacks that were lost.
const LOST_STACKS: u32 = 1;

/// Python parts that wait for their stacks; those that are left over lost them.
const PYTHON_WAITING: usize = 4096;

/// Why the source cannot be used here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The kernel does not describe its types.
    #[error("cannot read the kernel's types from /sys/kernel/btf/vmlinux: {0}")]
    Btf(#[from] aya::BtfError),
    /// The object or a map was refused.
    #[error("cannot load the BPF object: {}", root_cause(.0))]
    Load(#[from] Box<aya::EbpfError>),
    /// A buffer cannot be shared with the kernel.
    #[error("cannot map the BPF map {name}: {error}")]
    Map {
        /// Which.
        name: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
    /// A program was refused.
    #[error("cannot {doing} BPF program {program}: {}", root_cause(.error))]
    Program {
        /// `load` or `attach`.
        doing: &'static str,
        /// Which.
        program: String,
        /// What the kernel said.
        error: Box<ProgramError>,
    },
    /// The tasks of this host cannot be looked at.
    #[error("cannot look for living threads: {0}")]
    Look(#[from] io::Error),
    /// The object lacks something this file expects.
    #[error("the BPF object has no {0}")]
    Missing(&'static str),
}

/// How old a record must be for its place in the stream to be certain: much more than the clocks of two CPUs differ.
const SETTLED_NS: Ns = 100_000;

/// What the innermost error says: the outer ones only repeat where it happened.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// The attached instruments. Dropping it detaches all of them; so does the end of the process.
pub(crate) struct Bpf {
    ebpf: Ebpf,
    buffers: Buffers<Words>,
    clock: Option<Clock>,
    stack_ring: RingBuf<MapData>,
    mappings: Option<Mappings>,
    waits: WaitPeriod,
    stacks: Stacks,
    /// Python parts whose stacks have not come yet.
    python: FxHashMap<(Tid, Ns), python::record::Stack>,
    decoder: Decoder,
    lost_before: u64,
    sources: Vec<Source>,
    /// Where it was attached to what lives already.
    look_here: Option<LookHere>,
}

impl Bpf {
    /// Attaches everything, for a tree whose root is held and will enter `execve` next.
    pub(crate) fn start(root: Pid, cpus: &[u32], rate: Rate) -> Result<Self, Refused> {
        let btf = types::read(NEEDED.iter().chain(WANTED).copied(), &[])?;
        Self::start_with(&btf, root, cpus, rate, 1)
    }

    /// Attaches everything, then finds the threads that live already in the processes that `listed` lists when it is asked
    /// (it is asked until it has no new ones).
    pub(crate) fn attach(
        cpus: &[u32],
        rate: Rate,
        listed: &mut dyn FnMut() -> Vec<Pid>,
    ) -> Result<Self, Refused> {
        let btf = types::read(NEEDED.iter().chain(WANTED).copied(), &[alive::ITERATOR])?;
        let mut bpf = Self::start_with(&btf, 0, cpus, rate, BOOKS)?;
        let (look_here, pids) = alive::seat(&mut bpf.ebpf, &btf, cpus, listed)?;
        bpf.look_here = Some(look_here);
        for pid in pids {
            bpf.stacks.found(pid);
        }
        bpf.tell_pythons();
        if let Some(clock) = &mut bpf.clock {
            clock.program_began(monotonic_ns());
        }
        Ok(bpf)
    }

    /// Ends the window of an attachment: what those that run did up to now is told. Returns when that was.
    pub(crate) fn end(&mut self) -> Ns {
        if let Some(look_here) = &self.look_here {
            look_here.everywhere();
        }
        monotonic_ns()
    }

    fn start_with(btf: &Btf, root: Pid, cpus: &[u32], rate: Rate, wanted: u32) -> Result<Self, Refused> {
        let kinds = arguments::kinds();
        // A CPU that comes later has no buffer: what happens on it counts as lost.
        let buffered = cpus.iter().max().map_or(1, |last| last + 1);
        let segments = segments_per_cpu(buffered);
        let mut ebpf = loader()
            .btf(Some(btf))
            .allow_unsupported_maps() // task storage, which only the kernel half touches
            .verifier_log_level(VerifierLogLevel::DISABLE)
            .override_global("root_pid", &root, true)
            .override_global("nr_execve", &arguments::execve(), true)
            .override_global("arg_kind", kinds.as_slice(), true)
            .map_max_entries("scratches", 2 * (cpus.iter().max().unwrap_or(&0) + 1))
            .override_global("segments_per_cpu", &segments, true)
            .map_max_entries("wanted", wanted)
            .map_max_entries("books", BOOKS)
            .map_max_entries("free_books", BOOKS)
            .map_max_entries("buffers", buffered)
            .map_max_entries("segments", buffered * segments)
            .load(OBJECT)
            .map_err(Box::new)?;
        let mut sources = Vec::new();
        attach(&mut ebpf, NEEDED, btf).into_iter().collect::<Result<(), _>>()?;
        let refused: Vec<_> = attach(&mut ebpf, WANTED, btf).into_iter().filter_map(Result::err).collect();
        sources.push(full("switches"));
        sources.push(full("calls"));
        sources.push(match refused.first() {
            None => full("sockets"),
            Some(why) => Source {
                name: "sockets".into(),
                seen: Extent::Partial,
                why: why.to_string(),
                remedy: "a kernel from 6.3 on tells which socket became ready and who sent".into(),
            },
        });
        let clock = Clock::start(&mut ebpf, cpus, rate);
        sources.push(match &clock {
            Ok(_) => full("faults"),
            Err(why) => Source {
                name: "faults".into(),
                seen: Extent::None,
                why: why.to_string(),
                remedy: "run as root, or: sudo sysctl kernel.perf_event_paranoid=0".into(),
            },
        });
        let mappings = Mappings::start(cpus);
        sources.push(match &mappings {
            Ok(_) => full("code"),
            Err(why) => Source {
                name: "code".into(),
                seen: Extent::Partial,
                why: format!("cannot be told what the program maps to execute: perf events: {why}"),
                remedy: "run as root, or: sudo sysctl kernel.perf_event_paranoid=0".into(),
            },
        });
        let stack_ring = ring(&mut ebpf, "stacks")?;
        let waits = WaitPeriod::new(monotonic_ns());
        waits.set(&mut ebpf).ok_or(Refused::Missing("settings"))?;
        let (positions, places) = buffers::words(buffered, segments);
        let buffers =
            Buffers::new(map(&ebpf, "buffers", positions)?, map(&ebpf, "segments", places)?, segments);
        Ok(Self {
            ebpf,
            buffers,
            clock: clock.ok(),
            stack_ring,
            mappings: mappings.ok(),
            waits,
            stacks: Stacks::new(),
            python: FxHashMap::default(),
            decoder: Decoder::default(),
            lost_before: 0,
            sources,
            look_here: None,
        })
    }

    /// The shortest time between two samples on a processor; 0 where there are none.
    pub(crate) fn sample_period_ns(&self) -> Ns {
        self.clock.as_ref().map_or(0, Clock::period_ns)
    }

    /// What it sees, and why not more.
    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Hands over what has come since, but for the newest, whose order is not settled yet. Returns how many records
    /// that were.
    pub(crate) fn drain(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        self.drain_until(monotonic_ns().saturating_sub(SETTLED_NS), sink)
    }

    /// Hands over all that has come.
    pub(crate) fn drain_rest(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        self.drain_until(Ns::MAX, sink)
    }

    /// Takes what has come of stacks and mappings. First of all, so that whatever a stack needs is there when it is
    /// worked off: it is older than the stack.
    fn take_stacks(&mut self) {
        while let Some(record) = self.stack_ring.next() {
            match decode::of_stacks(&record) {
                Some(OfStacks::Stack(at, mut stack)) => {
                    // Its Python part came just before, from the same program.
                    stack.python = self.python.remove(&(stack.tid, at));
                    self.waits.taken += u64::from(matches!(stack.of, Of::Wait { .. }));
                    self.stacks.stack(at, stack);
                }
                Some(OfStacks::Python(stack)) => {
                    if self.python.len() < PYTHON_WAITING {
                        self.python.insert((stack.tid, stack.at), stack);
                    }
                }
                Some(OfStacks::Described(at)) => self.stacks.described(at, &record),
                None => self.decoder.malformed += 1,
            }
        }
        if let Some(mappings) = &mut self.mappings {
            mappings.read(|at, pid, told| match told {
                Told::Executed => self.stacks.executed(at, pid),
                Told::Mapped(mapping) => self.stacks.mapped(at, pid, mapping),
            });
        }
    }

    /// Hands over what came before `until`.
    pub(crate) fn drain_until(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) -> u64 {
        self.take_stacks();
        let (decoder, clock, stacks) = (&mut self.decoder, &mut self.clock, &mut self.stacks);
        let records = self.buffers.drain(until, &mut |record| {
            if let Some(event) = decoder.decode(record) {
                if let (Event::Start { at, .. }, Some(clock)) = (&event, clock.as_mut()) {
                    clock.program_began(*at);
                }
                stacks.before(&event, sink);
                sink(&event);
                stacks.after(&event, sink);
            }
        });
        self.tell_pythons();
        if self.waits.fit(monotonic_ns()) {
            // Should that fail, the old one goes on.
            let _ = self.waits.set(&mut self.ebpf);
        }
        if let Some(clock) = &mut self.clock {
            clock.keep(&mut self.ebpf, monotonic_ns());
        }
        records
    }

    /// How long may pass between two drains without loss.
    pub(crate) fn pause_ns_max(&self) -> Ns {
        self.buffers.fill_ns()
    }

    /// The program will come to this executable first. If that is a Python, the kernel half reads it from its first
    /// instruction on, without waiting until it is told which process it is.
    pub(crate) fn expect(&mut self, executable: &Path) {
        let Some((key, target)) = stacks::expected(executable) else { return };
        let map = self.ebpf.map_mut("python_files");
        if let Some(mut map) =
            map.and_then(|map| HashMap::<_, [u8; 16], [u8; TARGET_LEN]>::try_from(map).ok())
        {
            // Without it the first milliseconds of Python are shown as the interpreter's own functions.
            let _ = map.insert(key, target, 0);
        }
    }

    /// Tells the kernel half which processes run Python, and how to read it.
    fn tell_pythons(&mut self) {
        let targets = self.stacks.targets();
        if targets.is_empty() {
            return;
        }
        let map = self.ebpf.map_mut("pythons");
        let Some(mut map) = map.and_then(|map| HashMap::<_, u32, [u8; TARGET_LEN]>::try_from(map).ok())
        else {
            return;
        };
        for (pid, target) in targets {
            // When there are too many its Python frames are not read, and those of the interpreter stay.
            let _ = map.insert(pid, target, 0);
        }
    }

    /// What the code of all stacks is called, to be asked when the program has ended.
    pub(crate) fn names(&mut self, sink: &mut dyn FnMut(&Event)) {
        self.take_stacks();
        self.stacks.rest(sink);
        self.stacks.names(|addresses| names::ask(&mut self.ebpf, addresses), sink);
    }

    /// Sources that turned out worse than they were said to be.
    pub(crate) fn worse(&self) -> Vec<Source> {
        self.stacks.shortfall(self.lost_stacks()).into_iter().collect()
    }

    fn lost_stacks(&self) -> u64 {
        let settings = self.ebpf.map("settings").and_then(|map| Array::<_, u64>::try_from(map).ok());
        settings.and_then(|settings| settings.get(&LOST_STACKS, 0).ok()).unwrap_or(0)
    }

    /// Events lost since this was last asked.
    pub(crate) fn newly_lost(&mut self) -> u64 {
        let lost = self.cpus().iter().map(|cpu| cpu[0]).sum::<u64>()
            + self.decoder.malformed
            + self.buffers.malformed;
        let newly = lost - self.lost_before;
        self.lost_before = lost;
        newly
    }

    /// Events lost so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lost_before
    }

    /// How often each instrument ran for the tree.
    pub(crate) fn cost(&self) -> Vec<Cost> {
        let seen = self.decoder.seen;
        let calls = self.calls().iter().map(|call| call.calls).sum();
        // Between the empty instrument and the dearest path through it, as `xtask bench` measures them; a
        // virtual machine's clock read is most of the difference.
        [
            ("calls", calls, (90, 220)),
            ("switches", seen.switches, (80, 350)),
            ("wakes", seen.wakes, (60, 250)),
            ("samples", seen.samples, (500, 3000)),
        ]
        .into_iter()
        .map(|(what, times, each_ns)| Cost { what: what.into(), times, each_ns })
        .collect()
    }

    fn cpus(&self) -> Vec<[u64; CPU_WORDS]> {
        let map =
            self.ebpf.map("cpus").and_then(|map| PerCpuArray::<_, [u64; CPU_WORDS]>::try_from(map).ok());
        map.and_then(|map| map.get(&0, 0).ok()).map(|values| values.to_vec()).unwrap_or_default()
    }

    /// The calls that returned, summed over CPUs.
    pub(crate) fn calls(&self) -> Vec<CallStats> {
        let mut calls: BTreeMap<Call, CallStats> = BTreeMap::new();
        let map =
            self.ebpf.map("stats").and_then(|map| PerCpuArray::<_, [u64; STATS_WORDS]>::try_from(map).ok());
        let mut empty = 0;
        for entry in 0..DENSE {
            let Some(values) = map.as_ref().and_then(|map| map.get(&entry, 0).ok()) else { break };
            // Entries are given out in order, but one may be taken and not yet used.
            let mut used = values.iter().filter(|words| words[1] > 0).peekable();
            empty = if used.peek().is_some() { 0 } else { empty + 1 };
            if empty > 8 {
                break;
            }
            used.for_each(|words| add(&mut calls, words));
        }
        calls.into_values().collect()
    }
}

fn ring(ebpf: &mut Ebpf, name: &'static str) -> Result<RingBuf<MapData>, Refused> {
    let map = ebpf.take_map(name).ok_or(Refused::Missing(name))?;
    Ok(RingBuf::try_from(map).map_err(|error| Box::new(error.into()))?)
}

fn map(ebpf: &Ebpf, name: &'static str, words: usize) -> Result<Words, Refused> {
    let Some(Map::Array(map)) = ebpf.map(name) else { return Err(Refused::Missing(name)) };
    Words::map(map.fd(), words).map_err(|error| Refused::Map { name, error })
}

fn add(calls: &mut BTreeMap<Call, CallStats>, words: &[u64; STATS_WORDS]) {
    let call = Call(words[0] as u16);
    let sum = calls.entry(call).or_insert_with(|| CallStats {
        call,
        calls: 0,
        errors: 0,
        total_ns: 0,
        cpu_ns: 0,
        max_ns: 0,
        histogram: Vec::new(),
    });
    sum.calls += words[1];
    sum.errors += words[2];
    sum.total_ns += words[3];
    sum.cpu_ns += words[4];
    sum.max_ns = sum.max_ns.max(words[5]);
    let mut histogram: BTreeMap<u16, u64> = sum.histogram.iter().copied().collect();
    for bucket in 0..BUCKETS {
        let halves = words[6 + bucket / 2].to_ne_bytes();
        let half = if bucket % 2 == 0 { [0, 1, 2, 3] } else { [4, 5, 6, 7] }.map(|byte| halves[byte]);
        let count = u32::from_ne_bytes(half);
        if count > 0 {
            *histogram.entry(bucket as u16).or_default() += u64::from(count);
        }
    }
    sum.histogram = histogram.into_iter().collect();
}

fn full(name: &str) -> Source {
    Source { name: name.into(), seen: Extent::Full, why: String::new(), remedy: String::new() }
}

/// The loader parses the kernel's types as soon as it is made, in case nobody gives it any: 22 ms of CPU time for
/// something that is thrown away at once. It does without where it cannot open them, so it is made while nothing can
/// be opened. That is so for the whole process, hence only where there is no other thread to be harmed.
fn loader() -> EbpfLoader<'static> {
    let alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    let files = getrlimit(Resource::Nofile);
    let none = Rlimit { current: Some(0), maximum: files.maximum };
    if !alone || setrlimit(Resource::Nofile, none).is_err() {
        return EbpfLoader::new();
    }
    let loader = EbpfLoader::new();
    setrlimit(Resource::Nofile, files).expect("a limit may go back to what it was");
    loader
}

/// Loads and attaches these programs, two at a time. The kernel's check of them is the longest part of the start-up
/// that is left; two threads take 11 ms for what takes one 16 ms (lower quartiles of 60).
fn attach(ebpf: &mut Ebpf, names: &[&'static str], btf: &Btf) -> Vec<Result<(), Refused>> {
    let mut programs: BTreeMap<_, _> = ebpf.programs_mut().collect();
    let queue: Vec<_> = names.iter().map(|name| (*name, programs.remove(name))).collect();
    let queue = Mutex::new(queue.into_iter());
    let work = || {
        let next = || queue.lock().expect("nothing panics while it holds the queue").next();
        iter::from_fn(next).map(|(name, program)| attach_one(name, program, btf)).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut done = work();
        done.extend(other.join().expect("loading a program does not panic"));
        done
    })
}

fn attach_one(name: &'static str, program: Option<&mut Program>, btf: &Btf) -> Result<(), Refused> {
    let refused = |doing| {
        move |error: ProgramError| Refused::Program {
            doing,
            program: name.to_owned(),
            error: Box::new(error),
        }
    };
    let program: &mut BtfTracePoint =
        program.ok_or(Refused::Missing(name))?.try_into().map_err(refused("find"))?;
    program.load(name, btf).map_err(refused("load"))?;
    program.attach().map_err(refused("attach"))?;
    Ok(())
}
