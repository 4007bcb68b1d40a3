//! A pair of the lab, and the score of all, as results. One set of options is for both.

use super::kind::{Kind, json_as_it_is, typed};
use super::render::{Form, Render};
use super::row::row;
use analyse::lab::BLIND;
use model::lab::{LabQuiz, LabRun, LabScore, SCHEMA_LAB, SCHEMA_QUIZ, SCHEMA_SCORE};
use pairs::Pair;
use report::Look;
use report::export::tables::Tables;
use report::lab::{self, Lesson};
use serde_json::Value;
use std::path::Path;
use store::results::NewResult;

const MARKDOWN: &str = "Write the score as a table in Markdown to FILE";

/// What there is to learn, of a pair that this dwell has as well.
fn lesson(run: &LabRun) -> Lesson {
    Lesson { text: Pair::named(&run.pair.name).map_or("", |pair| pair.lesson) }
}

/// Pairs side by side, each with its lesson.
fn pairs_page(runs: &[&LabRun]) -> String {
    report::html::pairs(&runs.iter().map(|run| (*run, lesson(run))).collect::<Vec<_>>())
}

impl Render for LabRun {
    fn page(&self, look: Look) -> String {
        lab::pair(self, &lesson(self), look)
    }

    fn screen(&self, look: Look) -> String {
        lab::short_pair(self, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|run| report::json(run).into_bytes()),
        Form::html(|run| pairs_page(&[run]).into_bytes()),
        Form::new("markdown", MARKDOWN, |run| lab::markdown_of_one(run).into_bytes()),
    ];
}

impl Kind for LabRun {
    json_as_it_is!(SCHEMA_LAB, pairs_page);

    fn row(&self) -> Option<NewResult> {
        Some(NewResult {
            command: self.pair.name.clone(),
            ..row("lab", &self.host, &self.schema, report::json(self))
        })
    }
}

impl Render for LabScore {
    fn page(&self, look: Look) -> String {
        lab::score(self, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|score| report::json(score).into_bytes()),
        Form::html(|score| report::html::scores(&[score]).into_bytes()),
        Form::new("markdown", MARKDOWN, |score| lab::markdown(score).into_bytes()),
    ];
}

impl Kind for LabScore {
    const SCHEMAS: &'static [&'static str] = &[SCHEMA_SCORE];

    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        let score: Self = typed(path, json)?;
        // One that was not finished has no total yet.
        Ok(Self { total: analyse::lab::total(&score.rows), ..score })
    }

    fn tables(&self) -> Tables {
        Tables::of(self)
    }

    fn html(kept: &[(&Path, &Self)]) -> Option<String> {
        Some(report::html::scores(&kept.iter().map(|(_, one)| *one).collect::<Vec<_>>()))
    }

    fn row(&self) -> Option<NewResult> {
        Some(NewResult {
            command: "--score".to_owned(),
            verdict: Some(format!("{} of {}", self.total.cause_first, self.total.sittings)),
            ..row("lab", &self.host, &self.schema, report::json(self))
        })
    }
}

impl Render for LabQuiz {
    fn page(&self, look: Look) -> String {
        lab::quiz(self, BLIND, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|quiz| report::json(quiz).into_bytes()),
        Form::html(|quiz| {
            let text = quiz.page(Look::PLAIN);
            report::html::plain("lab-quiz", "dwell lab --quiz", &text, quiz).into_bytes()
        }),
    ];
}

impl Kind for LabQuiz {
    json_as_it_is!(SCHEMA_QUIZ);

    fn row(&self) -> Option<NewResult> {
        Some(NewResult {
            command: format!("--quiz --seed {}", self.seed),
            verdict: Some(if self.grade.cause { "right" } else { "wrong" }.to_owned()),
            ..row("lab", &self.host, &self.schema, report::json(self))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_has_the_forms_of_one_pair() {
        let one: Vec<_> = LabRun::FORMS.iter().map(|form| form.name).collect();
        let score: Vec<_> = LabScore::FORMS.iter().map(|form| form.name).collect();
        assert_eq!(one, score, "dwell lab has one set of options for both");
    }
}
