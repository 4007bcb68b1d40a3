//! The complete source: every switch, wake-up and system call of the tree, traced in the kernel.
//!
//! From kernel to account, in this order:
//!
//! - `dwell.bpf.c`: the kernel half. `build.rs` compiles it.
//! - `wire.rs`: the layout of records, from which `wire.h` is made.
//! - `load.rs`, `types.rs`: loading the object, with a reduced BTF of the kernel, which `sound.rs`
//!   and `fields.rs` look at first. `maps.rs`: its maps. `refusal.rs`: why it cannot be used.
//! - `attach.rs`: attaching the programs. `firing.rs`: whether they run. `alive.rs`: finding
//!   existing threads. `sleepers.rs`: the stacks of blocked threads.
//! - `buffers.rs`: the CPUs' buffers as one stream. `drain.rs`: draining them.
//! - `decode.rs`: records into events, with `paths.rs`, `lookups.rs` and `dns.rs` for their parts.
//! - `mappings.rs`: executable mappings, from perf's side-band events.
//! - `controller.rs`, `slices.rs`, `tracing.rs`: when calls are traced.
//! - `clock.rs`, `waits.rs`: how often stacks are taken. `fault_samples.rs`: of which page faults.
//!   `counted.rs`: the processor's counters.
//! - `left_out.rs`: how many requests are followed; `limit.rs`: when following takes too much.
//! - `cost.rs`: counters of the kernel half; `files.rs`: its counters of files; `disk_requests.rs`:
//!   those of requests to disks.
//! - `names.rs`, `network.rs`, `resolver.rs`, `units.rs`: programs that are run, or attached, on
//!   demand.
//! - `tasks.rs`, `goroutines.rs`: programs on the runtime of Go.
//!
//! This file puts them together. A drain runs from the kernel's buffers to the sink once: nothing
//! that handles an event drains or sleeps, and the controller is called after the drain.

mod alive;
mod asked;
mod attach;
pub(crate) mod btf;
mod buffers;
mod calibration;
mod clock;
mod controller;
mod cost;
mod counted;
mod decode;
mod disk_requests;
mod dns;
mod drain;
mod fault_samples;
mod fields;
mod files;
mod firing;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod goroutines;
#[cfg(test)]
mod kernels;
mod left_out;
#[cfg(test)]
mod lies;
mod limit;
mod listeners;
mod load;
mod lookups;
mod mappings;
mod maps;
pub(crate) mod names;
mod network;
mod paths;
mod pauses;
mod refusal;
mod resolver;
mod runs;
mod sleepers;
mod slices;
mod sound;
mod tasks;
mod tracing;
pub(crate) mod types;
mod units;
mod uprobe;
mod waits;
mod wire;

use super::instruments::Instruments;
use crate::access;
use crate::commands::Commands;
use crate::settings::Watching;
use crate::source_text::Roots;
use crate::stacks::{self, Stacks};
use crate::targets;
use crate::threads::Threads;
use alive::LookHere;
use attach::AttachedPrograms;
pub(crate) use attach::attach;
use aya::Ebpf;
use aya::maps::HashMap;
use buffers::BufferSizes;
use clock::Clock;
use controller::Controller;
use counted::CounterEvents;
use decode::Decoder;
use drain::Drain;
use fault_samples::FaultSamples;
use left_out::LeftOut;
use load::THREADS_MAX;
pub(crate) use load::{WHY, loader, made_for};
use mappings::Mappings;
pub(crate) use maps::map;
use model::counters::CountersObserved;
use model::coverage::{Extent, Source, THREADS};
use model::disk_requests::DiskUses;
use model::files::FileUses;
use model::recording::{Cost, Sliced, Tier, UnitsFollowed};
use model::{CallStats, Event, Ns, Pid, Seen};
use python::TARGET_LEN;
pub(crate) use refusal::{BpfRefusal, too_old};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;
use sys::clock::monotonic_ns;
use tasks::Tasks;
use tracing::Tracing;
use types::Types;
use units::UnitEvents;
use waits::WaitPeriod;

