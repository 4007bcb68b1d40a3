//! What every format gives.

/// A result in the format of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// What the format could not hold: sentences without a full stop.
    pub left_out: Vec<String>,
}
