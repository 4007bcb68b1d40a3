//! The result of one `dwell run`, in the schema of `--json` (`dwell.run/1`).
//!
//! Names and units are a public contract, listed in `docs/schema/dwell.run.1.fields.txt`: fields
//! are added, not renamed.

use crate::CodePlace;
use crate::account::{Account, AccountPart, Basis, DoesNotClose, State, Step};
use crate::costs::Costs;
use crate::coverage::{Coverage, Extent, Interval};
use crate::finding::{SavedTime, SavingBasis, Shared};
use crate::limits::Limits;
use crate::probe::Probed;
use crate::recording::{Ending, Host, Tier};
pub use crate::run_rows::{Faults, FunctionRow, LineRow, Share, UnnamedRow};
use crate::tables::Tables;
use crate::together::{Folded, ThreadsTogether};
use crate::wait::{StackFrame, WaitCall, WaitTarget, WakerKind};
use crate::wake::Bin;
use crate::{JsonSchema, Ns, Origin, Pid, RunQueue, Seen, Series, Tid};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

/// The report of one run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// [`SCHEMA_RUN`], or [`SCHEMA_ATTACH`] where there is a `window`.
    #[serde(skip_deserializing, default = "schema_run")]
    pub schema: &'static str,
    /// The program and its arguments; bytes that are not UTF-8 are replaced. Of a window: those of
    /// its first process.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// How the program ended, or what ended the window.
    pub exit: Ending,
    /// When it started: RFC 3339, UTC, to the nanosecond; in results of older versions to the
    /// second.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// Which result it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// The version of dwell that recorded. Results of older versions lack it, and `service`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dwell: Option<String>,
    /// The program as a service, by a name that it also has when it is started again, without a
    /// PID: its unit, container, control group or port, else its script or program. Targets with
    /// several are joined by `,`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The host.
    pub host: Host,
    /// Wall clock: from the entry of the successful `execve` to the last switch-out of the root
    /// process's last thread. Of a window: its length, from when all threads had been found.
    pub wall_ns: Ns,
    /// User time of the tree, summed over all threads until the end of the wall.
    pub user_ns: Seen<Ns>,
    /// CPU time in the kernel for the tree, faults included, summed over threads, until the end of
    /// the wall clock.
    pub kernel_ns: Seen<Ns>,
    /// What bounds the program.
    pub bound: Bound,
    /// The wall clock by state, in order of precedence; `ns` sums to `wall_ns` exactly. Of a
    /// window: the time of the active threads (of all threads, if all are idle); it sums to
    /// `window.thread_ns` exactly.
    pub account: Vec<AccountPart>,
    /// The same time by place, longest first, with the same sum. In a window there is no critical
    /// path: each place is a thread's own time.
    pub path: Vec<Step>,
    /// The account by the program's own code, longest first, with the same sum.
    #[serde(default)]
    pub places: Seen<Vec<CodePlace>>,
    /// The critical path over time: equal slices from the start of the wall clock; the last one is
    /// shorter. Of a window: the time of the same threads in each slice.
    pub phases: Phases,
    /// Of `dwell attach`: then there is no critical path, and `account`, `path` and `phases` are
    /// the time of the threads that were not idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowSummary>,
    /// The use of CPUs by all threads together: wall-clock time by what any of them did.
    #[serde(default)]
    pub utilization: Seen<Utilization>,
    /// Each thread's own ledger.
    pub threads: Vec<ThreadLedger>,
    /// Waits of all threads of the tree, on the path or not, longest first.
    pub waits: Vec<WaitRow>,
    /// What was observed beside the account, by thing.
    #[serde(flatten)]
    pub tables: Tables,
    /// Host metrics over the same time.
    pub series: Seen<Series>,
    /// Extrapolation to the whole job, where this run was declared a part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extrapolation: Option<Extrapolation>,
    /// Who had the CPUs while the program was ready to run. The times are parts of the account and
    /// sum to its `runqueue`.
    #[serde(default)]
    pub run_queue: Seen<RunQueue>,
    /// The limits of the program's control group and of the groups above it: of several the
    /// tightest.
    #[serde(default)]
    pub limits: Seen<Limits>,
    /// Costs of operations on this host, from its last whole `dwell ladder`, or from one measured
    /// after the run (`--ladder`); kept with a recording. Unseen if there is none: dwell does not
    /// measure them unasked.
    #[serde(default)]
    pub costs: Seen<Costs>,
    /// Tables of which rows were put together, so that the result stays below a megabyte; in the
    /// order of their names here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folded: Vec<Folded>,
    /// What the result rests on.
    pub coverage: Coverage,
}

