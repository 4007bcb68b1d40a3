//! `dwell report`: kept results as a page for a browser.

use super::{kept, named};
use crate::cli::ReportArgs;
use crate::exit;
use crate::keep::ResultStore;
use crate::look::LookArgs;
use crate::out::{Kept, OutputPath, Outputs, Page, PageResult, Paths};
use anyhow::{Context, bail};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// Writes the page; returns the exit status.
pub(crate) fn report(args: &ReportArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    if args.output == OutputPath::Stdout && io::stdout().is_terminal() {
        bail!(
            "the page is for a browser, and standard output is a terminal\ntry: -o page.html, or dwell show"
        );
    }
    // Another result may be the last one before the content is read.
    let files = args.files.iter().map(|file| named::settled(file, keeper)).collect::<Result<Vec<_>, _>>()?;
    let read: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let outputs = Outputs::open(&Paths::new(), Page::To(&args.output), None, &read)?;
    let mut all = Vec::new();
    for path in read {
        all.extend(kept::all(path, keeper)?.into_iter().map(|result| (path, result)));
    }
    let outcome = outputs.write(&PageResult(page(&all)?), &LookArgs::default());
    Ok(if outcome.complain() { exit::DWELL_FAILED } else { 0 })
}

/// The page of results of one kind.
///
/// # Errors
/// They are of several, or have no page side by side.
pub(super) fn page(kept: &[(&Path, Box<dyn Kept>)]) -> anyhow::Result<String> {
    let (_, first) = kept.first().context("no result")?;
    first.html(kept)
}
