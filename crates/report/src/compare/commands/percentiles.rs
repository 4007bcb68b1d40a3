//! Percentiles of the numbers that each run printed, beside their median, which decides.

use super::figures::{amount, letters, ratio_interval};
use crate::Look;
use crate::compare::parts::ink;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::table::{Table, figure, text};
use model::Seen;
use model::compare::Change;
use model::compare::commands::{CommandChange, Comparison, PercentileChange, WORDS_OF_AMOUNTS};

/// A percentile of a command, as text.
pub(super) struct PercentileRow {
    /// The command's letter.
    pub(super) letter: String,
    /// `p90`.
    pub(super) percentile: String,
    /// The median of A's runs, and of the command's.
    pub(super) medians: [String; 2],
    /// With its interval.
    pub(super) ratio: String,
    pub(super) change: Change,
}

/// Of each command the median and the percentiles that were found; none where none was.
pub(super) fn rows(comparison: &Comparison, look: Look) -> Vec<PercentileRow> {
    comparison.comparisons.iter().flat_map(|change| of_change(comparison, change, look)).collect()
}

fn of_change(comparison: &Comparison, change: &CommandChange, look: Look) -> Vec<PercentileRow> {
    let on = comparison.settings.on;
    let median = |of: u32| comparison.commands.get(of as usize)?.figure.map(|figure| figure.median);
    let mut found: Vec<_> = change
        .percentiles
        .iter()
        .filter_map(|of| Some((of.percent, of.found.value()?)))
        .map(|(percent, of)| (percent, [Some(of.a), Some(of.b)], of.ratio, of.change))
        .collect();
    if !found.is_empty() {
        found.insert(0, (50, [median(change.a), median(change.b)], change.ratio, change.verdict));
    }
    let row = |(percent, medians, ratio, of): (u32, [Option<f64>; 2], Option<_>, _)| PercentileRow {
        letter: letters(change.b as usize),
        percentile: format!("p{percent}"),
        medians: medians.map(|median| median.map_or_else(String::new, |median| amount(on, median))),
        ratio: ratio.map_or_else(String::new, |ratio| ratio_interval(ratio, look)),
        change: of,
    };
    found.into_iter().map(row).collect()
}

/// The table, and why percentiles are missing in it.
pub(super) fn lines(comparison: &Comparison, look: Look) -> Vec<Line> {
    let columns = vec![
        text("", 1, 0),
        text("", 3, 0),
        figure("A", 1),
        figure("its own", 1),
        text("by A", 20, 0),
        text("", 9, 0),
    ];
    let mut table = Table::new(look, "percentiles", columns);
    let rows = rows(comparison, look);
    let mut lines = Vec::new();
    if !rows.is_empty() {
        for row in rows {
            let [a, its] = row.medians;
            table.row(vec![
                (Ink::Bold, row.letter),
                (Ink::Plain, row.percentile),
                (Ink::Plain, a),
                (Ink::Plain, its),
                (Ink::Plain, row.ratio),
                (ink(row.change), WORDS_OF_AMOUNTS.of(row.change).to_owned()),
            ]);
        }
        lines = table.lines();
        let text = "of the numbers that each run printed; p50 decides, and each interval is of its row alone";
        lines.extend(Line::new(look).add(Ink::Dim, text).wrap(GAP));
    }
    let missing = comparison.comparisons.iter().flat_map(|change| {
        change.percentiles.iter().filter_map(move |of| missing(comparison, change, of, look))
    });
    lines.extend(missing.flatten());
    lines
}

/// Why a percentile is missing.
fn missing(
    comparison: &Comparison,
    change: &CommandChange,
    of: &PercentileChange,
    look: Look,
) -> Option<Vec<Line>> {
    let Seen::Unseen(why) = &of.found else { return None };
    let lead = match comparison.comparisons.len() {
        1 => format!("p{}: ", of.percent),
        _ => format!("p{} of {}: ", of.percent, letters(change.b as usize)),
    };
    Some(paragraphs(Line::new(look).add(Ink::Dim, &lead), why, GAP))
}
