//! Where the difference of two walls lies. Both accounts close, so the parts of their difference
//! sum to it.
//!
//! `states`, `processes` and `steps` are the same difference, each cut in another way, and each
//! sums to that of the walls to the nanosecond. The other tables are of all threads, on the path or
//! not: they overlap with those and with each other, and sum to nothing.

use super::EstimateInterval;
use crate::coverage::Interval;
use crate::wait::{SyscallName, WaitCall, WaitTarget, WakerKind};
use crate::{JsonSchema, Ns, Reason, Seen, State};
use serde::{Deserialize, Serialize};

/// The difference, B less A, as a mean over pairs of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Pairs that were observed.
    pub pairs: u32,
    /// The walls of the observed runs.
    pub wall: TimeDifference,
    /// B by A of the observed runs: their geometric mean with its 95 % interval. None of one pair.
    pub ratio: Option<EstimateInterval>,
    /// By state; they sum to the difference of the walls.
    pub states: Vec<StateDifference>,
    /// By process, of the path; they sum to it as well.
    pub processes: Vec<ProcessDifference>,
    /// By process, state and reason of the path; with `steps_rest` they sum to it as well.
    pub steps: Vec<StepDifference>,
    /// The steps that no row names.
    pub steps_rest: Option<StepsRest>,
    /// By system call, of all threads: waits included.
    pub calls: Seen<Vec<CallDifference>>,
    /// By function, of all CPU time: estimates from samples.
    pub functions: Seen<Vec<FunctionDifference>>,
    /// By line, likewise.
    pub lines: Seen<Vec<LineDifference>>,
    /// By wait: blocked time of all threads.
    pub waits: Vec<WaitDifference>,
    /// The same by what ended the waits.
    pub wakers: Vec<WakerDifference>,
    /// The same of TCP connections, by peer.
    pub peers: Seen<Vec<PeerDifference>>,
    /// The same of waits for files, by file.
    pub files: Vec<FileDifference>,
    /// What qualifies it: sentences without a full stop.
    pub limits: Vec<String>,
}

/// A time of A and B: means over the pairs, rounded so that rows which sum still do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeDifference {
    /// A: the mean over the pairs, in nanoseconds.
    pub a_ns: Ns,
    /// B, likewise.
    pub b_ns: Ns,
    /// B less A.
    pub ns: i64,
    /// The 95 % interval of that. None where it has none: one pair has no spread.
    pub interval: Option<SignedInterval>,
}

/// An interval of differences, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedInterval {
    /// Low end.
    pub lo: i64,
    /// High end.
    pub hi: i64,
}

/// The difference of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateDifference {
    /// The state.
    pub state: State,
    /// Its time.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// The difference of a process of the path: of all that have its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessDifference {
    /// The process, by its name.
    pub process: String,
    /// Its name in B, where the two commands are files of different names.
    pub process_in_b: Option<String>,
    /// Its time.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// The difference of a step of the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredStep")]
#[schemars(!from)]
pub struct StepDifference {
    /// The process, by its name.
    pub process: String,
    /// Its name in B, where the two commands are files of different names.
    pub process_in_b: Option<String>,
    /// The state.
    pub state: State,
    /// What it did or waited for, as in `path[].reason` of a run; empty when nothing more is known.
    pub reason: Reason,
    /// How many names stand here for one: they differ only in parts that look made up, which `*`
    /// replaces. 1: it is a name.
    #[schemars(range(min = 1))]
    pub names: u32,
    /// Its time.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// A step of a stored result: its state decides how its reason is parsed.
#[derive(Deserialize)]
struct StoredStep {
    process: String,
    process_in_b: Option<String>,
    state: State,
    reason: String,
    names: u32,
    #[serde(flatten)]
    time: TimeDifference,
}

impl From<StoredStep> for StepDifference {
    fn from(stored: StoredStep) -> Self {
        let StoredStep { process, process_in_b, state, reason, names, time } = stored;
        let reason = Reason::read(state, &reason);
        StepDifference { process, process_in_b, state, reason, names, time }
    }
}

/// The sum of the steps that no row names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepsRest {
    /// How many they are.
    #[schemars(range(min = 1))]
    pub rows: u64,
    /// Their time.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// How often something happened: means over the runs of a side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountDifference {
    /// In A.
    #[schemars(range(min = 0))]
    pub a: f64,
    /// In B.
    #[schemars(range(min = 0))]
    pub b: f64,
}

