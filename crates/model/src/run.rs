//! The result of one `dwell run`, in the schema of `--json` (`dwell.run/1`).
//!
//! Names and units are a public contract, described by `docs/schema/dwell.run.1.json`: fields are
//! added, not renamed.

use crate::CodePlace;
use crate::account::{Account, AccountPart, Basis, DoesNotClose, State, Step};
use crate::code_location::Runtime;
use crate::costs::Costs;
use crate::counters::CounterTable;
use crate::coverage::{Coverage, Interval};
use crate::disk_requests::DiskRequests;
use crate::fault_places::FaultPlaces;
use crate::files::FileTable;
use crate::finding::{SavedTime, SavingBasis, Shared};
use crate::hand_overs::HandOvers;
use crate::limits::Limits;
use crate::loads::LoadTable;
use crate::peers::{ConnectionRow, LookupRow};
use crate::probe::Probed;
use crate::processes::{MemoryPeak, Programs};
use crate::recording::{Ending, Host};
use crate::seen::unrecorded;
use crate::syscall_rows::CallRow;
use crate::together::{Folded, ThreadsTogether};
use crate::wait::{StackFrame, WaitCall, WaitTarget, WakerKind};
use crate::waits_at_once::WaitsAtOnce;
use crate::{Ns, Pid, RunQueue, Seen, Series, Tid};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// The report of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA_RUN`], or [`SCHEMA_ATTACH`] where there is a `window`.
    #[serde(skip_deserializing, default = "schema")]
    pub schema: &'static str,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its exit status.
    pub exit: Ending,
    /// When it started: RFC 3339, UTC.
    pub started_at: String,
    /// Where.
    pub host: Host,
    /// From the entry of the successful `execve` to the end of the root's last thread.
    pub wall_ns: Ns,
    /// User time of the tree, summed over all threads until the end of the wall.
    pub user_ns: Seen<Ns>,
    /// Kernel time of the tree, faults included, likewise.
    pub kernel_ns: Seen<Ns>,
    /// What bounds the program.
    pub bound: Bound,
    /// The wall clock by state; sums to [`Run::whole_ns`] exactly.
    pub account: Vec<AccountPart>,
    /// The same by place, longest first; sums to [`Run::whole_ns`] exactly.
    pub path: Vec<Step>,
    /// The account by the program's own code, longest first; sums to [`Run::whole_ns`] exactly.
    #[serde(default = "unrecorded")]
    pub places: Seen<Vec<CodePlace>>,
    /// The path over time.
    pub phases: Phases,
    /// Of `dwell attach`: then there is no critical path, and `account`, `path` and `phases` are
    /// the time of the threads that were not idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowSummary>,
    /// How much of the wall clock any of its threads was on a CPU.
    #[serde(default = "unrecorded")]
    pub utilization: Seen<Utilization>,
    /// Each thread's own ledger.
    pub threads: Vec<ThreadLedger>,
    /// Waits of all threads of the tree, on the path or not, longest first.
    pub waits: Vec<WaitRow>,
    /// How many of those for the network and for disks were under way at once.
    #[serde(default = "unrecorded")]
    pub waits_at_once: Seen<WaitsAtOnce>,
    /// Waits that threads of the tree ended, by who ended whose.
    #[serde(default = "unrecorded")]
    pub hand_overs: Seen<HandOvers>,
    /// TCP connections of the tree by peer, those most waited on first.
    #[serde(default = "unrecorded")]
    pub connections: Seen<Vec<ConnectionRow>>,
    /// Name lookups of the tree, by name, longest total first.
    #[serde(default = "unrecorded")]
    pub lookups: Seen<Vec<LookupRow>>,
    /// What processes asked of disks.
    #[serde(default = "unrecorded")]
    pub disk_requests: Seen<DiskRequests>,
    /// System calls of the tree that returned, longest total first.
    pub syscalls: Seen<Vec<CallRow>>,
    /// What processes read and wrote of regular files, by calls; estimates by a sample.
    #[serde(default = "unrecorded")]
    pub files: Seen<FileTable>,
    /// Page faults of the tree.
    pub faults: Seen<Faults>,
    /// Which mappings they are in, and whose code they are of; estimates by a sample.
    #[serde(default = "unrecorded")]
    pub fault_places: Seen<FaultPlaces>,
    /// The process with the largest resident set.
    #[serde(default = "unrecorded")]
    pub memory_peak: Seen<MemoryPeak>,
    /// The processes of the tree by the program that they execute.
    #[serde(default = "unrecorded")]
    pub programs: Seen<Programs>,
    /// Which code ran.
    pub functions: Seen<Vec<FunctionRow>>,
    /// Which source lines ran.
    pub lines: Seen<Vec<LineRow>>,
    /// What memory its own code loads from.
    #[serde(default = "unrecorded")]
    pub loads: Seen<LoadTable>,
    /// What the processor's counters say of the code that ran.
    #[serde(default = "unrecorded")]
    pub counters: Seen<CounterTable>,
    /// Host metrics over the same time.
    pub series: Seen<Series>,
    /// Extrapolation to the whole job, where this run was declared a part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extrapolation: Option<Extrapolation>,
    /// Who had the CPUs while the program was ready to run.
    #[serde(default = "unrecorded")]
    pub run_queue: Seen<RunQueue>,
    /// The limits of its control group.
    #[serde(default = "unrecorded")]
    pub limits: Seen<Limits>,
    /// What operations cost on this host, from its last ladder; the waits are compared with them.
    #[serde(default = "unrecorded")]
    pub costs: Seen<Costs>,
    /// Tables of which rows were put together, so that the result stays below a megabyte; in the
    /// order of their names here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folded: Vec<Folded>,
    /// What the result rests on.
    pub coverage: Coverage,
}

