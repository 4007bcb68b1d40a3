//! What `dwell lab` shows: a pair of programs held once, and the score of many.

use crate::compare::commands::EstimateInterval;
use crate::recording::Host;
use crate::run::{Class, Ends, FindingRow};
use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// The schema of one pair.
pub const SCHEMA_LAB: &str = "dwell.lab/1";
/// The schema of a score.
pub const SCHEMA_SCORE: &str = "dwell.lab-score/1";
/// The schema of a quiz.
pub const SCHEMA_QUIZ: &str = "dwell.lab-quiz/1";

/// A pair of the lab: a program that is slow in one known way, and the same work without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabPair {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The cause that the slow program has, judged before any run; none for a healthy program.
    pub cause: Option<String>,
    /// The writing that it comes from, or null.
    #[serde(default)]
    pub writing: Option<Writing>,
}

/// A writing on latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Writing {
    /// Title and author.
    pub title: String,
    /// What was measured there.
    pub theirs: String,
}

/// What `dwell lab NAME --json` writes: one pair, held once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabRun {
    /// [`SCHEMA_LAB`].
    pub schema: String,
    /// The version of dwell.
    pub dwell: String,
    /// The host.
    pub host: Host,
    /// When it began: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// Which.
    pub pair: LabPair,
    /// A pair under `dwell run` and `dwell compare`.
    pub sitting: LabSitting,
    /// The difference between the slow and the fast way, as lines of a diff.
    pub change: Vec<String>,
    /// Where the slow and the fast program had their CPU time, in this order, as far as they were
    /// run.
    #[serde(default)]
    pub profiles: Vec<LabProfile>,
    /// What the parts of the ways take, each timed by itself. Empty where they have none.
    #[serde(default)]
    pub apart: Vec<LabPart>,
    /// The size of a whole job of which the programs do a part.
    #[serde(default)]
    pub whole_size: Option<u64>,
    /// Why it ended before all was held: what was held by then stands.
    #[serde(default)]
    pub ended_early: Option<String>,
}

/// A part of what the ways of a pair do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabPart {
    /// What it does: `read, from memory`.
    pub what: String,
    /// The median wall clock of several runs of it, for each way, the slow one first.
    pub wall_ns: Vec<Ns>,
}

/// Where a run had its CPU time: the longest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabProfile {
    /// By function, without callees.
    pub functions: Vec<LabShare>,
    /// By source line, where there are any.
    pub lines: Vec<LabShare>,
}

/// A function or a line, with its part of the CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabShare {
    /// `malloc`, or `grid.py:17`.
    pub name: String,
    /// 0 to 1.
    #[schemars(range(min = 0))]
    pub share: f64,
}

/// A pair under `dwell run` and `dwell compare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabSitting {
    /// How much the programs did, and of what.
    #[schemars(range(min = 1))]
    pub size: u64,
    /// The unit of `size`, in the plural.
    pub unit: String,
    /// Whether other programs kept all CPUs busy meanwhile.
    pub beside: bool,
    /// The commands, the slow one first.
    #[schemars(length(min = 1))]
    pub commands: Vec<Vec<String>>,
    /// Commands that do the same by themselves, in any directory, as long as `server` runs; empty
    /// in results of earlier versions.
    #[serde(default)]
    pub by_hand: Vec<Vec<String>>,
    /// The command that is the server which they need, in another terminal; null where they need
    /// none.
    #[serde(default)]
    pub server: Option<Vec<String>>,
    /// What each does.
    pub ways: Vec<String>,
    /// The slow one under `dwell run`.
    pub slow: Observed,
    /// The fast one under `dwell run`; none for a healthy program.
    pub fast: Option<Observed>,
    /// What the commands after the first save, in parts of the time of the first.
    pub saved: Vec<Option<EstimateInterval>>,
    /// The median wall clock of each in the comparison; none where no run counts.
    pub wall_ns: Vec<Option<Ns>>,
    /// The pairs that count.
    pub pairs: u32,
    /// Whether dwell was right.
    pub outcome: Outcome,
}

/// One run under `dwell run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// Its wall clock.
    pub wall_ns: Ns,
    /// Its class.
    pub class: Class,
    /// What was found, in order.
    pub findings: Vec<FindingRow>,
    /// The file and function of each finding that points to a line; empty of others.
    #[serde(default)]
    pub functions: Vec<String>,
    /// CPU time of other programs meanwhile, in parts of all CPUs.
    #[serde(default)]
    #[schemars(with = "Seen<crate::shape::NotNegative>")]
    pub host_busy: Seen<f64>,
}