/// A cause that a run shows, in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRow {
    /// Its name, as `dwell explain` takes it.
    pub cause: String,
    /// Its part of the account, 0 to 1: between these.
    pub share: Ends,
    /// What the change saves, in nanoseconds of `saved`.
    pub saving_ns: Seen<Interval>,
    /// The mean of what is expected, where measured changes of other programs say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_ns: Option<Ns>,
    /// What the structure of the run allows; `saving_ns` is what measured changes of other programs
    /// took of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure_ns: Option<Interval>,
    /// The families of programs with this cause whose changes were measured; 0 where they are too
    /// few, and those of all causes stand for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub families: Option<u64>,
    /// How likely this is what makes the program slow, 0 to 1: of the families of measured programs
    /// in which the cause was found, the part whose change was this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belief: Option<f64>,
    /// What is saved: `wall` of a whole run; `cpu` time or time `waiting` in a window; `cpu` time
    /// also of a run whose wall clock stays as it is.
    #[schemars(extend("enum" = ["wall", "cpu", "waiting", ""]))]
    pub saved: String,
    /// The part of the place's time that goes, 0 to 1: least and most.
    pub part: Seen<Ends>,
    /// How that part is known: `counted`, `bounded` or `assumed`.
    #[schemars(extend("enum" = ["counted", "bounded", "assumed", ""]))]
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
    /// Present where the change of a finding above this one saves much of the same time, so that
    /// both together save less than the sum: what of the low end of `saving_ns` is surely saved by
    /// both. No savings are to be summed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
    /// What a probe gave: further runs of the command in pairs, one as it is and one with the fix
    /// imposed. Present only with `--probe`, in the finding that was probed.
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ends {
    /// Low.
    pub lo: f64,
    /// High.
    pub hi: f64,
}

/// A row of a table of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowOf {
    /// The table, by its name in JSON.
    pub table: String,
    /// The row, from 0; none where the table as a whole is meant.
    pub row: Option<usize>,
}

/// A cause that is not there, or could not be looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuledOutRow {
    /// Its name, as `dwell explain` takes it.
    pub cause: String,
    /// Why it is not there, or could not be looked for.
    pub why: String,
    /// The figure that decided it, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<ThresholdRow>,
}

/// What is open where most of the time is not judged, in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestionRow {
    /// What is known: how often, how long, where, and what ended it.
    pub known: String,
    /// What would have to be true for a change to help, and what that would be.
    pub when: String,
    /// What to type to find out.
    pub next: String,
}

/// A figure that fell short of a rule. One of `needed`, `needed_samples` and `allowed` is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extrapolation {
    /// Units of work that this run did.
    pub done: u64,
    /// What was counted: empty when the number was given, else `lines` or a system call.
    pub unit: String,
    /// Units of work of the whole job.
    pub of: u64,
    /// Wall clock of the whole job.
    pub wall_ns: Ns,
    /// The same by state; sums to it but for rounding. In JSON an object.
    #[serde(serialize_with = "by_state", deserialize_with = "from_states")]
    #[schemars(with = "crate::shape::TimeByState")]
    pub states: Vec<(State, Ns)>,
    /// Variation between runs, as a share; one run does not show it.
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

    /// Where its events are from, by what it saw of switches.
    pub fn tier(&self) -> Tier {
        match self.coverage.sources.iter().find(|source| source.name == "switches").map(|source| source.seen)
        {
            Some(Extent::Full) => Tier::Bpf,
            Some(Extent::Partial) => Tier::Perf,
            Some(Extent::None) | None => Tier::Proc,
        }
    }

    /// What `account` and `path` sum to, and what shares refer to: the wall clock, or the time of
    /// the threads that are not idle in a window.
    pub fn whole_ns(&self) -> Ns {
        self.window.as_ref().map_or(self.wall_ns, |window| window.thread_ns)
    }

    /// The part of [`Self::whole_ns`] in which it did not wait for work: what the shares of
    /// [`Self::bound`] refer to.
    pub fn busy_ns(&self) -> Ns {
        self.whole_ns().saturating_sub(self.time_in(State::Idle))
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSummary {
    /// The target of the window, in words.
    pub target: String,
    /// Processes that existed in the window.
    pub processes: u64,
    /// Active threads: `account`, `path` and `phases` are theirs.
    pub threads_active: u64,
    /// Idle threads, not in the account: they used no CPU and stayed in one wait, or they waited in
    /// accept, epoll, poll, select, futex and similar calls and were on a CPU for less than a
    /// thousandth of their life and in other waits for less than a thousandth. If all are idle, the
    /// account is theirs.
    pub threads_idle: u64,
    /// Time of the threads in the account, each for as long as it lived in the window.
    pub thread_ns: Ns,
    /// The same of the idle threads.
    pub idle_ns: Ns,
}

/// The use of CPUs by all threads together. The three times sum to the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Utilization {
    /// Wall-clock time with at least one thread on a CPU.
    pub on_cpu_ns: Ns,
    /// With none on a CPU and at least one in the run queue.
    pub runnable_ns: Ns,
    /// With neither. The three sum to `wall_ns`.
    pub off_cpu_ns: Ns,
}

