//! Switches, forks, names, exits and samples of the tree from perf events, which an ordinary user
//! may open on their own programs where `perf_event_paranoid` is 2 or lower.
//!
//! `proc` provides what these events lack (what a thread blocked on, its waker) by polling the same
//! threads.
//!
//! Two software events and the processor's counters, inherited by the whole tree, on each CPU, into
//! one ring per CPU:
//!
//! ```text
//! dummy      switches, forks, exits, names      never of the kernel: needs no privilege
//! cpu clock  a sample each period on a CPU      of the kernel too, where that is permitted
//! counters   a sample each period counted       likewise; without a stack
//! ```
//!
//! The events begin with the root's `execve`. A thread's last switch is not recorded: the kernel
//! removes its events just before, after freeing its memory, and that moment is its
//! [`Event::Exit`]. It also removes them when an ordinary user's program executes a set-user-ID
//! file: that is distinguished from an exit, reported, and covered by snapshots.

mod living;

use super::perf_records::{Copied, Record, SAMPLE_TYPE, STACK_TYPE, What, decode};
use crate::access::{container, more, own_events, sandboxed, so_many_files};
use crate::counters::{self, Counters};
use crate::machine;
use crate::source_text::Roots;
use crate::stacks::{CountedAt, RawStack, StackKind, Stacks};
use crate::threads::Threads;
use model::counters::CountersObserved;
use model::coverage::Source;
use model::recording::{Calls, Comm, Object, SwitchIn, SwitchOut, SwitchOutState, WaitContext};
use model::recording::{Event, SampleMode};
use model::{Ns, Pid, Seen, Tid};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::perf_event::{self, Ring, bindings, bindings::perf_event_attr};

/// Ring sizes to try, in pages: above 128 (with 4 KiB pages) only privileged users are sure to get
/// one.
const RING_PAGES: [usize; 6] = [2048, 512, 128, 32, 8, 2];

/// Bytes of a thread's stack to copy. Rings are small for ordinary users: perf(1) copies 8 KiB,
/// too.
const STACK_BYTES: u32 = 8192;

/// Records younger than this at the start of a drain wait for the next one: another CPU may be
/// about to write an older one. The kernel writes a record within microseconds of its time stamp.
const SETTLING_NS: Ns = 1_000_000;

/// Why a source is not available: what was tried, the system's error, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tried}: {said}")]
pub(crate) struct PerfRefusal {
    /// What was tried, on what.
    pub(crate) tried: String,
    /// The system's error.
    pub(crate) said: String,
    /// A command, or a sentence, that would change it.
    pub(crate) remedy: String,
}

impl PerfRefusal {
    /// The same as a line of the coverage: nothing of `name` was observed.
    pub(crate) fn source(&self, name: &str) -> Source {
        Source::none(name, self.to_string(), &*self.remedy)
    }
}

/// Perf events on a tree.
#[derive(Debug)]
pub(crate) struct Perf {
    rings: Vec<Ring>,
    /// The other events, which write into the rings; kept open while they are needed.
    _events: Vec<OwnedFd>,
    /// Why the kernel's own code is not sampled, where it is not.
    kernel_refused: Option<String>,
    /// It was attached to existing threads.
    living: bool,
    /// The number of those whose events were refused, and the error.
    unwatched: Option<(usize, String)>,
    /// Records too young to be emitted.
    waiting: Vec<Record>,
    tree: Tree,
    stacks: Stacks,
    lost: u64,
    /// Threads that executed a set-user-ID file.
    entrusted: u64,
    /// The processor's counters, or why they are not sampled; and how many samples they gave.
    counters: Result<Counters, String>,
    counted: u64,
}

