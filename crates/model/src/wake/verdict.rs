//! Whether a deadline is met, and how sure that is.

use crate::{Ns, Seen};
use serde::{Deserialize, Serialize};

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Deadline {
    /// No wake-up may be later.
    pub deadline_ns: Ns,
    /// The part of the deadline that must be left over: 0.2 is a fifth.
    pub margin: f64,
    /// How sure the answer shall be: 0.95.
    pub confidence: f64,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Nothing seen speaks against it, and enough was seen.
    Pass,
    /// A wake-up was later than the deadline less its margin.
    Fail,
    /// Nothing was too late, but too little was seen to be so sure.
    Undecided,
}

/// An estimate of the latest wake-up that a longer run would see.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Extreme {
    /// The run that it speaks of.
    pub for_ns: Ns,
    /// The estimate, and its interval at the deadline's confidence.
    pub max_ns: Ns,
    /// Low end.
    pub lo_ns: Ns,
    /// High end; none: the data set no bound.
    pub hi_ns: Option<Ns>,
}

/// The verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What was asked.
    pub deadline: Deadline,
    /// The deadline less its margin.
    pub limit_ns: Ns,
    /// The answer.
    pub answer: Answer,
    /// Why, in a sentence without a full stop.
    pub why: String,
    /// Wake-ups that were seen.
    pub cycles: u64,
    /// Wake-ups later than the limit.
    pub beyond: u64,
    /// At most this part of all wake-ups is later than the limit, at the confidence asked for: about 3 by the number of
    /// clean cycles for 95 %.
    pub exceedance_bound: f64,
    /// The same as time: one too late in so long, at most, on one processor at this interval.
    pub one_in_ns: Ns,
    /// The latest that ten times as long a run would see; unseen where the data do not allow an estimate, with the reason.
    pub extreme: Seen<Extreme>,
    /// How much longer to run for an answer; absent where there is one.
    pub run_more_ns: Seen<Ns>,
}
