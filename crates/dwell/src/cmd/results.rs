//! The reader of kept results: those of dwell by their `schema`, those of other tools by their
//! form.

use super::named;
use crate::keep::ResultStore;
use crate::out::{self, Kept, Kind, OTHER_LATENCY};
use analyse::compare::timings;
use analyse::wake::import;
use anyhow::{anyhow, bail};
use model::compare::timings::HYPERFINE;
use model::compare::wake::Comparable;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use store::unfinished::SCHEMA_UNFINISHED;

/// The largest file. In memory a result takes ten times its size.
const BYTES_MAX: u64 = 256 << 20;
/// The remedy where a result of dwell is expected.
const OWN: &str = "a file written by --json";
/// The remedy where results of other tools are accepted as well.
const ANY: &str = "a file written by dwell ladder --json, dwell run --json, dwell compare --json or dwell \
                   wake --json, or by cyclictest (--json, -q, -h, --histfile), jitterdebugger, rtla \
                   timerlat hist or top, rtla osnoise hist, hyperfine (--export-json)";

/// A kept result whose kind is known and whose content is not read yet.
pub(super) struct Unread {
    path: PathBuf,
    /// The name of its JSON. Of hyperfine: [`HYPERFINE`].
    pub(super) schema: String,
    json: Value,
}

impl Unread {
    /// Whether it is of this kind.
    pub(super) fn is<K: Kind>(&self) -> bool {
        K::SCHEMAS.contains(&self.schema.as_str())
    }

    /// Reads it as one of this kind.
    pub(super) fn read<K: Kind>(self) -> anyhow::Result<K> {
        K::read(&self.path, self.json)
    }

    /// Reads it, of whatever kind.
    pub(super) fn any(self) -> anyhow::Result<Box<dyn Kept>> {
        out::read(&self.path, &self.schema, self.json)
    }
}

/// The results in a file, or of an ID: a page has one or several, any other file one.
pub(super) fn all(path: &Path, keeper: &ResultStore) -> anyhow::Result<Vec<Unread>> {
    let bytes = kept(path, keeper)?;
    if report::html::is_page(&bytes) {
        return of_page(path, &bytes);
    }
    let unread = match of_text(path, &bytes, OWN)? {
        Comparand::Own(unread) => unread,
        Comparand::Other(result) => Unread {
            path: path.to_owned(),
            schema: OTHER_LATENCY.to_owned(),
            json: serde_json::to_value(&*result)?,
        },
    };
    Ok(vec![unread])
}

/// The result in these bytes, which are kept elsewhere under this name.
pub(super) fn read(path: &Path, bytes: &[u8]) -> anyhow::Result<Box<dyn Kept>> {
    own(path, bytes, OWN)?.any()
}

fn of_page(path: &Path, bytes: &[u8]) -> anyhow::Result<Vec<Unread>> {
    texts(path, bytes)?.into_iter().map(|json| own(path, json.as_bytes(), OWN)).collect()
}

/// The JSON in a page.
fn texts(path: &Path, bytes: &[u8]) -> anyhow::Result<Vec<String>> {
    let page = String::from_utf8_lossy(bytes);
    let results: Vec<String> = report::html::results(&page).into_iter().map(str::to_owned).collect();
    if results.is_empty() {
        bail!("{path:?} is a page without a result of dwell\ntry: a page of dwell report, or {OWN}");
    }
    Ok(results)
}

/// The text of a result, as it was written.
pub(super) fn json(path: &Path, keeper: &ResultStore) -> anyhow::Result<Vec<u8>> {
    let bytes = kept(path, keeper)?;
    if !report::html::is_page(&bytes) {
        return Ok(bytes);
    }
    Ok(one(path, texts(path, &bytes)?)?.into_bytes())
}

/// The only one of them.
///
/// # Errors
/// There are several.
pub(super) fn one<T>(path: &Path, mut results: Vec<T>) -> anyhow::Result<T> {
    match (results.pop(), results.is_empty()) {
        (Some(result), true) => Ok(result),
        _ => bail!("{path:?} is a page of several results\ntry: a page of one, or {OWN}"),
    }
}

