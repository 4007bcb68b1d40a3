//! Everything one `dwell run` has to say, in the shape that `--json` promises (`dwell.run/1`).
//!
//! Names and units are a public contract, described by `docs/schema/dwell.run.1.json`: fields are added, not
//! renamed.

use crate::account::{Basis, Part, State, Step};
use crate::costs::Costs;
use crate::coverage::Coverage;
use crate::peers::{ConnectionRow, LookupRow};
use crate::profile::Profile;
use crate::recording::{Ending, Host};
use crate::seen::unrecorded;
use crate::wait::{StackFrame, SyscallName, WaitCall, WaitTarget, WakerKind};
use crate::{Ns, Pid, Seen, Series, Tid};
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
    /// How it ended.
    pub exit: Ending,
    /// When it started: RFC 3339, UTC.
    pub started_at: String,
    /// Where.
    pub host: Host,
    /// From the entry of the successful `execve` to the end of the root's last thread.
    pub wall_ns: Ns,
    /// Time on a CPU in the tree's own code, summed over all threads until the end of the wall.
    pub user_ns: Seen<Ns>,
    /// Time on a CPU in the kernel for the tree, faults included, likewise.
    pub kernel_ns: Seen<Ns>,
    /// What bounds the program.
    pub bound: Bound,
    /// The wall clock by state; sums to [`Run::whole_ns`] exactly.
    pub account: Vec<Part>,
    /// The same by place, longest first; sums to [`Run::whole_ns`] exactly.
    pub path: Vec<Step>,
    /// The path over time.
    pub phases: Phases,
    /// Where the program lived already: then there is no path to an end, and `account`, `path` and `phases` are the time of
    /// the threads that did something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Each thread's own ledger.
    pub threads: Vec<Thread>,
    /// What threads of the tree were blocked on, on the path or not, longest first.
    pub waits: Vec<WaitRow>,
    /// TCP connections of the tree by peer, those most waited on first.
    #[serde(default = "unrecorded")]
    pub connections: Seen<Vec<ConnectionRow>>,
    /// Questions for names over UDP that the tree asked, by name, longest total first.
    #[serde(default = "unrecorded")]
    pub lookups: Seen<Vec<LookupRow>>,
    /// System calls of the tree that returned, longest total first.
    pub syscalls: Seen<Vec<CallRow>>,
    /// Page faults of the tree.
    pub faults: Seen<Faults>,
    /// Which code ran.
    pub functions: Seen<Vec<FunctionRow>>,
    /// Which source lines ran.
    pub lines: Seen<Vec<LineRow>>,
    /// What the host did meanwhile.
    pub series: Seen<Series>,
    /// Causes, with what each fix would save.
    pub findings: Seen<Vec<()>>,
    /// Causes looked for and not there.
    pub ruled_out: Seen<Vec<()>>,
    /// What the whole job takes, where this run was told to be a part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extrapolation: Option<Extrapolation>,
    /// What operations cost on this host, by its last ladder: what the waits are compared with.
    #[serde(default = "unrecorded")]
    pub costs: Seen<Costs>,
    /// What all of this rests on.
    pub coverage: Coverage,
}

/// The account of a whole job, of which this run did a part: each part of the account times the rest of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extrapolation {
    /// Units of work that this run did.
    pub done: u64,
    /// What was counted: empty when the number was given, else a system call.
    pub unit: String,
    /// Units of the whole job.
    pub of: u64,
    /// Wall clock of the whole job.
    pub wall_ns: Ns,
    /// The same by state; sums to it but for rounding. In JSON an object.
    #[serde(serialize_with = "by_state", deserialize_with = "from_states")]
    pub states: Vec<(State, Ns)>,
    /// How much runs differ; one run does not say.
    pub spread: Seen<f64>,
    /// What the figures take for granted.
    pub assumptions: Vec<String>,
}

/// The name of the promise for a program that dwell started.
pub const SCHEMA_RUN: &str = "dwell.run/1";
/// The same for a window on what lived already.
pub const SCHEMA_ATTACH: &str = "dwell.attach/1";

