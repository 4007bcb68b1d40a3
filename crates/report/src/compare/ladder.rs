//! The comparison of two ladders: a table, rung by rung.

use super::parts::{caveat, differences, figure, ink, only, origin};
use crate::Look;
use crate::clean::{clean, width};
use crate::ladder::{Notes, latency, range};
use crate::paint::{GAP, Grid, Ink, Line, joined, paragraphs};
use crate::units;
use model::compare::ladder::{Compared, LadderComparison, WORDS};
use model::compare::{Change, Side};
use model::ladder::MedianInterval;

/// Pages narrower than this leave out the intervals of the two medians.
const WIDE: usize = 110;
/// What may change a figure between two measurements.
const NOISE: &str = "pages, neighbours and temperature";
/// Rungs named in the summary at most.
const NAMED: usize = 3;

/// The page, with a newline after each line.
pub fn terminal(diff: &LadderComparison, look: Look) -> String {
    joined(&parts(diff, look))
}

/// The parts of the page.
pub(crate) fn parts(diff: &LadderComparison, look: Look) -> Vec<Vec<Line>> {
    let mut notes = Notes::default();
    let margin = units::share_of_one(diff.margin);
    let origins = [
        origin("A", &format!("{}, ", diff.a.host), &units::to_second(&diff.a.started_at), look),
        origin("B", &format!("{}, ", diff.b.host), &units::to_second(&diff.b.started_at), look),
    ];
    vec![
        origins.concat(),
        differences(&diff.differences, look),
        summary(diff, look),
        table(diff, look, &mut notes),
        uncompared(diff, look),
        notes.lines(look),
        if diff.rungs.is_empty() { Vec::new() } else { caveat(WORDS, &margin, NOISE, look) },
    ]
}

/// The number of rungs by change, with the largest changes.
fn summary(diff: &LadderComparison, look: Look) -> Vec<Line> {
    if diff.rungs.is_empty() {
        return Line::new(look).add(Ink::Plain, "no rung has a figure in both").wrap(GAP);
    }
    let mut line = Line::new(look).add(Ink::Plain, "B against A: ");
    for (at, change) in Change::ALL.into_iter().enumerate() {
        let mut of: Vec<&Compared> = diff.rungs.iter().filter(|rung| rung.change == change).collect();
        let far = |rung: &Compared| rung.ratio.map_or(0.0, |ratio| ratio.median.ln().abs());
        of.sort_by(|a, b| far(b).total_cmp(&far(a)));
        let lead = if at > 0 { ", " } else { "" };
        let count = format!("{} {}", units::count(of.len() as u64), WORDS.of(change));
        line = line.add(Ink::Plain, lead).glued(Ink::Bold, &count);
        if matches!(change, Change::Less | Change::More) && !of.is_empty() {
            let named: Vec<String> =
                of.iter().take(NAMED).map(|rung| format!("{} {}", rung.id, times(rung, look))).collect();
            let more = if of.len() > NAMED { format!(", {}", look.rest()) } else { String::new() };
            line = line.add(Ink::Plain, &format!(" ({}{more})", named.join(", ")));
        }
    }
    line.wrap(GAP)
}

/// A ratio: `1.32×`.
fn times(rung: &Compared, look: Look) -> String {
    rung.ratio.map_or_else(String::new, |ratio| format!("{}{}", figure(ratio.median), look.times()))
}