/// The age at which a record's place in the stream is certain: much more than the difference of two
/// CPUs' clocks.
const SETTLED_NS: Ns = 100_000;
/// The shortest time between two calls of the controller, unless it waits for the stream.
const ASKED_NS_MIN: Ns = 500_000;

/// The attached instruments. Dropping it detaches all of them; so does the end of the process.
pub(crate) struct Bpf {
    ebpf: Ebpf,
    drain: Drain,
    clock: Option<Clock>,
    counted: CounterEvents,
    faults: Option<FaultSamples>,
    waits: WaitPeriod,
    stacks: Stacks,
    lost_before: u64,
    sources: Vec<Source>,
    controller: Controller,
    threads: Threads,
    commands: Commands,
    left_out: LeftOut,
    units: UnitEvents,
    /// Events of name lookups: they are for as long as these are open.
    resolver: Vec<OwnedFd>,
    tasks: Tasks,
    /// The window, where it was attached to running processes.
    look_here: Option<LookHere>,
    /// Processes whose listeners are to be found, once the window has begun: that takes a while.
    attached: BTreeSet<Pid>,
    /// What was counted at the end of a window: the observed processes continue.
    at_end: Option<Counted>,
    /// Bytes of files that were counted before the window.
    file_bytes_before: u64,
    /// Requests to disks that were counted before it.
    disk_requests_before: u64,
    /// Whether connections that were open at the end could be told.
    told_open: bool,
}

/// Opens the object without loading or attaching any of its programs, for no program to observe.
pub(crate) fn opened<T>(then: impl FnOnce(&mut Ebpf, &Types) -> T) -> Result<T, BpfRefusal> {
    let types = Types::read(made_for(load::OBJECT)?, attach::tracepoints(), &[alive::ITERATOR])?;
    let mut ebpf = load::load(&types, 0, &host::cpus(host::here()), true, 1)?;
    Ok(then(&mut ebpf, &types))
}

struct Counted {
    calls: Vec<CallStats>,
    files: Seen<FileUses>,
    disk_requests: Seen<DiskUses>,
    requests_left_out: Option<u64>,
}

/// How many threads of these processes are not observed, as there is no room for them.
fn missing_threads(pids: &BTreeSet<Pid>) -> Option<Source> {
    let there: usize = pids.iter().map(|pid| targets::threads(*pid).len()).sum();
    let room = THREADS_MAX as usize - 1;
    (there > room).then(|| {
        let why = format!("{} of {there} threads are not observed: there is room for {room}", there - room);
        Source::partial(THREADS, why, "")
    })
}

impl Bpf {
    /// Attaches everything, for a tree whose root is held and will enter `execve` next.
    pub(crate) fn start(root: Pid, cpus: &[u32], watching: &Watching) -> Result<Self, BpfRefusal> {
        let types = Types::read(made_for(load::OBJECT)?, attach::tracepoints(), &[])?;
        let mut bpf = Self::start_with(&types, root, cpus, watching, 1)?;
        bpf.attach_uprobes(watching, &[])?;
        Ok(bpf)
    }

    /// Attaches everything, then finds the existing threads of the processes that `listed` returns
    /// (it is called until it has no new ones).
    pub(crate) fn attach(
        cpus: &[u32],
        watching: &Watching,
        listed: &mut dyn FnMut() -> Vec<Pid>,
    ) -> Result<Self, BpfRefusal> {
        let types = Types::read(made_for(load::OBJECT)?, attach::tracepoints(), &[alive::ITERATOR])?;
        let mut bpf = Self::start_with(&types, 0, cpus, watching, THREADS_MAX)?;
        // Also those that come online later.
        let all: Vec<u32> = (0..BufferSizes::here(cpus).cpus).collect();
        let (look_here, pids, found) = alive::find(&mut bpf.ebpf, types.targets(), &all, listed)?;
        bpf.look_here = Some(look_here);
        bpf.sources.extend(missing_threads(&pids));
        bpf.attach_uprobes(watching, &pids.iter().copied().collect::<Vec<_>>())?;
        for pid in &pids {
            bpf.stacks.found(*pid);
        }
        bpf.attached = pids;
        for stack in sleepers::stacks(&found) {
            bpf.stacks.stack(monotonic_ns(), Box::new(stack));
        }
        bpf.tell_pythons();
        if let Some(clock) = &mut bpf.clock {
            clock.program_began(monotonic_ns());
        }
        bpf.counted.program_began(monotonic_ns());
        cost::forget_calls(&mut bpf.ebpf);
        asked::forget(&mut bpf.ebpf);
        bpf.file_bytes_before = files::forget(&mut bpf.ebpf);
        bpf.disk_requests_before = disk_requests::forget(&mut bpf.ebpf);
        bpf.left_out.forget(&bpf.ebpf);
        Ok(bpf)
    }

