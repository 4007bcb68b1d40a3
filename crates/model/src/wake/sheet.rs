//! A sheet: the same measurement under one load after the other.

use super::load::Load;
use super::{Asked, Wakeups};
use crate::recording::Host;
use crate::{Ns, Pid};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

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

/// The name of what an unfinished sheet is kept as.
pub const SCHEMA_UNFINISHED: &str = "dwell.wake-unfinished/1";

/// A sheet that is being measured: what is needed to go on with it. Not a promise to others, and gone when the sheet is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// [`SCHEMA_UNFINISHED`].
    pub schema: String,
    /// The version of dwell that measures.
    pub recorder: String,
    /// The process that measures, or did last.
    pub process: Pid,
    /// Where it is measured, and nowhere else.
    pub host: Host,
    /// What is asked for in each case, without its loads.
    pub asked: Asked,
    /// Idle states are left as they are.
    pub idle_states: bool,
    /// The kernel is not watched for what makes wake-ups late.
    pub no_spikes: bool,
    /// Where the result is to go.
    pub places: Places,
    /// All cases, and the results of those that were measured to their end.
    pub sheet: Sheet,
}

/// Where a result goes, form by form: files by their whole paths, `-` for standard output. Names of files need not be UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// All of it.
    pub json: Option<OsString>,
    /// A picture.
    pub svg: Option<OsString>,
    /// The same picture.
    pub png: Option<OsString>,
    /// The verdict.
    pub junit: Option<OsString>,
}
