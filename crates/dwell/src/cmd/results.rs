//! The reader of kept results: those of dwell by their `schema`, those of other tools by their
//! form.

use super::named;
use crate::keep::Keeper;
use analyse::compare::timings;
use anyhow::{Context, anyhow, bail};
use model::compare::commands::Comparison;
use model::compare::timings::{HYPERFINE, Timings};
use model::compare::wake::Comparable;
use model::lab::LabScore;
use model::ladder::Ladder;
use model::run::{SCHEMA_ATTACH, SCHEMA_RUN};
use model::wake::sheet::{SCHEMA_SHEET, Sheet};
use model::wake::{SCHEMA_WAKE, Wakeups};
use model::{KeptRun, RunResult};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::Path;
use store::unfinished::SCHEMA_UNFINISHED;

/// The largest file. In memory a result takes ten times its size.
const BYTES_MAX: u64 = 256 << 20;
/// The remedy where a result of dwell is expected.
const OWN: &str = "a file written by --json";
/// The remedy where results of other tools are accepted as well.
const ANY: &str = "a file written by dwell ladder --json, dwell run --json, dwell compare --json or dwell \
                   wake --json, or by cyclictest (--json, -q, -h, --histfile), jitterdebugger, rtla \
                   timerlat hist or top, rtla osnoise hist, hyperfine (--export-json)";

/// A kept result.
pub(super) enum KeptResult {
    /// Of dwell: its schema and its content. Of hyperfine: [`HYPERFINE`] in place of a schema.
    Own(String, Value),
    /// Of another tool that measures latency.
    Other(Box<Comparable>),
}

/// The schema and the content of a result of dwell.
pub(super) fn read(path: &Path, keeper: &Keeper) -> anyhow::Result<(String, Value)> {
    one(path, all(path, keeper)?)
}

/// The same of each result in a file: a page has one or several, any other file one.
pub(super) fn all(path: &Path, keeper: &Keeper) -> anyhow::Result<Vec<(String, Value)>> {
    let bytes = kept(path, keeper)?;
    if report::html::is_page(&bytes) { of_page(path, &bytes) } else { Ok(vec![own(path, &bytes, OWN)?]) }
}

fn of_page(path: &Path, bytes: &[u8]) -> anyhow::Result<Vec<(String, Value)>> {
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
pub(super) fn json(path: &Path, keeper: &Keeper) -> anyhow::Result<Vec<u8>> {
    let bytes = kept(path, keeper)?;
    if !report::html::is_page(&bytes) {
        return Ok(bytes);
    }
    Ok(one(path, texts(path, &bytes)?)?.into_bytes())
}

/// The only one of them.
fn one<T>(path: &Path, mut results: Vec<T>) -> anyhow::Result<T> {
    match (results.pop(), results.is_empty()) {
        (Some(result), true) => Ok(result),
        _ => bail!("{path:?} is a page of several results\ntry: a page of one, or {OWN}"),
    }
}

/// A score of the lab. One that was not finished has no total yet.
pub(super) fn score(path: &Path, value: Value) -> anyhow::Result<LabScore> {
    let score: LabScore = typed(path, value)?;
    Ok(LabScore { total: analyse::lab::total(&score.rows), ..score })
}

/// The content of a file.
pub(super) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    store::read(path, BYTES_MAX).map_err(|error| match error.kind() {
        ErrorKind::NotFound => named::missing(path, "a file written by --json, or an ID in dwell list"),
        _ => anyhow!(error).context(format!("cannot read {path:?}")),
    })
}

/// The content of a kept result, or of a file.
pub(super) fn kept(path: &Path, keeper: &Keeper) -> anyhow::Result<Vec<u8>> {
    match named::json(path, keeper)? {
        Some(json) => Ok(json),
        None => bytes(path),
    }
}

