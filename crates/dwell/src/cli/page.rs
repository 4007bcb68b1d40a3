//! The options of the page of a run or a window: what to report, where to, and in which form.

use crate::look::LookArgs;
use crate::out::{CodeArgs, FormArgs, OutputPath, Outputs, Page, RunOutput};
use analyse::extrapolate::{Error, Job, Work};
use anyhow::bail;
use clap::Args;
use model::units;
use std::path::Path;

/// What to report, where to, and in which form.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    #[command(flatten)]
    pub(crate) forms: FormArgs<RunOutput>,

    /// Write the page to FILE, as text or in the form that its name ends in (`.html`, `.json`);
    /// `-`: standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<OutputPath>,

    /// Units of work that this run completed; with --of, show the time of the whole job. WORK is a
    /// number, a syscall to count, or `lines` to count lines of output to a file
    #[arg(long, value_name = "WORK", requires = "of", value_parser = work)]
    pub(crate) work: Option<Work>,

    /// Units of the whole job (`10M`, `1e6`)
    #[arg(long, value_name = "UNITS", requires = "work", value_parser = units::count)]
    pub(crate) of: Option<u64>,

    #[command(flatten)]
    pub(crate) code: CodeArgs,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

impl PageArgs {
    /// The job of --work and --of; `lines`: lines of output, where they were counted.
    pub(crate) fn job(&self, lines: Option<u64>) -> Option<Job> {
        let work = match self.work.clone()? {
            Work::Lines(_) => Work::Lines(lines),
            work => work,
        };
        Some(Job { work, of: self.of? })
    }

    /// Opens the outputs that the arguments name, after a check of the whole job. `page` is where
    /// the page goes by default.
    pub(crate) fn open(
        &self,
        page: Page<'_>,
        written: Option<&Path>,
        read: &[&Path],
    ) -> anyhow::Result<Outputs<RunOutput>> {
        if let (Some(Work::Units(done)), Some(of)) = (&self.work, self.of)
            && of < *done
        {
            bail!(Error::Less { done: *done, of });
        }
        Outputs::open(&self.forms, self.output.as_ref().map_or(page, Page::To), written, read)
    }
}

/// Parses `100`, `sendto`, `lines`.
fn work(text: &str) -> Result<Work, String> {
    if text == "lines" {
        return Ok(Work::Lines(None));
    }
    if text.starts_with(|char: char| char.is_ascii_alphabetic()) {
        return Ok(Work::Calls(text.to_owned()));
    }
    units::count(text).map(Work::Units).map_err(|error| error.to_string())
}
