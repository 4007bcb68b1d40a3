//! The source with everything: every switch, wake-up and call of the tree, seen in the kernel.
//!
//! `dwell.bpf.c` is the kernel half (its object is made by `build.rs`), `wire.rs` is what
//! passes between them, by way of `buffers.rs` and `decode.rs`. This file loads, attaches, drains and reads the counts at the
//! end.

mod alive;
mod buffers;
mod busy;
mod clock;
mod decode;
mod dns;
mod lookups;
mod mappings;
pub(crate) mod names;
mod network;
mod paths;
mod resolver;
mod slices;
mod tracing;
pub(crate) mod types;
mod waits;
mod wire;

use super::arguments;
use crate::settings::Watching;
use crate::stacks::{self, Of, Stacks};
use crate::{access, mounts};
use alive::LookHere;
use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, PerCpuValues, RingBuf};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, Program, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, VerifierLogLevel};
use buffers::{Buffers, segments_per_cpu};
use busy::Busy;
use clock::Clock;
use decode::{Decoder, OfStacks};
use mappings::{Mappings, Told};
use model::coverage::{Extent, Source};
use model::recording::{Cost, Sliced};
use model::{Call, CallStats, Event, Ns, Pid, Tid};
use python::TARGET_LEN;
use rustc_hash::FxHashMap;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use slices::{Ran, Slices, Turn};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, io, iter, thread};
use sys::clock::monotonic_ns;
use sys::shared::Words;
use tracing::Tracing;
use waits::WaitPeriod;
use wire::DENSE;
use zerocopy::{transmute, transmute_ref};

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

/// When requests to disks begin and end; a kernel without block devices has none.
const REQUESTS: &[&str] = &["block_rq_issue", "block_rq_complete"];

/// Which file a fault is about, the best first: the first that can be had is enough.
const PAGES: [&str; 2] = ["mm_filemap_fault", "mm_filemap_add_to_page_cache"];

/// What tells of connections and names; the account does without.
const NETWORK: &[&str] = &["inet_sock_set_state", "net_dev_queue", "netif_receive_skb"];

/// Threads that are followed at once, and one more; what is left out is counted. 300 bytes each.
const BOOKS: u32 = 16 * 1024;

/// Python parts that wait for their stacks; those that are left over lost them.
const PYTHON_WAITING: usize = 4096;

/// All that programs are attached to.
fn tracepoints() -> impl Iterator<Item = &'static str> {
    [NEEDED, WANTED, REQUESTS, &PAGES, NETWORK].into_iter().flatten().copied()
}

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
    tracing: Tracing,
    slices: Slices,
    busy: Busy,
    /// Where it was attached to what lives already.
    look_here: Option<LookHere>,
    /// Calls as a window ended: those whom it watched go on.
    at_end: Option<Vec<CallStats>>,
}

impl Bpf {
    /// Attaches everything, for a tree whose root is held and will enter `execve` next.
    pub(crate) fn start(root: Pid, cpus: &[u32], watching: &Watching) -> Result<Self, Refused> {
        let btf = types::read(tracepoints(), &[])?;
        let mut bpf = Self::start_with(&btf, root, cpus, watching, 1)?;
        bpf.see_names(watching, &[]);
        Ok(bpf)
    }

    /// Attaches everything, then finds the threads that live already in the processes that `listed` lists when it is asked
    /// (it is asked until it has no new ones).
    pub(crate) fn attach(
        cpus: &[u32],
        watching: &Watching,
        listed: &mut dyn FnMut() -> Vec<Pid>,
    ) -> Result<Self, Refused> {
        let btf = types::read(tracepoints(), &[alive::ITERATOR])?;
        let mut bpf = Self::start_with(&btf, 0, cpus, watching, BOOKS)?;
        let (look_here, pids) = alive::seat(&mut bpf.ebpf, &btf, cpus, listed)?;
        bpf.look_here = Some(look_here);
        bpf.see_names(watching, &pids.iter().copied().collect::<Vec<_>>());
        for pid in pids {
            bpf.stacks.found(pid);
        }
        bpf.tell_pythons();
        if let Some(clock) = &mut bpf.clock {
            clock.program_began(monotonic_ns());
        }
        forget_calls(&mut bpf.ebpf);
        Ok(bpf)
    }

