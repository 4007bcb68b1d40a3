//! Two ladders compared, rung by rung: the shape that `dwell diff --json` writes of
//! them, `dwell.ladder-diff/1`, described by `docs/schema/dwell.ladder-diff.1.json`. Fields are
//! added, not renamed.

use super::{Change, ChangeWords, Difference, Side};
use crate::ladder::{MedianInterval, RungGroup};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_LADDER_DIFF: &str = "dwell.ladder-diff/1";

/// A rung gets faster or slower.
pub const WORDS: ChangeWords = ChangeWords { less: "faster", more: "slower" };

/// A rung that both measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Its public name.
    pub id: String,
    /// Its group.
    pub group: RungGroup,
    /// Nanoseconds for one operation.
    pub a_ns: MedianInterval,
    /// The same of B.
    pub b_ns: MedianInterval,
    /// B by A, with its 95 % interval. None where a figure or the end of an interval is not above
    /// zero.
    pub ratio: Option<MedianInterval>,
    /// How it changed.
    #[serde(with = "words")]
    pub change: Change,
    /// What qualifies one of the two and not the other. Sentences without a full stop.
    pub notes: Vec<String>,
}

/// A rung for which one of the two, or both, have no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncompared {
    /// Its public name.
    pub id: String,
    /// Its group.
    pub group: RungGroup,
    /// The side that has a figure. None: neither.
    pub only: Option<Side>,
    /// Why the other has none.
    pub why: String,
}

/// Where and when one of them was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LadderOrigin {
    /// The host's name.
    pub host: String,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
}

/// The comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LadderComparison {
    /// [`SCHEMA_LADDER_DIFF`].
    pub schema: String,
    /// The first.
    pub a: LadderOrigin,
    /// The second.
    pub b: LadderOrigin,
    /// Relative differences up to this count as none.
    pub margin: f64,
    /// Other differences: hosts, frequency, requests.
    pub differences: Vec<Difference>,
    /// In the order of the groups.
    pub rungs: Vec<Compared>,
    /// The others.
    pub uncompared: Vec<Uncompared>,
}

words_in_json!(words, super::WORDS);
