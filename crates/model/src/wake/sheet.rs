//! A sheet: the same measurement under one load after the other.

use super::Wakeups;
use super::load::Load;
use crate::Ns;
use serde::{Deserialize, Serialize};

/// The name of the promise.
pub const SCHEMA_SHEET: &str = "dwell.wake-sheet/1";

/// One case of a sheet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Unique in its sheet: `idle`, `sched`, `memory-2`.
    pub name: String,
    /// What the machine does meanwhile; nothing: idle.
    #[serde(default)]
    pub loads: Vec<Load>,
}

/// A sheet and as much of it as was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// [`SCHEMA_SHEET`].
    pub schema: String,
    /// What it is called.
    pub name: String,
    /// Of each case.
    pub for_ns: Ns,
    /// All cases, in order.
    pub cases: Vec<Case>,
    /// What was measured, in the order of the cases; fewer where it was ended early.
    pub results: Vec<Wakeups>,
}
