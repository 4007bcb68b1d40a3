//! The parts of the page for a document: the same sentences and rows as on a terminal, not laid
//! out, with all rows.

use super::findings::{self, FindingText};
use super::surroundings::{self, MetricRow};
use super::{
    account, by_size, costs, counters, coverage, explained, headline, meanwhile, places, requests, short,
    tables, whole,
};
use crate::Look;
use crate::paint::Line;
use model::{Diagnosis, Run, State};

/// All parts of a run.
pub(crate) struct Parts {
    /// The command, its figures, how it ended, and the class.
    pub(crate) head: Vec<Line>,
    pub(crate) findings: Vec<FindingText>,
    /// Where there is no finding.
    pub(crate) nothing: Vec<Line>,
    /// What of the time findings explain, and what the rest is.
    pub(crate) explained: Vec<Line>,
    /// Causes that are not there, and that could not be looked for.
    pub(crate) other_causes: [(&'static str, Vec<(String, String)>); 2],
    /// States, longest first.
    pub(crate) states: Vec<State>,
    pub(crate) account: Vec<Line>,
    /// Further notes on the account.
    pub(crate) account_notes: Vec<Line>,
    pub(crate) places: Vec<Line>,
    pub(crate) metrics: Vec<MetricRow>,
    pub(crate) metrics_said: Vec<Line>,
    /// What a window is read for, as on a terminal: before all else.
    pub(crate) requests: Vec<Line>,
    /// The other tables, each with its name.
    pub(crate) tables: Vec<(&'static str, Vec<Line>)>,
    pub(crate) coverage: Vec<Line>,
}

/// The parts.
pub(crate) fn parts(run: &Run, diagnosis: &Diagnosis) -> Parts {
    let look = Look::DOCUMENT;
    let states = by_size(run);
    let nothing =
        if diagnosis.findings.is_empty() { findings::nothing(run, diagnosis, look) } else { Vec::new() };
    let mut head = headline::lines(run, diagnosis, look);
    head.extend(short::qualifiers::lines(run, diagnosis, look, short::ALL));
    head.extend(costs::lines(run, diagnosis, look));
    let (metrics, metrics_said) = surroundings::whole(run, diagnosis, look);
    Parts {
        head,
        findings: findings::render(run, diagnosis, look),
        nothing,
        explained: explained::lines(diagnosis, look),
        other_causes: findings::others(diagnosis, look),
        account: account::table(run, &states, look),
        account_notes: [counters::lines(run, look), whole::lines(run, look), meanwhile::lines(run, look)]
            .concat(),
        places: places::table(run, look),
        metrics,
        metrics_said,
        requests: requests::table(run, look, Look::DOCUMENT_ROWS),
        tables: tables::ALL
            .map(|table| (table.name(), table.lines(run, look, Look::DOCUMENT_ROWS)))
            .into_iter()
            .filter(|(_, lines)| !lines.is_empty())
            .collect(),
        coverage: coverage::lines(run, diagnosis.doubts, look),
        states,
    }
}