impl Perf {
    /// Opens the events on `root`, a held child that will execute the program, with a sample every
    /// `period_ns` of CPU time.
    ///
    /// # Errors
    /// When the events are refused, or their rings are; nothing is left behind then.
    pub(crate) fn start(root: Pid, period_ns: Ns) -> Result<Self, PerfRefusal> {
        let mut kernel_refused = None;
        let mut rings: Vec<Ring> = Vec::new();
        let (mut cpus, mut clocks) = (Vec::new(), Vec::new());
        let mut pages = RING_PAGES[0];
        for cpu in host::cpus(host::here()) {
            let ring = match perf_event::open(&switches(), root, cpu).and_then(|event| map(event, &mut pages))
            {
                Ok(ring) => ring,
                // Listed, but not available: it went offline in between.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                Err(error) => return Err(refused(root, &error)),
            };
            let clock = open(at_exec(clock(period_ns)), root, cpu, &mut kernel_refused)
                .and_then(|clock| perf_event::redirect(clock.as_fd(), ring.as_fd()).map(|()| clock))
                .map_err(|error| refused(root, &error))?;
            rings.push(ring);
            cpus.push(cpu);
            clocks.push(clock);
        }
        let counters = counters_of(root, &cpus, &rings, kernel_refused.is_none());
        Ok(Self { counters, ..Self::on(rings, clocks, kernel_refused, period_ns) })
    }

    /// Why kernel code is not sampled, where it is not.
    pub(crate) fn kernel_refused(&self) -> Option<&str> {
        self.kernel_refused.as_deref()
    }

    fn on(rings: Vec<Ring>, events: Vec<OwnedFd>, kernel_refused: Option<String>, period_ns: Ns) -> Self {
        Self {
            rings,
            _events: events,
            kernel_refused,
            living: false,
            unwatched: None,
            waiting: Vec::new(),
            tree: Tree { period_ns, ..Tree::default() },
            stacks: Stacks::new(),
            lost: 0,
            entrusted: 0,
            counters: Err("without BPF they are sampled in programs that dwell starts".to_owned()),
            counted: 0,
        }
    }

    /// What was observed of the processor's counters.
    pub(crate) fn counters(&self) -> Seen<CountersObserved> {
        match &self.counters {
            Ok(counters) => Seen::Value(counters.observed(0)),
            Err(why) => Seen::unseen(why),
        }
    }

    /// How many samples they gave.
    pub(crate) fn counted(&self) -> u64 {
        self.counted
    }

    /// Java virtual machines are to be asked for the names of their code.
    pub(crate) fn asks_jvms(&mut self) {
        self.stacks.asks_jvms();
    }

    /// The names of all code locations. Call it when the program has ended.
    pub(crate) fn names(&mut self, threads: &Threads, sink: &mut dyn FnMut(&Event)) {
        self.stacks.rest(threads, sink);
        self.stacks.names(|_| None, sink);
    }

    /// The root directories in which programs see files.
    pub(crate) fn roots(&self) -> Roots {
        self.stacks.roots()
    }

    /// The users who could have written what files with code say.
    pub(crate) fn users(&self) -> &BTreeSet<u32> {
        self.stacks.users()
    }

    /// What is missing of the switches, in addition to [`Perf::sources`].
    pub(crate) fn entrusted(&self) -> Option<Source> {
        let mut source = self.sources().into_iter().find(|source| source.name == "switches")?;
        source.why += &format!(
            "; {} executed a file with its owner's rights (set-user-ID): the kernel removed its perf events, and \
             snapshots of /proc cover the rest",
            if self.entrusted == 1 { "one thread".to_owned() } else { format!("{} threads", self.entrusted) }
        );
        (self.entrusted > 0).then_some(source)
    }

    /// What is missing of the code. Lost records of any kind are reported in the stream.
    pub(crate) fn shortfall(&self) -> Option<Source> {
        self.stacks.shortfall(0)
    }

    /// Emits recorded events, in order of time across CPUs. The last millisecond is held back, so
    /// that the order is right.
    pub(crate) fn drain(&mut self, threads: &mut Threads, sink: &mut dyn FnMut(&Event)) {
        let settled = monotonic_ns().saturating_sub(SETTLING_NS);
        self.hand_over(settled, threads, sink);
    }

    /// Emits the events before `until`, and drops later ones.
    pub(crate) fn drain_until(&mut self, until: Ns, threads: &mut Threads, sink: &mut dyn FnMut(&Event)) {
        // Records up to then are visible within this time.
        std::thread::sleep(Duration::from_nanos((until + SETTLING_NS).saturating_sub(monotonic_ns())));
        self.hand_over(until, threads, sink);
        self.waiting.clear();
    }