fn own(path: &Path, bytes: &[u8], remedy: &str) -> anyhow::Result<(String, Value)> {
    let mut value: Value = serde_json::from_slice(bytes)
        .map_err(|error| anyhow!("{path:?} {}\ntry: {remedy}", why_no_json(bytes, &error)))?;
    // An unfinished sheet holds the sheet so far.
    if value["schema"] == SCHEMA_UNFINISHED {
        value = value["sheet"].take();
    }
    match value.get("schema").and_then(Value::as_str) {
        Some(schema) => Ok((schema.to_owned(), value)),
        None if timings::is_hyperfine(&value) => Ok((HYPERFINE.to_owned(), value)),
        None => bail!("{path:?} is not a result of dwell: it has no \"schema\"\ntry: {remedy}"),
    }
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

/// A result of dwell or of another tool.
pub(super) fn read_any(path: &Path, keeper: &Keeper) -> anyhow::Result<KeptResult> {
    use analyse::wake::import;
    let bytes = kept(path, keeper)?;
    if report::html::is_page(&bytes) {
        return one(path, of_page(path, &bytes)?).map(|(schema, value)| KeptResult::Own(schema, value));
    }
    let failed = match own(path, &bytes, ANY) {
        Ok((schema, value)) => return Ok(KeptResult::Own(schema, value)),
        Err(failed) => failed,
    };
    match import::import(&String::from_utf8_lossy(&bytes)) {
        Ok(comparable) => Ok(KeptResult::Other(Box::new(comparable))),
        // Broken JSON of no known tool may well be dwell's.
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

impl KeptResult {
    /// Its kind, for a message.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Own(schema, _) if schema == HYPERFINE => schema.clone(),
            Self::Own(schema, _) => format!("{schema:?}"),
            Self::Other(comparable) => format!("result of {}", comparable.origin.tool),
        }
    }

    /// Whether it is a result of dwell with this schema.
    pub(super) fn is_of(&self, of: &str) -> bool {
        matches!(self, Self::Own(schema, _) if schema == of)
    }

    /// Whether it is a measurement of latency.
    pub(super) fn is_wake(&self) -> bool {
        match self {
            Self::Own(schema, _) => [SCHEMA_WAKE, SCHEMA_SHEET].contains(&schema.as_str()),
            Self::Other(_) => true,
        }
    }

    /// Its figures for a comparison; it must be a measurement of latency.
    pub(super) fn comparable(self, path: &Path) -> anyhow::Result<Comparable> {
        match self {
            Self::Other(comparable) => Ok(*comparable),
            Self::Own(schema, value) if schema == SCHEMA_SHEET => {
                let sheet: Sheet = typed(path, value)?;
                let none = || anyhow!("{path:?} is a sheet without any measured case");
                analyse::wake::comparable_sheet(&sheet).with_context(none)
            }
            Self::Own(_, value) => Ok(analyse::wake::comparable(&typed::<Wakeups>(path, value)?)),
        }
    }
}

/// The ladder in a file with the schema of a ladder.
pub(super) fn ladder(path: &Path, value: Value) -> anyhow::Result<Ladder> {
    typed(path, value)
}

/// The run in a file with the schema of a run, or of a window. It contradicts itself where somebody
/// changed the file.
pub(super) fn run(path: &Path, value: Value) -> anyhow::Result<RunResult> {
    analyse::whole(typed::<KeptRun>(path, value)?)
        .map_err(|error| anyhow!("{path:?} was changed since it was written: {error}"))
}

/// The same of a kept result that is one run and nothing else.
pub(super) fn only_run(path: &Path, keeper: &Keeper) -> anyhow::Result<Option<RunResult>> {
    let mut results = all(path, keeper)?;
    match results.pop() {
        Some((schema, value)) if results.is_empty() && is_run(&schema) => run(path, value).map(Some),
        _ => Ok(None),
    }
}

/// Whether this is the schema of a run, or of a window.
pub(super) fn is_run(schema: &str) -> bool {
    [SCHEMA_RUN, SCHEMA_ATTACH].contains(&schema)
}

/// The comparison in a file with the schema of one.
pub(super) fn comparison(path: &Path, value: Value) -> anyhow::Result<Comparison> {
    typed(path, value)
}

/// Commands that another tool timed, from its file or from a comparison of dwell.
pub(super) fn timings(path: &Path, schema: &str, value: Value) -> anyhow::Result<Timings> {
    let timings = match schema {
        HYPERFINE => timings::hyperfine(&value),
        _ => timings::of_comparison(&comparison(path, value)?),
    };
    timings.map_err(|error| anyhow!("{path:?} cannot be read: {}", report::clean(&error.to_string(), false)))
}

/// What a result is by its schema, or why it is not that.
pub(super) fn typed<T: DeserializeOwned>(path: &Path, value: Value) -> anyhow::Result<T> {
    // The error may quote the file.
    serde_json::from_value(value).map_err(|error| {
        anyhow!("{path:?} does not match its schema: {}", report::clean(&error.to_string(), false))
    })
}
