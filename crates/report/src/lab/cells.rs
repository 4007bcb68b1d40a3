//! What a row of a score says of a pair, and what all come to: for the page and for Markdown.

use crate::Look;
use crate::units::{percents, share_of_one};
use model::compare::commands::EstimateInterval;
use model::lab::{LabScore, LabSitting, Observed, ScoreRow, UnfoundKind};

pub(super) fn first(observed: &Observed) -> &str {
    observed.findings.first().map_or("nothing", |row| row.cause.as_str())
}

/// The first finding; where that is what others take and counts as right, the one of the program's
/// own after it.
pub(super) fn own_first(sitting: &LabSitting, cause: Option<&str>) -> String {
    let first = first(&sitting.slow);
    match cause {
        Some(cause) if sitting.outcome.cause_first && first != cause => format!("{first}, then {cause}"),
        _ => first.to_owned(),
    }
}

/// Whether something is saved, as far as the comparison tells.
pub(super) fn is_shown(saved: EstimateInterval) -> bool {
    saved.lo > 0.0
}

/// In per cent, without a sign of zero.
pub(super) fn in_hundreds(part: f64) -> f64 {
    (part * 100.0).round() + 0.0
}

/// The mean saving of the sittings in per cent; `none shown` where no sitting shows any.
pub(super) fn mean_saved(sittings: &[LabSitting]) -> String {
    let all = || sittings.iter().filter_map(|sitting| sitting.saved.first().copied().flatten());
    let held = all().count();
    match held {
        0 => "-".to_owned(),
        _ if !all().any(is_shown) => "none shown".to_owned(),
        _ => format!("{:.0}", in_hundreds(all().map(|saved| saved.estimate).sum::<f64>() / held as f64)),
    }
}

/// The cells of a pair's row: means over its sittings.
pub(super) fn cells(row: &ScoreRow, look: Look) -> Vec<String> {
    let sittings = &row.sittings;
    let judged = || sittings.iter().filter(|sitting| sitting.outcome.is_judged());
    let of = |held: &dyn Fn(&LabSitting) -> bool| match judged().count() {
        0 => "-".to_owned(),
        all => format!("{} of {all}", judged().filter(|sitting| held(sitting)).count()),
    };
    let mean = |of: &dyn Fn(&LabSitting) -> Option<f64>| {
        let all: Vec<f64> = sittings.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    let figure = |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| format!("{figure:.2}"));
    let mut others: Vec<&str> =
        judged().filter(|sitting| !sitting.outcome.cause_first).map(|sitting| first(&sitting.slow)).collect();
    others.sort_unstable();
    others.dedup();
    let mut found = of(&|sitting| sitting.outcome.cause_first);
    if !others.is_empty() {
        found += &format!("; {}", others.join(", "));
    }
    match sittings.len() - judged().count() {
        0 => {}
        unseen if unseen == sittings.len() => found = "could not look".to_owned(),
        unseen => found += &format!("; {unseen} not looked for"),
    }
    let lo = mean(&|sitting| sitting.outcome.predicted.map(|ends| ends.lo));
    let hi = mean(&|sitting| sitting.outcome.predicted.map(|ends| ends.hi));
    let healthy = row.pair.cause.is_none();
    let only = |text: String| if healthy { "-".to_owned() } else { text };
    vec![
        row.pair.name.clone(),
        row.pair.cause.clone().unwrap_or_else(|| "none".to_owned()),
        found,
        match (lo, hi) {
            (Some(lo), Some(hi)) => percents(lo, hi, look.dash()),
            _ => "-".to_owned(),
        },
        mean_saved(sittings),
        only(of(&|sitting| sitting.outcome.held == Some(true))),
        figure(mean(&|sitting| sitting.outcome.score)),
        figure(mean(&|sitting| sitting.outcome.rule_score)),
    ]
}

/// All sittings together, in sentences.
pub(super) fn totals(score: &LabScore) -> Vec<String> {
    if !has_sittings(score) {
        return vec!["No pair was run, so there is no score.".to_owned()];
    }
    let total = &score.total;
    let mut lines = Vec::new();
    if total.sittings > 0 {
        lines.push(format!(
            "Of {} sittings the cause is the first finding in {}, and first again after the change in {}; of {} \
             predicted savings that were measured {} held.",
            total.sittings, total.cause_first, total.first_again, total.measured, total.held
        ));
    }
    if total.saving_shown > 0 {
        lines.push(format!(
            "Of {} whose change was shown to save anything it is the first in {}.",
            total.saving_shown, total.saving_shown_first
        ));
    }
    if total.unseen > 0 {
        let sittings = if total.unseen == 1 { "sitting" } else { "sittings" };
        lines.push(format!("In {} {sittings} more dwell could not look for the cause.", total.unseen));
    }
    if let (Some(own), Some(rule)) = (total.score, total.rule_score) {
        lines.push(format!(
            "Mean interval score {own:.2}, of the rule (a third of the share to all of it) {rule:.2}; smaller is better."
        ));
    }
    if total.counted > 0 {
        lines.push(format!(
            "Of {} counted savings {} have a high end of at most 1.5 times the low end.",
            total.counted, total.counted_narrow
        ));
    }
    if total.healthy > 0 {
        lines.push(format!(
            "Of {} sittings of healthy programs nothing was claimed in {}.",
            total.healthy, total.healthy_right
        ));
    }
    lines
}

/// Whether any pair was held. What was killed has no totals yet.
pub(super) fn has_sittings(score: &LabScore) -> bool {
    let total = &score.total;
    total.sittings + total.healthy + total.unseen > 0 || score.rows.iter().any(|row| !row.sittings.is_empty())
}

/// What the table does not have: pairs that were not held or not looked at, and an early end.
pub(super) fn remarks(score: &LabScore) -> Vec<String> {
    let unseen = score.rows.iter().filter_map(|row| {
        let mut reasons = row.sittings.iter().filter_map(|sitting| sitting.outcome.unfound.as_ref());
        let why = reasons.find(|unfound| unfound.kind == UnfoundKind::Unseen)?;
        let cause = row.pair.cause.as_deref().unwrap_or_default();
        Some(format!("{}: dwell could not look for {cause}: {}", row.pair.name, why.why))
    });
    let not_held = score.not_held.iter().map(|(name, why)| format!("{name} was not run: {why}"));
    let early = score.ended_early.iter().map(|why| format!("ended early: {why}"));
    unseen.chain(not_held).chain(early).collect()
}

pub(super) fn shares(lo: f64, hi: f64, look: Look) -> String {
    format!("{} %", percents(lo, hi, look.dash()))
}

/// What a change saves: `50 % (48–52 %)`. Where the interval reaches across zero none is shown, and
/// where it lies below the change costs time.
pub(super) fn of(saved: EstimateInterval, look: Look) -> String {
    let EstimateInterval { estimate, lo, hi } = saved;
    match () {
        () if is_shown(saved) => format!("{} ({})", share_of_one(estimate), shares(lo, hi, look)),
        () if hi >= 0.0 => format!("no saving shown ({:.0} to {:.0} %)", in_hundreds(lo), in_hundreds(hi)),
        () => format!("none: takes {} more ({})", share_of_one(-estimate), shares(-hi, -lo, look)),
    }
}
