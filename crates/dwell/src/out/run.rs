//! A run, or a window, as a result.

use super::{Form, Outputs, Page, Render};
use crate::annotate;
use crate::cli::{CodeArgs, PageArgs};
use analyse::extrapolate::{Error, Work};
use anyhow::bail;
use model::{Analysis, Header};
use report::Look;
use report::profile::{self, FlameOptions, FoldedOptions, FoldedTime, ProfileMetadata, SourceOptions};
use std::path::Path;

/// The analysis of a recording, and which code to show below its page.
#[derive(Debug)]
pub(crate) struct RunResult {
    pub(crate) header: Header,
    pub(crate) analysis: Analysis,
    pub(crate) code: CodeArgs,
}

impl RunResult {
    fn metadata(&self) -> ProfileMetadata<'_> {
        ProfileMetadata::of(&self.analysis.run, self.header.started_at_unix_s)
    }
}

/// The heading of the options that are about code.
pub(crate) const CODE: &str = "Code";

impl Render for RunResult {
    fn page(&self, look: Look) -> String {
        page_text(self, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<RunResult>] = &[
            Form::json(|result| report::json(&result.analysis.run).into_bytes()),
            Form::new(
                "folded",
                "Write folded stacks, in nanoseconds, to FILE (for flamegraph.pl, inferno, speedscope)",
                |result: &RunResult| {
                    let options = FoldedOptions { part: FoldedTime::All, threads: false };
                    profile::folded(&result.analysis.profile, options).into_bytes()
                },
            )
            .under(CODE),
            Form::new("firefox", "Write a profile for profiler.firefox.com to FILE", |result: &RunResult| {
                profile::firefox(&result.analysis.profile, &result.metadata()).into_bytes()
            })
            .under(CODE),
            Form::new("speedscope", "Write a profile for speedscope.app to FILE", |result: &RunResult| {
                profile::speedscope(&result.analysis.profile, &result.metadata()).into_bytes()
            })
            .under(CODE),
        ];
        FORMS
    }
}

/// Opens the outputs that the arguments name, after a check of the whole job. `page` is where the
/// page goes by default.
pub(crate) fn open(
    args: &PageArgs,
    page: Page<'_>,
    written: Option<&Path>,
    read: &[&Path],
) -> anyhow::Result<Outputs<RunResult>> {
    if let (Some(Work::Units(done)), Some(of)) = (&args.work, args.of)
        && of < *done
    {
        bail!(Error::Less { done: *done, of });
    }
    Outputs::open(&args.forms, args.output.as_ref().map_or(page, Page::To), written, read)
}

/// The page, with the requested views of code below it.
fn page_text(result: &RunResult, look: Look) -> String {
    let RunResult { header, analysis, code } = result;
    let diagnosis = analyse::diagnose(header.tier, analysis);
    let mut text = report::terminal(&analysis.run, &diagnosis, look);
    if code.flame {
        text.push('\n');
        text.push_str(&profile::flame(&analysis.profile, &FlameOptions::new(look)));
    }
    for function in &code.lines {
        text.push('\n');
        let options = SourceOptions { look, rows: SOURCE_ROWS };
        let table = profile::source_table(&analysis.profile, function, &options, observe::source_text);
        text.push_str(&table.unwrap_or_else(|| {
            format!("no stack contains a function called {}\n", report::clean(function, look.unicode))
        }));
    }
    for function in &code.annotate {
        text.push('\n');
        text.push_str(&match annotate::sampled(function, &analysis.addresses, look) {
            Ok(listing) => listing,
            Err(error) => {
                format!("{error:#}").lines().map(|line| report::clean(line, look.unicode) + "\n").collect()
            }
        });
    }
    text
}

/// The most lines of a function's source on the page.
const SOURCE_ROWS: usize = 40;
