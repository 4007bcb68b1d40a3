//! Two runs beside each other: the shape that `dwell diff --json` writes of them,
//! `dwell.run-diff/1`, described by `docs/schema/dwell.run-diff.1.json`. Fields are added, not
//! renamed.

use super::Difference;
use super::why::Why;
use crate::Ns;
use crate::recording::Ending;
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_RUN_DIFF: &str = "dwell.run-diff/1";

/// Where and when one of them was observed, and what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The host's name.
    pub host: String,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its exit status.
    pub exit: Ending,
    /// Its wall clock.
    pub wall_ns: Ns,
}

/// The comparison. It has no verdict: one run has no spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunComparison {
    /// [`SCHEMA_RUN_DIFF`].
    pub schema: String,
    /// The first: the reference.
    pub a: RunOrigin,
    /// The second.
    pub b: RunOrigin,
    /// Other differences: hosts, commands, what was observed.
    pub differences: Vec<Difference>,
    /// Where the difference of the walls lies.
    pub why: Why,
}