/// A cause that a run shows, in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingRow {
    /// Its name for programs.
    pub cause: String,
    /// Its part of the account, 0 to 1: between these.
    pub share: Ends,
    /// What the change saves, in nanoseconds of `saved`.
    pub saving_ns: Seen<Interval>,
    /// What is saved: `wall` of a whole run; `cpu` time or time `waiting` in a window; `cpu` time
    /// also of a run whose wall clock stays as it is.
    pub saved: String,
    /// The part of the place's time that goes, 0 to 1: least and most.
    pub part: Seen<Ends>,
    /// How that part is known: `counted`, `bounded` or `assumed`.
    pub known: String,
    /// What the program does, and where.
    #[serde(rename = "where")]
    pub place: String,
    /// The table that it points into, and the row there.
    pub points_to: Option<RowOf>,
    /// What to change.
    pub action: String,
    /// The figures that say so.
    pub evidence: Vec<String>,
    /// What is taken for granted.
    pub assumptions: Vec<String>,
    /// How to look closer, or to know that it helped.
    pub verify: Vec<String>,
    /// Causes that are consequences of this one.
    pub explains: Vec<String>,
    /// What of the low end of `saving_ns` the change of a finding above this one saves as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
    /// What a probe gave, where one was asked for and this finding has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<Seen<Probed>>,
}

impl FindingRow {
    /// Whether what it saves is of the wall clock of a whole run.
    pub fn saves_wall(&self) -> bool {
        self.saved == SavedTime::Wall.id()
    }

    /// Whether the operations that go, and what each costs, were both seen.
    pub fn is_counted(&self) -> bool {
        self.known == SavingBasis::Counted.id()
    }
}

/// Two ends of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    /// Low.
    pub lo: f64,
    /// High.
    pub hi: f64,
}

/// A row of a table of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOf {
    /// The table, by its name in JSON.
    pub table: String,
    /// The row, from 0; none where the table as a whole is meant.
    pub row: Option<usize>,
}

/// A cause that is not there, or could not be looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuledOutRow {
    /// Its name for programs.
    pub cause: String,
    /// Why.
    pub why: String,
    /// The figure that decided it, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<ThresholdRow>,
}

