//! Exact executions of basic blocks: the result of `dwell run --count-blocks`.
//!
//! The JSON is a public contract, listed in `docs/schema/dwell.blocks.1.fields.txt`: fields are
//! added, not renamed. It has what is on the page, and no counts of other functions' blocks.

use crate::listing::Listing;
use model::recording::Host;
use model::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};

/// The name of the schema of `dwell run --count-blocks --json`.
pub const SCHEMA_BLOCKS: &str = "dwell.blocks/1";

/// What `dwell run --count-blocks --json` writes, and what is kept of it: exact executions of the
/// basic blocks of a function, or of those of a program that execute most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedBlocks {
    /// [`SCHEMA_BLOCKS`].
    pub schema: String,
    /// The host.
    pub host: Host,
    /// When it began: RFC 3339, UTC.
    #[schemars(with = "model::shape::Utc")]
    pub started_at: String,
    /// The program and its arguments. Bytes that are no UTF-8 are replaced.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// The function that was counted; none where all of the program was.
    pub function: Option<CountedFunction>,
    /// Executed instructions by function, most first, at most 15. Empty where one function was
    /// counted.
    pub functions: Vec<FunctionSum>,
    /// The functions that are not in `functions`.
    pub other: OtherFunctions,
    /// Executed instructions that belong to no named function.
    pub unnamed: Vec<UnnamedSum>,
    /// The function that was asked for, or the first ones of `functions`, block by block. Empty if
    /// the program never loaded the file of the function.
    pub listings: Vec<Listing>,
    /// Instructions that were stepped.
    pub steps: u64,
    /// How long the program was stepped. It says nothing of how long it takes.
    pub elapsed_ns: Ns,
    /// Child processes, which were not counted.
    pub children: u64,
    /// Why counting ended.
    pub stopped: Stopped,
}

impl CountedBlocks {
    /// Steps per second of counting; none when it took no time.
    pub fn steps_per_s(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.steps as f64 / (self.elapsed_ns as f64 / 1e9))
    }
}

/// A function that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedFunction {
    /// As it was asked for: `NAME` or `NAME@FILE`.
    pub asked: String,
    /// The file that has it.
    pub file: String,
    /// Whether the program loaded that file. If not, nothing was counted.
    pub loaded: bool,
}

/// Executed instructions of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionSum {
    /// Its name.
    pub name: String,
    /// Its file, as named in the program's maps.
    pub module: String,
    /// Executed instructions.
    pub instructions: u64,
}

/// Functions that are only summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherFunctions {
    /// How many.
    pub functions: u64,
    /// Their executed instructions.
    pub instructions: u64,
}

/// Executed instructions of a file that belong to no named function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnnamedSum {
    /// The file, as named in the program's maps; empty for memory without a file.
    pub module: String,
    /// Executed instructions.
    pub instructions: u64,
}

/// Why counting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// The program ended: the counts are complete.
    Ended,
    /// The limit of steps or of time was reached.
    Limit,
    /// The program went on in spite of a signal that asked for its end.
    Signal,
    /// It executed a program with rights of its own.
    Entrusted,
    /// It reached an instruction that cannot be stepped.
    Unsteppable,
}