    /// Only on demand: the kernel takes 0.2 s to detach uprobes.
    fn attach_uprobes(&mut self, watching: &Watching, pids: &[Pid]) -> Result<(), BpfRefusal> {
        self.units = UnitEvents::start(&mut self.ebpf, watching)?;
        if watching.names {
            let (events, missing) = resolver::attach(&mut self.ebpf, pids);
            self.resolver = events;
            self.sources.extend(missing);
        }
        Ok(())
    }

    fn start_with(
        types: &Types,
        root: Pid,
        cpus: &[u32],
        watching: &Watching,
        wanted: u32,
    ) -> Result<Self, BpfRefusal> {
        let mut ebpf = load::load(types, root, cpus, watching.kinds, wanted)?;
        let bare_call_ns = tracing::own_call_ns();
        let AttachedPrograms { links, mut sources, reports, sample, fault, counted } =
            attach::everything(&mut ebpf, types)?;
        let tracing = Tracing::new(links, &mut ebpf).ok_or(BpfRefusal::Missing("settings"))?;
        let controller = Controller::new(watching.max_overhead, tracing, bare_call_ns);
        let counted = CounterEvents::start(counted, &ebpf, cpus);
        let clock = sample.and_then(|()| Clock::start(&mut ebpf, cpus, watching.rate));
        sources.push(match &clock {
            Ok(_) => Source::full("faults"),
            Err(why) => Source::none("faults", why.to_string(), why.remedy("")),
        });
        let (faults, places) = FaultSamples::start(fault, &mut ebpf, cpus, watching.max_overhead);
        sources.push(places);
        let mappings = Mappings::start(cpus);
        sources.push(match &mappings {
            Ok(_) => Source::full("code"),
            Err(why) => {
                let remedy = access::perf_remedy(Errno::from_io_error(why));
                let why = format!("executable mappings of the program are unknown: perf events: {why}");
                Source::partial("code", why, remedy)
            }
        });
        let stack_ring = maps::ring(&mut ebpf, "stacks")?;
        let waits = WaitPeriod::new(monotonic_ns());
        waits.set(&mut ebpf).ok_or(BpfRefusal::Missing("settings"))?;
        if cost::of_cpus(&ebpf).is_none() {
            return Err(BpfRefusal::Missing("cpus as this file knows it"));
        }
        let drain = Drain {
            buffers: buffers::shared(&ebpf, BufferSizes::here(cpus))?,
            stack_ring: Some(stack_ring),
            mappings: mappings.ok(),
            decoder: Decoder::new(reports),
            counted: 0,
            counted_until: Ns::MAX,
            python: FxHashMap::default(),
        };
        Ok(Self {
            ebpf,
            drain,
            clock: clock.ok(),
            counted,
            faults,
            waits,
            stacks: Stacks::new(),
            lost_before: 0,
            sources,
            controller,
            threads: Threads::new(root),
            commands: Commands::default(),
            left_out: LeftOut::new(watching),
            units: UnitEvents::default(),
            resolver: Vec::new(),
            tasks: Tasks::new(watching),
            look_here: None,
            attached: BTreeSet::new(),
            at_end: None,
            file_bytes_before: 0,
            disk_requests_before: 0,
            told_open: true,
        })
    }

