//! Rows of the code that ran, and the sums of page faults: what the list of tables and the run
//! share.

use crate::code_location::Runtime;
use crate::{JsonSchema, Pid};
use serde::{Deserialize, Serialize};

/// Page faults of the tree, until the end of the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Faults {
    /// Minor: served without IO.
    pub minor: u64,
    /// Major: served with IO.
    pub major: u64,
}

/// A share of the samples, with its 95 % interval. All 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Estimate.
    #[schemars(range(min = 0, max = 1))]
    pub value: f64,
    /// Low end.
    #[schemars(range(min = 0, max = 1))]
    pub lo: f64,
    /// High end.
    #[schemars(range(min = 0, max = 1))]
    pub hi: f64,
}

/// One function of the code table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionRow {
    /// Function name.
    pub name: String,
    /// The file that contains it.
    pub module: String,
    /// `user` or `kernel`.
    #[schemars(extend("enum" = ["user", "kernel"]))]
    pub mode: String,
    /// Its share of time on a CPU, without callees.
    pub share: Share,
    /// Samples in the function itself.
    pub samples: u64,
    /// Share of the time on a CPU, with callees.
    #[serde(default)]
    pub total: Option<Share>,
    /// Present where the row is no function but all code of a JIT that has no name. `name` is then
    /// `[jit:RUNTIME]`, or `[jit]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed: Option<UnnamedRow>,
    /// It is the program's own code, and not a library's, a runtime's or the kernel's.
    #[serde(default)]
    pub own: bool,
}

/// The unnamed code that a row of the functions stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnnamedRow {
    /// What made it.
    pub runtime: Runtime,
    /// The processes that have such code, in order; none in older recordings.
    pub pids: Vec<Pid>,
}

/// One source line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LineRow {
    /// Source file.
    pub file: String,
    /// Line number, from 1.
    #[schemars(range(min = 1))]
    pub line: u32,
    /// The function that it is in.
    pub function: String,
    /// Its language.
    pub language: String,
    /// Its share of time on a CPU, including callees without line information.
    pub share: Share,
    /// Samples in the line, as for `share`.
    pub samples: u64,
    /// Share of the time on a CPU, with all callees.
    #[serde(default)]
    pub total: Option<Share>,
    /// Whether it is the program's own code.
    #[serde(default)]
    pub own: bool,
}
