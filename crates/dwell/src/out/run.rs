//! A run, or a window, as a result, and the options for which code to show below its page.

use super::render::{Form, Render};
use crate::{annotate, suggest};
use clap::Args;
use model::{Probed, RunResult, Seen};
use observe::Sources;
use report::Look;
use report::profile::{self, FlameOptions, FoldedOptions, FoldedTime, ProfileMetadata, SourceOptions};

/// The heading of the options that are about code.
const CODE: &str = "Code";

/// Which code to show, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = CODE)]
pub(crate) struct CodeArgs {
    /// Also print the call tree. It has time on and off the CPU
    #[arg(long)]
    pub(crate) flame: bool,

    /// Also list every cause. Those found have their evidence, the others the reason
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

/// The result of a run, and which code to show below its page.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) result: RunResult,
    code: CodeArgs,
    sources: Sources,
}

impl RunOutput {
    /// `sources` reads what its programs named.
    pub(crate) fn new(result: RunResult, code: CodeArgs, sources: Sources) -> Self {
        Self { result, code, sources }
    }

    /// Puts what a probe gave beside the finding of this index.
    pub(crate) fn set_probed(&mut self, finding: usize, probed: Seen<Probed>) {
        self.result.diagnosis.probed = Some((finding, probed));
    }

    fn metadata(&self) -> ProfileMetadata<'_> {
        ProfileMetadata::of(&self.result.run)
    }
}

impl Render for RunOutput {
    fn page(&self, look: Look) -> String {
        below(self, report::terminal(&self.result.run, &self.result.diagnosis, look), look)
    }

    fn screen(&self, look: Look) -> String {
        below(self, report::screen(&self.result.run, &self.result.diagnosis, look), look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<RunOutput>] = &[
            Form::json(|output| report::result::without_stacks(&output.result).into_bytes()),
            Form::html(|output| report::html::runs(&[&output.result]).into_bytes()),
            Form::new(
                "folded",
                "Write folded stacks, in nanoseconds, to FILE (for flamegraph.pl, inferno, speedscope)",
                |output: &RunOutput| {
                    let options = FoldedOptions { part: FoldedTime::All, threads: false };
                    profile::folded(output.result.profile(), options).into_bytes()
                },
            )
            .under(CODE),
            Form::new("firefox", "Write a profile for profiler.firefox.com to FILE", |output: &RunOutput| {
                profile::firefox(output.result.profile(), &output.metadata()).into_bytes()
            })
            .under(CODE),
            Form::new("speedscope", "Write a profile for speedscope.app to FILE", |output: &RunOutput| {
                profile::speedscope(output.result.profile(), &output.metadata()).into_bytes()
            })
            .under(CODE),
        ];
        FORMS
    }
}

/// The page, with the requested views of code below it.
fn below(output: &RunOutput, mut text: String, look: Look) -> String {
    let RunOutput { result, code, sources } = output;
    if code.causes {
        text.push('\n');
        text.push_str(&report::causes(&result.run, &result.diagnosis, look));
    }
    if code.flame {
        text.push('\n');
        text.push_str(&profile::flame(result.profile(), &FlameOptions::new(look)));
    }
    for function in &code.lines {
        text.push('\n');
        let options = SourceOptions { look, rows: SOURCE_ROWS };
        let table = profile::source_table(result.profile(), function, &options, |path| sources.text(path));
        text.push_str(&table.unwrap_or_else(|| {
            let names = profile::names(result.profile());
            let near = suggest::nearest(function, names.iter().map(String::as_str)).join(", ");
            let meant = if near.is_empty() { String::new() } else { format!("; did you mean: {near}?") };
            let said = format!("no stack contains a function, a file or a line called {function}{meant}");
            report::clean(&said, look.unicode) + "\n"
        }));
    }
    for function in &code.annotate {
        text.push('\n');
        text.push_str(&match annotate::sampled(function, &result.addresses, sources, look) {
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
