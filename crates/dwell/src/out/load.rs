//! The rate of a load, as a result.

use super::kind::{Kind, json_as_it_is};
use super::render::{Form, Render};
use super::row::row;
use model::wake::load::{LoadRun, SCHEMA_LOAD};
use report::Look;
use store::results::NewResult;

impl Render for LoadRun {
    fn page(&self, look: Look) -> String {
        report::load::terminal(self, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(result).into_bytes()),
        Form::html(|result| report::html::loads(&[result]).into_bytes()),
    ];
}

impl Kind for LoadRun {
    json_as_it_is!(SCHEMA_LOAD, report::html::loads);

    fn row(&self) -> Option<NewResult> {
        let wrong = self.result.mismatches_total > 0;
        Some(NewResult {
            command: self.result.load.spec(),
            wall_ns: Some(self.result.ran_ns),
            verdict: wrong.then(|| "wrong".to_owned()),
            ..row("load", &self.host, &self.schema, report::json(self))
        })
    }
}
