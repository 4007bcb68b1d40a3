//! The standard input of a command that runs again: what the first run read must be there again.

use rustix::fs::{FileType, SeekFrom, fstat, seek};
use std::io::stdin;

/// A standard input that each run can have from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A file, read from here on.
    File(u64),
    /// A terminal, another device such as `/dev/null`, or nothing.
    Device,
}

impl Input {
    /// That of this process, to be asked for before the first run.
    ///
    /// # Errors
    /// What was read from it is gone: a pipe, a socket.
    pub fn of_this_process() -> Result<Self, &'static str> {
        // A closed one is as good as an empty one.
        let Ok(stat) = fstat(stdin()) else { return Ok(Self::Device) };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                seek(stdin(), SeekFrom::Current(0)).map(Self::File).map_err(|_| "a file without positions")
            }
            FileType::Fifo => Err("a pipe"),
            FileType::Socket => Err("a socket"),
            _ => Ok(Self::Device),
        }
    }

    /// Goes back to where the first run began.
    pub(crate) fn rewind(self) {
        if let Self::File(at) = self {
            let _ = seek(stdin(), SeekFrom::Start(at));
        }
    }
}
