//! Comparisons of two results, as results.

use super::{Form, Render};
use model::Ladder;
use model::ladder::beside::Beside;
use model::ladder::diff::LadderDiff;
use model::wake::diff::WakeDiff;
use report::Look;

/// Two ladders. The picture has B's bars with A's figures upon them.
#[derive(Debug)]
pub(crate) struct LadderComparison {
    pub(crate) diff: LadderDiff,
    pub(crate) b: Ladder,
    pub(crate) a: [Beside; 1],
}

impl Render for LadderComparison {
    fn page(&self, look: Look) -> String {
        report::ladder::diff_terminal(&self.diff, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<LadderComparison>] = &[
            Form::json(|result| report::json(&result.diff).into_bytes()),
            Form::svg(|result| report::ladder::svg(&result.b, &result.a).into_bytes()),
            Form::png(|result| report::ladder::png(&result.b, &result.a)),
        ];
        FORMS
    }
}

/// Two measurements of wake-ups, or two sheets.
#[derive(Debug)]
pub(crate) struct WakeComparison(pub(crate) WakeDiff);

impl Render for WakeComparison {
    fn page(&self, look: Look) -> String {
        report::wake::diff_terminal(&self.0, look)
    }

    fn forms() -> &'static [Form<Self>] {
        const FORMS: &[Form<WakeComparison>] = &[
            Form::json(|result| report::json(&result.0).into_bytes()),
            Form::svg(|result| report::wake::diff_svg(&result.0).into_bytes()),
            Form::png(|result| report::wake::diff_png(&result.0)),
        ];
        FORMS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_have_the_same_forms() {
        let ladders: Vec<_> = LadderComparison::forms().iter().map(|form| form.name).collect();
        let wakes: Vec<_> = WakeComparison::forms().iter().map(|form| form.name).collect();
        assert_eq!(ladders, wakes, "all are written by the options of dwell diff");
    }
}
