//! Two ladders compared, rung by rung: the shape that `dwell diff --json` writes of them,
//! `dwell.ladder-diff/1`, listed in `docs/schema/dwell.ladder-diff.1.fields.txt`. Fields are added,
//! not renamed.

use super::{Change, ChangeWords, Difference, Side};
use crate::JsonSchema;
use crate::ladder::{MedianInterval, RungGroup};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_LADDER_DIFF: &str = "dwell.ladder-diff/1";

/// A rung gets faster or slower.
pub const WORDS: ChangeWords = ChangeWords { less: "faster", more: "slower" };

/// A rung that both measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Name of the rung; for a rung of a named host, `@` and the host follow.
    #[schemars(regex(pattern = r"^[a-z0-9-]+(@[\s\S]+)?$"))]
    pub id: String,
    /// Group of the rung.
    pub group: RungGroup,
    /// Nanoseconds for one operation.
    pub a_ns: MedianInterval,
    /// Nanoseconds of one operation, B.
    pub b_ns: MedianInterval,
    /// Ratio B/A, with its 95 % interval by the method of variance estimates recovery on the
    /// logarithms; null if a figure or the end of an interval is not above zero.
    pub ratio: Option<MedianInterval>,
    /// `faster`, `slower`: B is, the intervals do not overlap and the ratio is beyond the margin.
    /// `same`: the whole interval of the ratio is within the margin. `undecided`: neither.
    #[serde(with = "Words")]
    pub change: Change,
    /// What qualifies one of the two, unless it qualifies the other in the same words: sentences,
    /// where a second line is what to try.
    pub notes: Vec<String>,
}

/// A rung for which one of the two, or both, have no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Uncompared {
    /// Name of the rung; for a rung of a named host, `@` and the host follow.
    #[schemars(regex(pattern = r"^[a-z0-9-]+(@[\s\S]+)?$"))]
    pub id: String,
    /// Group of the rung.
    pub group: RungGroup,
    /// The side that has a figure. None: neither.
    pub only: Option<Side>,
    /// Why the other has none.
    pub why: String,
}

/// Where and when one of them was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LadderOrigin {
    /// The host's name.
    pub host: String,
    /// When it began: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
}

/// What `dwell diff --json` writes for two ladders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderComparison {
    /// [`SCHEMA_LADDER_DIFF`].
    pub schema: String,
    /// A, the reference.
    pub a: LadderOrigin,
    /// B, compared with A.
    pub b: LadderOrigin,
    /// Margin: a relative difference up to this counts as none.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub margin: f64,
    /// Other differences between the two: host, frequency, options.
    pub differences: Vec<Difference>,
    /// Rungs with a figure in both, in the order of the groups.
    pub rungs: Vec<Compared>,
    /// Rungs without a figure in one or both.
    pub uncompared: Vec<Uncompared>,
}

words_in_json!(Words, WORDS);