/// A figure that fell short of a rule. One of `needed`, `needed_samples` and `allowed` is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdRow {
    /// What was measured.
    pub figure: f64,
    /// Its unit: `ns`, `count`, `bytes`, `share` (0 to 1) or `ratio`.
    pub unit: String,
    /// What is needed at least, in the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<f64>,
    /// The samples that the figure rests on, where they are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The samples that are needed at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_samples: Option<u64>,
    /// What is allowed at most, in the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
}

/// The account of a whole job, when this run did a part of it: each part of the account, scaled to
/// the whole job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extrapolation {
    /// Units of work that this run did.
    pub done: u64,
    /// What was counted: empty when the number was given, else `lines` or a system call.
    pub unit: String,
    /// Units of the whole job.
    pub of: u64,
    /// Wall clock of the whole job.
    pub wall_ns: Ns,
    /// The same by state; sums to it but for rounding. In JSON an object.
    #[serde(serialize_with = "by_state", deserialize_with = "from_states")]
    pub states: Vec<(State, Ns)>,
    /// Variation between runs; unknown from one run.
    pub spread: Seen<f64>,
    /// Assumptions of the figures.
    pub assumptions: Vec<String>,
}

/// The name of the schema for a program that dwell started.
pub const SCHEMA_RUN: &str = "dwell.run/1";
/// The same for `dwell attach`.
pub const SCHEMA_ATTACH: &str = "dwell.attach/1";

impl Run {
    /// The name of its schema.
    pub fn promise(&self) -> &'static str {
        if self.window.is_some() { SCHEMA_ATTACH } else { SCHEMA_RUN }
    }

    /// What `account` and `path` sum to, and what shares refer to: the wall clock, or the time of
    /// the threads that are not idle in a window.
    pub fn whole_ns(&self) -> Ns {
        self.window.as_ref().map_or(self.wall_ns, |window| window.thread_ns)
    }

    /// Time of the account in a state; 0 where it has none.
    pub fn time_in(&self, state: State) -> Ns {
        self.account.iter().filter(|part| part.state == state).map(|part| part.ns).sum()
    }

    /// Refuses one whose account does not close: it was changed since it was written.
    ///
    /// # Errors
    /// What does not sum to the wall clock.
    pub fn closes(&self) -> Result<(), DoesNotClose> {
        let path = self.path.iter().map(|step| (step.state, step.ns));
        Account::new(self.whole_ns(), self.account.clone(), path)?;
        let Some(places) = self.places.value() else { return Ok(()) };
        let places = places.iter().map(|place| (place.state, place.ns));
        Account::new(self.whole_ns(), self.account.clone(), places).map(|_| ())
    }
}

/// The window of `dwell attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSummary {
    /// The target, in words.
    pub target: String,
    /// Processes observed in it.
    pub processes: u64,
    /// Threads that did something.
    pub threads_active: u64,
    /// Idle threads: they did nothing but wait for work. Where all threads are idle, the account is
    /// theirs.
    pub threads_idle: u64,
    /// Time of the threads in the account, each for as long as it lived in the window.
    pub thread_ns: Ns,
    /// Time of the idle ones.
    pub idle_ns: Ns,
}

/// The use of CPUs by all threads together. The three times sum to the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Utilization {
    /// Wall-clock time with at least one thread on a CPU.
    pub on_cpu_ns: Ns,
    /// With none on a CPU and at least one in the run queue.
    pub runnable_ns: Ns,
    /// With neither.
    pub off_cpu_ns: Ns,
}

/// The class: the kind of time that leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// User time.
    Cpu,
    /// Kernel time.
    Kernel,
    /// Waiting.
    Io,
    /// The two leading kinds are within 10 points.
    Mixed,
    /// At least 90 % of the wall clock sleep, or waiting for work in a window.
    Idle,
    /// Ready to run for at least half of the time and not let: other programs, the quota of a
    /// control group or a hypervisor had the CPU.
    Starved,
}