/// The class: the kind of time that leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
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
        self.into()
    }
}

/// What bounds the program, and by how large a margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// The class.
    pub class: Class,
    /// The state that leads within it: `disk`, `network`, `user` …
    pub resource: State,
    /// Percentage points of the wall between the leading kind and the next.
    #[schemars(range(min = 0, max = 100))]
    pub margin_points: f64,
    /// Shares of the wall (0 to 1): waiting, kernel and fault, user. The rest is run queue and the
    /// like.
    pub shares: Shares,
}

/// The three kinds of time that the class is decided from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    /// Blocked in any way.
    #[schemars(range(min = 0, max = 1))]
    pub waiting: f64,
    /// Kernel and faults.
    #[schemars(range(min = 0, max = 1))]
    pub kernel: f64,
    /// User code.
    #[schemars(range(min = 0, max = 1))]
    pub user: f64,
}

/// The path over time: equal steps from the start of the wall, the last one shorter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Length of a step.
    pub slice_ns: Ns,
    /// For each step, time by state; each sums to the step.
    #[serde(serialize_with = "slices_by_state", deserialize_with = "slices_from_states")]
    #[schemars(with = "Vec<crate::shape::TimeByState>")]
    pub slices: Vec<Vec<(State, Ns)>>,
}

/// One thread's ledger: its time from its creation (or the start of the wall) to its end (or the
/// end of the wall).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadLedger {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// The thread's last name (`comm`).
    pub name: String,
    /// The command line of its process, for the thread that leads it: the first 256 bytes, as read
    /// just after the program was executed or when it was found. Left out where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its whole life within the wall.
    pub life_ns: Ns,
    /// Whether it was still alive at the end of the wall.
    pub outlived: bool,
    /// In a window: whether the thread is idle (only waited for work) and not in the account.
    /// Otherwise false.
    #[serde(default)]
    pub idle: bool,
    /// Time by state; sums to `life_ns`. In JSON an object: `{"user": 12, …}`.
    #[serde(serialize_with = "by_state", deserialize_with = "from_states")]
    #[schemars(with = "crate::shape::TimeByState")]
    pub states: Vec<(State, Ns)>,
    /// Sleeps, as far as was known when they ended: waits that only time ends, and those of several
    /// things or of a futex that a time limit ended; absent where there was none, or in a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_waits: Option<TimedWaits>,
    /// Page faults served without IO.
    pub minor_faults: Seen<u64>,
    /// Page faults that needed IO.
    pub major_faults: Seen<u64>,
    /// Number of threads that this row stands for, where there are several. Then `tid` is 0, as is
    /// `pid` where they are of several processes, and the name is empty where they have several.
    /// Sums are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<ThreadsTogether>,
}

impl ThreadLedger {
    /// How many threads it is.
    pub fn threads(&self) -> u64 {
        self.together.map_or(1, |together| together.threads)
    }

    /// Time in states of a kind.
    pub fn ns_in(&self, is: impl Fn(State) -> bool) -> Ns {
        self.states.iter().filter(|(state, _)| is(*state)).map(|(_, ns)| ns).sum()
    }

    /// How many of them lead a process.
    pub fn processes(&self) -> u64 {
        self.together.map_or(u64::from(self.pid == self.tid), |together| together.processes)
    }
}

/// Waits of one thread that only time ended, and what the other threads of the tree did meanwhile.
/// On the path that is what stands for these waits, for as long as any other was under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimedWaits {
    /// Number of waits.
    #[schemars(range(min = 1))]
    pub times: u64,
    /// Their total length.
    pub total_ns: Ns,
    /// Of that with another thread on a CPU.
    pub others_on_cpu_ns: Ns,
    /// The rest with another thread in the run queue.
    pub others_runnable_ns: Ns,
    /// The rest with another thread waiting for a device or a peer; where that turned out to be
    /// this thread, the path has the wait.
    pub others_waiting_ns: Ns,
}

impl TimedWaits {
    /// With another thread on a CPU or ready to run. Waits of others may be for this thread.
    pub fn others_running_ns(&self) -> Ns {
        self.others_on_cpu_ns + self.others_runnable_ns
    }
}

