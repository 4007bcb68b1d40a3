//! References of a ladder: marks on its axis, a table of their figures, and their sources.

use super::figures::{latency, range};
use crate::Look;
use crate::clean::width;
use crate::paint::{GAP, Grid, Ink, Line, paragraphs};
use model::ladder::beside::{Reference, ReferenceFigure};
use model::ladder::{Ladder, MedianInterval};

/// The figure of a rung in `other`.
pub(super) fn figure<'a>(other: &'a Reference, id: &str) -> Option<&'a ReferenceFigure> {
    other.figures.iter().find(|figure| figure.id == id)
}

/// The references with a figure of a rung on the page.
pub(super) fn shown<'a>(ladder: &Ladder, others: &'a [Reference]) -> Vec<&'a Reference> {
    let ids = ladder.rungs.iter().filter(|rung| rung.ns.value().is_some()).map(|rung| &rung.about.id);
    let has = |other: &Reference| ids.clone().any(|id| figure(other, id).is_some());
    others.iter().filter(|other| has(other)).collect()
}

/// The sign of a reference: a bar for the textbook, letters for machines.
fn sign(at: usize, others: &[&Reference], look: Look) -> char {
    if others[at].textbook {
        return if look.unicode { '│' } else { '|' };
    }
    let before = others[..at].iter().filter(|other| !other.textbook).count();
    char::from(b'a' + (before % 26) as u8)
}

/// Marks on the axis of a rung: at the geometric mean of a range.
pub(super) fn marks(id: &str, others: &[&Reference], look: Look) -> Vec<(f64, char)> {
    let mark = |(at, other): (usize, &&Reference)| {
        let found = figure(other, id)?;
        Some(((found.lo_ns * found.hi_ns).sqrt(), sign(at, others, look)))
    };
    others.iter().enumerate().filter_map(mark).collect()
}

/// The legend of the references `shown`, with their sources; machines without a mark are named.
pub(super) fn legend(others: &[Reference], shown: &[&Reference], look: Look) -> Vec<Line> {
    let line = |(at, other): (usize, &&Reference)| {
        let lead = Line::new(look)
            .add(Ink::Plain, "  ")
            .add(Ink::Bold, &sign(at, shown, look).to_string())
            .add(Ink::Plain, &format!("  {}: ", other.name));
        paragraphs(lead, &other.source, 5)
    };
    let mut lines: Vec<Line> = shown.iter().enumerate().flat_map(line).collect();
    for other in others.iter().filter(|other| !other.textbook && !shown.contains(other)) {
        let line = Line::new(look).add(Ink::Plain, &other.name);
        lines.extend(line.add(Ink::Dim, " has no figure for these rungs").wrap(GAP));
    }
    lines
}

/// The figures of this machine and the references; several tables if one would be too wide.
pub(super) fn tables(ladder: &Ladder, others: &[&Reference], look: Look) -> Vec<Vec<Line>> {
    let machines: Vec<(usize, &Reference)> =
        others.iter().copied().enumerate().filter(|(_, other)| !other.textbook).collect();
    let rungs_of = |machines: &[(usize, &Reference)]| -> Vec<(&str, &MedianInterval)> {
        let has = |id: &str| machines.iter().any(|(_, other)| figure(other, id).is_some());
        let shown = ladder.rungs.iter().filter(|rung| has(&rung.about.id));
        shown.filter_map(|rung| Some((rung.about.id.as_str(), rung.ns.value()?))).collect()
    };
    let widest = |rungs: &[(&str, &MedianInterval)]| rungs.iter().map(|(id, _)| width(id)).max().unwrap_or(0);
    let names = widest(&rungs_of(&machines)).min(look.columns() / 3);
    let first = GAP + names;
    let each = 14;
    let fit = (look.columns().saturating_sub(first + each) / each).max(1);
    let table = |machines: &[(usize, &Reference)]| {
        let right = |line: Line, column: usize, ink: Ink, text: &str| {
            let end = first + column * each;
            let line = line.cut_to(end);
            line.pad_to(end.saturating_sub(width(text))).add(ink, text)
        };
        let mut header = right(Line::new(look), 1, Ink::Dim, "this machine");
        for (column, (at, other)) in machines.iter().enumerate() {
            let name = crate::clean::fit(&crate::clean(&other.name, look.unicode), each - 4, look.unicode);
            let text = format!("{} {name}", sign(*at, others, look));
            header = right(header, column + 2, Ink::Bold, &text);
        }
        let row = |(id, ns): &(&str, &MedianInterval)| {
            let name = Line::new(look).pad_to(GAP).add(Ink::Plain, id).cut_to(GAP + names);
            let mut line = right(name, 1, Ink::Plain, &latency(ns.median));
            for (column, (_, other)) in machines.iter().enumerate() {
                if let Some(found) = figure(other, id) {
                    line = right(line, column + 2, Ink::Plain, &text(found, look));
                }
            }
            line.cut()
        };
        std::iter::once(header.cut()).chain(rungs_of(machines).iter().map(row)).collect()
    };
    machines.chunks(fit).map(table).collect()
}

/// The same for a document: one table.
pub(super) fn grid(ladder: &Ladder, others: &[&Reference], look: Look) -> Option<Grid> {
    let machines: Vec<&Reference> = others.iter().copied().filter(|other| !other.textbook).collect();
    if machines.is_empty() {
        return None;
    }
    let mut heads = vec![(String::new(), false), ("this machine".to_owned(), true)];
    heads.extend(machines.iter().map(|other| (crate::clean(&other.name, true), true)));
    let rows = ladder.rungs.iter().filter_map(|rung| {
        let ns = rung.ns.value()?;
        let found: Vec<_> = machines.iter().map(|other| figure(other, &rung.about.id)).collect();
        found.iter().any(Option::is_some).then_some(())?;
        let mut cells =
            vec![(Ink::Bold, crate::clean(&rung.about.id, true)), (Ink::Plain, latency(ns.median))];
        cells.extend(found.iter().map(|found| {
            (Ink::Plain, found.map_or_else(|| look.dash().to_owned(), |found| text(found, look)))
        }));
        Some((cells, false))
    });
    Some(Grid { title: "beside".to_owned(), heads, rows: rows.collect() })
}

fn text(figure: &ReferenceFigure, look: Look) -> String {
    let ends = MedianInterval { median: figure.lo_ns, lo: figure.lo_ns, hi: figure.hi_ns };
    range(&ends, look)
}