impl Class {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Class::Cpu => "cpu",
            Class::Kernel => "kernel",
            Class::Io => "io",
            Class::Mixed => "mixed",
            Class::Idle => "idle",
            Class::Starved => "starved",
        }
    }
}

/// What bounds the program, and by how large a margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The class.
    pub class: Class,
    /// The state that leads within it: `disk`, `network`, `user` …
    pub resource: State,
    /// Percentage points of the wall between the leading kind and the next.
    pub margin_points: f64,
    /// Shares of the wall (0 to 1): waiting, kernel and fault, user. The rest is run queue and the
    /// like.
    pub shares: Shares,
}

/// The three kinds of time that the class is decided from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// Blocked in any way.
    pub waiting: f64,
    /// Kernel and faults.
    pub kernel: f64,
    /// User.
    pub user: f64,
}

/// The path over time: equal steps from the start of the wall, the last one shorter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Length of a step.
    pub slice_ns: Ns,
    /// For each step, time by state; each sums to the step.
    #[serde(serialize_with = "slices_by_state", deserialize_with = "slices_from_states")]
    pub slices: Vec<Vec<(State, Ns)>>,
}

/// One thread's ledger: its time from its creation (or the start of the wall) to its end (or the
/// end of the wall).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLedger {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// Its last name.
    pub name: String,
    /// The command line of its process, for the thread that leads it: the first 256 bytes, as read
    /// just after the program was executed or when it was found. Left out where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its whole life within the wall.
    pub life_ns: Ns,
    /// Whether it was still alive at the end of the wall.
    pub outlived: bool,
    /// In a window: whether it did nothing but wait for work.
    #[serde(default)]
    pub idle: bool,
    /// Time by state; sums to `life_ns`. In JSON an object: `{"user": 12, …}`.
    #[serde(serialize_with = "by_state", deserialize_with = "from_states")]
    pub states: Vec<(State, Ns)>,
    /// Sleeps, as far as was known when they ended; absent where there was none, or in a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_waits: Option<TimedWaits>,
    /// Page faults served without IO.
    pub minor_faults: Seen<u64>,
    /// Page faults that needed IO.
    pub major_faults: Seen<u64>,
    /// Number of threads that this row stands for, where there are several. Then `tid` is 0, as is
    /// `pid` where they are of several processes, and the name is empty where they have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<ThreadsTogether>,
}

impl ThreadLedger {
    /// How many threads it is.
    pub fn threads(&self) -> u64 {
        self.together.map_or(1, |together| together.threads)
    }

    /// How many of them lead a process.
    pub fn processes(&self) -> u64 {
        self.together.map_or(u64::from(self.pid == self.tid), |together| together.processes)
    }
}

/// Waits of one thread that only time ended, and what the other threads of the tree did meanwhile.
/// On the path that is what stands for these waits, for as long as any other was under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedWaits {
    /// Number of waits.
    pub times: u64,
    /// Their total length.
    pub total_ns: Ns,
    /// Of that with another thread on a CPU.
    pub others_on_cpu_ns: Ns,
    /// The rest with another thread in the run queue.
    pub others_runnable_ns: Ns,
    /// The rest with another thread waiting for a device or a peer.
    pub others_waiting_ns: Ns,
}

impl TimedWaits {
    /// With another thread on a CPU or ready to run. Waits of others may be for this thread.
    pub fn others_running_ns(&self) -> Ns {
        self.others_on_cpu_ns + self.others_runnable_ns
    }
}

