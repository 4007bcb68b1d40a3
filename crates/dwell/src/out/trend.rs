//! The kept results of a command over time, as a result.

use super::kind::{Kind, typed};
use super::render::{Form, Render};
use model::trend::{SCHEMA_TREND, Trend};
use report::Look;
use report::export::tables::Tables;
use serde_json::Value;
use std::path::Path;

/// The trend, and commands that are called nearly so where there is none.
#[derive(Debug)]
pub(crate) struct TrendResult {
    pub(crate) trend: Trend,
    pub(crate) near: Vec<String>,
}

impl Render for TrendResult {
    fn page(&self, look: Look) -> String {
        report::trend::terminal(&self.trend, &self.near, look)
    }

    /// As many lines as were asked for.
    fn screen(&self, look: Look) -> String {
        self.page(look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(&result.trend).into_bytes()),
        Form::html(|result| {
            let text = result.page(Look::PLAIN);
            report::html::plain("trend", "dwell list --trend", &text, &result.trend).into_bytes()
        }),
    ];
}

impl Kind for TrendResult {
    const SCHEMAS: &'static [&'static str] = &[SCHEMA_TREND];

    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        Ok(Self { trend: typed(path, json)?, near: Vec::new() })
    }

    fn tables(&self) -> Tables {
        Tables::of(&self.trend)
    }
}
