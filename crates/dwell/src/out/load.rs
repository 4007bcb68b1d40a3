//! A load as a result.

use super::render::{Form, Render};
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
            Form::html(|result| report::html::loads(std::slice::from_ref(&result.0)).into_bytes()),
        ];
        FORMS
    }
}
