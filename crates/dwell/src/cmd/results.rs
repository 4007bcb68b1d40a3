//! Results that were kept, read back: those of dwell are what their `schema` says, those of other tools what they look like.

use anyhow::{Context, anyhow, bail};
use model::compare::wake::Comparable;
use model::ladder::Ladder;
use model::wake::sheet::{SCHEMA_SHEET, Sheet};
use model::wake::{SCHEMA_WAKE, Wakeups};
use serde_json::Value;
use std::path::Path;
use store::unfinished::SCHEMA_UNFINISHED;

/// More is no result that could be compared: it takes ten times as much memory.
const BYTES_MAX: u64 = 256 << 20;
/// What to try where one of dwell's own is wanted.
const OWN: &str = "a file that --json wrote";
/// And where others are known as well.
const ANY: &str = "a file that dwell ladder --json or dwell wake --json wrote, or cyclictest (--json, -q, -h, --histfile), \
                   jitterdebugger, rtla timerlat hist or top, rtla osnoise hist";

/// A result that was kept.
pub(super) enum Kept {
    /// By dwell: the promise that it keeps, and all that is in it.
    Own(String, Value),
    /// By another tool that measures wake-ups.
    Other(Box<Comparable>),
}

/// The promise that a file of dwell's keeps, and all that is in it.
pub(super) fn read(path: &Path) -> anyhow::Result<(String, Value)> {
    own(path, &bytes(path)?, OWN)
}

/// What a file holds.
pub(super) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    store::read(path, BYTES_MAX).with_context(|| format!("cannot read {path:?}"))
}

fn own(path: &Path, bytes: &[u8], remedy: &str) -> anyhow::Result<(String, Value)> {
    let mut value: Value = serde_json::from_slice(bytes)
        .map_err(|error| anyhow!("{path:?} is not JSON: {error}\ntry: {remedy}"))?;
    // Of a sheet that is not done, what there is.
    if value["schema"] == SCHEMA_UNFINISHED {
        value = value["sheet"].take();
    }
    match value.get("schema").and_then(Value::as_str) {
        Some(schema) => Ok((schema.to_owned(), value)),
        None => bail!("{path:?} does not say what it is: it has no \"schema\"\ntry: {remedy}"),
    }
}

/// The same, or what another tool wrote.
pub(super) fn read_any(path: &Path) -> anyhow::Result<Kept> {
    use analyse::wake::import;
    let bytes = bytes(path)?;
    let failed = match own(path, &bytes, ANY) {
        Ok((schema, value)) => return Ok(Kept::Own(schema, value)),
        Err(failed) => failed,
    };
    match import::import(&String::from_utf8_lossy(&bytes)) {
        Ok(comparable) => Ok(Kept::Other(Box::new(comparable))),
        // Broken JSON that names none of them is as likely dwell's own.
        Err(import::Error::Unknown | import::Error::Line { .. })
            if bytes.trim_ascii_start().starts_with(b"{") =>
        {
            Err(failed)
        }
        Err(import::Error::Unknown) => Err(failed),
        Err(error) => {
            bail!("{path:?} cannot be read: {}\ntry: {ANY}", report::clean(&error.to_string(), false))
        }
    }
}

impl Kept {
    /// What it is, for a message.
    pub(super) fn what(&self) -> String {
        match self {
            Kept::Own(schema, _) => format!("{schema:?}"),
            Kept::Other(comparable) => format!("result of {}", comparable.origin.tool),
        }
    }

    /// Whether it is about wake-ups.
    pub(super) fn is_wake(&self) -> bool {
        match self {
            Kept::Own(schema, _) => [SCHEMA_WAKE, SCHEMA_SHEET].contains(&schema.as_str()),
            Kept::Other(_) => true,
        }
    }

    /// What it has of wake-ups that can be compared; it must be about them.
    pub(super) fn comparable(self, path: &Path) -> anyhow::Result<Comparable> {
        match self {
            Kept::Other(comparable) => Ok(*comparable),
            Kept::Own(schema, value) if schema == SCHEMA_SHEET => {
                let sheet: Sheet = said(path, serde_json::from_value(value))?;
                let none = || anyhow!("{path:?} is a sheet of which nothing was measured");
                analyse::wake::comparable_sheet(&sheet).with_context(none)
            }
            Kept::Own(_, value) => {
                Ok(analyse::wake::comparable(&said::<Wakeups>(path, serde_json::from_value(value))?))
            }
        }
    }
}

/// The ladder in a file whose schema is a ladder's.
pub(super) fn ladder(path: &Path, value: Value) -> anyhow::Result<Ladder> {
    said(path, serde_json::from_value(value))
}

fn said<T>(path: &Path, read: serde_json::Result<T>) -> anyhow::Result<T> {
    // The reason quotes what is in the file.
    read.map_err(|error| {
        anyhow!("{path:?} is not what its schema says: {}", report::clean(&error.to_string(), false))
    })
}