/// One kind of wait, over all threads of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRow {
    /// Which wait state.
    pub reason: State,
    /// Where in the kernel it blocked. In JSON the call's name, empty for a fault.
    pub call: WaitCall,
    /// The wait target. In JSON an object: `{"kind": "file", "name": "/etc/passwd"}`.
    pub on: WaitTarget,
    /// Number of waits.
    pub calls: u64,
    /// Total blocked time.
    pub total_ns: Ns,
    /// The part of `total_ns` that is on the path.
    pub path_ns: Ns,
    /// Median.
    pub p50_ns: Ns,
    /// 99th percentile.
    pub p99_ns: Ns,
    /// The longest.
    pub max_ns: Ns,
    /// Where it was called from, the innermost first.
    pub stack: Seen<Vec<StackFrame>>,
    /// For waits on a disk: its name, or the source of the mount. Absent for other waits, as are
    /// the next three.
    #[serde(default = "unrecorded")]
    pub device: Seen<String>,
    /// How many of these waits ended with the completion of a request to that disk.
    #[serde(default = "unrecorded")]
    pub requests: Seen<u64>,
    /// Queue time of those requests, summed: before they were issued to the driver. A request may
    /// have been created long before a thread waited for it.
    #[serde(default = "unrecorded")]
    pub queue_ns: Seen<Ns>,
    /// Service time at the device, likewise.
    #[serde(default = "unrecorded")]
    pub device_ns: Seen<Ns>,
    /// The wakers, most blocked time first: for a lock who released it, for a pipe its writer.
    #[serde(default)]
    pub by: Vec<WakerRow>,
    /// Histogram of their lengths by octave: (upper bound in nanoseconds, count).
    #[serde(default)]
    pub histogram: Vec<(Ns, u64)>,
    /// Whose waits these are, most blocked time first; not more than [`WAITING_THREADS_MAX`]. Empty
    /// where threads are not kept apart.
    #[serde(default)]
    pub threads: Vec<WaitingThread>,
    /// Where the threads waited, most time first, where stacks tell of several places: those that
    /// have a twentieth of the time or more. Empty where there is one, and in older results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<WaitPlace>,
    /// How threads of the tree ended these waits.
    #[serde(default)]
    pub ended: WaitEnd,
    /// The frame of `stack` that is the program's own code, by its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_frame: Option<usize>,
    /// Number of rows that this row stands for, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<u64>,
}

/// How threads ended the waits of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitEnd {
    /// By releasing a lock.
    Unlocked,
    /// In any way: also conditions, barriers and the end of a thread wake others.
    #[default]
    Woken,
}

/// One place of several where threads waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitPlace {
    /// Its main stack, the innermost first.
    pub stack: Vec<StackFrame>,
    /// Its part of the row's `total_ns`, as far as stacks tell.
    pub ns: Ns,
}

/// Threads of a row of waits that are told. With this many there may be more.
pub const WAITING_THREADS_MAX: usize = 64;

/// A thread that waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingThread {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// Its last name.
    pub name: String,
    /// Its part of the row's `total_ns`.
    pub ns: Ns,
}

/// Waits that one waker ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakerRow {
    /// The kind of waker: `thread` (of the tree), `outside` (another program's thread, or the
    /// kernel's), `timer`, `device`, `network`, `interrupt`, `unknown`.
    pub kind: WakerKind,
    /// The thread's name; empty for other kinds.
    pub name: String,
    /// Its process, for threads of the tree.
    #[serde(default = "unrecorded")]
    pub pid: Seen<Pid>,
    /// The thread. Absent for other kinds, and where the row stands for many threads of one name.
    #[serde(default = "unrecorded")]
    pub tid: Seen<Tid>,
    /// How many waits it ended. A wait for a lock that a time limit ended counts with the thread
    /// that had the lock, as far as that is known: the one that released it next.
    pub times: u64,
    /// Their blocked time.
    pub ns: Ns,
    /// For locks released by threads of the tree: the line or function of the program that released
    /// them for most of that time, as far as stacks were taken. Absent for other wakers.
    #[serde(default = "unrecorded")]
    pub place: Seen<StackFrame>,
    /// The stack there, the innermost first.
    #[serde(default = "unrecorded")]
    pub stack: Seen<Vec<StackFrame>>,
    /// What a holder of locks did while the others waited, as far as it is known; sums to `ns` at
    /// most. `user` includes page faults. In JSON an object, as a thread's states.
    #[serde(default, serialize_with = "by_state", deserialize_with = "from_states")]
    pub meanwhile: Vec<(State, Ns)>,
}