/// One kind of wait, over all threads of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitRow {
    /// The states in which a thread is blocked; `unexplained` if it was blocked and no wake-up was
    /// observed.
    #[schemars(with = "crate::shape::WaitState")]
    pub reason: State,
    /// Where in the kernel it blocked. In JSON the call's name, empty for a fault, `not seen`
    /// where it was not observed.
    pub call: WaitCall,
    /// The wait target. In JSON an object: `{"kind": "file", "name": "/etc/passwd"}`.
    pub on: WaitTarget,
    /// Number of waits.
    pub calls: u64,
    /// Blocked time, summed over threads.
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
    /// For waits on a disk: the name of the disk, or what the filesystem is mounted from. Null for
    /// other waits, as are `requests`, `queue_ns` and `device_ns`.
    #[serde(default)]
    pub device: Seen<String>,
    /// How many of these waits ended with the completion of a request to that disk.
    #[serde(default)]
    pub requests: Seen<u64>,
    /// Queue time of those requests, summed: before they were issued to the driver. A request may
    /// have been created long before a thread waited for it.
    #[serde(default)]
    pub queue_ns: Seen<Ns>,
    /// Time that those requests were with the device, summed over requests.
    #[serde(default)]
    pub device_ns: Seen<Ns>,
    /// The wakers, most blocked time first: for a lock who released it, for a pipe its writer.
    #[serde(default)]
    pub by: Vec<WakerRow>,
    /// Histogram of their lengths by octave: (upper bound in nanoseconds, count).
    #[serde(default)]
    pub histogram: Vec<(Ns, u64)>,
    /// The same finer, 8 bins an octave, so that a length is known to within an eighth. Empty in
    /// results of older versions, and without BPF.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<Bin>,
    /// Threads that waited, most blocked time first; at most 64 (eight in files of older versions).
    /// Threads of one kind of wait with other stacks have rows of their own. Empty without BPF.
    #[serde(default)]
    pub threads: Vec<WaitingThread>,
    /// Where the threads waited, most time first, where stacks tell of several places: those that
    /// have a twentieth of the time or more. Empty where there is one, and in older results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<WaitPlace>,
    /// How threads of the tree ended these waits: by releasing a lock, or in any way.
    #[serde(default)]
    pub ended: WaitEnd,
    /// The frame of `stack` that is the program's own code, by its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_frame: Option<usize>,
    /// Number of rows that this row stands for, where there are several. Sums are exact then, and
    /// quantiles are the largest of theirs, so no less than that of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<u64>,
}

/// How threads ended the waits of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitEnd {
    /// By releasing a lock.
    Unlocked,
    /// In any way: also conditions, barriers and the end of a thread wake others.
    #[default]
    Woken,
}

/// One place of several where threads waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitPlace {
    /// Its main stack, the innermost first.
    pub stack: Vec<StackFrame>,
    /// Its part of the row's `total_ns`, as far as stacks tell.
    pub ns: Ns,
}

/// Threads of a row of waits that are told. With this many there may be more.
pub const WAITING_THREADS_MAX: usize = 64;

/// A thread that waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingThread {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// Name of the thread.
    pub name: String,
    /// Its part of the row's `total_ns`.
    pub ns: Ns,
}

/// Waits that one waker ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakerRow {
    /// The kind of waker: `thread` (of the tree), `outside` (another program's thread, or the
    /// kernel's), `timer`, `device`, `network`, `interrupt`, `unknown`.
    pub kind: WakerKind,
    /// Name of the thread; empty if the waker is not a thread.
    pub name: String,
    /// Its process, for threads of the tree. Null for wakers that are no thread, and where the row
    /// stands for many threads of one name.
    #[serde(default)]
    pub pid: Seen<Pid>,
    /// The thread. Absent for other kinds, and where the row stands for many threads of one name.
    #[serde(default)]
    pub tid: Seen<Tid>,
    /// How many waits it ended. A wait for a lock that a time limit ended counts with the thread
    /// that had the lock, as far as that is known: the one that released it next.
    pub times: u64,
    /// Blocked time of those waits.
    pub ns: Ns,
    /// For locks released by threads of the tree: the line or function of the program that released
    /// them for most of that time, as far as stacks were taken. Absent for other wakers.
    #[serde(default)]
    pub place: Seen<StackFrame>,
    /// The stack there, the innermost first.
    #[serde(default)]
    pub stack: Seen<Vec<StackFrame>>,
    /// What a holder of locks did while the others waited, as far as it is known; sums to `ns` at
    /// most. `user` includes page faults. In JSON an object, as a thread's states.
    #[serde(default, serialize_with = "by_state", deserialize_with = "from_states")]
    #[schemars(with = "crate::shape::TimeByState")]
    pub meanwhile: Vec<(State, Ns)>,
}

/// Samples of one instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
fn schema_run() -> &'static str {
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
