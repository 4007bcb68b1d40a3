//! Why there is no recording, and the exit status for it.

use crate::access;
use sys::spawn;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started.
    #[error(transparent)]
    Start(#[from] spawn::Error),
    /// The requested source is unavailable; the program was not started.
    #[error("cannot record from {tier}: {why}\ntry: {remedy}")]
    Refused {
        /// `bpf`, `perf` or `proc`; `/proc` where it is what all need.
        tier: &'static str,
        /// The system's error.
        why: String,
        /// What would change it.
        remedy: String,
    },
    /// The target may not be inspected.
    #[error("cannot watch {target}: {why}\ntry: {remedy}")]
    Denied {
        /// The target.
        target: String,
        /// Who owns it.
        why: String,
        /// What would change it.
        remedy: String,
    },
    /// No process of the target is left.
    #[error("{0} is gone")]
    Gone(String),
    /// The program could not be waited for.
    #[error("cannot watch the program")]
    Watch(#[from] std::io::Error),
}

impl From<access::AccessDenial> for Error {
    /// A requirement of all sources is missing.
    fn from(wall: access::AccessDenial) -> Self {
        Error::Refused { tier: "/proc", why: wall.why, remedy: wall.remedy }
    }
}

impl Error {
    /// The exit status for it, as in timeout(1).
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Start(error) => error.exit_code(),
            Error::Refused { .. } | Error::Denied { .. } | Error::Gone(_) | Error::Watch(_) => 125,
        }
    }
}