/// Page faults of the tree, until the end of the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Served without IO.
    pub minor: u64,
    /// That needed IO.
    pub major: u64,
}

/// A share of the samples, with its 95 % interval. All 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Estimate.
    pub value: f64,
    /// Low end.
    pub lo: f64,
    /// High end.
    pub hi: f64,
}

/// One function of the code table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionRow {
    /// Its name.
    pub name: String,
    /// The file that has it.
    pub module: String,
    /// `user` or `kernel`.
    pub mode: String,
    /// Its share of time on a CPU, without callees.
    pub share: Share,
    /// Number of samples.
    pub samples: u64,
    /// The same with callees.
    #[serde(default)]
    pub total: Option<Share>,
    /// It is no function, but all code of a JIT that has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed: Option<UnnamedRow>,
    /// It is the program's own code, and not a library's, a runtime's or the kernel's.
    #[serde(default)]
    pub own: bool,
}

/// The unnamed code that a row of the functions stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnnamedRow {
    /// What made it.
    pub runtime: Runtime,
    /// The processes that have such code, in order; none in older recordings.
    pub pids: Vec<Pid>,
}

/// One source line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineRow {
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The function that it is in.
    pub function: String,
    /// Its language.
    pub language: String,
    /// Its share of time on a CPU, including callees without line information.
    pub share: Share,
    /// Number of samples.
    pub samples: u64,
    /// The same with all callees.
    #[serde(default)]
    pub total: Option<Share>,
    /// It is the program's own code.
    #[serde(default)]
    pub own: bool,
}

/// Samples of one instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The file that has it, as the kernel named it when it was mapped.
    pub module: String,
    /// Its address in the file. It was the next instruction to execute when the samples were taken.
    pub address: u64,
    /// Time that the samples stand for.
    pub ns: Ns,
    /// Number of samples.
    pub samples: u64,
}

/// Time by state as a list of parts, each with the same basis. For ledgers that carry no interval.
pub fn measured(state: State, ns: Ns) -> AccountPart {
    AccountPart { state, ns, basis: Basis::Measured, lo_ns: ns, hi_ns: ns }
}

/// Time by state as an object in JSON.
fn by_state<S: Serializer>(states: &[(State, Ns)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(states.iter().copied())
}

/// Parses that object, in the order of [`State::ALL`].
fn from_states<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(State, Ns)>, D::Error> {
    BTreeMap::deserialize(deserializer).map(|states| states.into_iter().collect())
}

/// The same for each step.
fn slices_from_states<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<(State, Ns)>>, D::Error> {
    #[derive(Deserialize)]
    struct Slice(#[serde(deserialize_with = "from_states")] Vec<(State, Ns)>);
    Ok(Vec::<Slice>::deserialize(deserializer)?.into_iter().map(|slice| slice.0).collect())
}

/// Replaced by [`Run::promise`].
fn schema() -> &'static str {
    SCHEMA_RUN
}

/// Time by state for each step.
fn slices_by_state<S: Serializer>(slices: &[Vec<(State, Ns)>], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Slice<'a>(#[serde(serialize_with = "by_state")] &'a [(State, Ns)]);
    serializer.collect_seq(slices.iter().map(|slice| Slice(slice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_by_state_is_an_object_in_json() {
        let slices = vec![vec![(State::User, 7), (State::OtherWait, 3)], vec![]];
        let phases = Phases { slice_ns: 10, slices };
        let text = serde_json::to_string(&phases).unwrap();
        assert_eq!(text, r#"{"slice_ns":10,"slices":[{"user":7,"other-wait":3},{}]}"#);
        assert_eq!(serde_json::from_str::<Phases>(&text).unwrap(), phases);
    }
}
