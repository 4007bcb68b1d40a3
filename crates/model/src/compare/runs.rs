//! Two runs beside each other: the shape that `dwell diff --json` writes of them,
//! `dwell.run-diff/1`, listed in `docs/schema/dwell.run-diff.1.fields.txt`. Fields are added, not
//! renamed.

use super::Difference;
use super::why::Why;
use crate::recording::Ending;
use crate::requests::{RequestTime, Unit};
use crate::wait::{StackFrame, WaitCall, WaitTarget};
use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_RUN_DIFF: &str = "dwell.run-diff/1";

/// Where and when one of them was observed, and what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunOrigin {
    /// Its ID, where it is a kept result.
    #[serde(default)]
    pub id: Option<String>,
    /// The host's name.
    pub host: String,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How the program ended, or what ended the window.
    pub exit: Ending,
    /// Its wall clock.
    pub wall_ns: Ns,
    /// Events of it that were lost: where there are any, its requests seem longer, and some may be
    /// missing.
    #[serde(default)]
    pub lost_events: Seen<u64>,
}

/// What `dwell diff --json` writes for two runs, or two windows. It has no verdict: one has no
/// spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunComparison {
    /// [`SCHEMA_RUN_DIFF`].
    pub schema: String,
    /// The first: the reference.
    pub a: RunOrigin,
    /// B, compared with A.
    pub b: RunOrigin,
    /// Other differences between the two: host, command, what was observed.
    pub differences: Vec<Difference>,
    /// Where the difference of the walls lies: B less A, as a mean over pairs of observed runs.
    /// `states`, `processes`, and `steps` with `steps_rest` each sum to `wall`, to the nanosecond.
    /// The other tables are of all threads: they overlap, and sum to nothing. Rows come largest
    /// difference first.
    pub why: Why,
    /// How long the requests of both took; absent where one of them answered none.
    #[serde(default)]
    pub requests: Seen<RequestsDiff>,
}

/// The requests of two runs or windows beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestsDiff {
    /// What each of them is.
    #[serde(default)]
    pub unit: Unit,
    /// Requests that were answered.
    pub times: [u64; 2],
    /// Median.
    pub p50: QuantileChange,
    /// 90th percentile.
    #[serde(default)]
    pub p90: Seen<QuantileChange>,
    /// 99th percentile.
    pub p99: QuantileChange,
    /// Maximum of A and of B.
    #[serde(default)]
    pub max_ns: Option<[Ns; 2]>,
    /// What the time of a request is spent at, largest difference first. Both columns sum to the
    /// mean over all requests, but for rounding.
    #[serde(default)]
    pub parts: Vec<PartChange>,
    /// By what requests ask for, those first whose requests changed by most time in all. Empty
    /// where one side could read none.
    #[serde(default)]
    pub kinds: Vec<KindChange>,
}

impl RequestsDiff {
    /// The longer of both means: what a part is compared with.
    pub fn mean_ns(&self) -> Ns {
        let sum = |of: fn(&PartChange) -> Ns| self.parts.iter().map(of).sum();
        Ns::max(sum(|part| part.a_ns), sum(|part| part.b_ns))
    }
}

/// Requests that ask for the same, in A and in B.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindChange {
    /// What they ask for, as in `requests.kinds` of a run.
    pub kind: Seen<String>,
    /// Requests that were answered; 0 where a side had none, and its times are then 0 as well.
    pub times: [u64; 2],
    /// Mean.
    pub mean_ns: [Ns; 2],
    /// Median.
    pub p50: QuantileChange,
    /// 99th percentile.
    pub p99: QuantileChange,
}

/// A part of the time of requests, in A and in B. What waits at an address of memory is one part
/// for each place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartChange {
    /// What it was spent at.
    pub at: RequestTime,
    /// The call of a wait; absent of what is none.
    pub call: Seen<WaitCall>,
    /// What it was for, likewise.
    pub on: Seen<WaitTarget>,
    /// Where in the program's own code, as far as samples tell: one function for both, with its
    /// line in B, or else in A. What A and B have at two places is two parts.
    pub place: Seen<StackFrame>,
    /// Mean over the requests of A; 0 where they had none of it.
    pub a_ns: Ns,
    /// Of B, likewise.
    pub b_ns: Ns,
}

/// A quantile of A and of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileChange {
    /// Of A.
    pub a_ns: Ns,
    /// Of B.
    pub b_ns: Ns,
    /// B less A is between these with 95 %, if requests are independent of each other and nothing
    /// else changed between the two. Absent where one of them has too few requests to tell.
    pub change_ns: Option<[i64; 2]>,
}
