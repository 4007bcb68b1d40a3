//! The kept results of one command over time: the shape that `dwell list --trend --json` writes,
//! `dwell.trend/1`, listed in `docs/schema/dwell.trend.1.fields.txt`. Fields are added, not
//! renamed.

use crate::compare::commands::{CompareSettings, ComparedCommand};
use crate::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_TREND: &str = "dwell.trend/1";

/// What `dwell list --trend --json` writes: the wall clock of one command in the results that were
/// kept, the oldest first. Nothing is concluded from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// [`SCHEMA_TREND`].
    pub schema: String,
    /// The version of dwell that put it together.
    pub dwell: String,
    /// The command that was asked for.
    pub command: String,
    /// Each result, or each side of one, the oldest first.
    pub results: Vec<TrendRow>,
    /// Whether there are older results than these.
    pub more: bool,
    /// Results of the command that are not among them, by reason.
    pub left_out: LeftOut,
}

/// A result, or a side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendRow {
    /// The ID of the result, for `dwell show`.
    pub id: String,
    /// When it was kept: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub at: String,
    /// The verb: `run` or `compare`.
    #[schemars(extend("enum" = ["run", "compare"]))]
    pub verb: String,
    /// Which side of a comparison; none of a run.
    pub side: Option<TrendSide>,
    /// The name of the host.
    pub host: String,
    /// The kernel's release.
    pub kernel: String,
    /// Runs that the figure is of.
    pub runs: u32,
    /// The median of their wall clocks; of one run its wall clock.
    pub median_ns: Ns,
    /// The 95 % interval of the median. None of one run.
    pub interval_ns: Option<TrendInterval>,
}

/// A side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendSide {
    /// Its place among the commands, from 0.
    pub place: u32,
    /// As it is called.
    pub name: String,
    /// The parameters that it was made with: names and values.
    pub parameters: Vec<(String, String)>,
}

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendInterval {
    /// Its low end.
    pub lo: Ns,
    /// Its high end.
    pub hi: Ns,
}

/// What is left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Comparisons of another figure than the wall clock.
    pub other_figure: u64,
    /// Sides of comparisons without a run that counts.
    pub without_runs: u64,
    /// Results that cannot be read.
    pub unreadable: u64,
}

/// What a trend takes of a comparison.
#[derive(Debug, Clone, Deserialize)]
pub struct ComparedSides {
    /// What was asked for.
    pub settings: CompareSettings,
    /// The commands.
    pub commands: Vec<ComparedCommand>,
}