    /// Emits all that is left. Call it when the root has ended.
    pub(crate) fn finish(&mut self, threads: &mut Threads, sink: &mut dyn FnMut(&Event)) {
        self.hand_over(Ns::MAX, threads, sink);
    }

    /// Records that the kernel could not deliver because a ring was full.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The sampling period of a thread.
    pub(crate) fn period_ns(&self) -> Ns {
        self.tree.period_ns
    }

    /// What these events observe, and what would give more.
    pub(crate) fn sources(&self) -> Vec<Source> {
        let mut why = "perf events report when each thread was switched out and in, not its waker".to_owned();
        if !self.living {
            why += ": the path beyond a wait is inferred from snapshots of the threads";
        }
        if let Some((threads, said)) = &self.unwatched {
            why += &format!("; {threads} threads have no events: {said}");
        }
        let code = match &self.kernel_refused {
            None => Source::full("code"),
            Some(said) => Source::partial(
                "code",
                format!("only the program's own code is sampled: sampling the kernel's: {said}"),
                "sudo sysctl kernel.perf_event_paranoid=1",
            ),
        };
        vec![Source::partial("switches", why, more()), code]
    }

    fn hand_over(&mut self, settled: Ns, threads: &mut Threads, sink: &mut dyn FnMut(&Event)) {
        for ring in &mut self.rings {
            ring.read(|bytes| self.waiting.extend(decode(bytes)));
        }
        // Stable, so that records of one ring with the same time keep their order.
        self.waiting.sort_by_key(|record| record.at);
        let young = self.waiting.partition_point(|record| record.at <= settled);
        for record in self.waiting.drain(..young) {
            let at = record.at;
            let mut copied = None;
            let record = match record.what {
                What::Mapped { pid, mapping } => {
                    self.tree.executing.remove(&pid);
                    self.stacks.mapped(at, pid, mapping);
                    continue;
                }
                What::Named { pid, exec: true, .. } => {
                    self.tree.executing.insert(pid);
                    self.stacks.executed(at, pid);
                    record
                }
                What::Exited { pid, .. } if self.tree.executing.remove(&pid) => {
                    self.entrusted += 1;
                    continue;
                }
                What::Lost { records } => {
                    self.lost += records;
                    record
                }
                What::Sampled { user, pid, ip, period, stack } => {
                    if let Some(counter) = counters::of_period(period) {
                        let (tid, kernel) = (record.tid, !user);
                        let counted = CountedAt { tid, pid, counter, count: period, kernel, ip };
                        self.stacks.counted(at, counted);
                        self.counted += 1;
                        continue;
                    }
                    copied = stack;
                    Record { what: What::Sampled { user, pid, ip, period, stack: None }, ..record }
                }
                _ => record,
            };
            let Some(mut event) = self.tree.event(record) else { continue };
            if let (Some(copied), Event::Sampled { tid, mode, period_ns, .. }) = (copied, &event) {
                let Copied { pid, registers, kernel, user } = *copied;
                let of = StackKind::Sample { mode: *mode, period_ns: *period_ns };
                let stack = RawStack { tid: *tid, pid, of, registers, kernel, user, python: None };
                self.stacks.stack(at, Box::new(stack));
            }
            self.stacks.before(&mut event, threads, sink);
            threads.event(&event);
            self.stacks.event(&event, threads);
            sink(&event);
        }
    }
}

/// The state of the tree that is needed to interpret a record.
#[derive(Debug, Default)]
struct Tree {
    period_ns: Ns,
    names: HashMap<Tid, Comm>,
    /// Living threads of each process; one that is missing has one.
    living: HashMap<Pid, u32>,
    /// Processes that execute another program and have no mapping of it yet. None exits in this
    /// state by itself; the kernel removes the events of one that gains privileges.
    executing: HashSet<Pid>,
}