/// Whether dwell was right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The first finding is the cause that the program has. Beside other programs that keep the
    /// CPUs busy, that is the first after `cpu-contention`. Of a healthy program: nothing is
    /// claimed, or its own code.
    pub cause_first: bool,
    /// The cause is the first finding of the fast program too; of its own code only where that is
    /// the same function.
    pub first_again: bool,
    /// What the finding of that cause predicts to be saved, in parts of the wall clock of its run.
    pub predicted: Option<Ends>,
    /// Whether the measured saving lies in it; none where nothing was measured.
    pub held: Option<bool>,
    /// The interval score of the prediction: smaller is better.
    pub score: Option<f64>,
    /// The score of the rule that always says between a third of the finding's share and all of it.
    pub rule_score: Option<f64>,
    /// Why the cause that the program has is no finding of the slow run. Missing where it is one,
    /// where another finding explains it, of healthy programs, and in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfound: Option<Unfound>,
}

impl Outcome {
    /// Whether it is right or wrong of dwell that the cause was found or not.
    pub fn is_judged(&self) -> bool {
        self.unfound.as_ref().is_none_or(Unfound::is_miss)
    }
}

/// Why the cause of a pair is no finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unfound {
    /// What follows for dwell.
    pub kind: UnfoundKind,
    /// The reason, as the run has it.
    pub why: String,
}

impl Unfound {
    /// Whether it should have been found.
    pub fn is_miss(&self) -> bool {
        self.kind == UnfoundKind::RuledOut
    }
}

/// What follows where the cause of a pair is no finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnfoundKind {
    /// Its signs could not be observed: nothing is right or wrong.
    Unseen,
    /// Its signs are not there, in work that nobody has judged to have the cause: less than the
    /// least of the pair, or with a server or files of the user's choice.
    Unjudged,
    /// Its signs are not there, and should be.
    RuledOut,
}

/// What `dwell lab --score --json` writes: many sittings. `--resume` goes on from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabScore {
    /// [`SCHEMA_SCORE`].
    pub schema: String,
    /// The version of dwell.
    pub dwell: String,
    /// The host.
    pub host: Host,
    /// When it began: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// Sittings of each pair that were asked for.
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// What the sizes were drawn from.
    pub seed: u64,
    /// The pairs, in their order.
    pub rows: Vec<ScoreRow>,
    /// Pairs that could not be held, and why.
    pub not_held: Vec<(String, String)>,
    /// All sittings together.
    pub total: ScoreTotal,
    /// Why it ended before the last sitting; null if it did not.
    pub ended_early: Option<String>,
}

/// The sittings of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreRow {
    /// Which.
    pub pair: LabPair,
    /// In the order in which they were held.
    pub sittings: Vec<LabSitting>,
}

/// The score of all sittings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreTotal {
    /// Sittings of programs that have a cause, but for those in `unseen`.
    pub sittings: u32,
    /// Those whose cause was the first finding.
    pub cause_first: u32,
    /// Those whose cause was the first finding of the fast program too.
    pub first_again: u32,
    /// Sittings whose saving was measured.
    pub measured: u32,
    /// Those whose predicted interval holds it.
    pub held: u32,
    /// Sittings of healthy programs.
    pub healthy: u32,
    /// Those of which nothing was claimed.
    pub healthy_right: u32,
    /// Mean interval score.
    pub score: Option<f64>,
    /// The same of the rule.
    pub rule_score: Option<f64>,
    /// Counted savings.
    pub counted: u32,
    /// Those of them whose high end is at most one and a half times the low end.
    pub counted_narrow: u32,
    /// Sittings of programs whose cause dwell could not look for.
    #[serde(default)]
    pub unseen: u32,
    /// Sittings whose change was shown to save something: the measured interval is above 0.
    #[serde(default)]
    pub saving_shown: u32,
    /// Those of them whose cause was the first finding.
    #[serde(default)]
    pub saving_shown_first: u32,
}

/// What `dwell lab --quiz --json` writes: what a reader of a page said of a program, and whether
/// that was right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabQuiz {
    /// [`SCHEMA_QUIZ`].
    pub schema: String,
    /// The version of dwell.
    pub dwell: String,
    /// The host.
    pub host: Host,
    /// When it began: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// What the pair and its time were drawn from.
    pub seed: u64,
    /// The pair, whose name was hidden.
    pub pair: LabPair,
    /// What was measured, and what dwell itself said of it.
    pub sitting: LabSitting,
    /// What the reader said.
    pub answer: QuizAnswer,
    /// Whether that was right.
    pub grade: QuizGrade,
}

/// What the reader of a quiz said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuizAnswer {
    /// The cause.
    pub cause: String,
    /// What the change saves, in parts of the wall clock.
    pub saving: Ends,
}

/// Whether an answer was right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuizGrade {
    /// The cause is that of the program.
    pub cause: bool,
    /// Whether the measured saving lies in the interval; none where nothing was measured.
    pub held: Option<bool>,
    /// The interval score of the answer: its width, and 10 times what it misses by. Smaller is
    /// better.
    pub score: Option<f64>,
    /// The score of the rule that looks at nothing: between a third of the wall clock and all of
    /// it.
    pub rule_score: Option<f64>,
}
