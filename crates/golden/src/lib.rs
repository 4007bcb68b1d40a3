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
mod predictions;
#[cfg(test)]
mod replays;

use analyse::Analyser;
use model::account::DoesNotClose;
use model::{Analysis, Diagnosis, Header};
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
    /// The result stored in place of its events cannot be read.
    #[error("the stored result cannot be read: {0}")]
    Result(#[from] serde_json::Error),
}

/// A recording, analysed.
#[derive(Debug)]
pub struct Case {
    header: Header,
    analysis: Analysis,
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
        let mut reader = Reader::open(path)?;
        let header = reader.header().clone();
        let mut analyser = Analyser::new(&header);
        reader.by_ref().for_each(|event| analyser.event(&event));
        let end = reader.end();
        let why = || Error::NotWhole(end.notice.map(|notice| notice.to_string()).unwrap_or_default());
        let trailer = end.trailer.as_ref().ok_or_else(why)?;
        let analysis = match &end.result {
            Some(result) if trailer.kept_until.is_some() => stored(result)?,
            _ => analyser.finish(trailer)?,
        };
        Ok(Self::judged(header, analysis))
    }

    /// With what it means in words.
    fn judged(header: Header, mut analysis: Analysis) -> Self {
        let diagnosis = analyse::diagnose(header.tier, &analysis);
        report::tell(&mut analysis.run, &diagnosis);
        Self { header, analysis }
    }

    /// The same with its result stored and read back, as when events were not kept.
    ///
    /// # Errors
    /// When it cannot be read back.
    pub fn read_back(self) -> Result<Self, Error> {
        let analysis = stored(&serde_json::to_string(&self.analysis)?)?;
        Ok(Self::judged(self.header, analysis))
    }

    /// What it means.
    pub fn diagnosis(&self) -> Diagnosis {
        analyse::diagnose(self.header.tier, &self.analysis)
    }

    /// The forms of every recording, file name extension and text.
    pub fn forms(&self) -> Vec<(&'static str, String)> {
        let run = &self.analysis.run;
        let diagnosis = self.diagnosis();
        let mut forms = vec![
            ("account.txt", account::text(run)),
            ("json", report::json(run)),
            ("page.txt", report::terminal(run, &diagnosis, PLAIN)),
        ];
        forms.push(("diagnosis.txt", diagnosis::text(run)));
        forms.push(("screen.txt", self.screen(SMALL)));
        forms
    }

    /// The page that fits a screen.
    pub fn screen(&self, look: Look) -> String {
        report::screen(&self.analysis.run, &self.diagnosis(), look)
    }

    /// The page for a browser.
    pub fn html(&self) -> String {
        let Analysis { run, profile, path_over_time, .. } = &self.analysis;
        let diagnosis = self.diagnosis();
        let (diagnosis, profile) = (&diagnosis, Some(profile));
        report::html::runs(&[report::html::RunPage { run, diagnosis, profile, path_over_time, kept: None }])
    }

    /// The forms of code and colour, with the lines of `function`.
    pub fn code_forms(&self, function: &str) -> Vec<(&'static str, String)> {
        let (run, tree) = (&self.analysis.run, &self.analysis.profile);
        let about = ProfileMetadata::of(run, self.header.started_at_unix_s);
        let diagnosis = self.diagnosis();
        let flame = FlameOptions { own: &diagnosis.whose.frames, ..FlameOptions::new(PLAIN) };
        let colour = report::terminal(run, &diagnosis, Look { colour: true, ..PLAIN });
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
        let table = profile::source_table(&self.analysis.profile, function, &options, |_| None);
        table.unwrap_or_else(|| format!("no stack leads through {function}\n"))
    }
}

/// The result that was stored in place of events that were not kept.
fn stored(result: &str) -> Result<Analysis, Error> {
    let mut analysis: Analysis = serde_json::from_str(result)?;
    analysis.run.closes()?;
    analysis.run.schema = analysis.run.promise();
    Ok(analysis)
}
