//! The rate of a load, as a result.

use super::kind::{Kind, typed};
use super::render::{Form, Render};
use super::row::row;
use model::wake::load::{LoadRun, SCHEMA_LOAD};
use report::Look;
use report::export::tables::Tables;
use serde_json::Value;
use std::path::Path;
use store::results::NewResult;

impl Render for LoadRun {
    fn page(&self, look: Look) -> String {
        report::load::terminal(self, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<LoadRun>] = &[
            Form::json(|result| report::json(result).into_bytes()),
            Form::html(|result| report::html::loads(&[result]).into_bytes()),
        ];
        FORMS
    }
}

impl Kind for LoadRun {
    const SCHEMAS: &'static [&'static str] = &[SCHEMA_LOAD];

    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        typed(path, json)
    }

    fn tables(&self) -> Tables {
        Tables::of(self)
    }

    fn html(kept: &[(&Path, &Self)]) -> Option<String> {
        Some(report::html::loads(&kept.iter().map(|(_, one)| *one).collect::<Vec<_>>()))
    }

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
