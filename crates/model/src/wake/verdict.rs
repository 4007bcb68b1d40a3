//! Whether a deadline is met, and with what confidence.

use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// The deadline and how it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deadline {
    /// The largest latency allowed.
    pub deadline_ns: Ns,
    /// The margin, as a part of the deadline: 0.2 is a fifth.
    #[schemars(range(min = 0, max = 1))]
    pub margin: f64,
    /// The confidence of the answer: 0.95.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
    /// How rare a late wake-up must be known to be for an answer of `pass`: less than one in this
    /// time on a CPU. What no test of finite length can show is that there is none.
    #[serde(default = "one_hour")]
    pub one_in_ns: Ns,
}

impl Deadline {
    /// The default bound.
    pub const ONE_IN_NS: Ns = 3_600_000_000_000;
}

fn one_hour() -> Ns {
    Deadline::ONE_IN_NS
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Nothing seen speaks against it, and enough was seen: no wake-up was later than the deadline
    /// less its margin, at the confidence asked for such ones are rarer than `one_in_ns` says, the
    /// maximum expected of ten times the run is within the deadline (where the data allow to expect
    /// one), and the loads asked for worked all the while without a mistake.
    Pass,
    /// A wake-up was later than the deadline less its margin.
    Fail,
    /// Nothing was too late, but too little was seen to be so sure, a longer run is expected to see
    /// one, or a load did not hold.
    Undecided,
}

/// An estimate of the maximum latency of a longer run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extreme {
    /// The length of that run.
    pub for_ns: Ns,
    /// The median of its maximum latency; the interval holds it at the deadline's confidence.
    pub max_ns: Ns,
    /// Low end of its interval at the deadline's confidence.
    pub lo_ns: Ns,
    /// High end of its interval at the deadline's confidence.
    pub hi_ns: Option<Ns>,
}

/// The verdict and its basis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The deadline.
    pub deadline: Deadline,
    /// The deadline less its margin.
    pub limit_ns: Ns,
    /// The answer.
    pub answer: Answer,
    /// Why, in a sentence without a full stop.
    pub why: String,
    /// Wake-ups measured.
    pub cycles: u64,
    /// Wake-ups later than the limit.
    pub beyond: u64,
    /// At most this part of all wake-ups is later than the limit, at the confidence asked for, on
    /// the CPU with the weakest bound: about 3 by the number of its clean cycles for 95 %.
    #[schemars(range(min = 0, max = 1))]
    pub exceedance_bound: f64,
    /// The same as a time: at most one late wake-up in this time, on one CPU at this interval.
    pub one_in_ns: Ns,
    /// The maximum latency of a run ten times as long; unseen with the reason if the data allow no
    /// estimate.
    pub extreme: Seen<Extreme>,
    /// How much longer to run for an answer, if nothing will be late; absent where there is one,
    /// unseen where longer will not do.
    pub run_more_ns: Seen<Ns>,
    /// Verdict of each CPU; the verdict of all is no better than the worst of them.
    #[serde(default)]
    pub of_processor: Vec<CpuVerdict>,
}

/// What holds of one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuVerdict {
    /// The CPU.
    pub cpu: Option<u32>,
    /// Verdict by the wake-ups of this CPU; the estimate for a longer run is made for all CPUs
    /// together.
    pub answer: Answer,
    /// Wake-ups measured.
    pub cycles: u64,
    /// Wake-ups later than the limit.
    pub beyond: u64,
    /// The maximum latency.
    pub max_ns: Seen<Ns>,
    /// Upper bound of the share of its wake-ups later than the limit, at the requested confidence.
    #[schemars(range(min = 0, max = 1))]
    pub exceedance_bound: f64,
    /// The same as time.
    pub one_in_ns: Ns,
}