/// The content of a file.
pub(super) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    store::read(path, BYTES_MAX).map_err(|error| match error.kind() {
        ErrorKind::NotFound => named::missing(path, "a file written by --json, or an ID in dwell list"),
        _ => anyhow!(error).context(format!("cannot read {path:?}")),
    })
}

/// The content of a kept result, or of a file.
pub(super) fn kept(path: &Path, keeper: &ResultStore) -> anyhow::Result<Vec<u8>> {
    match named::json(path, keeper)? {
        Some(json) => Ok(json),
        None => bytes(path),
    }
}

fn own(path: &Path, bytes: &[u8], remedy: &str) -> anyhow::Result<Unread> {
    let mut value: Value = serde_json::from_slice(bytes)
        .map_err(|error| anyhow!("{path:?} {}\ntry: {remedy}", why_no_json(bytes, &error)))?;
    // An unfinished sheet holds the sheet so far.
    if value["schema"] == SCHEMA_UNFINISHED {
        value = value["sheet"].take();
    }
    let schema = match value.get("schema").and_then(Value::as_str) {
        Some(schema) => schema.to_owned(),
        None if timings::is_hyperfine(&value) => HYPERFINE.to_owned(),
        None => bail!("{path:?} is not a result of dwell: it has no \"schema\"\ntry: {remedy}"),
    };
    Ok(Unread { path: path.to_owned(), schema, json: value })
}

/// What a file is that cannot be read as JSON.
fn why_no_json(bytes: &[u8], error: &serde_json::Error) -> String {
    let text = bytes.trim_ascii_start();
    let at = format!("line {}, column {}", error.line(), error.column());
    if text.is_empty() {
        "is empty".to_owned()
    } else if bytes.starts_with(store::MAGIC) {
        "is a recording, not a result: dwell show takes it".to_owned()
    } else if !text.starts_with(b"{") && !text.starts_with(b"[") {
        "is no result: neither JSON nor the text of a tool that is known".to_owned()
    } else if error.is_eof() {
        format!("is cut off: its JSON ends early, in {at}")
    } else {
        format!("is damaged: its JSON cannot be read on from {at}")
    }
}

/// A result of dwell, or what another tool measured of latency.
pub(super) enum Comparand {
    Own(Unread),
    Other(Box<Comparable>),
}

impl Comparand {
    /// What it is, for a message.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Own(unread) if unread.schema == HYPERFINE => unread.schema.clone(),
            Self::Own(unread) => format!("{:?}", unread.schema),
            Self::Other(comparable) => format!("result of {}", comparable.origin.tool),
        }
    }

    /// Whether it is of this kind.
    pub(super) fn is<K: Kind>(&self) -> bool {
        matches!(self, Self::Own(unread) if unread.is::<K>())
    }
}

/// A result of dwell or of another tool, to be compared.
pub(super) fn comparand(path: &Path, keeper: &ResultStore) -> anyhow::Result<Comparand> {
    let bytes = kept(path, keeper)?;
    if report::html::is_page(&bytes) {
        return one(path, of_page(path, &bytes)?).map(Comparand::Own);
    }
    of_text(path, &bytes, ANY)
}

/// What is in a file that is no page; `remedy`: what else to take, where that is nothing known.
fn of_text(path: &Path, bytes: &[u8], remedy: &str) -> anyhow::Result<Comparand> {
    let text = String::from_utf8_lossy(bytes);
    let unquoted = import::unquoted(&text);
    // As it was written, where that can be read: an error is told of the file.
    let failed = match own(path, bytes, remedy)
        .or_else(|error| own(path, unquoted.as_bytes(), remedy).map_err(|_| error))
    {
        Ok(unread) => return Ok(Comparand::Own(unread)),
        Err(failed) => failed,
    };
    match import::import(&text) {
        Ok(comparable) => Ok(Comparand::Other(Box::new(comparable))),
        // Broken JSON of no known tool may well be dwell's.
        Err(import::Error::Unknown | import::Error::Line { .. })
            if bytes.trim_ascii_start().starts_with(b"{") =>
        {
            Err(failed)
        }
        Err(import::Error::Unknown) => Err(failed),
        Err(error) => {
            bail!("{path:?} cannot be read: {}\ntry: {remedy}", report::clean(&error.to_string(), false))
        }
    }
}