    /// Passes on the events before `until`.
    ///
    /// The stream is in order of time, and each record is passed on once. It stops at the moment
    /// that the controller has noted, if any; the controller is called again after the drain.
    fn drain_before(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) -> u64 {
        let last = until == Ns::MAX;
        self.waits.taken += self.drain.stacks(&mut self.stacks, &self.threads);
        self.tell_pythons();
        self.tell_entries();
        let mut records = 0;
        let event = self.controller.begins();
        self.emit(event, sink);
        let attached = std::mem::take(&mut self.attached);
        if !attached.is_empty() {
            let (roles, listen) = listeners::tell(&mut self.ebpf, &attached, monotonic_ns());
            for role in roles {
                self.emit(Some(role), sink);
            }
            let waits = &mut self.drain.decoder.task_waits;
            self.tasks.serve(&mut self.ebpf, listen.into_iter(), waits);
        }
        if let Some(at) = self.controller.noted().filter(|at| *at <= until) {
            records += self.hand_over(at, sink);
            let seen = self.drain.decoder.seen;
            let event = self.controller.work_off(&mut self.ebpf, seen, &self.threads, last);
            self.emit(event, sink);
        }
        records += self.hand_over(until, sink);
        self.drain.decoder.lookups.give_up(until.min(monotonic_ns()), sink);
        self.tell_pythons();
        if self.waits.fit(monotonic_ns()) {
            // If that fails, the old one stays.
            let _ = self.waits.set(&mut self.ebpf);
        }
        if let Some(clock) = &mut self.clock {
            clock.keep(&mut self.ebpf, monotonic_ns());
        }
        self.counted.keep(monotonic_ns());
        if let Some(faults) = &mut self.faults {
            let now = monotonic_ns();
            let taken = self.drain.decoder.seen.faults;
            faults.keep(&mut self.ebpf, now, taken, || self.threads.busy_until(now));
        }
        let now = monotonic_ns();
        self.left_out.keep(&mut self.ebpf, now, || self.threads.busy_until(now));
        self.units.keep(&self.ebpf, now, || self.threads.busy_until(now));
        let decoder = &mut self.drain.decoder;
        let served: FxHashSet<Pid> = decoder.served.drain().map(|tid| self.threads.pid_of(tid)).collect();
        self.tasks.serve(&mut self.ebpf, served.into_iter(), &mut decoder.task_waits);
        let event = self.tasks.keep(&mut self.ebpf, now, || self.threads.busy_until(now));
        self.emit(event, sink);
        // At the end there is no overhead left to save.
        if !last {
            let seen = self.drain.decoder.seen;
            let event = self.controller.decide(&mut self.ebpf, seen, &self.threads);
            self.emit(event, sink);
        }
        records
    }

    fn hand_over(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) -> u64 {
        let (clock, stacks, threads) = (&mut self.clock, &mut self.stacks, &mut self.threads);
        let (commands, counted) = (&mut self.commands, &mut self.counted);
        self.drain.records(until, &mut |mut event, callers| {
            if let Event::Start { at, .. } = &event {
                clock.iter_mut().for_each(|clock| clock.program_began(*at));
                counted.program_began(*at);
            }
            stacks.before(&mut event, threads, sink);
            if let Some((pid, callers)) = callers {
                stacks.task_waits(&mut event, pid, &callers, sink);
            }
            threads.event(&event);
            stacks.event(&event, threads);
            sink(&event);
            stacks.after(&event, sink);
            if let Some(command) = commands.command_line(&event) {
                sink(&command);
            }
        })
    }

    /// An event without a record.
    fn emit(&mut self, event: Option<Event>, sink: &mut dyn FnMut(&Event)) {
        let Some(mut event) = event else { return };
        self.stacks.before(&mut event, &self.threads, sink);
        sink(&event);
        self.stacks.after(&event, sink);
    }

