//! Commands that were run in alternation, compared: the shape that `dwell compare --json` writes,
//! `dwell.compare/1`, listed in `docs/schema/dwell.compare.1.fields.txt`. Fields are added, not
//! renamed.

pub use super::EstimateInterval;
pub use super::why::{PredictedSaving, Why};
use super::{Change, ChangeWords, Side};
use crate::ladder::MedianInterval;
use crate::recording::Host;
use crate::timing::{Figure, TimedRun};
use crate::{JsonSchema, Ns, Origin, Seen};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_COMPARE: &str = "dwell.compare/1";

/// The words for times: a command gets faster or slower.
pub const WORDS: ChangeWords = ChangeWords { less: "faster", more: "slower" };

/// The words for other figures (memory, faults, what was printed).
pub const WORDS_OF_AMOUNTS: ChangeWords = ChangeWords { less: "less", more: "more" };

/// What qualifies a comparison by a run that has no finding (`--predicted`).
pub const PREDICTS_NOTHING: &str =
    "the run of --predicted predicts nothing: it shows none of the causes that dwell knows";

/// What `dwell compare --json` writes: commands that were compared, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`SCHEMA_COMPARE`].
    pub schema: String,
    /// The version of dwell that measured.
    pub dwell: String,
    /// The host.
    pub host: Host,
    /// When it began: RFC 3339, UTC, to the nanosecond; in results of older versions to the second.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// Which result it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// What was asked for, with defaults filled in.
    pub settings: CompareSettings,
    /// The commands, in the order of the command line; the first is the reference.
    pub commands: Vec<ComparedCommand>,
    /// Each other command compared with the first, in their order. Empty for one command alone.
    pub comparisons: Vec<CommandChange>,
    /// What starting and reaping takes: the wall clock of an empty program, run at the same time.
    /// It is in every run's `wall_ns`.
    pub floor_ns: Seen<MedianInterval>,
    /// From the first run to the end of the last, without the time for which dwell was stopped.
    pub took_ns: Ns,
    /// Why it ended.
    pub ended: CompareEnd,
    /// What qualifies all of it: sentences without a full stop.
    pub limits: Vec<String>,
    /// Each run, in the order in which they ran.
    pub runs: Vec<TimedRun>,
}

/// What was asked for, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareSettings {
    /// The figure that is compared.
    pub on: Figure,
    /// The pattern of the numbers that are taken from the output.
    pub metric: Option<String>,
    /// Relative differences up to this count as none.
    pub margin: f64,
    /// The chance of a wrong `faster` or `slower`, of all comparisons together.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub alpha: f64,
    /// Blocks that only warm up, before those that count (`--warmup`). Missing in results of
    /// versions before, which have the rows of one.
    #[serde(default = "warmup_of_before")]
    #[schemars(range(min = 1))]
    pub warmup: u32,
    /// Number of pairs that was fixed beforehand. Null: it went on until it was decided.
    #[schemars(range(min = 1))]
    pub pairs: Option<u32>,
    /// No pair begins after this time.
    pub for_ns: Option<Ns>,
    /// The shell that ran the commands, with its arguments. None: no shell did.
    pub shell: Option<Vec<String>>,
    /// What the random order was made of.
    pub seed: u64,
}

/// Results without the field: the rows of further blocks were left out.
fn warmup_of_before() -> u32 {
    1
}

impl CompareSettings {
    /// Whether a run only warms up.
    pub fn warms_up(&self, run: &TimedRun) -> bool {
        run.block < self.warmup
    }

    /// Whether a run counts.
    pub fn counts(&self, run: &TimedRun) -> bool {
        !self.warms_up(run) && run.excluded.is_none()
    }

    /// Whether a run should count, and does not. One that was stopped has not failed.
    pub fn failed(&self, run: &TimedRun) -> bool {
        !self.warms_up(run) && run.excluded.is_some() && !run.stopped
    }
}

