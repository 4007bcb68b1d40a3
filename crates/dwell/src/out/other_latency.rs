//! What another tool measured of latency, as a result.

use super::kind::{Kind, typed};
use super::render::{Form, Render};
use model::compare::wake::Comparable;
use report::Look;
use report::export::tables::Tables;
use serde_json::Value;
use std::path::Path;

/// What such a result is called, which has no name of a schema.
pub(crate) const OTHER_LATENCY: &str = "latency of another tool";

/// The result, and its text as JSON.
#[derive(Debug)]
pub(crate) struct OtherLatency {
    result: Comparable,
    json: Value,
}

impl Render for OtherLatency {
    fn page(&self, look: Look) -> String {
        report::compare::other_latency(&self.result, look)
    }

    const FORMS: &'static [Form<Self>] = &[Form::html(|other| {
        let page = other.page(Look::PLAIN);
        report::html::plain("other", OTHER_LATENCY, &page, &other.json).into_bytes()
    })];
}

impl Kind for OtherLatency {
    const SCHEMAS: &'static [&'static str] = &[OTHER_LATENCY];

    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        Ok(Self { result: typed(path, json.clone())?, json })
    }

    fn tables(&self) -> Tables {
        Tables::of(&self.result)
    }
}