    /// Gives the kernel half the processes that run Python, and how to read their frames.
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
            // When there are too many, Python frames are not read, and those of the interpreter
            // stay.
            let _ = map.insert(pid, target, 0);
        }
    }

    /// Names the functions by which samples tell what they are of.
    fn tell_entries(&mut self) {
        let addresses = self.stacks.entries();
        if !addresses.is_empty()
            && let Some(names) = names::ask(&mut self.ebpf, &addresses)
        {
            self.stacks.entries_named(&addresses, names);
        }
    }

    /// A program that has ended has left its CPU at least once. Only root can ask the kernel
    /// whether programs run (`firing.rs`).
    fn without_switches(&self) -> Option<Source> {
        let is_window = self.look_here.is_some();
        (!is_window && self.drain.decoder.seen.switches == 0).then(|| {
            let why = "no switch was reported, not even the last: when threads had a CPU is unknown, and \
                       their states with it";
            Source::none("switches", why, "")
        })
    }

    /// The calls that returned while they were traced.
    fn counted_calls(&self) -> Vec<CallStats> {
        if let Some(counted) = &self.at_end {
            return counted.calls.clone();
        }
        let mut calls = cost::calls(&self.ebpf);
        asked::add(&self.ebpf, &mut calls);
        calls
    }

    /// Why the sums of the kernel half cannot be read, where that is so: bpf(2) is denied since, by
    /// a filter that came after the start. Events are in shared memory, and arrive all the same.
    fn unreadable(&self) -> Option<&'static str> {
        cost::of_cpus(&self.ebpf)
            .is_none()
            .then_some("the kernel's counts cannot be read: bpf(2) is refused since the recording began")
    }

    /// Why no call was counted, where that is so: no figure is then 0.
    fn without_calls(&self) -> Option<String> {
        let none = self.sources.iter().find(|source| source.name == "calls" && source.seen == Extent::None);
        none.map(|source| source.why.clone()).or_else(|| self.unreadable().map(str::to_owned))
    }

    fn network_shortfall(&self) -> Option<Source> {
        let (connections, questions) = (network::lost(&self.ebpf), self.drain.decoder.lookups.unfollowed);
        let untold = "connections that were open at the end could not be queried";
        let lost =
            format!("{connections} connections found no room, {questions} name lookups could not be traced");
        let untold = (!self.told_open).then(|| untold.to_owned());
        let why: Vec<String> =
            untold.into_iter().chain((connections + questions > 0).then_some(lost)).collect();
        (!why.is_empty()).then(|| Source::partial("network", why.join("; "), ""))
    }

    fn lost_stacks(&self) -> u64 {
        maps::setting(&self.ebpf, wire::Setting::LostStacks).unwrap_or(0)
    }
}

impl Instruments for Bpf {
    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn threads(&self) -> &Threads {
        &self.threads
    }

    fn sample_period_ns(&self) -> Ns {
        self.clock.as_ref().map_or(0, Clock::period_ns)
    }

    fn sources(&self) -> Vec<Source> {
        self.sources.clone()
    }

    fn worse(&self) -> Vec<Source> {
        let unread =
            self.unreadable().map(|why| Source::none("calls", why, access::sandboxed().unwrap_or_default()));
        let stacks = self.stacks.shortfall(self.lost_stacks());
        let all = stacks.into_iter().chain(self.network_shortfall()).chain(unread);
        all.chain(self.without_switches()).chain(self.tasks.shortfall()).collect()
    }

    /// If it is Python, the kernel half can read its frames from the first instruction on, before
    /// it knows the process.
    fn expect(&mut self, executable: &Path) {
        let Some((key, target)) = stacks::expected(executable) else { return };
        let map = self.ebpf.map_mut("python_files");
        if let Some(mut map) =
            map.and_then(|map| HashMap::<_, [u8; 16], [u8; TARGET_LEN]>::try_from(map).ok())
        {
            // Without it the first milliseconds of Python appear as functions of the interpreter.
            let _ = map.insert(key, target, 0);
        }
    }

    /// So that nothing is lost.
    fn pause(&self, pause: Duration) -> Duration {
        let now = monotonic_ns();
        let asked = match self.controller.noted() {
            Some(at) => (at + SETTLED_NS).saturating_sub(now),
            None => self.controller.next().map_or(Ns::MAX, |next| next.saturating_sub(now)).max(ASKED_NS_MIN),
        };
        pause.min(Duration::from_nanos(self.drain.buffers.fill_ns().min(asked)))
    }

