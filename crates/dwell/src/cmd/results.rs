//! Results that were kept as JSON, read back: what they are is what their `schema` says.

use anyhow::{Context, anyhow, bail};
use model::ladder::Ladder;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The promise that a file keeps, and all that is in it.
pub(super) fn read(path: &Path) -> anyhow::Result<(String, Value)> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {path:?}"))?;
    let value: Value = serde_json::from_slice(&bytes)
        .with_context(|| format!("{path:?} is not JSON\ntry: a file that --json wrote"))?;
    match value.get("schema").and_then(Value::as_str) {
        Some(schema) => Ok((schema.to_owned(), value)),
        None => {
            bail!("{path:?} does not say what it is: it has no \"schema\"\ntry: a file that --json wrote")
        }
    }
}

/// The ladder in a file whose schema is a ladder's.
pub(super) fn ladder(path: &Path, value: Value) -> anyhow::Result<Ladder> {
    // The reason quotes what is in the file.
    serde_json::from_value(value).map_err(|error| {
        anyhow!("{path:?} is not what its schema says: {}", report::clean(&error.to_string(), false))
    })
}