    /// Where it is asked for: what has been attached there takes the kernel 0.2 s to take off.
    fn see_names(&mut self, watching: &Watching, pids: &[Pid]) {
        if watching.names {
            self.sources.extend(resolver::attach(&mut self.ebpf, pids));
        }
    }

    /// Ends the window of an attachment: what those that run did up to now is told. Returns when that was.
    pub(crate) fn end(&mut self) -> Ns {
        if let Some(look_here) = &self.look_here {
            look_here.everywhere();
        }
        self.at_end = Some(calls_of(&self.ebpf));
        monotonic_ns()
    }

    fn start_with(
        btf: &Btf,
        root: Pid,
        cpus: &[u32],
        watching: &Watching,
        wanted: u32,
    ) -> Result<Self, Refused> {
        let kinds = arguments::kinds();
        // A CPU that comes later has no buffer: what happens on it counts as lost.
        let buffered = cpus.iter().max().map_or(1, |last| last + 1);
        let segments = segments_per_cpu(buffered);
        let mut ebpf = loader()
            .btf(Some(btf))
            .allow_unsupported_maps() // task storage, which only the kernel half touches
            .verifier_log_level(VerifierLogLevel::DISABLE)
            .override_global("root_pid", &root, true)
            .override_global("own_pid_ns", &access::pid_namespace(), true)
            .override_global("nr_execve", &arguments::execve(), true)
            .override_global("nr_io_uring_enter", &arguments::io_uring_enter(), true)
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
        let links = attach(&mut ebpf, NEEDED, btf).into_iter().collect::<Result<Vec<_>, _>>()?;
        let tracing = Tracing::new(links);
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
        let (disks, decoder) = files(&mut ebpf, btf);
        sources.extend(disks);
        let refused: Vec<_> = attach(&mut ebpf, NETWORK, btf).into_iter().filter_map(Result::err).collect();
        sources.push(match refused.first() {
            None => full("network"),
            Some(why) => Source {
                name: "network".into(),
                seen: if refused.len() == NETWORK.len() { Extent::None } else { Extent::Partial },
                why: why.to_string(),
                remedy:
                    "a kernel with the tracepoints of its network (CONFIG_NET) tells of connections and names"
                        .into(),
            },
        });
        let clock = Clock::start(&mut ebpf, cpus, watching.rate);
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
        if cpu_counts(&ebpf).is_none() {
            return Err(Refused::Missing("cpus as this file knows it"));
        }
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
            decoder,
            lost_before: 0,
            sources,
            tracing,
            slices: Slices::new(watching.max_overhead),
            busy: Busy::default(),
            look_here: None,
            at_end: None,
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
                    self.waits.taken += u64::from(matches!(stack.of, Of::Wait { .. } | Of::Waker { .. }));
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
        let records = self.take_records(until, sink);
        self.decoder.lookups.give_up(until.min(monotonic_ns()), sink);
        self.tell_pythons();
        if self.waits.fit(monotonic_ns()) {
            // Should that fail, the old one goes on.
            let _ = self.waits.set(&mut self.ebpf);
        }
        if let Some(clock) = &mut self.clock {
            clock.keep(&mut self.ebpf, monotonic_ns());
        }
        // At the end there is nothing left to spare.
        if until != Ns::MAX {
            self.bound_calls(sink);
        }
        records
    }

    fn take_records(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) -> u64 {
        let (decoder, clock, stacks) = (&mut self.decoder, &mut self.clock, &mut self.stacks);
        let busy = &mut self.busy;
        self.buffers.drain(until, &mut |record| {
            if let Some(event) = decoder.decode(record) {
                if let (Event::Start { at, .. }, Some(clock)) = (&event, clock.as_mut()) {
                    clock.program_began(*at);
                }
                busy.event(&event);
                stacks.before(&event, sink);
                sink(&event);
                stacks.after(&event, sink);
            }
        })
    }

