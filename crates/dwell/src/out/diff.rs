//! Comparisons of two results, as results.

use super::render::{Form, Render};
use model::Ladder;
use model::compare::ladder::LadderComparison;
use model::compare::wake::WakeComparison;
use model::ladder::beside::Reference;
use report::Look;

/// Two ladders. The image has B's bars with A's medians marked.
#[derive(Debug)]
pub(crate) struct LadderDiffResult {
    pub(crate) diff: LadderComparison,
    pub(crate) b: Ladder,
    pub(crate) a: [Reference; 1],
}

impl Render for LadderDiffResult {
    fn page(&self, look: Look) -> String {
        report::compare::ladders(&self.diff, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<LadderDiffResult>] = &[
            Form::json(|result| report::json(&result.diff).into_bytes()),
            Form::svg(|result| report::ladder::svg(&result.b, &result.a).into_bytes()),
            Form::png(|result| report::ladder::png(&result.b, &result.a)),
        ];
        FORMS
    }
}

/// Two measurements of latency, or two sheets.
#[derive(Debug)]
pub(crate) struct WakeDiffResult(pub(crate) WakeComparison);

impl Render for WakeDiffResult {
    fn page(&self, look: Look) -> String {
        report::compare::wakes(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<WakeDiffResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::svg(|result| report::compare::wakes_svg(&result.0).into_bytes()),
            Form::png(|result| report::compare::wakes_png(&result.0)),
        ];
        FORMS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_have_the_same_forms() {
        let ladders: Vec<_> = LadderDiffResult::forms().iter().map(|form| form.name).collect();
        let wakes: Vec<_> = WakeDiffResult::forms().iter().map(|form| form.name).collect();
        assert_eq!(ladders, wakes, "dwell diff has one set of options for both");
    }
}
