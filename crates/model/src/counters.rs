//! The processor's own counters: which there are, what was seen of each, and what follows of it for
//! a run and for its functions.
//!
//! A counter is sampled: each time it has counted so much (its period), the kernel says where. So a
//! sample stands for the period, and sums over samples are estimates, as those of time are.

use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// A counter of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(VariantArray)]
pub enum Counter {
    /// Clock cycles in which the CPU was not halted.
    Cycles,
    /// Instructions that retired.
    Instructions,
    /// Branches that went another way than predicted.
    BranchMisses,
    /// Reads that the last level of cache did not serve.
    LastLevelMisses,
    /// Slots of the pipeline: as many operations could have been issued. (Top-down analysis, level
    /// 1.) Only where a cycle is not known to have this many.
    Slots,
    /// Slots that got no operation, since none came from the front end.
    FrontEndSlots,
    /// Slots that got none, since the back end took none: it waited for data, or for a unit.
    BackEndSlots,
}

impl Counter {
    /// All, in the order of every output.
    pub const ALL: [Self; 7] = *Self::VARIANTS.as_array().unwrap();

    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::BranchMisses => "branch misses",
            Self::LastLevelMisses => "last-level cache misses",
            Self::Slots => "slots",
            Self::FrontEndSlots => "slots stalled by the front end",
            Self::BackEndSlots => "slots stalled by the back end",
        }
    }
}

/// What was observed of the counters, for a trailer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountersObserved {
    /// Each counter that was looked for.
    pub of: Vec<(Counter, Seen<CounterTimes>)>,
    /// Slots of the pipeline in each cycle, where the processor is known to have this many. CPUs of
    /// several kinds have no common number.
    pub slots_per_cycle: Seen<u32>,
    /// Whether code of the kernel was counted too.
    pub kernel: bool,
    /// Samples that could not be delivered.
    pub lost: u64,
}

/// For how long a counter was to count, summed over CPUs or threads, and for how long it did: a
/// processor has few counters, and those who ask for them take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterTimes {
    /// It was to count.
    pub enabled_ns: Ns,
    /// It did.
    pub running_ns: Ns,
    /// The largest period that it was sampled with.
    pub period: u64,
    /// Samples are at the instruction that made the counter overflow, or the one behind it: not
    /// some tens of instructions later.
    pub precise: bool,
}

impl CounterTimes {
    /// The part of the time in which it counted; none where it never did.
    pub fn part(&self) -> Option<f64> {
        (self.running_ns > 0)
            .then(|| (self.running_ns as f64 / self.enabled_ns.max(self.running_ns) as f64).min(1.0))
    }
}

/// What the counters say: of the code of all threads, and of that on the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterTable {
    /// Of all threads.
    #[serde(flatten)]
    pub all: CountedCode,
    /// The same of the path: of what the wall clock went to. Absent in a window, where each
    /// thread's path is its own.
    #[serde(default)]
    pub path: Seen<CountedCode>,
    /// The part of the time in which each counted: less than 1 where counters took turns. Figures
    /// are scaled by it.
    pub parts: Vec<CounterPart>,
    /// Whether samples of cycles are at the instructions that took them (`--annotate` uses these
    /// then).
    pub precise: bool,
}

/// What the counters say of some code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedCode {
    /// In user mode.
    pub user: Counted,
    /// In the kernel. Unseen where counting there was not permitted.
    pub kernel: Seen<Counted>,
    /// Cycles by its time on a CPU, in user mode and in the kernel.
    #[schemars(with = "Seen<crate::shape::Positive>")]
    pub clock_hz: Seen<f64>,
    /// Samples of cycles that it rests on; 0 in results of an older dwell.
    #[serde(default)]
    pub samples: u64,
    /// By function, without what it calls, most cycles first: those with 30 samples of cycles or
    /// more, at most 40.
    pub functions: Vec<CountedFunction>,
}

/// The part of the time in which a counter counted: less than 1 where counters took turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterPart {
    /// Which.
    pub counter: Counter,
    /// The counted part of the time in which it was to count; unseen where it never did, or where
    /// there is none.
    #[schemars(with = "Seen<crate::shape::Fraction>")]
    pub part: Seen<f64>,
}

/// Counts of some code, estimated from samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// Each counter. Of one that had no sample, 0, and how much it is at most.
    pub counts: Vec<CounterRow>,
    /// Instructions in each cycle.
    pub instructions_per_cycle: Seen<Ratio>,
    /// Mispredicted branches for 1,000 instructions.
    pub branch_misses_per_1000: Seen<Ratio>,
    /// Reads that no cache served for 1,000 instructions.
    pub last_level_misses_per_1000: Seen<Ratio>,
    /// Slots of the pipeline that the front end left empty.
    pub front_end_stalled: Seen<Ratio>,
    /// Slots that the back end left empty.
    pub back_end_stalled: Seen<Ratio>,
}

/// One counter of some code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterRow {
    /// Which.
    pub counter: Counter,
    /// The estimate, unseen where it did not count.
    pub count: Seen<u64>,
    /// Samples that it rests on.
    pub samples: u64,
}

/// A ratio of two counts, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The estimate.
    #[schemars(range(min = 0))]
    pub value: f64,
    /// Low end.
    #[schemars(range(min = 0))]
    pub lo: f64,
    /// High end.
    #[schemars(range(min = 0))]
    pub hi: f64,
}

/// Counts of one function, without what it calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedFunction {
    /// The function.
    pub function: String,
    /// Its file.
    pub module: String,
    /// `user` or `kernel`.
    #[schemars(extend("enum" = ["user", "kernel"]))]
    pub mode: String,
    /// Its counts.
    #[serde(flatten)]
    pub counted: Counted,
}
