//! Wake-ups as a result, and sheets of them.

use super::kind::{Export, Kind, Rows, json_as_it_is, typed};
use super::ladder::PICTURE;
use super::path::Paths;
use super::render::{Form, Render, in_form};
use super::row::row;
use analyse::identity;
use anyhow::bail;
use model::Seen;
use model::wake::sheet::{SCHEMA_SHEET, Sheet};
use model::wake::verdict::Answer;
use model::wake::{SCHEMA_WAKE, Wakeups};
use report::Look;
use report::export::tables::Tables;
use report::export::{self, Exported};
use report::wake as pages;
use serde_json::Value;
use std::path::Path;
use store::results::NewResult;

/// The option that writes the verdict.
const JUNIT: &str = "junit";
const JUNIT_HELP: &str =
    "Write the verdict as JUnit XML to FILE. One test per case and CPU; undecided is an error";

impl Render for Wakeups {
    fn page(&self, look: Look) -> String {
        pages::terminal(self, look)
    }

    fn screen(&self, look: Look) -> String {
        pages::screen(self, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(result).into_bytes()),
        Form::html(|result| report::html::wakes(&[result]).into_bytes()),
        Form::svg(|result| pages::svg(result).into_bytes()),
        Form::png(pages::png),
        Form::new(JUNIT, JUNIT_HELP, |result| pages::junit(result).into_bytes()),
    ];
}

impl Kind for Wakeups {
    json_as_it_is!(SCHEMA_WAKE, report::html::wakes);

    fn exports(&self) -> &'static [Export<Self>] {
        const EXPORTS: &[Export<Wakeups>] = &[
            Export::own("hdr", |wakeups, _| Ok(Some(export::hdr_of_wakeups(wakeups)))),
            Export::form("svg", PICTURE),
            Export::form("png", PICTURE),
            Export::own(JUNIT, |wakeups, path| verdict(wakeups, [wakeups], path)),
        ];
        EXPORTS
    }

    fn rows(&self, beside: &tables::Kept, options: tables::Options) -> Option<Rows> {
        Some(rows_of(self, beside, options).map(|rows| vec![rows]))
    }

    fn row(&self) -> Option<NewResult> {
        Some(NewResult {
            command: loads(self.loads.iter().map(|done| done.load.spec())),
            wall_ns: Some(self.took_ns),
            verdict: answer(self).map(word),
            finding: self.interrupted.then(|| "interrupted".to_owned()),
            ..row("wake", &self.host, &self.schema, report::json(self))
        })
    }
}

fn rows_of(
    wakeups: &Wakeups,
    beside: &tables::Kept,
    options: tables::Options,
) -> Result<tables::ResultTables, tables::NoTime> {
    let id = identity::known(&wakeups.origin, || identity::of_wakeups(wakeups));
    tables::wakeups(wakeups, &tables::Kept { id, ..beside.clone() }, options)
}

fn loads(specs: impl Iterator<Item = String>) -> String {
    specs.map(|spec| format!("--load {spec}")).collect::<Vec<_>>().join(" ")
}

/// The answer to a deadline; none where there was none.
fn answer(wakeups: &Wakeups) -> Option<Answer> {
    match &wakeups.verdict {
        Seen::Value(verdict) => Some(verdict.answer),
        Seen::Absent => None,
        Seen::Unseen(_) => Some(Answer::Undecided),
    }
}

fn word(answer: Answer) -> String {
    match answer {
        Answer::Pass => "pass",
        Answer::Fail => "fail",
        Answer::Undecided => "undecided",
    }
    .to_owned()
}

/// The verdict of a kept result, as the option of the verb writes it.
fn verdict<'a, R: Render>(
    result: &R,
    measured: impl IntoIterator<Item = &'a Wakeups>,
    path: &Path,
) -> anyhow::Result<Option<Exported>> {
    if measured.into_iter().all(|wakeups| matches!(wakeups.verdict, Seen::Absent)) {
        bail!("{path:?} has no verdict to write as JUnit tests\ntry: dwell wake --deadline TIME");
    }
    let left_out = vec!["it has the verdict: no histograms and no spikes are in it".to_owned()];
    Ok(in_form(result, JUNIT).map(|bytes| Exported { bytes, left_out }))
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

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(&result.sheet).into_bytes()),
        Form::html(|result| report::html::sheets(&[&result.sheet]).into_bytes()),
        Form::svg(|result| pages::sheet_svg(&result.sheet).into_bytes()),
        Form::png(|result| pages::sheet_png(&result.sheet)),
        Form::new(JUNIT, JUNIT_HELP, |result| pages::sheet_junit(&result.sheet).into_bytes()),
    ];
}

impl Kind for SheetResult {
    const SCHEMAS: &'static [&'static str] = &[SCHEMA_SHEET];

    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        Ok(Self { sheet: typed(path, json)?, json: Some(path.display().to_string()) })
    }

    fn tables(&self) -> Tables {
        Tables::of(&self.sheet)
    }

    fn html(kept: &[(&Path, &Self)]) -> Option<String> {
        Some(report::html::sheets(&kept.iter().map(|(_, one)| &one.sheet).collect::<Vec<_>>()))
    }

    fn exports(&self) -> &'static [Export<Self>] {
        const EXPORTS: &[Export<SheetResult>] = &[
            Export::form("svg", PICTURE),
            Export::form("png", PICTURE),
            Export::own(JUNIT, |result, path| verdict(result, &result.sheet.results, path)),
        ];
        EXPORTS
    }

    fn rows(&self, beside: &tables::Kept, options: tables::Options) -> Option<Rows> {
        Some(self.sheet.results.iter().map(|one| rows_of(one, beside, options)).collect())
    }

    fn row(&self) -> Option<NewResult> {
        let sheet = &self.sheet;
        let first = sheet.results.first()?;
        let answers: Vec<Answer> = sheet.results.iter().filter_map(answer).collect();
        let worst = [Answer::Fail, Answer::Undecided, Answer::Pass];
        let worst = worst.into_iter().find(|answer| answers.contains(answer));
        Some(NewResult {
            command: format!("--sheet {}", sheet.name),
            wall_ns: Some(sheet.results.iter().map(|wakeups| wakeups.took_ns).sum()),
            verdict: worst.map(word),
            ..row("wake", &first.host, &sheet.schema, report::json(sheet))
        })
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
        let one: Vec<_> = Wakeups::FORMS.iter().map(|form| form.name).collect();
        let sheet: Vec<_> = SheetResult::FORMS.iter().map(|form| form.name).collect();
        assert_eq!(one, sheet, "dwell wake has one set of options for both");
    }
}
