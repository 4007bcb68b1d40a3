//! A load as a result.

use super::render::{Form, IN_A_PAGE, Render};
use model::wake::load::LoadRun;
use report::Look;

/// The rate of a load.
#[derive(Debug)]
pub(crate) struct LoadResult(pub(crate) LoadRun);

impl Render for LoadResult {
    fn page(&self, look: Look) -> String {
        report::load::terminal(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<LoadResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| {
                report::html::plain("load", "dwell load", &result.page(IN_A_PAGE), &result.0).into_bytes()
            }),
        ];
        FORMS
    }
}
