//! Comparisons of kept results, as results. Of what there is no image, none is offered.

use super::kind::{Kind, json_as_it_is};
use super::render::{Form, Render};
use model::Ladder;
use model::compare::lab::{LabComparison, SCHEMA_LAB_DIFF};
use model::compare::ladder::{LadderComparison, SCHEMA_LADDER_DIFF};
use model::compare::runs::{RunComparison, SCHEMA_RUN_DIFF};
use model::compare::sittings::{SCHEMA_COMPARE_DIFF, Sittings};
use model::compare::timings::{SCHEMA_TIMINGS_DIFF, TimingsDiff};
use model::compare::wake::{SCHEMA_WAKE_DIFF, WakeComparison};
use model::ladder::beside::Reference;
use report::{Look, compare, html};

/// A comparison that is a page, JSON and a page for a browser; `more` are its other forms.
macro_rules! comparison {
    ($kind:ty, $schema:expr, $page:path, $html:path $(, $more:expr)* $(; $screen:path)?) => {
        impl Render for $kind {
            $(fn screen(&self, look: Look) -> String {
                $screen(self, look)
            })?

            fn page(&self, look: Look) -> String {
                $page(self, look)
            }

            const FORMS: &'static [Form<Self>] = &[
                    Form::json(|diff| report::json(diff).into_bytes()),
                    Form::html(|diff| $html(&[diff]).into_bytes()),
                    $($more,)*
                ];
        }

        impl Kind for $kind {
            json_as_it_is!($schema, $html);
        }
    };
}

comparison!(RunComparison, SCHEMA_RUN_DIFF, compare::runs, html::run_diffs);
comparison!(Sittings, SCHEMA_COMPARE_DIFF, compare::sittings, html::sittings);
comparison!(TimingsDiff, SCHEMA_TIMINGS_DIFF, compare::timings::two, html::timings_diffs);
comparison!(LabComparison, SCHEMA_LAB_DIFF, compare::labs, html::lab_diffs);
comparison!(LadderComparison, SCHEMA_LADDER_DIFF, compare::ladders, html::ladder_diffs);
comparison!(
    WakeComparison,
    SCHEMA_WAKE_DIFF,
    compare::wakes,
    html::wake_diffs,
    Form::svg(|diff| compare::wakes_svg(diff).into_bytes()),
    Form::png(compare::wakes_png);
    compare::wakes_screen
);

/// Two ladders that were just compared. The image has B's bars with A's medians marked.
#[derive(Debug)]
pub(crate) struct LadderDiffResult {
    pub(crate) diff: LadderComparison,
    pub(crate) b: Ladder,
    pub(crate) a: [Reference; 1],
}

impl Render for LadderDiffResult {
    fn page(&self, look: Look) -> String {
        self.diff.page(look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(&result.diff).into_bytes()),
        Form::html(|result| html::ladder_diffs(&[&result.diff]).into_bytes()),
        Form::svg(|result| report::ladder::svg(&result.b, &result.a).into_bytes()),
        Form::png(|result| report::ladder::png(&result.b, &result.a)),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_have_the_same_forms() {
        fn names<R: Render>() -> Vec<&'static str> {
            R::FORMS.iter().map(|form| form.name).collect()
        }
        let options = names::<LadderDiffResult>();
        assert_eq!(options, names::<WakeComparison>(), "dwell diff has one set of options for all");
        for fewer in
            [names::<RunComparison>(), names::<Sittings>(), names::<TimingsDiff>(), names::<LabComparison>()]
        {
            assert!(fewer.iter().all(|name| options.contains(name)), "{fewer:?}");
        }
    }
}
