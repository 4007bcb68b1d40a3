//! A run, or a window, as a result, and the options for which code to show below its page.

use super::render::{Form, Render};
use crate::{annotate, suggest};
use clap::Args;
use model::recording::Tier;
use model::{Analysis, Diagnosis, Header, Probed, Run, Seen};
use observe::Sources;
use report::Look;
use report::html::RunPage;
use report::profile::{self, FlameOptions, FoldedOptions, FoldedTime, ProfileMetadata, SourceOptions};

/// The heading of the options that are about code.
const CODE: &str = "Code";

/// Which code to show, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = CODE)]
pub(crate) struct CodeArgs {
    /// Show the call tree, running and waiting. It stands below the report
    #[arg(long)]
    pub(crate) flame: bool,

    /// Show the causes with what they rest on. Those that were looked for and not found, and those
    /// that could not be looked for, stand there too, below the report
    #[arg(long)]
    pub(crate) causes: bool,

    /// Show the lines of a function with times. Below the report, and with their shares of time:
    /// of FUNCTION, or of the one with the most time at FILE or FILE:LINE (`slow.py:13`)
    #[arg(long, value_name = "FUNCTION|FILE[:LINE]")]
    pub(crate) lines: Vec<String>,

    /// Show the disassembly of FUNCTION with each instruction's share of time, below the report
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) annotate: Vec<String>,
}

/// The analysis of a recording, and which code to show below its page.
#[derive(Debug)]
pub(crate) struct RunResult {
    header: Header,
    analysis: Analysis,
    diagnosis: Diagnosis,
    code: CodeArgs,
    sources: Sources,
}

/// What an analysis means, which its run has from now on.
pub(crate) fn judged(tier: Tier, analysis: &mut Analysis) -> Diagnosis {
    let diagnosis = analyse::diagnose(tier, analysis);
    report::tell(&mut analysis.run, &diagnosis);
    diagnosis
}

impl RunResult {
    /// With what the analysis means. `sources` reads what its programs named.
    pub(crate) fn new(header: Header, mut analysis: Analysis, code: CodeArgs, sources: Sources) -> Self {
        let diagnosis = judged(header.tier, &mut analysis);
        Self { header, analysis, diagnosis, code, sources }
    }

    /// The run, and what it means.
    pub(crate) fn judged(&self) -> (&Run, &Diagnosis) {
        (&self.analysis.run, &self.diagnosis)
    }

    /// The analysis, and what a file for a viewer says of its recording.
    pub(crate) fn recorded(&self) -> (&Analysis, ProfileMetadata<'_>) {
        (&self.analysis, self.metadata())
    }

    /// Puts what a probe gave beside the finding of this index.
    pub(crate) fn set_probed(&mut self, finding: usize, probed: Seen<Probed>) {
        self.diagnosis.probed = Some((finding, probed));
        report::tell(&mut self.analysis.run, &self.diagnosis);
    }

    /// All of it, for a page.
    pub(crate) fn whole(&self) -> RunPage<'_> {
        let Analysis { run, profile, path_over_time, .. } = &self.analysis;
        RunPage { run, diagnosis: &self.diagnosis, profile: Some(profile), path_over_time, kept: None }
    }

    fn metadata(&self) -> ProfileMetadata<'_> {
        ProfileMetadata::of(&self.analysis.run, self.header.started_at_unix_s)
    }
}

impl Render for RunResult {
    fn page(&self, look: Look) -> String {
        below(self, report::terminal(&self.analysis.run, &self.diagnosis, look), look)
    }

    fn screen(&self, look: Look) -> String {
        below(self, report::screen(&self.analysis.run, &self.diagnosis, look), look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<RunResult>] = &[
            Form::json(|result| report::json(&result.analysis.run).into_bytes()),
            Form::html(|result| report::html::runs(&[result.whole()]).into_bytes()),
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

/// The page, with the requested views of code below it.
fn below(result: &RunResult, mut text: String, look: Look) -> String {
    let RunResult { analysis, diagnosis, code, sources, .. } = result;
    if code.causes {
        text.push('\n');
        text.push_str(&report::causes(&analysis.run, diagnosis, look));
    }
    if code.flame {
        text.push('\n');
        let options = FlameOptions { own: &diagnosis.whose.frames, ..FlameOptions::new(look) };
        text.push_str(&profile::flame(&analysis.profile, &options));
    }
    for function in &code.lines {
        text.push('\n');
        let options = SourceOptions { look, rows: SOURCE_ROWS };
        let table = profile::source_table(&analysis.profile, function, &options, |path| sources.text(path));
        text.push_str(&table.unwrap_or_else(|| {
            let names = profile::names(&analysis.profile);
            let near = suggest::nearest(function, names.iter().map(String::as_str)).join(", ");
            let meant = if near.is_empty() { String::new() } else { format!("; did you mean: {near}?") };
            let said = format!("no stack contains a function, a file or a line called {function}{meant}");
            report::clean(&said, look.unicode) + "\n"
        }));
    }
    for function in &code.annotate {
        text.push('\n');
        text.push_str(&match annotate::sampled(function, &analysis.addresses, sources, look) {
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
