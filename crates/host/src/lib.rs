//! What `/proc` and `/sys` say of a machine and of the calling process, as typed values.
//!
//! Readers take the two roots, so that other machines are tested from files. A value that could not
//! be read is an [`Error`] with the file's name, never a zero. Figures that are read many times a
//! second have a parser of their text ([`stat`], [`fields`]), for callers that keep the file open.
//!
//! What a traced program's processes do is left to `observe`; nothing here is compared or judged.

#![forbid(unsafe_code)]

pub mod counters;
pub mod cpus;
pub mod fields;
mod identity;
pub mod machine;
pub mod memory;
pub mod own;
pub mod pressure;
pub mod stat;

pub use cpus::online as cpus;
pub use identity::{identity, under_hypervisor};

use model::Seen;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where the kernel shows itself.
#[derive(Debug, Clone, Copy)]
pub struct Roots<'a> {
    /// `/proc`.
    pub proc: &'a Path,
    /// `/sys`.
    pub sys: &'a Path,
}

/// This machine's.
pub fn here() -> Roots<'static> {
    Roots { proc: Path::new("/proc"), sys: Path::new("/sys") }
}

/// Why a value is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// By kind.
        kind: ErrorKind,
        /// In the system's words.
        why: String,
    },
    /// The file does not have what it is read for.
    #[error("{} does not state {what}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What it should have.
        what: &'static str,
    },
}

impl Error {
    /// Whether there is no such file.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Unreadable { kind: ErrorKind::NotFound, .. })
    }
}

/// A value that was read, or why it was not.
pub fn seen<T>(read: Result<T, impl ToString>) -> Seen<T> {
    read.map_or_else(|why| Seen::Unseen(why.to_string()), Seen::Value)
}

/// The text of a file without white space at its ends. Bytes that are not UTF-8 are replaced.
///
/// # Errors
/// It cannot be read.
pub fn text(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(|error| Error::Unreadable {
        path: path.to_owned(),
        kind: error.kind(),
        why: error.to_string(),
    })?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The text of a file; where there is no such file, or it is empty, the kernel has no such thing.
pub fn optional(path: &Path) -> Seen<String> {
    match text(path) {
        Ok(text) if text.is_empty() => Seen::Absent,
        Ok(text) => Seen::Value(text),
        Err(error) if error.is_not_found() => Seen::Absent,
        Err(error) => Seen::unseen(error.to_string()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The roots of a machine whose files are kept in `tests/data`.
    pub(crate) struct Kept {
        proc: PathBuf,
        sys: PathBuf,
    }

    impl Kept {
        pub(crate) fn new(name: &str) -> Self {
            let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
            Self { proc: top.join("proc"), sys: top.join("sys") }
        }

        pub(crate) fn roots(&self) -> Roots<'_> {
            Roots { proc: &self.proc, sys: &self.sys }
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_absent_and_one_that_cannot_be_read_is_unseen() {
        let board = Kept::new("board");
        assert_eq!(optional(&board.proc.join("none")), Seen::Absent);
        let unseen = optional(&board.proc);
        assert!(matches!(&unseen, Seen::Unseen(why) if why.contains("cannot read")), "{unseen:?}");
        let version = optional(&board.proc.join("version"));
        assert_eq!(version, Seen::Value("Linux version 6.6.0".to_owned()));
    }
}