impl Run {
    /// The name of what is promised of it.
    pub fn promise(&self) -> &'static str {
        if self.window.is_some() { SCHEMA_ATTACH } else { SCHEMA_RUN }
    }

    /// What `account` and `path` sum to and shares are of: the wall clock, or the time of the threads that a window is
    /// about.
    pub fn whole_ns(&self) -> Ns {
        self.window.as_ref().map_or(self.wall_ns, |window| window.thread_ns)
    }
}

/// A window on what lived already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Whom it was asked to watch, in words.
    pub target: String,
    /// Processes that lived in it.
    pub processes: u64,
    /// Threads that did something.
    pub threads_active: u64,
    /// Threads set apart: they did nothing but wait for work. Where all are, the account is theirs.
    pub threads_idle: u64,
    /// Time of the threads that the account is about, each for as long as it lived in the window.
    pub thread_ns: Ns,
    /// Time of the idle ones.
    pub idle_ns: Ns,
}

/// What kind of time dominates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Its own code.
    Cpu,
    /// The kernel's work for it.
    Kernel,
    /// Waiting.
    Io,
    /// The two leading kinds are within 10 points.
    Mixed,
    /// Nine tenths sleep.
    Idle,
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
        }
    }
}

/// What bounds the program, and how clearly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Which kind of time.
    pub class: Class,
    /// The state that leads within it: `disk`, `network`, `user` …
    pub resource: State,
    /// Points (hundredths of the wall) between the leading kind and the next.
    pub margin_points: f64,
    /// Shares of the wall (0 to 1): waiting, kernel and fault, user. What is left is run queue and the like.
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

/// The path over time: equal slices from the start of the wall, the last one shorter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Length of a slice.
    pub slice_ns: Ns,
    /// For each slice, time by state; each sums to the slice.
    #[serde(serialize_with = "slices_by_state", deserialize_with = "slices_from_states")]
    pub slices: Vec<Vec<(State, Ns)>>,
}

/// One thread's own time, from its creation (or the start of the wall) to its end (or the end of the wall).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// Its last name.
    pub name: String,
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
    /// Page faults served without IO.
    pub minor_faults: Seen<u64>,
    /// Page faults that needed IO.
    pub major_faults: Seen<u64>,
}

/// One kind of wait, over all threads of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRow {
    /// Which wait state.
    pub reason: State,
    /// Where in the kernel. In JSON the call's name, empty for a fault.
    pub call: WaitCall,
    /// What was waited for. In JSON an object: `{"kind": "file", "name": "/etc/passwd"}`.
    pub on: WaitTarget,
    /// How often.
    pub calls: u64,
    /// Blocked time, summed.
    pub total_ns: Ns,
    /// Of `total_ns`, what is on the path.
    pub path_ns: Ns,
    /// Median.
    pub p50_ns: Ns,
    /// 99th percentile.
    pub p99_ns: Ns,
    /// The longest.
    pub max_ns: Ns,
    /// Where it was called from, the innermost first.
    pub stack: Seen<Vec<StackFrame>>,
    /// Of waits on a disk: its name, or that of what the filesystem is mounted from. Absent for other waits, as are the
    /// next three.
    #[serde(default = "unrecorded")]
    pub device: Seen<String>,
    /// How many of these waits ended with a request to that disk.
    #[serde(default = "unrecorded")]
    pub requests: Seen<u64>,
    /// Time that those requests queued, summed over them: before the disk's driver had them. A request may have been made
    /// long before anybody waited for it.
    #[serde(default = "unrecorded")]
    pub queue_ns: Seen<Ns>,
    /// Time that they were with the device, likewise.
    #[serde(default = "unrecorded")]
    pub device_ns: Seen<Ns>,
    /// What woke the threads, most blocked time first: for a lock its holder, for a pipe its writer.
    #[serde(default)]
    pub by: Vec<WakerRow>,
    /// Their lengths by octave: (nanoseconds that they stayed below, how many).
    #[serde(default)]
    pub histogram: Vec<(Ns, u64)>,
}

