//! A measurement of latency, and a sheet of them, as results.

use super::path::Paths;
use super::render::{Form, Render};
use anyhow::bail;
use model::wake::Wakeups;
use model::wake::sheet::Sheet;
use report::Look;
use report::wake as pages;

/// The option that writes the verdict.
const JUNIT: &str = "junit";
const JUNIT_HELP: &str =
    "Write the verdict as JUnit XML to FILE. One test per case and CPU; undecided is an error";

/// One measurement.
#[derive(Debug)]
pub(crate) struct WakeResult(pub(crate) Wakeups);

impl Render for WakeResult {
    fn page(&self, look: Look) -> String {
        pages::terminal(&self.0, look)
    }

    fn screen(&self, look: Look) -> String {
        pages::screen(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<WakeResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| report::html::wakes(std::slice::from_ref(&result.0)).into_bytes()),
            Form::svg(|result| pages::svg(&result.0).into_bytes()),
            Form::png(|result| pages::png(&result.0)),
            Form::new(JUNIT, JUNIT_HELP, |result| pages::junit(&result.0).into_bytes()),
        ];
        FORMS
    }
}

/// A sheet, and the path of its JSON for the page.
#[derive(Debug)]
pub(crate) struct SheetResult {
    pub(crate) sheet: Sheet,
    pub(crate) json: Option<String>,
}

impl Render for SheetResult {
    fn page(&self, look: Look) -> String {
        pages::sheet_terminal(&self.sheet, look, self.json.as_deref())
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<SheetResult>] = &[
            Form::json(|result| report::json(&result.sheet).into_bytes()),
            Form::html(|result| {
                report::html::plain("sheet", "dwell wake --sheet", &result.page(Look::PLAIN), &result.sheet)
                    .into_bytes()
            }),
            Form::svg(|result| pages::sheet_svg(&result.sheet).into_bytes()),
            Form::png(|result| pages::sheet_png(&result.sheet)),
            Form::new(JUNIT, JUNIT_HELP, |result| pages::sheet_junit(&result.sheet).into_bytes()),
        ];
        FORMS
    }
}

/// Checks that `--junit` has a verdict to write.
pub(crate) fn junit_has_verdict(paths: &Paths, deadline: bool, remedy: &str) -> anyhow::Result<()> {
    if paths.contains_key(JUNIT) && !deadline {
        bail!("--junit needs a deadline: it writes the verdict\ntry: {remedy}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_the_forms_of_one_measurement() {
        let one: Vec<_> = WakeResult::forms().iter().map(|form| form.name).collect();
        let sheet: Vec<_> = SheetResult::forms().iter().map(|form| form.name).collect();
        assert_eq!(one, sheet, "dwell wake has one set of options for both");
    }
}