impl Tree {
    fn event(&mut self, record: Record) -> Option<Event> {
        let Record { at, tid, cpu, what } = record;
        Some(match what {
            What::SwitchedIn => {
                let into = Some(SwitchIn { tid, ran: None, throttled_ns: 0 });
                Event::Switch { at, cpu, out: None, into }
            }
            What::SwitchedOut { runnable } => {
                let wait = WaitContext { call: None, uninterruptible: false, io: false, on: Object::Unknown };
                let left = if runnable { SwitchOutState::Runnable } else { SwitchOutState::Blocked(wait) };
                Event::Switch { at, cpu, out: Some(SwitchOut { tid, left, calls: Calls::new() }), into: None }
            }
            What::Forked { pid, tid, creator } => {
                let name = self.names.get(&creator).copied().unwrap_or_default();
                self.names.insert(tid, name);
                *self.living.entry(pid).or_insert(if pid == tid { 0 } else { 1 }) += 1;
                Event::Fork { at, tid: creator, child: tid, pid, name, calls: Calls::new() }
            }
            What::Exited { pid, tid } => {
                self.names.remove(&tid);
                let living = self.living.entry(pid).or_insert(1);
                *living = living.saturating_sub(1);
                let last = *living == 0;
                if last {
                    self.living.remove(&pid);
                }
                Event::Exit { at, tid, status: 0, last, calls: Calls::new() }
            }
            What::Named { pid, tid, name, exec } => {
                self.names.insert(tid, name);
                // The record is written after the old image is gone; the time before is not
                // observed.
                let entered = at;
                if exec {
                    Event::Exec { at, entered, tid, pid, old_tid: tid, name }
                } else {
                    Event::Rename { at, tid, name }
                }
            }
            // It has no record: see `hand_over`.
            What::Mapped { .. } => return None,
            What::Sampled { user, ip, .. } => {
                let mode = if user { SampleMode::User } else { SampleMode::Kernel };
                Event::Sampled { at, tid, mode, ip, period_ns: self.period_ns as u32, node: None }
            }
            What::Lost { records } => Event::Lost { at, events: records },
        })
    }
}

/// The event for switches, forks, exits, names and mappings, from the program's start.
fn switches() -> perf_event_attr {
    let mut attr = with_side_band(common(bindings::PERF_COUNT_SW_DUMMY));
    attr.set_exclude_kernel(1);
    at_exec(attr)
}

fn with_side_band(mut attr: perf_event_attr) -> perf_event_attr {
    attr.set_context_switch(1);
    attr.set_task(1);
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_mmap(1);
    attr.set_mmap2(1);
    attr
}

/// Enabled when the held child executes the program.
fn at_exec(mut attr: perf_event_attr) -> perf_event_attr {
    attr.set_disabled(1);
    attr.set_enable_on_exec(1);
    attr
}

/// The event for samples with stacks, every `period_ns`.
fn clock(period_ns: Ns) -> perf_event_attr {
    let mut attr = common(bindings::PERF_COUNT_SW_CPU_CLOCK);
    attr.__bindgen_anon_1.sample_period = period_ns;
    attr.sample_type |= STACK_TYPE;
    attr.sample_regs_user = machine::here().perf_mask();
    attr.sample_stack_user = STACK_BYTES;
    attr.set_exclude_callchain_user(1);
    attr
}

/// Opens the event on a thread; without the kernel's own code where that is refused.
fn open(
    mut attr: perf_event_attr,
    tid: Tid,
    cpu: u32,
    kernel_refused: &mut Option<String>,
) -> io::Result<OwnedFd> {
    if kernel_refused.is_none() {
        match perf_event::open(&attr, tid, cpu) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                *kernel_refused = Some(format!("{error}{}", paranoia()));
            }
            result => return result,
        }
    }
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    attr.set_exclude_callchain_kernel(1);
    perf_event::open(&attr, tid, cpu)
}

/// The counters of a held child, and of what it starts, into the rings of these CPUs.
fn counters_of(root: Pid, cpus: &[u32], rings: &[Ring], kernel: bool) -> Result<Counters, String> {
    // They are set anew at each switch, and a hypervisor may have to do it.
    if let Ok(Some(true)) = host::under_hypervisor(host::here().proc) {
        let why = "without BPF they would be set at each switch, which is expensive in a virtual machine";
        return Err(why.to_owned());
    }
    let units = host::counters::units(host::here());
    let common = |attr| at_exec(of_threads(attr));
    Counters::open(&units, (cpus, root), kernel, &common, |cpu, event| {
        let ring = cpus.iter().zip(rings).find(|(of, _)| **of == cpu).map(|(_, ring)| ring);
        perf_event::redirect(event.as_fd(), ring.ok_or(io::ErrorKind::NotFound)?.as_fd())
    })
}

