//! What is counted: the whole program, or one function. Finding it in memory is left to `tracer`.

use std::ops::Range;
use std::path::PathBuf;

/// What to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every instruction of the program.
    Program,
    /// The instructions of one function.
    Function(FunctionRanges),
}

/// A function's machine code, by offsets in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionRanges {
    /// The file, by its full path.
    pub file: PathBuf,
    /// Its entry.
    pub entry: u64,
    /// All its parts: compilers move cold code elsewhere (`name.cold`).
    pub parts: Vec<Range<u64>>,
}

impl FunctionRanges {
    /// Whether an offset in the file is in it.
    pub(super) fn has(&self, offset: u64) -> bool {
        self.parts.iter().any(|part| part.contains(&offset))
    }
}
