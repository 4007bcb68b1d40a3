//! What became of the savings that a run's findings predicted: below the verdict, since that is
//! what such a comparison was made for.
//!
//! A comparison measures one saving, and which cause was changed is not known. So the first finding
//! is judged, and of the others the page says what would hold if they were the change.

use super::figures::letters;
use crate::Look;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::units::{duration, duration_range, percents};
use model::compare::commands::{CommandChange, Comparison, PREDICTS_NOTHING};
use model::compare::why::{Came, PredictedSaving};
use model::{Ns, Seen};

/// Wall clocks that differ by more than this part are named.
const ALIKE: f64 = 0.1;

/// What became of the predictions for a command.
pub(super) fn lines(comparison: &Comparison, change: &CommandChange, look: Look) -> Vec<Line> {
    let lead = match comparison.comparisons.len() {
        1 => "predicted: ".to_owned(),
        _ => format!("predicted of {}: ", letters(change.b as usize)),
    };
    let judged = |row: &&PredictedSaving| row.tested;
    let mut tested = change.predicted.iter().filter(judged);
    let first = tested.next().map(|row| {
        let walls = walls(comparison, change, row).unwrap_or_default();
        format!("{}, {}; {}{walls}", row.cause, saving(row, look), came(change, row, look))
    });
    let others = tested.map(|row| {
        let came = match row.came {
            Came::Held => "it came true",
            Came::Less => "it saved less",
            Came::More => "it saved more",
            Came::Undecided => "undecided",
        };
        format!("if the change was of {}, {}: {came}", row.cause, saving(row, look))
    });
    let untested = change.predicted.iter().filter(|row| !judged(row)).map(|row| {
        format!("{}, {}: not tested: the change stops no other program", row.cause, saving(row, look))
    });
    let said = first.into_iter().chain(others).chain(untested);
    said.flat_map(|text| paragraphs(Line::new(look).add(Ink::Plain, &lead), &text, GAP)).collect()
}

/// That the run has no finding.
pub(super) fn nothing(comparison: &Comparison, look: Look) -> Vec<Line> {
    if !comparison.limits.iter().any(|limit| limit == PREDICTS_NOTHING) {
        return Vec::new();
    }
    let text = "nothing, since the run shows none of the causes that dwell knows";
    paragraphs(Line::new(look).add(Ink::Plain, "predicted: "), text, GAP)
}

/// `38–81 % of the wall clock`; of older results a time.
fn saving(row: &PredictedSaving, look: Look) -> String {
    match (&row.saving_ns, row.wall_ns) {
        (Seen::Value(saving), Some(wall_ns)) => {
            let part = |ns: Ns| ns as f64 / wall_ns.max(1) as f64;
            format!("{} % of the wall clock", percents(part(saving.lo), part(saving.hi), look.dash()))
        }
        (Seen::Value(saving), None) => duration_range(saving.lo, saving.hi, look.dash()),
        (Seen::Absent, _) => "no saving".to_owned(),
        (Seen::Unseen(why), _) => format!("no figure ({why})"),
    }
}

/// `saved 88–92 %: more than predicted`.
fn came(change: &CommandChange, row: &PredictedSaving, look: Look) -> String {
    let Some(ratio) = change.ratio.filter(|_| change.no_verdict.is_empty()) else {
        return "undecided: there is no interval of what was saved".to_owned();
    };
    let (lo, hi) = (1.0 - ratio.hi, 1.0 - ratio.lo);
    let dash = if lo < 0.0 { " to " } else { look.dash() };
    let saved = format!("saved {} %", percents(lo, hi, dash));
    let came = match row.came {
        Came::Held => "as predicted",
        Came::Less => "less than predicted",
        Came::More => "more than predicted",
        Came::Undecided if row.saving_ns.value().is_some() => "undecided, as the intervals overlap",
        Came::Undecided => "undecided, as there is nothing to hold it against",
    };
    format!("{saved}: {came}")
}

/// Why it is in parts of the wall clock, where the run had another one than A.
fn walls(comparison: &Comparison, change: &CommandChange, row: &PredictedSaving) -> Option<String> {
    let a_ns = comparison.commands.get(change.a as usize)?.figure?.median;
    let wall_ns = row.wall_ns.filter(|wall_ns| (*wall_ns as f64 - a_ns).abs() > ALIKE * a_ns)?;
    let (run, a) = (duration(wall_ns), duration(a_ns.max(0.0).round() as Ns));
    Some(format!(" (parts, not times: that run took {run}, A takes {a})"))
}
