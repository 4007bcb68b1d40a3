//! Commands whose runs were timed by another tool, one command after the other: what is read of
//! such a file, and two of them side by side, in the shape that `dwell diff --json` writes:
//! `dwell.timings-diff/1`, listed in `docs/schema/dwell.timings-diff.1.fields.txt`. Fields are
//! added, not renamed.

use crate::JsonSchema;
use crate::ladder::MedianInterval;
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_TIMINGS_DIFF: &str = "dwell.timings-diff/1";

/// In place of a schema: the JSON of hyperfine has none that says so.
pub const HYPERFINE: &str = "JSON of hyperfine";

/// The commands of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Who timed them: `hyperfine, JSON version 1`.
    pub tool: String,
    /// The commands, in their order.
    pub commands: Vec<TimedCommand>,
}

/// A command, with the wall clock of its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedCommand {
    /// As it is called.
    pub name: String,
    /// Its runs, all of which count.
    pub runs: u32,
    /// Of these, the ones that ended with another status than 0. Of dwell compare none counts.
    pub failed: u32,
    /// Their median, in ns, with its 95 % interval.
    pub median_ns: MedianInterval,
    /// The smallest and the largest, in ns.
    #[schemars(with = "(crate::shape::NotNegative, crate::shape::NotNegative)")]
    pub range_ns: (f64, f64),
}

/// What `dwell diff --json` writes of two files of which one at least is hyperfine's: the wall
/// clocks of commands of the same name. There is no verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimingsDiff {
    /// [`SCHEMA_TIMINGS_DIFF`].
    pub schema: String,
    /// The first file.
    pub a: TimingsOrigin,
    /// The second.
    pub b: TimingsOrigin,
    /// Each command that both have, in the order of A.
    pub rows: Vec<TimingsRow>,
    /// Commands of A alone.
    pub only_a: Vec<String>,
    /// Commands of B alone.
    pub only_b: Vec<String>,
}

/// Where timings are from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimingsOrigin {
    /// The file.
    pub file: String,
    /// Who timed: `hyperfine, JSON version 1`.
    pub tool: String,
}

/// A command in both files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimingsRow {
    /// The command.
    pub name: String,
    /// What A has.
    pub a: TimedCommand,
    /// What B has.
    pub b: TimedCommand,
    /// B's median by A's. None where that is 0.
    pub ratio: Option<f64>,
}
