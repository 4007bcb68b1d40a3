//! The last ladder of a host: one file of JSON, as `dwell ladder --json` writes it.
//!
//! It is written to a temporary file and then renamed, so a reader finds the old or the new one,
//! whole, even when the writer is killed. The file's name distinguishes hosts that share a home
//! directory without identifying them.

use model::Ladder;
use model::Seen;
use model::ladder::SCHEMA_LADDER;
use model::recording::Host;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A larger file is not a ladder of dwell.
const MAX_BYTES: u64 = 4 << 20;

/// Why a ladder cannot be saved.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot keep the ladder in {path:?}: {said}\ntry: dwell ladder --no-keep, or XDG_CACHE_HOME set to another directory"
)]
pub struct LadderSaveError {
    /// Its path.
    pub path: PathBuf,
    /// The system's error.
    pub said: io::Error,
}

/// Why no kept ladder can be used. The texts are parts of a sentence.
#[derive(Debug, thiserror::Error)]
pub enum LadderLoadError {
    /// None was measured.
    #[error("no ladder of this host is kept")]
    None,
    /// The system refused to read it.
    #[error("the kept ladder {path:?} cannot be read: {said}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        said: String,
    },
    /// It is damaged, or something else.
    #[error("{0:?} is not a dwell ladder")]
    NotALadder(PathBuf),
    /// Another version of dwell wrote it.
    #[error("the kept ladder is of another version of dwell: {0:?}")]
    Version(String),
    /// The host has changed since.
    #[error("the kept ladder is of another {what}: {was:?}")]
    Other {
        /// `CPU` or `kernel`.
        what: &'static str,
        /// Its value then.
        was: String,
    },
}

/// The name of the file for a host: [`model::origin::machine_number`] says from what.
pub fn file_name(machine: &str, cpu: &Seen<String>) -> String {
    format!("ladder-{}.json", model::origin::machine_number(machine, cpu))
}

/// Keeps `ladder` at `path`, in place of what was there; makes the directory.
///
/// # Errors
/// The system's error, with the path.
pub fn keep(path: &Path, ladder: &Ladder) -> Result<(), LadderSaveError> {
    let put = || -> io::Result<()> {
        let dir = crate::above(path)?;
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut file = tempfile::Builder::new().prefix(".ladder-").tempfile_in(dir)?;
        file.write_all(&serde_json::to_vec(ladder)?)?;
        file.persist(path)?;
        Ok(())
    };
    put().map_err(|said| LadderSaveError { path: path.to_owned(), said })
}

/// The ladder kept at `path`, if it is of this host as it is now.
///
/// # Errors
/// Why there is none.
pub fn kept(path: &Path, host: &Host, cpu: &Seen<String>) -> Result<Ladder, LadderLoadError> {
    let refused =
        |said: io::Error| LadderLoadError::Unreadable { path: path.to_owned(), said: said.to_string() };
    let bytes = match crate::read(path, MAX_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(LadderLoadError::None),
        read => read.map_err(refused)?,
    };
    of_host(&bytes, path, host, cpu)
}

/// A ladder that was kept elsewhere, if it is of this host as it is now; `path` is its name in
/// errors.
///
/// # Errors
/// Why it is not.
pub fn of_host(
    bytes: &[u8],
    path: &Path,
    host: &Host,
    cpu: &Seen<String>,
) -> Result<Ladder, LadderLoadError> {
    let not_one = || LadderLoadError::NotALadder(path.to_owned());
    // The version first: the rest may differ in other versions.
    let any: serde_json::Value = serde_json::from_slice(bytes).map_err(|_| not_one())?;
    match any["schema"].as_str() {
        Some(SCHEMA_LADDER) => {}
        Some(other) => return Err(LadderLoadError::Version(other.to_owned())),
        None => return Err(not_one()),
    }
    let ladder: Ladder = serde_json::from_value(any).map_err(|_| not_one())?;
    if ladder.machine.cpu != *cpu {
        let was = ladder.machine.cpu.value().map_or("not known", String::as_str).to_owned();
        return Err(LadderLoadError::Other { what: "CPU", was });
    }
    if ladder.host.kernel != host.kernel {
        return Err(LadderLoadError::Other { what: "kernel", was: ladder.host.kernel });
    }
    Ok(ladder)
}