    /// The tree's time on a CPU up to a moment that is hardly over: everything until then is worked off first. Who seems to run
    /// may long have left, and what is thought too much at one end of a slice is missing in it.
    fn busy_until(&mut self, at: Ns, sink: &mut dyn FnMut(&Event)) -> Ns {
        thread::sleep(Duration::from_nanos((at + SETTLED_NS).saturating_sub(monotonic_ns())));
        // A stack's mappings and itself go before the events that follow it.
        self.take_stacks();
        self.take_records(at, sink);
        self.busy.until(at)
    }

    /// How often each instrument ran.
    fn ran(&self) -> Ran {
        let seen = self.decoder.seen;
        let calls = cpu_counts(&self.ebpf).unwrap_or_default().iter().map(|cpu| cpu.calls).sum();
        Ran { calls, switches: seen.switches, wakes: seen.wakes, samples: seen.samples }
    }

    /// Keeps what tracing calls costs within its bound.
    fn bound_calls(&mut self, sink: &mut dyn FnMut(&Event)) {
        let now = monotonic_ns();
        if !self.slices.exact() && self.slices.next().is_some_and(|next| now < next) {
            return;
        }
        let ran = self.ran();
        let turn = if self.slices.exact() {
            // Asked at each look: about will do.
            let ebpf = &self.ebpf;
            self.slices.turn(now, ran, self.busy.until(now), || calls_of(ebpf))
        } else {
            let counts = calls_of(&self.ebpf);
            let busy_ns = self.busy_until(now, sink);
            self.slices.turn(now, ran, busy_ns, || counts)
        };
        let Some(turn) = turn else { return };
        // Should it fail, calls are traced on, or no more; what is told is what is so.
        if turn == Turn::OnTimed {
            self.tracing.time();
        }
        let calls = self.tracing.set(&mut self.ebpf, turn != Turn::Off);
        if let (Turn::Off, Some(cost)) = (turn, self.tracing.cost(&mut self.ebpf)) {
            self.slices.cost_is(cost);
        }
        if turn != Turn::Off {
            let (now, ran, counts) = (monotonic_ns(), self.ran(), calls_of(&self.ebpf));
            let busy_ns = self.busy_until(now, sink);
            self.slices.begun(now, ran, busy_ns, &counts);
        }
        let event = Event::Tracing { at: monotonic_ns(), calls };
        self.stacks.before(&event, sink);
        sink(&event);
        self.stacks.after(&event, sink);
    }

    /// How long may pass between two drains without loss.
    pub(crate) fn pause_ns_max(&self) -> Ns {
        let turn = self.slices.next().map_or(Ns::MAX, |next| next.saturating_sub(monotonic_ns()));
        self.buffers.fill_ns().min(turn.max(500_000))
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
        network::tell_open(&mut self.ebpf);
        // What else has come meanwhile is from after the end.
        self.drain_until(Ns::MAX, &mut |event| {
            if matches!(event, Event::Connection(_) | Event::Lookup(_)) || event.at().is_none() {
                sink(event);
            }
        });
        self.decoder.lookups.give_up(Ns::MAX, sink);
        self.take_stacks();
        self.stacks.rest(sink);
        self.stacks.names(|addresses| names::ask(&mut self.ebpf, addresses), sink);
    }

    /// Sources that turned out worse than they were said to be.
    pub(crate) fn worse(&self) -> Vec<Source> {
        self.stacks.shortfall(self.lost_stacks()).into_iter().chain(self.network_shortfall()).collect()
    }

    fn network_shortfall(&self) -> Option<Source> {
        let (connections, questions) = (network::lost(&self.ebpf), self.decoder.lookups.unfollowed);
        (connections + questions > 0).then(|| Source {
            name: "network".into(),
            seen: Extent::Partial,
            why: format!(
                "{connections} connections found no room, {questions} questions for names could not be followed"
            ),
            remedy: String::new(),
        })
    }

