//! A pair of the lab, or the score of all, as a result.

use super::kind::{Kind, Side, typed};
use super::render::{Form, Render};
use super::row::row;
use model::lab::{LabRun, LabScore, SCHEMA_LAB, SCHEMA_SCORE};
use pairs::Pair;
use report::Look;
use report::export::tables::Tables;
use report::lab::{self, Lesson};
use serde_json::Value;
use std::path::Path;
use store::results::NewResult;

/// What the lab shows.
#[derive(Debug)]
pub(crate) enum LabResult {
    /// One pair.
    One(Box<LabRun>),
    /// All of them.
    Score(Box<LabScore>),
}

/// What there is to learn, of a pair that this dwell has as well.
fn lesson(run: &LabRun) -> Lesson {
    Lesson { text: Pair::named(&run.pair.name).map_or("", |pair| pair.lesson) }
}

impl Render for LabResult {
    fn page(&self, look: Look) -> String {
        match self {
            LabResult::One(run) => lab::pair(run, &lesson(run), look),
            LabResult::Score(score) => lab::score(score, look),
        }
    }

    fn screen(&self, look: Look) -> String {
        match self {
            LabResult::One(run) => lab::short_pair(run, look),
            LabResult::Score(score) => report::fit(&lab::score(score, look), look),
        }
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<LabResult>] = &[
            Form::json(|result| match result {
                LabResult::One(run) => report::json(run.as_ref()).into_bytes(),
                LabResult::Score(score) => report::json(score.as_ref()).into_bytes(),
            }),
            Form::html(|result| LabResult::html(&[(Path::new(""), result)]).unwrap_or_default().into_bytes()),
            Form::new("markdown", "Write the score as a table in Markdown to FILE", |result| {
                match result {
                    LabResult::One(run) => lab::markdown_of_one(run),
                    LabResult::Score(score) => lab::markdown(score),
                }
                .into_bytes()
            }),
        ];
        FORMS
    }
}

impl Kind for LabResult {
    const SCHEMAS: &'static [&'static str] = &[SCHEMA_LAB, SCHEMA_SCORE];

    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        if json["schema"] == SCHEMA_LAB {
            return Ok(Self::One(Box::new(typed(path, json)?)));
        }
        let score: LabScore = typed(path, json)?;
        // One that was not finished has no total yet.
        Ok(Self::Score(Box::new(LabScore { total: analyse::lab::total(&score.rows), ..score })))
    }

    fn schema(&self) -> &'static str {
        match self {
            Self::One(_) => SCHEMA_LAB,
            Self::Score(_) => SCHEMA_SCORE,
        }
    }

    fn tables(&self) -> Tables {
        match self {
            Self::One(run) => Tables::of(run),
            Self::Score(score) => Tables::of(score),
        }
    }

    /// Pairs or scores: the two have no common page.
    fn html(kept: &[(&Path, &Self)]) -> Option<String> {
        let (mut pairs, mut scores) = (Vec::new(), Vec::new());
        for (_, one) in kept {
            match one {
                Self::One(run) => pairs.push((run.as_ref(), lesson(run))),
                Self::Score(score) => scores.push(score.as_ref()),
            }
        }
        match (pairs.is_empty(), scores.is_empty()) {
            (false, true) => Some(report::html::pairs(&pairs)),
            (true, false) => Some(report::html::scores(&scores)),
            _ => None,
        }
    }

    fn compared(self, _: &Path) -> anyhow::Result<Option<Side>> {
        Ok(Some(match self {
            Self::One(run) => Side::Pair(run),
            Self::Score(score) => Side::Score(score),
        }))
    }

    fn row(&self) -> Option<NewResult> {
        Some(match self {
            Self::One(run) => NewResult {
                command: run.pair.name.clone(),
                ..row("lab", &run.host, &run.schema, report::json(run.as_ref()))
            },
            Self::Score(score) => NewResult {
                command: "--score".to_owned(),
                verdict: Some(format!("{} of {}", score.total.cause_first, score.total.sittings)),
                ..row("lab", &score.host, &score.schema, report::json(score.as_ref()))
            },
        })
    }
}
