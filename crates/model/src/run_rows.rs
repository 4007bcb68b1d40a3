//! Rows of the code that ran, and the sums of page faults: what the list of tables and the run
//! share.

use crate::Pid;
use crate::code_location::Runtime;
use serde::{Deserialize, Serialize};

/// Page faults of the tree, until the end of the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Served without IO.
    pub minor: u64,
    /// That needed IO.
    pub major: u64,
}

/// A share of the samples, with its 95 % interval. All 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Estimate.
    pub value: f64,
    /// Low end.
    pub lo: f64,
    /// High end.
    pub hi: f64,
}

/// One function of the code table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionRow {
    /// Its name.
    pub name: String,
    /// The file that has it.
    pub module: String,
    /// `user` or `kernel`.
    pub mode: String,
    /// Its share of time on a CPU, without callees.
    pub share: Share,
    /// Number of samples.
    pub samples: u64,
    /// The same with callees.
    #[serde(default)]
    pub total: Option<Share>,
    /// It is no function, but all code of a JIT that has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed: Option<UnnamedRow>,
    /// It is the program's own code, and not a library's, a runtime's or the kernel's.
    #[serde(default)]
    pub own: bool,
}

/// The unnamed code that a row of the functions stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnnamedRow {
    /// What made it.
    pub runtime: Runtime,
    /// The processes that have such code, in order; none in older recordings.
    pub pids: Vec<Pid>,
}

/// One source line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineRow {
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The function that it is in.
    pub function: String,
    /// Its language.
    pub language: String,
    /// Its share of time on a CPU, including callees without line information.
    pub share: Share,
    /// Number of samples.
    pub samples: u64,
    /// The same with all callees.
    #[serde(default)]
    pub total: Option<Share>,
    /// It is the program's own code.
    #[serde(default)]
    pub own: bool,
}
