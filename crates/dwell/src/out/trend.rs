//! The kept results of a command over time, as a result.

use super::render::{Form, Render};
use model::trend::Trend;
use report::Look;

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

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<TrendResult>] = &[Form::json(|result| report::json(&result.trend).into_bytes())];
        FORMS
    }
}
