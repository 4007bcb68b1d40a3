//! A ladder as a result.

use super::render::{Form, Render};
use model::Ladder;
use model::ladder::beside::Reference;
use report::Look;
use report::ladder as pages;

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

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<LadderResult>] = &[
            Form::json(|result| report::json(&result.ladder).into_bytes()),
            Form::html(|result| {
                let ladder = (result.ladder.clone(), result.others.clone());
                report::html::ladders(&[ladder]).into_bytes()
            }),
            Form::svg(|result| pages::svg(&result.ladder, &result.others).into_bytes()),
            Form::png(|result| pages::png(&result.ladder, &result.others)),
        ];
        FORMS
    }
}