/// For a thread and all that it starts.
fn common(config: bindings::perf_sw_ids) -> perf_event_attr {
    of_threads(perf_event::software(config))
}

/// The same of any event.
fn of_threads(mut attr: perf_event_attr) -> perf_event_attr {
    attr.sample_type = SAMPLE_TYPE;
    attr.set_sample_id_all(1);
    attr.set_use_clockid(1);
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr.set_inherit(1);
    attr
}

/// Maps the largest ring that is permitted, at most `pages`, which is reduced to its size.
fn map(mut event: OwnedFd, pages: &mut usize) -> io::Result<Ring> {
    loop {
        match Ring::map(event, *pages) {
            Ok(ring) => return Ok(ring),
            Err((back, error)) => {
                event = back;
                *pages = *RING_PAGES.iter().find(|smaller| **smaller < *pages).ok_or(error)?;
            }
        }
    }
}

fn refused(root: Pid, error: &io::Error) -> PerfRefusal {
    let remedy = match error.raw_os_error() {
        Some(libc::EMFILE) => &so_many_files(65_536),
        Some(libc::ENOSYS) if container().is_none() => "a kernel with CONFIG_PERF_EVENTS=y",
        _ if container().is_none() && perf_event::paranoid().is_some_and(|level| level > 2) => {
            "sudo sysctl kernel.perf_event_paranoid=2"
        }
        _ => &own_events(),
    };
    PerfRefusal {
        tried: format!("perf events on process {root}"),
        said: match error.raw_os_error() {
            Some(libc::EMFILE) => error.to_string(),
            _ => format!("{error}{}", paranoia()),
        },
        remedy: remedy.to_owned(),
    }
}

/// The current setting, for a message; empty where there is none.
fn paranoia() -> String {
    let level = perf_event::paranoid().map(|level| format!(" (perf_event_paranoid is {level})"));
    let filter = if sandboxed().is_some() { "; a seccomp filter is in force" } else { "" };
    level.unwrap_or_default() + filter
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::coverage::Extent;

    fn record(at: Ns, tid: Tid, what: What) -> Record {
        Record { at, tid, cpu: 0, what }
    }

    #[test]
    fn the_last_thread_of_a_process_is_known_as_such() {
        let mut tree = Tree::default();
        let mut last = |what| match tree.event(record(1, 10, what)) {
            Some(Event::Exit { last, .. }) => last,
            _ => false,
        };
        last(What::Forked { pid: 10, tid: 11, creator: 10 });
        last(What::Forked { pid: 20, tid: 20, creator: 10 });
        assert!(!last(What::Exited { pid: 10, tid: 10 }));
        assert!(last(What::Exited { pid: 20, tid: 20 }));
        assert!(last(What::Exited { pid: 10, tid: 11 }));
    }

    #[test]
    fn a_child_has_its_creators_name_until_it_takes_one() {
        let mut tree = Tree::default();
        let sh = Comm::from("sh");
        tree.event(record(1, 10, What::Named { pid: 10, tid: 10, name: sh, exec: true }));
        let fork = tree.event(record(2, 10, What::Forked { pid: 20, tid: 20, creator: 10 }));
        assert!(matches!(fork, Some(Event::Fork { tid: 10, child: 20, pid: 20, name, .. }) if name == sh));
    }

    #[test]
    fn a_process_that_does_not_exist_is_refused_with_the_current_setting() {
        let refused = Perf::start(i32::MAX as u32, 1_000_000).unwrap_err();
        let level = perf_event::paranoid().unwrap();
        assert!(refused.to_string().starts_with("perf events on process 2147483647: "), "{refused}");
        assert!(refused.to_string().contains(&format!("(perf_event_paranoid is {level})")), "{refused}");
        assert_eq!(refused.source("switches").seen, Extent::None);
    }
}