/// Waits that one waker ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakerRow {
    /// What kind of waker: `thread` (of the tree), `outside` (another program's thread, or the kernel's),
    /// `timer`, `device`, `network`, `interrupt`, `unknown`.
    pub kind: WakerKind,
    /// The thread's name; empty for what is none.
    pub name: String,
    /// How many waits it ended.
    pub times: u64,
    /// Their blocked time.
    pub ns: Ns,
    /// Of locks that threads of the tree release: the line or function of the program's own code that released
    /// them for most of that time, as far as stacks were taken. Absent for other wakers.
    #[serde(default = "unrecorded")]
    pub place: Seen<StackFrame>,
    /// The stack there, the innermost first.
    #[serde(default = "unrecorded")]
    pub stack: Seen<Vec<StackFrame>>,
    /// What a thread that released locks did while the others waited, as far as that is known, so that it sums
    /// to `ns` at most. `user` holds the faults as well. In JSON an object, as a thread's states.
    #[serde(default, serialize_with = "by_state", deserialize_with = "from_states")]
    pub meanwhile: Vec<(State, Ns)>,
}

/// One system call of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRow {
    /// Its name; `32:name` through the 32-bit table.
    pub name: SyscallName,
    /// How often it returned.
    pub calls: u64,
    /// Of these, with an error.
    pub errors: u64,
    /// Wall time, summed over threads.
    pub total_ns: Ns,
    /// Of it, on a CPU.
    pub cpu_ns: Ns,
    /// Median, within the histogram's 6 %.
    pub p50_ns: Ns,
    /// 99th percentile, likewise.
    pub p99_ns: Ns,
    /// The longest, exactly.
    pub max_ns: Ns,
    /// Where only slices of time were traced: then calls, errors and times are estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

/// A count that was estimated from slices of time, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// How many were counted.
    pub seen: u64,
    /// How many there were, by estimate.
    pub calls: u64,
    /// Low end.
    pub lo: u64,
    /// High end; none when too few slices say anything.
    pub hi: Option<u64>,
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
    /// Its own share of time on a CPU, without what it called.
    pub share: Share,
    /// How many samples say so.
    pub samples: u64,
    /// The same with what it called.
    #[serde(default)]
    pub total: Option<Share>,
}

/// One source line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineRow {
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The function around it.
    pub function: String,
    /// Its language.
    pub language: String,
    /// Its share of time on a CPU, with code it called that has no lines of its own.
    pub share: Share,
    /// How many samples say so.
    pub samples: u64,
    /// The same with all that it called.
    #[serde(default)]
    pub total: Option<Share>,
}

/// A run and the tree of calls that its tables of code are views of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Analysis {
    /// What there is to say.
    #[serde(flatten)]
    pub run: Run,
    /// Which code ran and waited.
    #[serde(default)]
    pub profile: Profile,
    /// The program's own code that ran, by instruction.
    #[serde(default)]
    pub addresses: Vec<Address>,
}

/// Samples of one instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The file that has it, as the kernel named it when it was mapped.
    pub module: String,
    /// Its address as the file counts. It was to be executed next when the samples were taken.
    pub address: u64,
    /// Time that the samples stand for.
    pub ns: Ns,
    /// How many samples.
    pub samples: u64,
}

/// Time by state as a list of parts, each with the same basis. For ledgers that carry no interval.
pub fn measured(state: State, ns: Ns) -> Part {
    Part { state, ns, basis: Basis::Measured, lo_ns: ns, hi_ns: ns }
}

/// Time by state as the object that `--json` promises.
fn by_state<S: Serializer>(states: &[(State, Ns)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(states.iter().copied())
}

/// The object read back, in the order of [`State::ALL`].
fn from_states<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(State, Ns)>, D::Error> {
    BTreeMap::deserialize(deserializer).map(|states| states.into_iter().collect())
}

/// The same for each slice.
fn slices_from_states<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<(State, Ns)>>, D::Error> {
    #[derive(Deserialize)]
    struct Slice(#[serde(deserialize_with = "from_states")] Vec<(State, Ns)>);
    Ok(Vec::<Slice>::deserialize(deserializer)?.into_iter().map(|slice| slice.0).collect())
}

/// Until [`Run::promise`] says which.
fn schema() -> &'static str {
    SCHEMA_RUN
}

/// Time by state for each slice.
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
