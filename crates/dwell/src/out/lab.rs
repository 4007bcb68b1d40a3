//! A pair of the lab, or the score of all, as a result.

use super::render::{Form, Render};
use model::lab::{LabRun, LabScore};
use report::Look;
use report::lab::{self, Lesson};

/// What the lab shows.
#[derive(Debug)]
pub(crate) enum LabResult {
    /// One pair, with what there is to learn from it.
    One(Box<LabRun>, Lesson),
    /// All of them.
    Score(Box<LabScore>),
}

impl Render for LabResult {
    fn page(&self, look: Look) -> String {
        match self {
            LabResult::One(run, lesson) => lab::pair(run, lesson, look),
            LabResult::Score(score) => lab::score(score, look),
        }
    }

    fn screen(&self, look: Look) -> String {
        match self {
            LabResult::One(run, _) => lab::short_pair(run, look),
            LabResult::Score(score) => report::fit(&lab::score(score, look), look),
        }
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<LabResult>] = &[
            Form::json(|result| match result {
                LabResult::One(run, _) => report::json(run.as_ref()).into_bytes(),
                LabResult::Score(score) => report::json(score.as_ref()).into_bytes(),
            }),
            Form::html(|result| match result {
                LabResult::One(run, lesson) => {
                    report::html::pairs(&[(run.as_ref(), Lesson { text: lesson.text })]).into_bytes()
                }
                LabResult::Score(score) => {
                    report::html::scores(std::slice::from_ref(score.as_ref())).into_bytes()
                }
            }),
            Form::new("markdown", "Write the score as a table in Markdown to FILE", |result| {
                match result {
                    LabResult::One(run, _) => lab::markdown_of_one(run),
                    LabResult::Score(score) => lab::markdown(score),
                }
                .into_bytes()
            }),
        ];
        FORMS
    }
}
