//! Wake-up latency: pages for a terminal, pictures and JUnit.

pub(crate) mod chart;
pub(crate) mod columns;
mod head;
mod junit;
pub(crate) mod picture;
pub(crate) mod plots;
mod sheet;
mod spikes;
mod table;
mod verdict;
pub(crate) mod words;

use crate::Look;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
pub use junit::{junit, sheet_junit};
use model::wake::Wakeups;
pub use sheet::{png as sheet_png, svg as sheet_svg, terminal as sheet_terminal};

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

/// The caveats.
fn limits(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let limit = |text: &String| paragraphs(Line::new(look).add(Ink::Warn, "! "), text, GAP);
    wakeups.limits.iter().flat_map(limit).collect()
}