fn table(diff: &LadderComparison, look: Look, notes: &mut Notes) -> Vec<Line> {
    if diff.rungs.is_empty() {
        return Vec::new();
    }
    let wide = look.columns() >= WIDE;
    let narrow = look.columns() < 70;
    let interval = |of: &MedianInterval| if wide { range(of, look) } else { String::new() };
    let ends = |of: &MedianInterval| match (figure(of.lo), figure(of.hi)) {
        _ if narrow => String::new(),
        (lo, hi) if lo == hi => lo,
        (lo, hi) => format!("{lo}{}{hi}", look.dash()),
    };
    let rows: Vec<[String; 8]> = diff
        .rungs
        .iter()
        .map(|rung| {
            let mut marks: Vec<usize> = rung.notes.iter().map(|note| notes.number(note)).collect();
            marks.sort_unstable();
            marks.dedup();
            let marks: Vec<String> = marks.iter().map(usize::to_string).collect();
            [
                latency(rung.a_ns.median),
                interval(&rung.a_ns),
                latency(rung.b_ns.median),
                interval(&rung.b_ns),
                times(rung, look),
                rung.ratio.as_ref().map_or_else(String::new, ends),
                WORDS.of(rung.change).to_owned(),
                marks.join(","),
            ]
        })
        .collect();
    if look.is_document() {
        return vec![Line::of(look, grid(diff, rows))];
    }
    let header = ["A", if wide { "95 %" } else { "" }, "B", if wide { "95 %" } else { "" }, "B/A"];
    let header = [&header[..], &[if narrow { "" } else { "95 %" }, "B is", ""]].concat();
    let names = diff.rungs.iter().map(|rung| width(&clean(&rung.id, look.unicode))).max();
    let widths: Vec<usize> = (0..header.len())
        .map(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0).max(width(header[at])))
        .collect();
    let figures: usize = widths.iter().filter(|wide| **wide > 0).map(|wide| GAP + wide).sum();
    // A long name must not push the verdict off the page.
    let room = look.columns().saturating_sub(GAP + figures).max(8);
    let names = names.unwrap_or(0).min(look.columns() / 3).min(room);
    let line = |lead: Line, cells: &[&str], ink: &dyn Fn(usize) -> Ink| {
        let mut line = lead;
        let mut end = GAP + names;
        for (at, cell) in cells.iter().enumerate().filter(|(at, _)| widths[*at] > 0) {
            end += GAP + widths[at];
            // Words are aligned left, figures right.
            let begin = if at == 6 { end - widths[at] } else { end - width(cell) };
            line = line.pad_to(begin).add(ink(at), cell);
        }
        line.cut()
    };
    let mut lines = vec![line(Line::new(look), &header, &|_| Ink::Dim)];
    let mut group = None;
    for (rung, row) in diff.rungs.iter().zip(&rows) {
        if group != Some(rung.group) {
            group = Some(rung.group);
            lines.push(Line::new(look).add(Ink::Bold, rung.group.name()).cut());
        }
        let name = Line::new(look).pad_to(GAP).add(Ink::Plain, &rung.id).cut_to(GAP + names);
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        let verdict = ink(rung.change);
        lines.push(line(name, &cells, &|at| match at {
            1 | 3 | 5 | 7 => Ink::Dim,
            6 => verdict,
            _ => Ink::Plain,
        }));
    }
    lines
}

/// The same in a document.
fn grid(diff: &LadderComparison, rows: Vec<[String; 8]>) -> Grid {
    let row = |(rung, cells): (&Compared, [String; 8])| {
        let words = |(at, cell): (usize, String)| (if at == 6 { ink(rung.change) } else { Ink::Plain }, cell);
        let name = (Ink::Plain, clean(&rung.id, true));
        (std::iter::once(name).chain(cells.into_iter().enumerate().map(words)).collect(), false)
    };
    let heads = ["", "A", "95 %", "B", "95 %", "B/A", "95 %", "B is", "notes"];
    let figures = |(at, head): (usize, &str)| (head.to_owned(), (1..7).contains(&at));
    Grid {
        title: "rung".to_owned(),
        heads: heads.into_iter().enumerate().map(figures).collect(),
        rows: diff.rungs.iter().zip(rows).map(row).collect(),
    }
}

/// The rungs without a comparison, grouped by reason.
fn uncompared(diff: &LadderComparison, look: Look) -> Vec<Line> {
    let mut reasons: Vec<(Option<Side>, &str, Vec<&str>)> = Vec::new();
    for one in &diff.uncompared {
        match reasons.iter_mut().find(|(side, why, _)| *side == one.only && *why == one.why) {
            Some((_, _, ids)) => ids.push(&one.id),
            None => reasons.push((one.only, &one.why, vec![&one.id])),
        }
    }
    let line = |(side, why, ids): &(Option<Side>, &str, Vec<&str>)| {
        let lead = Line::new(look).add(Ink::Dim, only(*side)).add(Ink::Plain, &ids.join(", "));
        paragraphs(lead.add(Ink::Dim, ": "), why, GAP)
    };
    reasons.iter().flat_map(line).collect()
}
