//! A replay with edits as a result.

use super::render::{Form, Render};
use model::WhatIf;
use report::Look;

/// What the wall clock of a run would have been. It has no image, and no code.
#[derive(Debug)]
pub(crate) struct WhatIfResult(pub(crate) WhatIf);

impl Render for WhatIfResult {
    fn page(&self, look: Look) -> String {
        report::what_if::terminal(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<WhatIfResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| {
                report::html::plain("what-if", "dwell show --what-if", &result.page(Look::PLAIN), &result.0)
                    .into_bytes()
            }),
        ];
        FORMS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::RunOutput;

    #[test]
    fn it_has_forms_of_a_run_only() {
        let of_run: Vec<_> = RunOutput::forms().iter().map(|form| form.name).collect();
        assert!(WhatIfResult::forms().iter().all(|form| of_run.contains(&form.name)), "they share options");
    }
}
