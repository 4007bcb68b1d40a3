//! Two results compared, or the cases of two sheets: the shape that `dwell diff --json` writes of
//! them, `dwell.wake-diff/1`, listed in `docs/schema/dwell.wake-diff.1.fields.txt`. Fields are
//! added, not renamed.

use super::{Change, ChangeWords, Difference, Side};
use crate::wake::Wakes;
use crate::wake::load::Load;
use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of the schema.
pub const SCHEMA_WAKE_DIFF: &str = "dwell.wake-diff/1";

/// A wake-up gets earlier or later.
pub const WORDS: ChangeWords = ChangeWords { less: "earlier", more: "later" };

/// Where, when and by what one of them was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasurementOrigin {
    /// The host's name; empty where the source does not have it.
    pub host: String,
    /// Its kernel's release; empty likewise.
    pub kernel: String,
    /// When it began: RFC 3339, UTC; empty likewise.
    pub started_at: String,
    /// The tool that measured: `dwell`, `cyclictest`, `jitterdebugger`, `rtla timerlat`.
    pub tool: String,
}

/// The part of a result that can be compared. Results of other tools have no more than this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparable {
    /// Where it comes from.
    pub origin: MeasurementOrigin,
    /// Settings of the machine, in words; unknown ones are left out.
    pub settings: Vec<SettingText>,
    /// The cases of a sheet; of a plain result one, [`CaseName::Plain`].
    pub cases: Vec<ComparableCase>,
    /// What qualifies all of it: sentences without a full stop.
    pub limits: Vec<String>,
}

/// Which case it is. A sheet may have one that is called `all`; it is not that of a plain result.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub enum CaseName {
    /// The only case of a plain result: `all` in JSON.
    Plain,
    /// A case of a sheet.
    OfSheet(String),
}

/// The only case of a plain result in JSON.
const ALL: &str = "all";

impl CaseName {
    /// The name in JSON and in lists.
    pub fn as_str(&self) -> &str {
        match self {
            CaseName::Plain => ALL,
            CaseName::OfSheet(name) => name,
        }
    }
}

impl Serialize for CaseName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CaseName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(if name == ALL { CaseName::Plain } else { CaseName::OfSheet(name) })
    }
}

/// One case of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparableCase {
    /// Its name.
    pub name: CaseName,
    /// How it was measured: policy, interval, load.
    pub settings: Vec<SettingText>,
    /// The loads beside it. None where the tool does not report them.
    #[serde(default)]
    pub loads: Option<Vec<Load>>,
    /// All CPUs together.
    pub all: Wakes,
    /// One for each.
    pub threads: Vec<Wakes>,
}

/// A setting in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingText {
    /// Which.
    pub what: String,
    /// What it was.
    pub value: String,
}

/// A figure with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FigureInterval {
    /// The figure.
    pub ns: Ns,
    /// Low end.
    pub lo_ns: Ns,
    /// High end.
    pub hi_ns: Ns,
}

/// A percentile of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantile {
    /// `p50`, `p99`, `p99.9` and so on.
    pub name: String,
    /// The share of wake-ups that are not later: 0.5.
    #[schemars(range(min = 0, max = 1))]
    pub share: f64,
    /// Of A. Unseen where it has too few wake-ups for it.
    pub a: Seen<FigureInterval>,
    /// Of B.
    pub b: Seen<FigureInterval>,
    /// B minus A in nanoseconds. Unseen where one of them is.
    pub later_ns: Seen<i64>,
    /// Low end of the 95 % interval of the difference.
    pub later_lo_ns: Seen<i64>,
    /// High end of the 95 % interval of the difference.
    pub later_hi_ns: Seen<i64>,
    /// How it changed.
    #[serde(with = "Words")]
    pub change: Change,
}

/// The maximum latencies of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Maxima {
    /// Of A.
    pub a_ns: Seen<Ns>,
    /// Of B.
    pub b_ns: Seen<Ns>,
    /// Blocks of time (without a timeline: wake-ups) of the one with the larger maximum that are
    /// beyond the maximum of the other.
    pub beyond: u64,
    /// The probability of that if both had the same distribution. Unseen where nothing can be
    /// counted.
    #[schemars(with = "Seen<crate::shape::Fraction>")]
    pub chance: Seen<f64>,
    /// How it changed.
    #[serde(with = "Words")]
    pub change: Change,
}

/// One case of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseDiff {
    /// The case of a sheet; plain for two plain results.
    pub name: CaseName,
    /// Differences between the two measurements: policy, interval, load. They may explain a
    /// difference in figures.
    pub differences: Vec<Difference>,
    /// All wake-ups of A.
    pub a: Wakes,
    /// Of B.
    pub b: Wakes,
    /// From the median to the rarest.
    pub quantiles: Vec<Quantile>,
    /// The maximum latency.
    pub maxima: Maxima,
    /// What qualifies it: sentences without a full stop.
    pub notes: Vec<String>,
}

/// A case that only one of two sheets has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmatchedCase {
    /// Name of the case.
    pub name: CaseName,
    /// The sheet that has it.
    pub only: Side,
}

/// What `dwell diff A B --json` writes for two results of `dwell wake`, or for two sheets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakeComparison {
    /// [`SCHEMA_WAKE_DIFF`].
    pub schema: String,
    /// The first: the reference.
    pub a: MeasurementOrigin,
    /// B, compared with A.
    pub b: MeasurementOrigin,
    /// The names by which both were given: files, or IDs. Empty in older results.
    #[serde(default)]
    pub names: [String; 2],
    /// A relative difference up to this counts as none, as does one up to `margin_ns`.
    #[schemars(range(min = 0))]
    pub margin: f64,
    /// An absolute one.
    pub margin_ns: Ns,
    /// Differences between hosts and their settings.
    pub differences: Vec<Difference>,
    /// Cases that both have; one for two plain results.
    pub cases: Vec<CaseDiff>,
    /// Cases that only one of them has.
    pub uncompared: Vec<UnmatchedCase>,
}

words_in_json!(Words, WORDS);
