//! Recordings on disk: written as a stream, readable by all later versions.
//!
//! A file is the line [`MAGIC`] and then blocks (see `block`): the header as JSON, events in blocks
//! of about 64 KiB as `postcard` encodes them, the trailer as JSON and, where not all events were
//! kept, the whole result as JSON. Each block has its length and a checksum, so that a file whose
//! writer was killed can be read up to its last whole block, and is reported as incomplete.
//!
//! What this requires of `model`: an [`Event`](model::Event) variant keeps its place and its
//! fields, because their encoding names neither; additions are new variants at the end. The header
//! and the trailer are JSON and may get fields, with a default. A reader skips block kinds that it
//! does not know.
//!
//! The results of all verbs are in a store of their own (see [`results`]). Where that is not used,
//! the last ladder of a host is kept in a separate file (see [`ladder`]), and a sheet of wake-ups
//! while it is measured (see [`unfinished`]).
//!
//! This crate reads only the time of events, and analyses nothing.

mod block;
pub mod fuzzed;
pub mod ladder;
mod reader;
pub mod results;
pub mod unfinished;
mod writer;

pub use reader::{Incomplete, Notice, Reader, RecordingEnd};
pub use writer::{KeptRecording, Writer};

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The first line of every recording. Its number is raised only when the block structure changes.
pub const MAGIC: &[u8] = b"dwell recording 1\n";

/// The default limit of events, in bytes.
pub const DEFAULT_LIMIT_BYTES: u64 = 200_000_000;

/// The newest `Header::format` that this version reads.
const FORMAT: u32 = 1;

/// Why a recording cannot be written or opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused to write it.
    #[error(
        "cannot write recording {path:?}: {said}\ntry: --keep FILE on a disk with room, or --keep-limit SIZE"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        said: io::Error,
    },
    /// The system refused to read it.
    #[error("cannot read recording {path:?}: {said}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        said: io::Error,
    },
    /// It is something else.
    #[error("cannot read {path:?}: it is not a recording of dwell\ntry: a file written by dwell run --keep")]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// It ends, or is damaged, within its header.
    #[error("cannot read recording {path:?}: its header is {how}")]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// `cut off` or `damaged`.
        how: &'static str,
    },
    /// A later dwell wrote it.
    #[error(
        "cannot read recording {path:?}: it has format {format}, and this dwell reads up to {FORMAT}\ntry: the dwell that recorded it, {recorder}, or a later one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
        /// The version that wrote it.
        recorder: String,
    },
}

/// The content of a file, if that is no more than `most_bytes`: some files are endless.
///
/// # Errors
/// The system's error, or that it is larger.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    whole(&File::open(path)?, most_bytes)
}

fn whole(file: &File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let found = file.metadata()?;
    let known_to_be_more = found.is_file() && found.len() > most_bytes;
    if !known_to_be_more {
        file.take(most_bytes + 1).read_to_end(&mut bytes)?;
    }
    if known_to_be_more || bytes.len() as u64 > most_bytes {
        let more = format!("it holds more than {} MiB", most_bytes >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, more));
    }
    Ok(bytes)
}

/// The directory that it is in.
///
/// # Errors
/// When it is the root directory.
pub fn above(path: &Path) -> io::Result<&Path> {
    let above = path.parent().ok_or(ErrorKind::InvalidInput)?;
    Ok(if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        std::fs::write(&path, [7; 9]).unwrap();
        assert_eq!(read(&path, 9).unwrap(), [7; 9]);
        assert_eq!(read(&path, 8).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let endless = read(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(endless.to_string(), "it holds more than 1 MiB");
    }
}
