//! A ladder as a result.

use super::kind::{Export, Kind, Rows, typed};
use super::render::{Form, Render};
use super::row::row;
use analyse::identity;
use analyse::ladder::beside;
use model::Ladder;
use model::ladder::SCHEMA_LADDER;
use model::ladder::beside::Reference;
use report::Look;
use report::export::tables::Tables;
use report::ladder as pages;
use serde_json::Value;
use std::path::Path;
use store::results::NewResult;

/// A ladder, and those to show beside it.
#[derive(Debug)]
pub(crate) struct LadderResult {
    pub(crate) ladder: Ladder,
    pub(crate) others: Vec<Reference>,
}

impl Render for LadderResult {
    fn page(&self, look: Look) -> String {
        pages::terminal(&self.ladder, &self.others, look)
    }

    fn screen(&self, look: Look) -> String {
        pages::screen(&self.ladder, &self.others, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(&result.ladder).into_bytes()),
        Form::html(|result| report::html::ladders(&[(&result.ladder, &result.others)]).into_bytes()),
        Form::svg(|result| pages::svg(&result.ladder, &result.others).into_bytes()),
        Form::png(|result| pages::png(&result.ladder, &result.others)),
    ];
}

/// The verdict of a ladder says whether it is one to compare waits with.
pub(crate) const LADDER_FULL: &str = "full";
pub(crate) const LADDER_QUICK: &str = "quick";
const LADDER_PART: &str = "part";

impl Kind for LadderResult {
    const SCHEMAS: &'static [&'static str] = &[SCHEMA_LADDER];

    /// Beside the figures of textbooks, as it was shown where nothing else was asked for.
    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        Ok(Self { ladder: typed(path, json)?, others: vec![beside::textbook()] })
    }

    fn tables(&self) -> Tables {
        Tables::of(&self.ladder)
    }

    /// Each beside the others; one alone beside the figures of textbooks.
    fn html(kept: &[(&Path, &Self)]) -> Option<String> {
        let beside = |own: usize| -> Vec<Reference> {
            let others = kept.iter().enumerate().filter(|(at, _)| *at != own);
            let others =
                others.map(|(_, (path, of))| beside::ladder(&path.display().to_string(), &of.ladder));
            others.chain((kept.len() == 1).then(beside::textbook)).collect()
        };
        let others: Vec<_> = (0..kept.len()).map(beside).collect();
        let ladders: Vec<_> =
            kept.iter().zip(&others).map(|((_, of), others)| (&of.ladder, others)).collect();
        Some(report::html::ladders(&ladders))
    }

    fn exports(&self) -> &'static [Export<Self>] {
        const EXPORTS: &[Export<LadderResult>] =
            &[Export::form("svg", PICTURE), Export::form("png", PICTURE)];
        EXPORTS
    }

    fn rows(&self, beside: &tables::Kept, options: tables::Options) -> Option<Rows> {
        let id = identity::known(&self.ladder.origin, || identity::of_ladder(&self.ladder));
        let beside = tables::Kept { id, ..beside.clone() };
        Some(tables::ladder(&self.ladder, &beside, options).map(|rows| vec![rows]))
    }

    fn row(&self) -> Option<NewResult> {
        let ladder = &self.ladder;
        let verdict = match (ladder.asked.quick, ladder.asked.only.is_empty()) {
            (_, false) => LADDER_PART,
            (true, true) => LADDER_QUICK,
            (false, true) => LADDER_FULL,
        };
        Some(NewResult {
            command: ladder.asked.only.join(","),
            wall_ns: Some(ladder.took_ns),
            verdict: Some(verdict.to_owned()),
            ..row("ladder", &ladder.host, &ladder.schema, report::json(ladder))
        })
    }
}

/// What a picture leaves out.
pub(super) const PICTURE: &str = "it is a picture: the tables and what qualifies them are not in it";
