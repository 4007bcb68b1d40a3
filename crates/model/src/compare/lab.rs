//! Two scores of the lab compared, pair by pair, or one pair held twice: the shape that `dwell diff
//! --json` writes of them, `dwell.lab-diff/1`, listed in `docs/schema/dwell.lab-diff.1.fields.txt`.
//! Fields are added, not renamed.

use super::{Change, ChangeWords, Difference, EstimateInterval, Side};
use crate::JsonSchema;
use crate::lab::ScoreTotal;
use crate::run::Ends;
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_LAB_DIFF: &str = "dwell.lab-diff/1";

/// A smaller interval score is a better one.
pub const WORDS: ChangeWords = ChangeWords { less: "better", more: "worse" };

/// What `dwell diff --json` writes for two scores of `dwell lab --score`, or for one pair held
/// twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabComparison {
    /// [`SCHEMA_LAB_DIFF`].
    pub schema: String,
    /// A, the reference.
    pub a: LabOrigin,
    /// B, compared with A.
    pub b: LabOrigin,
    /// Other differences between the two: host, version, seed, size.
    pub differences: Vec<Difference>,
    /// All pairs that both held, together.
    pub total: BothFigures,
    /// How the interval scores of the pairs changed.
    pub scores: ScoreChange,
    /// Each pair that both held, in A's order.
    pub rows: Vec<LabRow>,
    /// Pairs that one of them did not hold.
    pub uncompared: Vec<UncomparedPair>,
}

/// Where and by what one of them was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabOrigin {
    /// The host's name.
    pub host: String,
    /// The version of dwell.
    pub dwell: String,
    /// When it began: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
}

/// The figures of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BothFigures {
    /// Figures of the first.
    pub a: LabFigures,
    /// Figures of the second.
    pub b: LabFigures,
}

/// What the sittings of a pair, or of many, come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabFigures {
    /// How often what was right, and the mean scores.
    pub total: ScoreTotal,
    /// Sittings beside busy loops on each CPU.
    pub beside: u32,
    /// The mean ends of what was predicted, in parts of the wall clock; none where nothing was.
    pub predicted: Option<Ends>,
    /// The mean width of these intervals.
    pub width: Option<f64>,
    /// The mean measured saving, in parts of the wall clock; none where nothing was measured.
    pub saved: Option<f64>,
    /// What was the first finding where that was wrong: causes, or `nothing`.
    pub instead: Vec<String>,
}

/// How the interval scores of the pairs changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreChange {
    /// Pairs that have a score in both.
    pub pairs: u32,
    /// B's score less A's in the middle of the pairs (Hodges-Lehmann), with its 95 % interval by
    /// signed ranks; negative where B is better. Null with too few pairs.
    pub by: Option<EstimateInterval>,
    /// What the interval says of B.
    #[serde(with = "Words")]
    pub change: Change,
}

/// A pair that both held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabRow {
    /// Its name.
    pub name: String,
    /// The cause that its slow program has; null of a healthy one.
    pub cause: Option<String>,
    /// What it came to.
    #[serde(flatten)]
    pub figures: BothFigures,
    /// What is right in another part of the sittings of B than of A's.
    pub changes: Vec<RightChange>,
}

/// Something of which B was right more often than A, or less often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RightChange {
    /// What.
    pub what: Right,
    /// Whether B was right more often.
    pub better: bool,
}

/// What a sitting can be right about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// The cause is the first finding.
    FoundFirst,
    /// After the change it no longer is.
    GoneAfter,
    /// The measured saving lies in the predicted interval.
    Held,
    /// A counted saving has a high end of at most one and a half times its low end.
    Narrow,
    /// Nothing is claimed of a healthy program.
    NothingClaimed,
}

/// A pair that one of them did not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncomparedPair {
    /// Its name.
    pub name: String,
    /// The one that held it. None: neither.
    pub only: Option<Side>,
    /// Why there is nothing to compare.
    pub why: String,
}

words_in_json!(Words, WORDS);
