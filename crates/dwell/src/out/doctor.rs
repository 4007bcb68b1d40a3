//! What works on this host, as a result.

use super::kind::{Kind, json_as_it_is};
use super::render::{Form, Render};
use super::row::row;
use model::doctor::{Doctor, SCHEMA_DOCTOR};
use report::Look;
use store::results::NewResult;

impl Render for Doctor {
    fn page(&self, look: Look) -> String {
        report::doctor::terminal(self, look)
    }

    fn screen(&self, look: Look) -> String {
        report::doctor::short(self, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(result).into_bytes()),
        Form::html(|result| report::html::doctors(&[result]).into_bytes()),
    ];
}

impl Kind for Doctor {
    json_as_it_is!(SCHEMA_DOCTOR, report::html::doctors);

    fn row(&self) -> Option<NewResult> {
        Some(NewResult {
            verdict: Some(self.tier.name().to_owned()),
            ..row("doctor", &self.host, &self.schema, report::json(self))
        })
    }
}
