//! Commands that were run by turns, compared: the shape that `dwell compare --json` writes,
//! `dwell.compare/1`, described by `docs/schema/dwell.compare.1.json`. Fields are added, not
//! renamed.

use super::{Change, ChangeWords, Side};
use crate::ladder::MedianInterval;
use crate::recording::Host;
use crate::timing::{Figure, TimedRun};
use crate::{Ns, Seen, State};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_COMPARE: &str = "dwell.compare/1";

/// The words for times: a command gets faster or slower.
pub const WORDS: ChangeWords = ChangeWords { less: "faster", more: "slower" };

/// The words for other figures (memory, faults, what was printed).
pub const WORDS_OF_AMOUNTS: ChangeWords = ChangeWords { less: "less", more: "more" };

/// Commands that were compared, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA_COMPARE`].
    pub schema: String,
    /// The version of dwell that measured.
    pub dwell: String,
    /// Where.
    pub host: Host,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// What was asked for.
    pub settings: CompareSettings,
    /// The commands, in the order of the command line; the first is the reference.
    pub commands: Vec<ComparedCommand>,
    /// Each other command compared with the first, in their order. Empty for one command alone.
    pub comparisons: Vec<CommandChange>,
    /// What starting and reaping takes: the wall clock of an empty program, run at the same time.
    pub floor_ns: Seen<MedianInterval>,
    /// From the first run to the end of the last.
    pub took_ns: Ns,
    /// Why it ended.
    pub ended: CompareEnd,
    /// What qualifies all of it: sentences without a full stop.
    pub limits: Vec<String>,
    /// Each run, in the order in which they ran.
    pub runs: Vec<TimedRun>,
}

/// What was asked for, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompareSettings {
    /// The figure that is compared.
    pub on: Figure,
    /// The pattern of the numbers that are taken from the output.
    pub metric: Option<String>,
    /// Relative differences up to this count as none.
    pub margin: f64,
    /// The chance of a wrong `faster` or `slower`, of all comparisons together.
    pub alpha: f64,
    /// A number of pairs that was fixed beforehand.
    pub pairs: Option<u32>,
    /// No pair begins after this time.
    pub for_ns: Option<Ns>,
    /// The shell that ran the commands, with its arguments. None: no shell did.
    pub shell: Option<Vec<String>>,
    /// What the random order was made of.
    pub seed: u64,
}

/// A command, with what its runs that count had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedCommand {
    /// As it is called.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The parameters that it was made with: names and values.
    pub parameters: Vec<(String, String)>,
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
    /// Time in the kernel.
    pub kernel_ns: Ns,
    /// The largest resident set.
    pub memory_bytes: u64,
    /// Whether that is at most.
    pub memory_at_most: bool,
    /// Page faults.
    pub faults: u64,
}

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EstimateInterval {
    /// The estimate.
    pub estimate: f64,
    /// Low end.
    pub lo: f64,
    /// High end.
    pub hi: f64,
}

/// A command compared with the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandChange {
    /// The reference: 0.
    pub a: u32,
    /// The command that is compared with it.
    pub b: u32,
    /// The pairs that count, in their order.
    pub pairs: Vec<CommandPair>,
    /// B by A. None with too few pairs for an interval.
    pub ratio: Option<EstimateInterval>,
    /// B less A, in the unit of the figure.
    pub difference: Option<EstimateInterval>,
    /// The verdict on B.
    #[serde(with = "words")]
    pub verdict: Change,
    /// Why there can be no verdict: sentences without a full stop.
    pub no_verdict: Vec<String>,
    /// An undecided one: so many pairs more this spread would take, and so long.
    pub needs: Option<PairsNeeded>,
    /// A against A: the ratio of neighbouring runs of the same command, as its interval of 95 %.
    pub noise_floor: Option<EstimateInterval>,
    /// The run that was second in its pair by the first one: whether the order matters.
    pub second_by_first: Option<EstimateInterval>,
    /// Why B differs, from pairs that were observed.
    pub why: Seen<Why>,
}

/// One pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairsNeeded {
    /// Pairs in all.
    pub pairs: u32,
    /// Time for them.
    pub time_ns: Ns,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A command failed in its first run.
    Failed,
}

/// Where the difference of two walls lies: both accounts close, so the parts of the difference sum
/// to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Why {
    /// Pairs that were observed.
    pub pairs: u32,
    /// The walls of the observed runs: B less A, mean over the pairs with its 95 % interval.
    pub wall_ns: EstimateInterval,
    /// B by A of the observed runs.
    pub ratio: Option<EstimateInterval>,
    /// By state; they sum to the difference of the walls.
    pub states: Vec<StateDifference>,
    /// By process, state and reason of the path; they sum to it as well.
    pub steps: Vec<StepDifference>,
    /// By function, of all CPU time: estimates from samples.
    pub functions: Vec<PlaceDifference>,
    /// By line, likewise.
    pub lines: Vec<PlaceDifference>,
    /// By system call: of all threads, with their number.
    pub calls: Vec<CallDifference>,
    /// What qualifies it: sentences without a full stop.
    pub limits: Vec<String>,
}

/// The difference of a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateDifference {
    /// The state.
    pub state: State,
    /// B less A.
    pub ns: EstimateInterval,
}

/// The difference of a step of the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepDifference {
    /// The process, by its name.
    pub process: String,
    /// The state.
    pub state: State,
    /// What it did or waited for, in words.
    pub reason: String,
    /// B less A.
    pub ns: EstimateInterval,
}

/// The difference of a function or a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlaceDifference {
    /// Its name; of a line `file:line`.
    pub name: String,
    /// B less A.
    pub ns: EstimateInterval,
}

/// The difference of a system call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallDifference {
    /// Its name.
    pub name: String,
    /// Calls of A, mean over its runs.
    pub a_calls: f64,
    /// Calls of B.
    pub b_calls: f64,
    /// Time in it, waits included: B less A.
    pub ns: EstimateInterval,
}

/// A verdict in JSON.
mod words {
    use super::{Change, WORDS};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(change: &Change, to: S) -> Result<S::Ok, S::Error> {
        WORDS.serialize(*change, to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Change, D::Error> {
        WORDS.deserialize(from)
    }
}
