//! Several kept comparisons of the same commands, as a page: each sitting's ratio and verdict, and
//! how far the sittings are apart.

use super::parts::{figure as ratio_figure, ink, origin};
use crate::Look;
use crate::clean::clean;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::table::{Table, figure, text};
use crate::units::{count, three_digits, to_second};
use model::compare::EstimateInterval;
use model::compare::commands::{WORDS, WORDS_OF_AMOUNTS};
use model::compare::sittings::{SittingSpread, Sittings, SittingsRow};

/// The page, with a newline after each line.
pub fn terminal(sittings: &Sittings, look: Look) -> String {
    joined(&parts(sittings, look))
}

/// The parts of the page.
pub(crate) fn parts(sittings: &Sittings, look: Look) -> Vec<Vec<Line>> {
    let files = sittings.sittings.iter().enumerate().flat_map(|(at, sitting)| {
        let known = format!("{}, {}, ", sitting.file, sitting.host);
        origin(&(at + 1).to_string(), &known, &to_second(&sitting.started_at), look)
    });
    let mut parts = vec![files.collect(), differences(sittings, look)];
    for row in &sittings.rows {
        parts.push(table(row, sittings, look));
        parts.push(row.spread.map_or_else(Vec::new, |spread| spread_line(&spread, look)));
    }
    if sittings.rows.is_empty() {
        parts.push(Line::new(look).add(Ink::Plain, "no comparison is in all of them").wrap(GAP));
    } else {
        parts.push(paragraphs(Line::new(look), TOLD, GAP));
    }
    parts
}

const TOLD: &str = "The interval of a sitting covers what changes within the sitting. What changes between sittings \
                    (how the programs were linked and placed, the temperature, other programs) shows only in \
                    the spread: if the spread is much larger than the intervals, trust the spread";

fn differences(sittings: &Sittings, look: Look) -> Vec<Line> {
    let of_each = sittings.differences.iter().flat_map(|of| {
        let lead = Line::new(look).add(Ink::Warn, "differs: ");
        let lead = lead.add(Ink::Plain, &format!("{} {}", of.difference.what, of.difference.a));
        let lead = lead.add(Ink::Dim, &format!(" in 1, in {} ", of.sitting + 1));
        lead.add(Ink::Plain, &of.difference.b).wrap(GAP)
    });
    of_each.collect()
}

fn table(row: &SittingsRow, sittings: &Sittings, look: Look) -> Vec<Line> {
    let columns =
        vec![text("", 4, 0), figure("pairs", 2), figure("B/A", 0), figure("95 %", 1), text("B is", 9, 0)];
    let title = clean(&format!("{}, compared with {}", row.b, row.a), look.unicode);
    let mut table = Table::new(look, &title, columns);
    let of_each = row.results.iter().zip(&sittings.sittings).enumerate();
    for (at, (result, sitting)) in of_each {
        let words = if sitting.on.is_time() { WORDS } else { WORDS_OF_AMOUNTS };
        let ratio = result.ratio.as_ref();
        table.row(vec![
            (Ink::Plain, (at + 1).to_string()),
            (Ink::Dim, count(u64::from(result.pairs))),
            (Ink::Plain, ratio.map_or_else(|| look.dash().to_owned(), |ratio| times(ratio.estimate, look))),
            (Ink::Dim, ratio.map_or_else(String::new, |ratio| ends(ratio, look))),
            (ink(result.verdict), words.of(result.verdict).to_owned()),
        ]);
    }
    table.lines()
}

fn times(ratio: f64, look: Look) -> String {
    format!("{}{}", fine(ratio), look.times())
}

/// Ratios near one differ in their third digit after the point.
fn fine(ratio: f64) -> String {
    if (0.5..2.0).contains(&ratio) { format!("{ratio:.3}") } else { ratio_figure(ratio) }
}

fn ends(ratio: &EstimateInterval, look: Look) -> String {
    format!("{}{}{}", fine(ratio.lo), look.dash(), fine(ratio.hi))
}

fn spread_line(spread: &SittingSpread, look: Look) -> Vec<Line> {
    let text = format!(
        "between sittings: median {}, from {} to {}",
        times(spread.median, look),
        times(spread.lo, look),
        times(spread.hi, look)
    );
    let line = Line::new(look).add(Ink::Bold, &text);
    match spread.between_by_within {
        None => line,
        Some(by) => {
            let said = format!("; {} what the intervals explain", times_of(by, look));
            line.add(if by > FAR { Ink::Warn } else { Ink::Plain }, &said)
        }
    }
    .wrap(GAP)
}

/// Sittings that are farther apart than this many times of what their intervals say do not measure
/// the same.
const FAR: f64 = 2.0;

fn times_of(by: f64, look: Look) -> String {
    format!("{}{}", three_digits(by), look.times())
}
