//! Exact executions of the lines of a Python program: the result of `dwell run --hits`.
//!
//! The JSON is a public contract, listed in `docs/schema/dwell.hits.1.fields.txt`: fields are
//! added, not renamed. It has what is on the page, and no counts of other lines.

use crate::recording::Host;
use crate::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name of the schema of `dwell run --hits --json`.
pub const SCHEMA_HITS: &str = "dwell.hits/1";

/// What `dwell run --hits --json` writes, and what is kept of it: exact executions of the lines of
/// a Python program and of its Python children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hits {
    /// [`SCHEMA_HITS`].
    pub schema: String,
    /// The host.
    pub host: Host,
    /// When it began: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// The program and its arguments. Bytes that are no UTF-8 are replaced.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// The function that was asked for; none for the lines with the most hits only.
    pub function: Option<String>,
    /// Functions of that name, the one with the most hits first. None may have been executed.
    pub functions: Vec<HitFunction>,
    /// The lines with the most hits, most first; those in Python's import system are left out.
    pub lines: Vec<HotLine>,
    /// The other lines that were hit, outside of Python's import system.
    pub other: OtherLines,
    /// Hits of lines in Python's import system.
    pub import_hits: u64,
    /// All hits.
    pub hits: u64,
    /// Processes that were counted, by Python's version.
    #[schemars(extend("additionalProperties" = {"type": "integer", "minimum": 1}))]
    pub versions: BTreeMap<String, u64>,
    /// How long the program was counted. It says nothing of how long it takes.
    pub elapsed_ns: Ns,
    /// The program went on in spite of a signal that asked for its end: later hits are missing.
    pub went_on: bool,
    /// Hits of lines that did not fit into the table of a process.
    pub lost: u64,
    /// Whether lines of signal handlers and finalizers may be missing, as with some versions of
    /// Python.
    pub disturbed: bool,
    /// Python processes that could not be counted, by reason.
    #[schemars(extend("additionalProperties" = {"type": "integer", "minimum": 1}))]
    pub uncounted: BTreeMap<String, u64>,
}

/// A line that was hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HotLine {
    /// The file as the program names it.
    pub file: String,
    /// Its number, from 1.
    pub line: u32,
    /// Its function.
    pub function: String,
    /// Executions.
    #[schemars(range(min = 1))]
    pub hits: u64,
    /// Its text, at most 400 characters; null where the file could not be read or has no such line.
    pub source: Option<String>,
}

/// Lines that are only summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherLines {
    /// How many.
    pub lines: u64,
    /// Their hits.
    pub hits: u64,
}

/// A function with all its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HitFunction {
    /// Its qualified name.
    pub name: String,
    /// The file as the program names it.
    pub file: String,
    /// From its first line to its last, without gaps.
    pub lines: Vec<FunctionLine>,
}

/// A line of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionLine {
    /// Its number, from 1.
    pub line: u32,
    /// Executions; none where the line has no code of its own.
    pub hits: Option<u64>,
    /// Its text, at most 400 characters; null where the file could not be read or has no such line.
    pub source: Option<String>,
}
