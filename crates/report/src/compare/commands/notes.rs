//! What the result rests on: noise, order, the floor of starting and reaping, one sitting; and
//! where the difference lies.

use super::figures::{letters, ratio_interval};
use crate::Look;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::units;
use model::Seen;
use model::compare::commands::{CommandChange, Comparison, EstimateInterval};
use model::timing::Figure;

/// Where the differences lie.
pub(super) fn why(comparison: &Comparison, look: Look) -> Vec<Line> {
    comparison.comparisons.iter().flat_map(|change| of_change(comparison, change, look)).collect()
}

fn of_change(comparison: &Comparison, change: &CommandChange, look: Look) -> Vec<Line> {
    let several = comparison.comparisons.len() > 1;
    let name = if several { format!("why {}: ", letters(change.b as usize)) } else { "why: ".to_owned() };
    match &change.why {
        Seen::Unseen(why) => paragraphs(Line::new(look).add(Ink::Dim, &name), why, GAP),
        Seen::Value(_) | Seen::Absent => Vec::new(),
    }
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
    lines.extend(comparison.limits.iter().map(|limit| said("limits: ", limit, look)));
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
        most if most.lo > 1.0 => "the run that was second in its pair had more",
        most if most.hi < 1.0 => "the run that was second in its pair had less",
        _ => "who ran first made no difference that shows",
    };
    Some(said("order: ", &format!("{words}: {}; it was random", ratio_interval(most, look)), look))
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
            format!("{} ({range}) of each run is starting and reaping it", units::duration(ns(floor.median)))
        }
        Seen::Unseen(why) => format!("what starting and reaping takes is unknown: {why}"),
        Seen::Absent => return None,
    };
    Some(said("floor: ", &text, look))
}
