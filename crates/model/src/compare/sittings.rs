//! Several comparisons of the same commands, each a sitting of its own: the shape that `dwell diff
//! --json` writes of them, `dwell.compare-diff/1`, listed in
//! `docs/schema/dwell.compare-diff.1.fields.txt`. Fields are added, not renamed.

use super::{Change, Difference, EstimateInterval, commands};
use crate::JsonSchema;
use crate::timing::Figure;
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_COMPARE_DIFF: &str = "dwell.compare-diff/1";

/// What `dwell diff --json` writes for two or more results of `dwell compare --json`: sittings of
/// the same commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sittings {
    /// [`SCHEMA_COMPARE_DIFF`].
    pub schema: String,
    /// The sittings, in the order of the command line.
    pub sittings: Vec<Sitting>,
    /// Differences between the first and another: hosts, commands, settings.
    pub differences: Vec<SittingDifference>,
    /// Each command that all of them compared with the first one.
    pub rows: Vec<SittingsRow>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sitting {
    /// The file.
    pub file: String,
    /// The host's name.
    pub host: String,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// The figure that was compared.
    pub on: Figure,
}

/// What differs between the first sitting and another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SittingDifference {
    /// The other: from 1, where 0 is the first.
    #[schemars(range(min = 1))]
    pub sitting: u32,
    /// What.
    #[serde(flatten)]
    pub difference: Difference,
}

/// A command compared with the first, in each sitting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SittingsRow {
    /// The reference, by its name in the first sitting.
    pub a: String,
    /// The other, likewise.
    pub b: String,
    /// One for each sitting.
    pub results: Vec<SittingResult>,
    /// How far the ratios of the sittings differ. None with fewer than two ratios.
    pub spread: Option<SittingSpread>,
}

/// What a sitting said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SittingResult {
    /// Pairs that counted.
    pub pairs: u32,
    /// B by A. None with too few pairs for an interval.
    pub ratio: Option<EstimateInterval>,
    /// The verdict on B.
    #[serde(with = "Words")]
    pub verdict: Change,
}

/// Ratios of several sittings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SittingSpread {
    /// Their median.
    pub median: f64,
    /// The smallest.
    pub lo: f64,
    /// The largest.
    pub hi: f64,
    /// The standard deviation of their logarithms by what the intervals of the sittings explain of
    /// it: 1 where a sitting tells what another will find. None where an interval has no width.
    #[schemars(range(min = 0))]
    pub between_by_within: Option<f64>,
}

words_in_json!(Words, commands::WORDS);
