//! Why a store cannot be used.

use super::schema::SCHEMA;
use std::io;
use std::path::PathBuf;

/// Why a store cannot be used. The texts are parts of a sentence.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("{path:?}: {said}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        said: io::Error,
    },
    /// It belongs to somebody else, or others may write to it.
    #[error("{path:?} is not for this user alone: {why}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It is something else.
    #[error("{0:?} is not a store of dwell\ntry: another file (--store FILE), or without (--no-store)")]
    NotAStore(PathBuf),
    /// A later dwell made it.
    #[error(
        "{path:?} is of a newer dwell (version {version}; this one writes {SCHEMA}), which is read and never written\n\
         try: that dwell, or another file (--store FILE)"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// Somebody else is writing.
    #[error("{0:?} is locked by another process")]
    Busy(PathBuf),
    /// There is no room.
    #[error("{0:?}: the disk is full\ntry: dwell store --limit SIZE, or --store FILE elsewhere")]
    Full(PathBuf),
    /// It may only be read.
    #[error("{0:?} may only be read")]
    ReadOnly(PathBuf),
    /// It was changed by something else, or its disk failed.
    #[error(
        "{path:?} is damaged: {said}\ntry: dwell store --check, or move the file away: dwell then makes a new one"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        said: String,
    },
    /// Anything else.
    #[error("{path:?}: {said}")]
    Other {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        said: String,
    },
}
