//! Whether a saving came that a run's findings predicted.

use crate::lab::OF_OTHERS;
use model::compare::why::{Came, PredictedSaving, TimeDifference};
use model::coverage::Interval;
use model::finding::SavedTime;
use model::{Finding, Ns, RunResult, Seen};

/// Each saving that the findings of a run predict, held against what was measured: the difference
/// of the walls, B less A. Absent where the run shows no cause, and so predicts nothing.
///
/// The run that predicted may have had another wall clock than A, as beside other programs. So both
/// savings are parts of the wall clock that they were made of.
pub fn predicted(result: &RunResult, measured: &TimeDifference) -> Seen<Vec<PredictedSaving>> {
    let found = &result.diagnosis.findings;
    if found.is_empty() {
        return Seen::Absent;
    }
    // What saves CPU time only says nothing of the walls.
    let saves_cpu =
        |finding: &&Finding| finding.saving.value().is_some_and(|saving| saving.of == SavedTime::Cpu);
    let of_wall = || found.iter().filter(|finding| !saves_cpu(finding));
    let others = |finding: &Finding| finding.cause.id == OF_OTHERS;
    let only_others = of_wall().all(others);
    let wall_ns = result.run.wall_ns;
    let row = |finding| prediction(finding, measured, wall_ns, only_others || !others(finding));
    Seen::Value(of_wall().map(row).collect())
}

fn prediction(finding: &Finding, measured: &TimeDifference, wall_ns: Ns, tested: bool) -> PredictedSaving {
    let saving_ns = finding.saving.as_ref().map(|saving| saving.ns);
    let saving = saving_ns.value().filter(|_| tested);
    PredictedSaving {
        cause: finding.cause.id.clone().into_owned(),
        came: saving.map_or(Came::Undecided, |saving| came_in_parts(saving, wall_ns, measured)),
        saving_ns,
        wall_ns: Some(wall_ns),
        tested,
    }
}

/// The same in parts of the wall clock: of the run that predicted, and of A.
fn came_in_parts(saving: &Interval, wall_ns: Ns, measured: &TimeDifference) -> Came {
    let Some(ends) = measured.interval.filter(|_| wall_ns > 0 && measured.a_ns > 0) else {
        return Came::Undecided;
    };
    let part = |ns: f64, of: Ns| ns / of as f64;
    // A saving is B below A.
    let (lo, hi) = (part(-ends.hi as f64, measured.a_ns), part(-ends.lo as f64, measured.a_ns));
    let (least, most) = (part(saving.lo as f64, wall_ns), part(saving.hi as f64, wall_ns));
    verdict((lo, hi), (least, most))
}

pub(super) fn came(saving: &Interval, measured: &TimeDifference) -> Came {
    let Some(ends) = measured.interval else { return Came::Undecided };
    // A saving is B below A.
    let (lo, hi) = (-i128::from(ends.hi), -i128::from(ends.lo));
    verdict((lo, hi), (i128::from(saving.lo), i128::from(saving.hi)))
}

/// What was saved against what was to be.
fn verdict<T: PartialOrd>((lo, hi): (T, T), (least, most): (T, T)) -> Came {
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
        for (wall_ns, expected) in [(1_000, Came::Held), (4_000, Came::More), (250, Came::Less)] {
            assert_eq!(came_in_parts(&saving, wall_ns, &measured(-300, -100)), expected, "{wall_ns}");
        }
        let one = TimeDifference { interval: None, ..measured(0, 0) };
        assert_eq!(came_in_parts(&saving, 1_000, &one), Came::Undecided);
        assert_eq!(came(&saving, &one), Came::Undecided);
    }
}
