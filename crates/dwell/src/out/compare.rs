//! Commands that were compared, as a result.

use super::render::{Form, Render};
use model::compare::commands::Comparison;
use report::{Look, compare};

/// The comparison.
#[derive(Debug)]
pub(crate) struct CompareResult(pub(crate) Comparison);

impl Render for CompareResult {
    fn page(&self, look: Look) -> String {
        compare::commands(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<CompareResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| report::html::comparisons(std::slice::from_ref(&result.0)).into_bytes()),
            Form::new("csv", "Write each run as a row of CSV to FILE", |result| {
                compare::commands_csv(&result.0).into_bytes()
            }),
            Form::new("markdown", "Write the commands as a table in Markdown to FILE", |result| {
                compare::commands_markdown(&result.0).into_bytes()
            }),
            Form::new(
                "hyperfine",
                "Write the runs as JSON of hyperfine 2, for its scripts, to FILE",
                |result| compare::commands_hyperfine(&result.0).into_bytes(),
            ),
        ];
        FORMS
    }
}
