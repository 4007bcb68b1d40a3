//! Wake-up latency: pages for a terminal, pictures and JUnit.

pub(crate) mod chart;
pub(crate) mod columns;
mod head;
mod junit;
pub(crate) mod picture;
pub(crate) mod plots;
mod sheet;
mod spikes;
pub(crate) mod table;
mod verdict;
pub(crate) mod words;

use crate::Look;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
pub use junit::{junit, sheet_junit};
use model::wake::Wakeups;
pub(crate) use sheet::{parts as sheet_parts, plots as sheet_plots};
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

/// The page that fits a screen: the result, the table and the histogram. What caused the spikes,
/// the verdict's reasons, the loads, the host, the settings and the caveats come after, as far as
/// there is room.
pub fn screen(wakeups: &Wakeups, look: Look) -> String {
    let page = terminal(wakeups, look);
    if page.lines().count() <= look.lines() {
        return page;
    }
    // One part, so that only its end is cut: half a histogram is no picture.
    let mut rest = spikes::lines(wakeups, look);
    for more in [verdict::lines, words::loads, head::place_and_settings, limits] {
        rest.extend(more(wakeups, look));
    }
    let parts =
        [head::result(wakeups, look), table::lines(wakeups, look), chart::histogram(wakeups, look), rest];
    crate::fit::fit_with(&joined(&parts), Some("all, and the maximum latency over time"), look)
}

/// The same as a picture: an SVG document.
pub fn svg(wakeups: &Wakeups) -> String {
    crate::picture::svg(&picture::of(wakeups))
}

/// The same picture as the bytes of a PNG file.
pub fn png(wakeups: &Wakeups) -> Vec<u8> {
    crate::picture::png(&picture::of(wakeups))
}

/// The parts of the page for a document: sentences and tables, not laid out.
pub(crate) struct Parts {
    pub(crate) head: Vec<Line>,
    pub(crate) verdict: Vec<Line>,
    pub(crate) table: Vec<Line>,
    pub(crate) spikes: Vec<Line>,
    pub(crate) settings: Vec<Line>,
    pub(crate) limits: Vec<Line>,
}

/// The parts.
pub(crate) fn parts(wakeups: &Wakeups) -> Parts {
    let look = Look::DOCUMENT;
    let mut settings = head::place_and_settings(wakeups, look);
    settings.extend(words::loads(wakeups, look));
    Parts {
        head: head::result(wakeups, look),
        verdict: verdict::lines(wakeups, look),
        table: table::lines(wakeups, look),
        spikes: spikes::lines(wakeups, look),
        settings,
        limits: limits(wakeups, look),
    }
}

/// The caveats.
fn limits(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let limit = |text: &String| paragraphs(Line::new(look).add(Ink::Warn, "! "), text, GAP);
    wakeups.limits.iter().flat_map(limit).collect()
}
