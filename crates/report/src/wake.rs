//! Wake-up latency: pages for a terminal, pictures and JUnit.

mod chart;
mod columns;
mod diff;
mod head;
mod junit;
mod picture;
mod plots;
mod sheet;
mod spikes;
mod table;
mod verdict;
pub(crate) mod words;

use crate::Look;
use crate::paint::{Ink, Line};
pub use diff::{png as diff_png, svg as diff_svg, terminal as diff_terminal};
pub use junit::{junit, sheet_junit};
use model::wake::Wakeups;
pub use sheet::{png as sheet_png, svg as sheet_svg, terminal as sheet_terminal};

/// Blanks before lines that go on.
const GAP: usize = 2;

/// The page, with a newline after each line.
pub fn terminal(wakeups: &Wakeups, look: Look) -> String {
    let parts = [
        head::lines(wakeups, look),
        verdict::lines(wakeups, look),
        table::lines(wakeups, look),
        chart::histogram(wakeups, look),
        chart::timeline(wakeups, look),
        words::loads(wakeups, look),
        spikes::lines(wakeups, look),
        limits(wakeups, look),
    ];
    joined(&parts)
}

/// The same as a picture: an SVG document.
pub fn svg(wakeups: &Wakeups) -> String {
    crate::picture::svg(&picture::of(wakeups))
}

/// The same picture as the bytes of a PNG file.
pub fn png(wakeups: &Wakeups) -> Vec<u8> {
    crate::picture::png(&picture::of(wakeups))
}

/// What qualifies all of it.
fn limits(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let limit = |text: &String| paragraphs(Line::new(look).add(Ink::Warn, "! "), text, look);
    wakeups.limits.iter().flat_map(limit).collect()
}

/// A text of several lines (a limit and its remedy), each a paragraph of its own behind `lead`.
fn paragraphs(lead: Line, text: &str, look: Look) -> Vec<Line> {
    let mut lead = Some(lead);
    let line = |part: &str| {
        let line = lead.take().unwrap_or_else(|| Line::new(look).pad_to(GAP));
        line.add(Ink::Plain, part).wrap(GAP)
    };
    text.lines().flat_map(line).collect()
}

/// Parts of a page with an empty line between those that have any.
fn joined(parts: &[Vec<Line>]) -> String {
    let text = |part: &Vec<Line>| part.iter().map(|line| line.render() + "\n").collect::<String>();
    parts.iter().filter(|part| !part.is_empty()).map(text).collect::<Vec<_>>().join("\n")
}
