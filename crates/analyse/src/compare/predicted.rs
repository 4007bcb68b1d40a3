//! Whether a saving came that a run's findings predicted.

use model::compare::why::{Came, PredictedSaving, TimeDifference};
use model::coverage::Interval;
use model::finding::SavedTime;
use model::{Finding, RunResult, Seen};

/// Each saving that the findings of a run predict, held against what was measured: the difference
/// of the walls, B less A. Absent where the run shows no cause, and so predicts nothing.
pub fn predicted(result: &RunResult, measured: &TimeDifference) -> Seen<Vec<PredictedSaving>> {
    let found = &result.diagnosis.findings;
    if found.is_empty() {
        return Seen::Absent;
    }
    // What saves CPU time only says nothing of the walls.
    let saves_cpu =
        |finding: &&Finding| finding.saving.value().is_some_and(|saving| saving.of == SavedTime::Cpu);
    let of_wall = found.iter().filter(|finding| !saves_cpu(finding));
    Seen::Value(of_wall.map(|finding| prediction(finding, measured)).collect())
}

fn prediction(finding: &Finding, measured: &TimeDifference) -> PredictedSaving {
    let saving_ns = finding.saving.as_ref().map(|saving| saving.ns);
    PredictedSaving {
        cause: finding.cause.id.clone().into_owned(),
        came: saving_ns.value().map_or(Came::Undecided, |saving| came(saving, measured)),
        saving_ns,
    }
}

pub(super) fn came(saving: &Interval, measured: &TimeDifference) -> Came {
    let Some(ends) = measured.interval else { return Came::Undecided };
    // A saving is B below A.
    let (lo, hi) = (-i128::from(ends.hi), -i128::from(ends.lo));
    let (least, most) = (i128::from(saving.lo), i128::from(saving.hi));
    match () {
        () if lo >= least && hi <= most => Came::Held,
        () if hi < least => Came::Less,
        () if lo > most => Came::More,
        () => Came::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::compare::why::SignedInterval;

    #[test]
    fn a_saving_came_when_the_whole_measured_interval_lies_in_the_predicted_one() {
        let saving = Interval { lo: 100, hi: 300 };
        let measured = |lo: i64, hi: i64| TimeDifference {
            a_ns: 1_000,
            b_ns: 800,
            ns: -200,
            interval: Some(SignedInterval { lo, hi }),
        };
        for (lo, hi, expected) in [
            (-300, -100, Came::Held),
            (-99, 20, Came::Less),
            (-500, -301, Came::More),
            (-301, -100, Came::Undecided),
            (-150, -50, Came::Undecided),
        ] {
            assert_eq!(came(&saving, &measured(lo, hi)), expected, "{lo} {hi}");
        }
        let one = TimeDifference { interval: None, ..measured(0, 0) };
        assert_eq!(came(&saving, &one), Came::Undecided);
    }
}