/// A command, with what its runs that count had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCommand {
    /// Name: that of `--command-name`, or the command as it was given.
    pub name: String,
    /// The program and its arguments, the shell included.
    pub command: Vec<String>,
    /// The parameters that it was made with: names and values.
    pub parameters: Vec<(String, String)>,
    /// Variables of its environment that `--env` set: name and value.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Runs that count.
    pub runs: u32,
    /// Runs that failed and therefore do not.
    pub failed: u32,
    /// The figure that is compared: its median with the 95 % interval. None without runs.
    pub figure: Option<MedianInterval>,
    /// The smallest and the largest.
    pub range: Option<(f64, f64)>,
    /// Medians of the other figures.
    pub user_ns: Ns,
    /// Median of the time in the kernel.
    pub kernel_ns: Ns,
    /// Median of the largest resident set of one process.
    pub memory_bytes: u64,
    /// Whether that is an upper bound: it is no larger than the process that started the command.
    pub memory_at_most: bool,
    /// Median of the page faults.
    pub faults: u64,
}

/// A command compared with the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandChange {
    /// The reference: 0.
    pub a: u32,
    /// The command that is compared with it: its place in `commands`.
    pub b: u32,
    /// The pairs that count, in their order.
    pub pairs: Vec<CommandPair>,
    /// B by A (Hodges-Lehmann estimate of the logarithm) with its interval. With a fixed number of
    /// pairs that of the signed-rank test, else one that holds however often it is looked at. Null
    /// with too few pairs for an interval.
    pub ratio: Option<EstimateInterval>,
    /// B less A, of the median of A, in the unit of the figure.
    pub difference: Option<EstimateInterval>,
    /// Verdict on B. `faster`: the interval of the ratio is below 1; `slower`: above; `same`:
    /// within the margin, also if it excludes 1.
    #[serde(with = "Words")]
    pub verdict: Change,
    /// Why there can be no verdict: sentences without a full stop.
    pub no_verdict: Vec<String>,
    /// An undecided one: this many pairs more this spread would take, and so long.
    pub needs: Option<PairsNeeded>,
    /// Further percentiles of the numbers that each run printed (`--metric`); the figure that is
    /// compared is then their median, p50. Neither the verdict nor the end of the comparison rests
    /// on them, and each interval holds by itself. Empty unless runs printed several numbers.
    #[serde(default)]
    pub percentiles: Vec<PercentileChange>,
    /// A against A: the ratio of neighbouring runs of the same command, as its interval of 95 %.
    pub noise_floor: Option<EstimateInterval>,
    /// The run that was second in its pair by the first one: whether the order matters.
    pub second_by_first: Option<EstimateInterval>,
    /// Where the difference lies, from pairs that were observed as by `dwell run`.
    pub why: Seen<Why>,
    /// Savings that a run was said to have in it, and whether they came. Empty if none was given.
    pub predicted: Vec<PredictedSaving>,
}

/// A percentile of the numbers that each run printed. No verdict and no end of the comparison rests
/// on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileChange {
    /// Which: 90 or 99.
    #[schemars(extend("enum" = [90, 99]))]
    pub percent: u32,
    /// What the pairs say of it. Unseen where a run printed too few numbers for it: 10 for p90, 100
    /// for p99.
    pub found: Seen<PercentileFound>,
}

/// What the pairs say of a percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileFound {
    /// The median of A's runs.
    pub a: f64,
    /// The median of B's runs.
    pub b: f64,
    /// B by A, by the method of `ratio` of the comparison. None with too few pairs for an interval.
    pub ratio: Option<EstimateInterval>,
    /// B less A, of the median of A.
    pub difference: Option<EstimateInterval>,
    /// What that interval allows to say, in the rules of `verdict`. `less`: it is below 1; `more`:
    /// above.
    #[serde(with = "WordsOfAmounts")]
    pub change: Change,
}

/// One pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandPair {
    /// Its block.
    pub block: u32,
    /// Which ran first.
    pub first: Side,
    /// The figure of A.
    pub a: f64,
    /// The figure of B.
    pub b: f64,
}

/// What a verdict would take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairsNeeded {
    /// Pairs in all.
    pub pairs: u32,
    /// Time for them.
    pub time_ns: Ns,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompareEnd {
    /// All comparisons are decided.
    Decided,
    /// The pairs that were asked for are done.
    PairsDone,
    /// The time was up.
    TimeUp,
    /// A signal.
    Signal,
    /// A command failed run after run.
    Failed,
}

words_in_json!(Words, WORDS);

words_in_json!(WordsOfAmounts, WORDS_OF_AMOUNTS);
