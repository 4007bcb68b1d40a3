//! Exact counts as results.

use super::render::{Form, Render};
use listing::CountedBlocks;
use model::hits::Hits;
use report::Look;

/// Executions of lines.
#[derive(Debug)]
pub(crate) struct HitsResult(pub(crate) Hits);

impl Render for HitsResult {
    fn page(&self, look: Look) -> String {
        report::hits::terminal(&self.0, look)
    }

    /// What was asked for is shown whole.
    fn screen(&self, look: Look) -> String {
        self.page(look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<HitsResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| {
                let text = result.page(Look::PLAIN);
                report::html::plain("hits", "dwell run --hits", &text, &result.0).into_bytes()
            }),
        ];
        FORMS
    }
}

/// Executions of basic blocks.
#[derive(Debug)]
pub(crate) struct BlocksResult(pub(crate) CountedBlocks);

impl Render for BlocksResult {
    fn page(&self, look: Look) -> String {
        report::blocks::terminal(&self.0, look)
    }

    /// What was asked for is shown whole.
    fn screen(&self, look: Look) -> String {
        self.page(look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<BlocksResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| {
                let text = result.page(Look::PLAIN);
                report::html::plain("blocks", "dwell run --count-blocks", &text, &result.0).into_bytes()
            }),
        ];
        FORMS
    }
}
