//! The table of system calls, in the schema of `--json`.

use crate::seen::unrecorded;
use crate::wait::SyscallName;
use crate::{Ns, Pid, Seen};
use serde::{Deserialize, Serialize};

/// One row of the table of system calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRow {
    /// Its name; `32:name` through the 32-bit table.
    pub name: SyscallName,
    /// Number of calls that returned.
    pub calls: u64,
    /// Calls that returned an error.
    pub errors: u64,
    /// Wall time, summed over threads.
    pub total_ns: Ns,
    /// CPU time of that.
    pub cpu_ns: Ns,
    /// Median, within the histogram's 6 %. This and the next two are unseen where none was timed.
    pub p50_ns: Seen<Ns>,
    /// 99th percentile, likewise.
    pub p99_ns: Seen<Ns>,
    /// The longest, exactly.
    pub max_ns: Seen<Ns>,
    /// What they gave.
    #[serde(default = "unrecorded")]
    pub results: Seen<ResultsRow>,
    /// Where not all calls were timed; then `total_ns` is CPU time and all waits, and `p50_ns`,
    /// `p99_ns` and `max_ns` are those of calls that were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedCalls>,
    /// Where only windows were counted: then calls, errors, times and results are estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

/// What the calls of one row gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultsRow {
    /// Bytes that they moved. None for calls whose result is something else.
    pub bytes: Option<u64>,
    /// Calls that moved bytes, by how many, in octaves: (smallest number of bytes, calls). The
    /// octave of 8 MiB has all that is larger too; empty ones are left out.
    pub sizes: Vec<(u64, u64)>,
    /// Calls that returned 0: reads at the end of a file, looks that found nothing; of many calls
    /// it is success.
    pub zeros: u64,
    /// Calls with the first three arguments and the result of the thread's last one of this kind;
    /// none of those with bytes moved. What arguments point at is not compared: none for calls on
    /// paths.
    pub repeats: Option<u64>,
    /// Calls that failed, by error number, the most frequent first. Rare ones may be missing.
    pub errors: Vec<ErrorRow>,
    /// Of calls that open a file by its path or ask for one: how many gave a path again. None for
    /// other calls, and where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PathsRow>,
}

/// Calls with a path that the same process had given to the same call before: estimates by a
/// sample, and on average no more than there were.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathsRow {
    /// Calls in the sample.
    pub sample: u64,
    /// Of all calls, those with a path that was asked for before.
    pub again: u64,
    /// Of these, calls that failed.
    pub again_failed: u64,
    /// Paths that were asked for again, the most frequent first: 8 at most.
    pub most: Vec<PathRow>,
}

/// A path that a process asked for again: estimates, and no more than there were on average.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRow {
    /// The path as it was given: a relative one begins at a directory that is not known.
    pub path: String,
    /// The process.
    pub pid: Pid,
    /// Calls.
    pub again: u64,
    /// Of these, calls that failed.
    pub again_failed: u64,
}

/// Calls that failed in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRow {
    /// The error number.
    pub errno: u16,
    /// Its name, where it has one: `ENOENT`.
    pub name: Option<String>,
    /// How many calls.
    pub calls: u64,
}

/// The part of a row's calls that were timed, and what is known of the CPU time of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedCalls {
    /// How many calls.
    pub calls: u64,
    /// Low end of the 95 % interval of `cpu_ns`, by samples.
    pub lo_ns: Ns,
    /// High end.
    pub hi_ns: Ns,
}

/// A count estimated from tracing windows, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Calls that were counted.
    pub seen: u64,
    /// The estimated number of calls.
    pub calls: u64,
    /// Low end.
    pub lo: u64,
    /// High end; none when there are too few windows.
    pub hi: Option<u64>,
}
