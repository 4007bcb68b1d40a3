//! What the result rests on: noise, order, the floor of starting and reaping, one sitting; and
//! where the difference lies.

use super::figures::{letters, ratio_interval};
use crate::Look;
use crate::compare::why;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::units;
use model::Seen;
use model::compare::commands::{CommandChange, Comparison, EstimateInterval, PREDICTS_NOTHING};
use model::timing::Figure;

/// Where the differences lie.
pub(super) fn why(comparison: &Comparison, look: Look) -> Vec<Vec<Line>> {
    comparison.comparisons.iter().flat_map(|change| of_change(comparison, change, look)).collect()
}

fn of_change(comparison: &Comparison, change: &CommandChange, look: Look) -> Vec<Vec<Line>> {
    let several = comparison.comparisons.len() > 1;
    let letter = letters(change.b as usize);
    let lead = if several { format!("why {letter}: ") } else { "why: ".to_owned() };
    let mut parts = match &change.why {
        Seen::Value(found) => why::parts_of_pairs(found, look),
        Seen::Unseen(why) => vec![paragraphs(Line::new(look).add(Ink::Dim, &lead), why, GAP)],
        Seen::Absent => Vec::new(),
    };
    if several && change.why.value().is_some() {
        let text = format!("{letter} against A, called B here");
        parts.insert(0, Line::new(look).add(Ink::Bold, &lead).add(Ink::Plain, &text).wrap(GAP));
    }
    parts
}

/// What it rests on.
pub(super) fn lines(comparison: &Comparison, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let noise = comparison.comparisons.iter().find_map(|change| change.noise_floor);
    lines.extend(noise.map(|noise| {
        let text = format!("{}, between neighbouring runs of A", ratio_interval(noise, look));
        said("noise: ", &text, look)
    }));
    lines.extend(order(comparison, look));
    lines.extend(floor(comparison, look));
    let sitting = "one sitting: other directories, addresses and temperatures may change the ratio by more than \
                   its interval; dwell diff of several --json files shows by how much";
    lines.push(said("limits: ", sitting, look));
    let here = comparison.limits.iter().filter(|limit| *limit != PREDICTS_NOTHING);
    lines.extend(here.map(|limit| said("limits: ", limit, look)));
    lines.concat()
}

fn said(lead: &str, text: &str, look: Look) -> Vec<Line> {
    paragraphs(Line::new(look).add(Ink::Dim, lead), text, GAP)
}

/// Whether who ran first mattered: of the comparison where it did most.
fn order(comparison: &Comparison, look: Look) -> Option<Vec<Line>> {
    let far = |of: &EstimateInterval| of.estimate.ln().abs();
    let all = comparison.comparisons.iter().filter_map(|change| change.second_by_first);
    let most = all.max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let words = match most {
        most if most.lo > 1.0 => "the second run of a pair had more",
        most if most.hi < 1.0 => "the second run of a pair had less",
        _ => "first and second runs show no difference",
    };
    Some(said("order: ", &format!("{words}: {}; the order was random", ratio_interval(most, look)), look))
}

/// What starting and reaping takes.
fn floor(comparison: &Comparison, look: Look) -> Option<Vec<Line>> {
    if comparison.settings.on != Figure::Wall {
        return None;
    }
    let text = match &comparison.floor_ns {
        Seen::Value(floor) => {
            let ns = |ns: f64| ns.max(0.0).round() as u64;
            let range = units::duration_range(ns(floor.lo), ns(floor.hi), look.dash());
            format!(
                "{} ({range}) of each run is the start and end of its process",
                units::duration(ns(floor.median))
            )
        }
        Seen::Unseen(why) => format!("the time to start and end a process is unknown: {why}"),
        Seen::Absent => return None,
    };
    Some(said("floor: ", &text, look))
}