    /// The order of the newest is not certain yet.
    fn drain(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        self.drain_before(monotonic_ns().saturating_sub(SETTLED_NS), sink)
    }

    fn drain_rest(&mut self, sink: &mut dyn FnMut(&Event)) -> u64 {
        self.drain_before(Ns::MAX, sink)
    }

    fn end(&mut self) -> Ns {
        if let Some(look_here) = &self.look_here {
            look_here.everywhere();
        }
        self.at_end = Some(Counted {
            calls: self.counted_calls(),
            files: self.files(),
            disk_requests: self.disk_requests(),
            requests_left_out: self.requests_left_out(),
        });
        self.drain.counted_until = monotonic_ns();
        self.drain.counted_until
    }

    fn drain_until(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) -> u64 {
        self.drain_before(until, sink)
    }

    fn asks_jvms(&mut self) {
        self.stacks.asks_jvms();
    }

    fn names(&mut self, sink: &mut dyn FnMut(&Event)) {
        self.told_open = network::tell_open(&mut self.ebpf).is_some();
        // All other new records are later than the end.
        self.drain_before(Ns::MAX, &mut |event| {
            if matches!(event, Event::Connection(_) | Event::Lookup(_)) || event.at().is_none() {
                sink(event);
            }
        });
        self.drain.decoder.lookups.give_up(Ns::MAX, sink);
        self.drain.stacks(&mut self.stacks, &self.threads);
        self.drain.close();
        self.stacks.rest(&self.threads, sink);
        self.stacks.names(|addresses| names::ask(&mut self.ebpf, addresses), sink);
    }

    fn users(&self) -> BTreeSet<u32> {
        self.stacks.users().clone()
    }

    fn roots(&self) -> Roots {
        self.stacks.roots()
    }

    fn newly_lost(&mut self) -> u64 {
        // What cannot be read now counts with the next reading.
        let Some(cpus) = cost::of_cpus(&self.ebpf) else { return 0 };
        let lost = cpus.iter().map(|cpu| cpu.lost).sum::<u64>()
            + self.drain.decoder.malformed
            + self.drain.buffers.malformed;
        let newly = lost.saturating_sub(self.lost_before);
        self.lost_before = lost;
        newly
    }

    fn lost(&self) -> Seen<u64> {
        self.unreadable().map_or(Seen::Value(self.lost_before), Seen::unseen)
    }

    fn calls(&self) -> Seen<Vec<CallStats>> {
        self.without_calls().map_or_else(|| Seen::Value(self.counted_calls()), Seen::unseen)
    }

    fn files(&self) -> Seen<FileUses> {
        match &self.at_end {
            _ if let Some(why) = self.unreadable() => Seen::unseen(why),
            Some(counted) => counted.files.clone(),
            None => files::uses(&self.ebpf, self.file_bytes_before, &self.sources),
        }
    }

    fn disk_requests(&self) -> Seen<DiskUses> {
        match &self.at_end {
            _ if let Some(why) = self.unreadable() => Seen::unseen(why),
            Some(counted) => counted.disk_requests.clone(),
            None => disk_requests::uses(&self.ebpf, self.disk_requests_before, &self.sources),
        }
    }

    fn requests_left_out(&self) -> Option<u64> {
        match &self.at_end {
            Some(counted) => counted.requests_left_out,
            None => self.left_out.since(&self.ebpf),
        }
    }

    fn units_followed(&self) -> Option<UnitsFollowed> {
        self.units.followed(&self.ebpf)
    }

    fn counters(&self) -> Seen<CountersObserved> {
        self.counted.observed(&self.ebpf)
    }

    fn sliced(&mut self, end: Ns) -> Option<Sliced> {
        self.controller.sums(self.threads.busy_until(end))
    }

    fn cost(&self) -> Vec<Cost> {
        if self.unreadable().is_some() {
            return Vec::new();
        }
        let (attached, costs) = (self.controller.attached(), self.controller.costs());
        cost::of_instruments(
            &self.counted_calls(),
            attached,
            costs,
            (self.drain.decoder.seen, self.drain.counted),
            self.units_followed(),
        )
    }
}