    fn lost_stacks(&self) -> u64 {
        let settings = self.ebpf.map("settings").and_then(|map| Array::<_, u64>::try_from(map).ok());
        settings.and_then(|settings| settings.get(&(wire::Setting::LostStacks as u32), 0).ok()).unwrap_or(0)
    }

    /// Events lost since this was last asked.
    pub(crate) fn newly_lost(&mut self) -> u64 {
        let lost = cpu_counts(&self.ebpf).unwrap_or_default().iter().map(|cpu| cpu.lost).sum::<u64>()
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
        let samples_ns = match host::under_hypervisor(host::here().proc) {
            // It sets the timer for each of them.
            Ok(Some(true)) => (5_000, 30_000),
            Ok(Some(false)) => (500, 3_000),
            Ok(None) | Err(_) => (500, 30_000),
        };
        [
            ("calls", calls, (90, 220)),
            ("switches", seen.switches, (80, 350)),
            ("wakes", seen.wakes, (60, 250)),
            ("samples", seen.samples, samples_ns),
        ]
        .into_iter()
        .map(|(what, times, each_ns)| Cost { what: what.into(), times, each_ns })
        .collect()
    }

    /// The calls that returned while they were traced.
    pub(crate) fn calls(&self) -> Vec<CallStats> {
        self.at_end.clone().unwrap_or_else(|| calls_of(&self.ebpf))
    }

    /// How the calls that were seen stand for all, where they were traced in slices.
    pub(crate) fn sliced(&mut self, end: Ns) -> Option<Sliced> {
        let (ebpf, at_end) = (&self.ebpf, &self.at_end);
        self.slices.sums(&self.busy, end, || at_end.clone().unwrap_or_else(|| calls_of(ebpf)))
    }
}

// The analysis takes what is counted here for a histogram of its own kind.
const _: () = assert!(wire::BUCKETS == stats::histogram::BUCKETS);

/// A value of a map per CPU as aya takes it: words.
type CpuWords = [u64; size_of::<wire::Cpu>() / 8];
type StatsWords = [u64; size_of::<wire::Stats>() / 8];

/// What the kernel half counts for each CPU.
fn cpu_counts(ebpf: &Ebpf) -> Option<Vec<wire::Cpu>> {
    let map = PerCpuArray::<_, CpuWords>::try_from(ebpf.map("cpus")?).ok()?;
    let counts = map.get(&0, 0).ok()?;
    Some(counts.iter().map(|words| transmute!(*words)).collect())
}

/// The calls that returned, summed over CPUs.
fn calls_of(ebpf: &Ebpf) -> Vec<CallStats> {
    let mut calls: BTreeMap<Call, CallStats> = BTreeMap::new();
    let map = ebpf.map("stats").and_then(|map| PerCpuArray::<_, StatsWords>::try_from(map).ok());
    let mut empty = 0;
    for entry in 0..DENSE {
        let Some(values) = map.as_ref().and_then(|map| map.get(&entry, 0).ok()) else { break };
        // Entries are given out in order, but one may be taken and not yet used.
        let mut used = values.iter().map(stats_in).filter(|stats| stats.calls > 0).peekable();
        empty = if used.peek().is_some() { 0 } else { empty + 1 };
        if empty > 8 {
            break;
        }
        used.for_each(|stats| add(&mut calls, stats));
    }
    calls.into_values().collect()
}

fn stats_in(words: &StatsWords) -> &wire::Stats {
    transmute_ref!(words)
}

/// Starts the counts of calls anew: finding who lives takes some time, and what they call meanwhile is no part of a window.
fn forget_calls(ebpf: &mut Ebpf) {
    let map = ebpf.map_mut("stats").map(PerCpuArray::<_, StatsWords>::try_from);
    let Some(Ok(mut map)) = map else { return };
    for entry in 0..DENSE {
        let Ok(counted) = map.get(&entry, 0) else { return };
        let zero = vec![[0; size_of::<wire::Stats>() / 8]; counted.len()];
        if counted.iter().any(|words| stats_in(words).calls > 0)
            && let Ok(zero) = PerCpuValues::try_from(zero)
        {
            // Should it fail, there are a few too many.
            let _ = map.set(entry, zero, 0);
        }
    }
}

