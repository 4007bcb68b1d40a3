//! What works on this host as a result.

use super::render::{Form, Render};
use model::doctor::Doctor;
use report::Look;

/// What was tried, and what would change it.
#[derive(Debug)]
pub(crate) struct DoctorResult(pub(crate) Doctor);

impl Render for DoctorResult {
    fn page(&self, look: Look) -> String {
        report::doctor::terminal(&self.0, look)
    }

    fn screen(&self, look: Look) -> String {
        report::doctor::short(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<DoctorResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| report::html::doctors(std::slice::from_ref(&result.0)).into_bytes()),
        ];
        FORMS
    }
}
