//! From a kept recording to every form of its report, without running a program.
//!
//! The test of this crate compares the forms of each recording in `recordings/` with the files
//! beside it. `report` decides how a report looks; `record.sh` makes the recordings.

mod account;
#[cfg(test)]
mod counted;
mod diagnosis;
#[cfg(test)]
mod differences;
pub mod exports;
pub mod fuzzed;
#[cfg(test)]
mod older;
#[cfg(test)]
mod predictions;
#[cfg(test)]
mod replays;

use analyse::judge::measured::MeasuredChanges;
use analyse::{Analyser, Changed};
use model::RunResult;
use model::account::DoesNotClose;
use report::Look;
use report::profile::{self, FlameOptions, FoldedOptions, FoldedTime, ProfileMetadata, SourceOptions};
use std::path::Path;
use store::Reader;

/// Why a recording has no report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// It has no trailer.
    #[error("the recording is incomplete: {0}")]
    NotWhole(String),
    /// Its account does not close.
    #[error(transparent)]
    Account(#[from] DoesNotClose),
    /// The result that was kept contradicts itself.
    #[error(transparent)]
    Changed(#[from] Changed),
    /// The result stored in place of its events cannot be read.
    #[error("the stored result cannot be read: {0}")]
    Result(#[from] serde_json::Error),
}

/// A recording, analysed.
#[derive(Debug)]
pub struct Case {
    result: RunResult,
}

/// The page with all tables as the goldens have it.
const PLAIN: Look = Look::PLAIN;
/// The page that fits a screen, likewise.
const SMALL: Look = Look { width: 80, ..PLAIN };

impl Case {
    /// Reads and analyses the recording as `dwell show` does.
    ///
    /// # Errors
    /// When it cannot be read to its end.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::judged_by(MeasuredChanges::shipped(), path)
    }

    /// As [`Case::read`], but judged by other changes of programs than dwell has with it.
    ///
    /// # Errors
    /// When it cannot be read to its end.
    pub fn judged_by(measured: &'static MeasuredChanges, path: &Path) -> Result<Self, Error> {
        let mut reader = Reader::open(path)?;
        let mut analyser = Analyser::new(reader.header()).judged_by(measured);
        reader.by_ref().for_each(|event| analyser.event(&event));
        let end = reader.end();
        let why = || Error::NotWhole(end.notice.map(|notice| notice.to_string()).unwrap_or_default());
        let trailer = end.trailer.as_ref().ok_or_else(why)?;
        let result = match &end.concluded {
            Some(result) if trailer.kept_until.is_some() => stored(result)?,
            _ => analyser.finish(trailer)?,
        };
        Ok(Self { result })
    }

    /// The case, kept and read back: with its stacks as the store keeps it, or without as `--json`
    /// writes it.
    ///
    /// # Errors
    /// When it cannot be read back.
    pub fn read_back(&self, with_stacks: bool) -> Result<Self, Error> {
        let json = match with_stacks {
            true => report::result::whole(&self.result),
            false => report::result::without_stacks(&self.result),
        };
        Ok(Self { result: stored(&json)? })
    }

    /// What it came to.
    pub fn result(&self) -> &RunResult {
        &self.result
    }

    /// The forms of every recording, file name extension and text.
    pub fn forms(&self) -> Vec<(&'static str, String)> {
        let RunResult { run, diagnosis, .. } = &self.result;
        vec![
            ("account.txt", account::text(run)),
            ("json", report::result::without_stacks(&self.result)),
            ("page.txt", report::terminal(run, diagnosis, PLAIN)),
            ("diagnosis.txt", diagnosis::text(&report::in_words(&self.result))),
            ("screen.txt", self.screen(SMALL)),
        ]
    }

    /// The page that fits a screen.
    pub fn screen(&self, look: Look) -> String {
        report::screen(&self.result.run, &self.result.diagnosis, look)
    }

    /// The page for a browser.
    pub fn html(&self) -> String {
        report::html::runs(&[&self.result])
    }

    /// The forms of code and colour, with the lines of `function`.
    pub fn code_forms(&self, function: &str) -> Vec<(&'static str, String)> {
        let RunResult { run, diagnosis, .. } = &self.result;
        let (tree, about) = (self.result.profile(), ProfileMetadata::of(run));
        let flame = FlameOptions::new(PLAIN);
        let colour = report::terminal(run, diagnosis, Look { colour: true, ..PLAIN });
        vec![
            ("colour.txt", colour.replace('\x1b', "\\e")),
            ("flame.txt", profile::flame(tree, &flame)),
            ("lines.txt", self.lines(function)),
            ("folded", profile::folded(tree, FoldedOptions { part: FoldedTime::All, threads: false })),
            ("speedscope.json", profile::speedscope(tree, &about)),
            ("firefox.json", profile::firefox(tree, &about)),
        ]
    }

    /// The table of a function's lines, without their source.
    fn lines(&self, function: &str) -> String {
        let options = SourceOptions { look: PLAIN, rows: 40 };
        let table = profile::source_table(self.result.profile(), function, &options, |_| None);
        table.unwrap_or_else(|| format!("no stack leads through {function}\n"))
    }
}

/// A result that was kept.
fn stored(result: &str) -> Result<RunResult, Error> {
    Ok(analyse::whole(serde_json::from_str(result)?)?)
}
