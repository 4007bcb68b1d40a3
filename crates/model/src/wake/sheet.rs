//! A sheet: the same measurement under one load after another.

use super::Wakeups;
use super::load::Load;
use crate::Ns;
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_SHEET: &str = "dwell.wake-sheet/1";

/// One case of a sheet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Unique in its sheet: `idle`, `sched`, `memory-2`.
    pub name: String,
    /// The loads; none: idle.
    #[serde(default)]
    pub loads: Vec<Load>,
}

/// A sheet and the cases measured so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// [`SCHEMA_SHEET`].
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The duration of each case.
    pub for_ns: Ns,
    /// All cases, in order.
    pub cases: Vec<Case>,
    /// The results, in the order of the cases; fewer where it was interrupted.
    pub results: Vec<Wakeups>,
}
