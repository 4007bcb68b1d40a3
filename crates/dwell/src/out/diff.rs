//! Comparisons of kept results, as results.

use super::render::{Form, Render};
use model::Ladder;
use model::compare::lab::LabComparison;
use model::compare::ladder::LadderComparison;
use model::compare::runs::RunComparison;
use model::compare::sittings::Sittings;
use model::compare::timings::TimingsDiff;
use model::compare::wake::WakeComparison;
use model::ladder::beside::Reference;
use report::{Look, html};
use std::slice;

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
            Form::html(|result| html::ladder_diffs(slice::from_ref(&result.diff)).into_bytes()),
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
            Form::html(|result| html::wake_diffs(slice::from_ref(&result.0)).into_bytes()),
            Form::svg(|result| report::compare::wakes_svg(&result.0).into_bytes()),
            Form::png(|result| report::compare::wakes_png(&result.0)),
        ];
        FORMS
    }
}

/// Two runs. They have no image.
#[derive(Debug)]
pub(crate) struct RunDiffResult(pub(crate) RunComparison);

impl Render for RunDiffResult {
    fn page(&self, look: Look) -> String {
        report::compare::runs(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<RunDiffResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| html::run_diffs(slice::from_ref(&result.0)).into_bytes()),
        ];
        FORMS
    }
}

/// Several comparisons of the same commands. They have no image.
#[derive(Debug)]
pub(crate) struct SittingsResult(pub(crate) Sittings);

impl Render for SittingsResult {
    fn page(&self, look: Look) -> String {
        report::compare::sittings(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<SittingsResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| html::sittings(slice::from_ref(&result.0)).into_bytes()),
        ];
        FORMS
    }
}

/// Commands that another tool timed, side by side. They have no image.
#[derive(Debug)]
pub(crate) struct TimingsDiffResult(pub(crate) TimingsDiff);

impl Render for TimingsDiffResult {
    fn page(&self, look: Look) -> String {
        report::compare::timings::two(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<TimingsDiffResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| html::timings_diffs(slice::from_ref(&result.0)).into_bytes()),
        ];
        FORMS
    }
}

/// Two scores of the lab, or one pair held twice. They have no image.
#[derive(Debug)]
pub(crate) struct LabDiffResult(pub(crate) LabComparison);

impl Render for LabDiffResult {
    fn page(&self, look: Look) -> String {
        report::compare::labs(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<LabDiffResult>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::html(|result| html::lab_diffs(slice::from_ref(&result.0)).into_bytes()),
        ];
        FORMS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_have_the_same_forms() {
        fn names<R: Render>() -> Vec<&'static str> {
            R::forms().iter().map(|form| form.name).collect()
        }
        let options = names::<LadderDiffResult>();
        assert_eq!(options, names::<WakeDiffResult>(), "dwell diff has one set of options for all");
        for fewer in [
            names::<RunDiffResult>(),
            names::<SittingsResult>(),
            names::<TimingsDiffResult>(),
            names::<LabDiffResult>(),
        ] {
            assert!(fewer.iter().all(|name| options.contains(name)), "{fewer:?}");
        }
    }
}
