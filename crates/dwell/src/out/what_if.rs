//! What the wall clock of a run would have been with edits, as a result. It has no image, and no
//! code.

use super::kind::{Kind, json_as_it_is};
use super::render::{Form, Render};
use model::WhatIf;
use model::what_if::SCHEMA_WHAT_IF;
use report::Look;

impl Render for WhatIf {
    fn page(&self, look: Look) -> String {
        report::what_if::terminal(self, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(result).into_bytes()),
        Form::html(|result| {
            let text = result.page(Look::PLAIN);
            report::html::plain("what-if", "dwell show --what-if", &text, result).into_bytes()
        }),
    ];
}

impl Kind for WhatIf {
    json_as_it_is!(SCHEMA_WHAT_IF);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::RunOutput;

    #[test]
    fn it_has_forms_of_a_run_only() {
        let of_run: Vec<_> = RunOutput::FORMS.iter().map(|form| form.name).collect();
        assert!(WhatIf::FORMS.iter().all(|form| of_run.contains(&form.name)), "they share options");
    }
}
