//! Rows of tables that stand for several, where a result would grow too large without.
//!
//! Times and counts of such a row are the sums of the rows that it stands for. Quantiles are the
//! largest of theirs: no less than that of all.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a row of the path stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacesTogether {
    /// How many rows.
    pub places: u64,
    /// Threads that they are of.
    pub threads: u64,
}

/// What a row of the table of threads stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadsTogether {
    /// How many threads.
    pub threads: u64,
    /// How many of them lead a process.
    pub processes: u64,
}

/// How the note begins that says in words what was done so that tables stay small.
pub const TABLES_SHORTENED: &str = "tables are shortened";

/// What was done so that a table stays small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Folded {
    /// The table, by its name in JSON, or `stacks of waits`.
    pub table: String,
    /// Its rows that were put together.
    pub rows: u64,
    /// Rows that stand for them; 0 where they are in a sum beside the table, or left out.
    pub into: u64,
}