/// The difference of a system call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallDifference {
    /// Its name; `32:name` through the 32-bit table.
    pub name: SyscallName,
    /// How often it was made.
    pub calls: CountDifference,
    /// Time in it, waits included.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// The difference of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionDifference {
    /// Its name.
    pub name: String,
    /// The file that has it.
    pub module: String,
    /// The name of that file in B, where the two commands are files of different names.
    pub module_in_b: Option<String>,
    /// `user` or `kernel`.
    #[schemars(extend("enum" = ["user", "kernel"]))]
    pub mode: String,
    /// Its CPU time, without callees.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// The difference of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineDifference {
    /// Source file; only its name where the two sides have it in different directories.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The function that it is in.
    pub function: String,
    /// Its CPU time.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// The difference of a kind of wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitDifference {
    /// Which wait state.
    pub reason: State,
    /// Where in the kernel it blocked: the call's name, empty for a fault, `not seen` where it was
    /// not observed.
    pub call: WaitCall,
    /// What was waited for.
    pub on: WaitTarget,
    /// How many names stand here for one: they differ only in parts that look made up, which `*`
    /// replaces. 1: it is a name.
    #[schemars(range(min = 1))]
    pub names: u32,
    /// How often.
    pub calls: CountDifference,
    /// Blocked time.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// The difference of waits by what ended them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakerDifference {
    /// Which wait state.
    pub reason: State,
    /// The kind of waker.
    pub kind: WakerKind,
    /// The thread's name; empty for other kinds.
    pub name: String,
    /// How many names stand here for one: they differ only in parts that look made up, which `*`
    /// replaces. 1: it is a name.
    #[schemars(range(min = 1))]
    pub names: u32,
    /// How many waits it ended.
    pub times: CountDifference,
    /// Their blocked time.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// The difference of waits for a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeerDifference {
    /// The other end: address and port; of accepted connections only the address.
    pub remote: String,
    /// The usual service of that port.
    pub service: Option<String>,
    /// How many names stand here for one: they differ only in parts that look made up, which `*`
    /// replaces. 1: it is a name.
    #[schemars(range(min = 1))]
    pub names: u32,
    /// How often threads were blocked on it.
    pub waits: CountDifference,
    /// For how long, summed over threads.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// The difference of waits for a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileDifference {
    /// The file.
    pub on: WaitTarget,
    /// How many names stand here for one: they differ only in parts that look made up, which `*`
    /// replaces. 1: it is a name.
    #[schemars(range(min = 1))]
    pub names: u32,
    /// How often threads were blocked on it, in any call or fault.
    pub waits: CountDifference,
    /// For how long.
    #[serde(flatten)]
    pub time: TimeDifference,
}

/// Whether a saving that was predicted came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedSaving {
    /// The cause whose finding predicted it, by its name for programs.
    pub cause: String,
    /// What its removal was said to save.
    pub saving_ns: Seen<Interval>,
    /// Whether it did.
    pub came: Came,
    /// The wall clock of the run that predicted it: what is saved is compared in parts of the wall
    /// clock, of this run and of A. None in results of older versions, which compared times.
    #[serde(default)]
    pub wall_ns: Option<Ns>,
    /// Whether the change may be that of this cause. It is not where the cause is the host's other
    /// programs and the run has other findings: no change of a command stops these. Then `came` is
    /// `undecided`.
    #[serde(default = "tested_before")]
    pub tested: bool,
}

/// Results without the field: each cause was judged.
fn tested_before() -> bool {
    true
}

/// What became of a predicted saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Came {
    /// The whole interval of what was measured lies within the predicted one.
    Held,
    /// It lies below: less was saved.
    Less,
    /// It lies above: more was saved.
    More,
    /// None of these, or what was measured has no interval, or nothing was predicted, or it was not
    /// tested.
    Undecided,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_comes_back_with_its_reason() {
        let time =
            TimeDifference { a_ns: 7, b_ns: 3, ns: -4, interval: Some(SignedInterval { lo: -9, hi: 1 }) };
        let on = WaitTarget::File(Seen::Value("/tmp/a*".into()));
        let step = StepDifference {
            process: "sort".into(),
            process_in_b: None,
            state: State::Disk,
            reason: Reason::Wait(WaitCall::Syscall("fsync".into()), on),
            names: 2,
            time,
        };
        let text = serde_json::to_string(&step).unwrap();
        assert!(text.contains(r#""reason":"fsync, file /tmp/a*""#) && text.contains(r#""ns":-4"#), "{text}");
        assert_eq!(serde_json::from_str::<StepDifference>(&text).unwrap(), step);
    }
}
