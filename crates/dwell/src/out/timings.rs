//! A file of hyperfine as a result.

use super::kind::Kind;
use super::render::{Form, Render};
use anyhow::anyhow;
use model::compare::timings::{HYPERFINE, Timings};
use report::Look;
use report::export::tables::Tables;
use serde_json::Value;
use std::path::Path;

/// What hyperfine timed, and its file.
#[derive(Debug)]
pub(crate) struct TimingsResult {
    pub(crate) timings: Timings,
    json: Value,
}

impl Render for TimingsResult {
    fn page(&self, look: Look) -> String {
        report::compare::timings::one(&self.timings, look)
    }

    const FORMS: &'static [Form<Self>] = &[Form::html(|result| {
        report::html::plain("other", HYPERFINE, &result.page(Look::PLAIN), &result.json).into_bytes()
    })];
}

impl Kind for TimingsResult {
    const SCHEMAS: &'static [&'static str] = &[HYPERFINE];

    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        let timings = analyse::compare::timings::hyperfine(&json).map_err(|error| {
            anyhow!("{path:?} cannot be read: {}", report::clean(&error.to_string(), false))
        })?;
        Ok(Self { timings, json })
    }

    fn tables(&self) -> Tables {
        Tables::of(&self.timings)
    }
}
