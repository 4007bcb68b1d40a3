//! What works on this host, as a result.

use super::kind::{Kind, typed};
use super::render::{Form, Render};
use super::row::row;
use model::doctor::{Doctor, SCHEMA_DOCTOR};
use report::Look;
use report::export::tables::Tables;
use serde_json::Value;
use std::path::Path;
use store::results::NewResult;

impl Render for Doctor {
    fn page(&self, look: Look) -> String {
        report::doctor::terminal(self, look)
    }

    fn screen(&self, look: Look) -> String {
        report::doctor::short(self, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<Doctor>] = &[
            Form::json(|result| report::json(result).into_bytes()),
            Form::html(|result| report::html::doctors(&[result]).into_bytes()),
        ];
        FORMS
    }
}

impl Kind for Doctor {
    const SCHEMAS: &'static [&'static str] = &[SCHEMA_DOCTOR];

    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        typed(path, json)
    }

    fn tables(&self) -> Tables {
        Tables::of(self)
    }

    fn html(kept: &[(&Path, &Self)]) -> Option<String> {
        Some(report::html::doctors(&kept.iter().map(|(_, one)| *one).collect::<Vec<_>>()))
    }

    fn row(&self) -> Option<NewResult> {
        Some(NewResult {
            verdict: Some(self.tier.name().to_owned()),
            ..row("doctor", &self.host, &self.schema, report::json(self))
        })
    }
}