/// Attaches what names requests to disks and the files of faults; says what it cannot.
fn files(ebpf: &mut Ebpf, btf: &Btf) -> (Vec<Source>, Decoder) {
    let refused: Vec<_> = attach(ebpf, REQUESTS, btf).into_iter().filter_map(Result::err).collect();
    let partial = |name: &str, why: String, remedy: &str| Source {
        name: name.into(),
        seen: Extent::Partial,
        why,
        remedy: remedy.into(),
    };
    let requests = match refused.first() {
        None => full("disks"),
        Some(why) => partial("disks", why.to_string(), "a kernel with the block layer's tracepoints"),
    };
    let attached = |ebpf: &mut Ebpf, name| attach(ebpf, &[name], btf).into_iter().all(|done| done.is_ok());
    let exact = attached(ebpf, PAGES[0]);
    let pages = match exact || attached(ebpf, PAGES[1]) {
        _ if exact => None,
        true => Some(partial(
            "pages",
            "of faults that wait for what was being read already, the file is not known".into(),
            "a kernel from 6.13 on tells the file of each fault",
        )),
        false => Some(partial("pages", "the kernel does not tell the files of faults".into(), "")),
    };
    // Only where each fault on a file is told is one that is not told a fault on swap.
    let decoder = Decoder::new(exact && mounts::swaps(host::here()));
    (iter::once(requests).chain(pages).collect(), decoder)
}

fn ring(ebpf: &mut Ebpf, name: &'static str) -> Result<RingBuf<MapData>, Refused> {
    let map = ebpf.take_map(name).ok_or(Refused::Missing(name))?;
    Ok(RingBuf::try_from(map).map_err(|error| Box::new(error.into()))?)
}

pub(crate) fn map(ebpf: &Ebpf, name: &'static str, words: usize) -> Result<Words, Refused> {
    let Some(Map::Array(map)) = ebpf.map(name) else { return Err(Refused::Missing(name)) };
    Words::map(map.fd(), words).map_err(|error| Refused::Map { name, error })
}

fn add(calls: &mut BTreeMap<Call, CallStats>, stats: &wire::Stats) {
    let call = Call(stats.call as u16);
    let sum = calls.entry(call).or_insert_with(|| CallStats {
        call,
        calls: 0,
        errors: 0,
        total_ns: 0,
        cpu_ns: 0,
        max_ns: 0,
        histogram: Vec::new(),
    });
    sum.calls += stats.calls;
    sum.errors += stats.errors;
    sum.total_ns += stats.total_ns;
    sum.cpu_ns += stats.cpu_ns;
    sum.max_ns = sum.max_ns.max(stats.max_ns);
    let mut histogram: BTreeMap<u16, u64> = sum.histogram.iter().copied().collect();
    for (bucket, count) in (0..).zip(stats.histogram).filter(|(_, count)| *count > 0) {
        *histogram.entry(bucket).or_default() += u64::from(count);
    }
    sum.histogram = histogram.into_iter().collect();
}

fn full(name: &str) -> Source {
    Source { name: name.into(), seen: Extent::Full, why: String::new(), remedy: String::new() }
}

/// The loader parses the kernel's types as soon as it is made, in case nobody gives it any: 22 ms of CPU time for
/// something that is thrown away at once. It does without where it cannot open them, so it is made while nothing can
/// be opened. That is so for the whole process, hence only where there is no other thread to be harmed.
pub(crate) fn loader() -> EbpfLoader<'static> {
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
pub(crate) fn attach(ebpf: &mut Ebpf, names: &[&'static str], btf: &Btf) -> Vec<Result<Link, Refused>> {
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

/// A program and what holds it where it is attached.
pub(crate) type Link = (&'static str, BtfTracePointLinkId);

fn attach_one(name: &'static str, program: Option<&mut Program>, btf: &Btf) -> Result<Link, Refused> {
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
    let link = program.attach().map_err(refused("attach"))?;
    Ok((name, link))
}
