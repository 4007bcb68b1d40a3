//! What works on this host as a result.

use super::render::{Form, IN_A_PAGE, Render};
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
            Form::html(|result| {
                report::html::plain("doctor", "dwell doctor", &result.page(IN_A_PAGE), &result.0).into_bytes()
            }),
        ];
        FORMS
    }
}
