//! The table of system calls, in the schema of `--json`.

use crate::wait::SyscallName;
use crate::{JsonSchema, Ns, Pid, Seen};
use serde::{Deserialize, Serialize};

/// One row of the table of system calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRow {
    /// Name of the system call; `32:name` if made through the 32-bit table.
    pub name: SyscallName,
    /// Number of calls that returned.
    pub calls: u64,
    /// Calls that returned an error.
    pub errors: u64,
    /// Wall time from entry to return, summed over threads.
    pub total_ns: Ns,
    /// The part of `total_ns` on a CPU.
    pub cpu_ns: Ns,
    /// Median, within the histogram's 6 %. This and the next two are unseen where none was timed.
    pub p50_ns: Seen<Ns>,
    /// 99th percentile, within 6 %; unseen where none was timed.
    pub p99_ns: Seen<Ns>,
    /// Maximum, exact; unseen where none was timed.
    pub max_ns: Seen<Ns>,
    /// What the calls gave.
    #[serde(default)]
    pub results: Seen<ResultsRow>,
    /// Present if all calls were counted and not all were timed, to bound the overhead: `cpu_ns` is
    /// then an estimate, `total_ns` is that and all waits, and the percentiles and the maximum are
    /// those of the timed calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedCalls>,
    /// Present if calls were counted only in tracing windows, to bound the overhead: `calls`,
    /// `errors`, `total_ns`, `cpu_ns` and `results` are then estimates, and the percentiles and the
    /// maximum are those of the traced calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

/// What the calls of one row gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultsRow {
    /// Bytes that they moved. None for calls whose result is something else.
    pub bytes: Option<u64>,
    /// Calls that moved bytes, by how many, in octaves: (smallest number of bytes, calls). The
    /// octave of 8 MiB has all that is larger too; empty ones are left out.
    pub sizes: Vec<(u64, u64)>,
    /// Calls that returned 0: reads at the end of a file, looks that found nothing; of many calls
    /// it is success.
    pub zeros: u64,
    /// Calls with the same first three arguments and the same result as the last such call of their
    /// thread. Calls that moved bytes are not counted. What arguments point at is not compared:
    /// null for calls on paths, and where no call was timed.
    pub repeats: Option<u64>,
    /// Calls that failed, by error number, most frequent first. Up to six numbers of each call are
    /// kept on each CPU, so rare ones may be missing.
    pub errors: Vec<ErrorRow>,
    /// Of calls that open a file by its path or ask for one: how many gave a path that the same
    /// process had given to the same call before. Estimates by a sample, on average no more than
    /// there were. Missing for other calls, and if this was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PathsRow>,
}

/// Calls with a path that the same process had given to the same call before: estimates by a
/// sample, and on average no more than there were.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathsRow {
    /// Calls in the sample.
    pub sample: u64,
    /// Of all calls, those with a path that was asked for before.
    pub again: u64,
    /// Of these, calls that failed.
    pub again_failed: u64,
    /// Paths that were asked for again, the most frequent first: 8 at most.
    #[schemars(length(max = 8))]
    pub most: Vec<PathRow>,
}

/// A path that a process asked for again: estimates, and no more than there were on average.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathRow {
    /// The path as it was given; a relative one begins at a directory that is not known. A long one
    /// has its end, after `…`.
    pub path: String,
    /// The process.
    pub pid: Pid,
    /// Calls.
    pub again: u64,
    /// Of these, calls that failed.
    pub again_failed: u64,
}

/// Calls that failed in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorRow {
    /// The error number.
    pub errno: u16,
    /// Its name, where it has one: `ENOENT`.
    pub name: Option<String>,
    /// Calls that failed with it.
    pub calls: u64,
}

/// The part of a row's calls that were timed, and what is known of the CPU time of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimedCalls {
    /// How many calls.
    pub calls: u64,
    /// Low end of the 95 % interval of `cpu_ns`, by samples.
    pub lo_ns: Ns,
    /// High end.
    pub hi_ns: Ns,
}

/// A count estimated from tracing windows, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Calls that were counted.
    pub seen: u64,
    /// The estimated number of calls.
    pub calls: u64,
    /// Low end of the 95 % interval.
    pub lo: u64,
    /// High end of the 95 % interval; null if the tracing windows cannot bound it: then `calls` and
    /// `lo` are what was traced, the least there was.
    pub hi: Option<u64>,
}
