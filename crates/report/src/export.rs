//! Kept results in the formats of other tools: `dwell export`. One file a format; [`tables`] is what
//! CSV and Markdown have in common.
//!
//! A format holds less than a result does: what it leaves out is said beside the bytes, for the user
//! to read. Names are the program's own, so each goes through [`crate::clean`] or the escapes of the
//! format.

mod csv;
mod markdown;
pub(crate) mod proto;
pub mod tables;
mod tree;

pub use csv::csv;
pub use markdown::markdown;

/// A result in the format of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// What the format could not hold: sentences without a full stop.
    pub left_out: Vec<String>,
}
