//! A sheet: the same measurement under one load after another.

use super::Wakeups;
use super::load::Load;
use crate::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA_SHEET: &str = "dwell.wake-sheet/1";

/// One case of a sheet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// Unique in its sheet: `idle`, `sched`, `memory-2`.
    pub name: String,
    /// Stress loads during the case; empty: idle.
    #[serde(default)]
    pub loads: Vec<Load>,
}

/// What `dwell wake --sheet --json` writes: a sheet and the cases measured so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sheet {
    /// [`SCHEMA_SHEET`].
    pub schema: String,
    /// Name of the sheet.
    pub name: String,
    /// The duration of each case.
    pub for_ns: Ns,
    /// All cases, in order.
    pub cases: Vec<Case>,
    /// Results, in the order of the cases, each as `dwell.wake/1`; fewer than cases if the run was
    /// interrupted.
    pub results: Vec<Wakeups>,
}
