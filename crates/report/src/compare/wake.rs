//! The comparison of two latency results or sheets: tables, histograms and a picture.

use super::parts::{self, caveat, differences, ink, only, signed};
use crate::Look;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::picture::{INK, MARGIN, Picture, ROW};
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration, duration_range, exact, share_of_one, to_second};
use crate::wake::chart::bars_on;
use crate::wake::columns::Axis;
use crate::wake::picture::PLAIN;
use crate::wake::plots::{PAPER, PlotInfo, Series, caveats, draw, head};
use crate::wake::table::of_threads;
use model::compare::wake::{
    CaseDiff, CaseName, Comparable, FigureInterval, Maxima, MeasurementOrigin, Quantile, SettingText, WORDS,
    WakeComparison,
};
use model::compare::{Change, Difference};
use model::wake::Wakes;
use model::{Ns, Seen};

/// What may change a figure between two measurements.
const NOISE: &str = "another day, load or neighbour";

/// What is more probable than this needs no number: it is what chance gives.
const LIKELY: f64 = 0.5;

/// The page, with a newline after each line.
pub fn terminal(diff: &WakeComparison, look: Look) -> String {
    joined(&parts(diff, look))
}

/// The page that fits a screen: all percentiles, which have the room of the histograms.
pub fn screen(diff: &WakeComparison, look: Look) -> String {
    let more = if diff.cases.len() == 1 { "histograms" } else { "all" };
    crate::fit::fit_with(&joined(&made(diff, look, false)), Some(more), look)
}

/// The parts of the page.
pub(crate) fn parts(diff: &WakeComparison, look: Look) -> Vec<Vec<Line>> {
    // Those of a whole sheet would be too long; a document has the picture.
    made(diff, look, diff.cases.len() == 1 && !look.is_document())
}

fn made(diff: &WakeComparison, look: Look, with_histograms: bool) -> Vec<Vec<Line>> {
    let mut parts: Vec<Vec<Line>> = vec![top(diff, look), summary(diff, look).wrap(GAP)];
    for case in &diff.cases {
        parts.push(table(case, look));
        if with_histograms {
            parts.extend(histograms(case, look));
        }
        parts.push(remarks(case, look));
    }
    parts.push(
        diff.uncompared
            .iter()
            .flat_map(|one| {
                Line::new(look)
                    .add(Ink::Dim, only(Some(one.only)))
                    .add(Ink::Plain, one.name.as_str())
                    .wrap(GAP)
            })
            .collect(),
    );
    if !diff.cases.is_empty() {
        let margin = format!("{} or {}", share_of_one(diff.margin), exact(diff.margin_ns));
        parts.push(caveat(WORDS, &margin, NOISE, look));
    }
    parts
}

/// The page of what another tool measured, with a newline after each line.
pub fn one(result: &Comparable, look: Look) -> String {
    let settings = |of: &[SettingText]| -> Vec<Line> {
        let said: Vec<String> = of.iter().map(|one| format!("{} {}", one.what, one.value)).collect();
        if said.is_empty() { Vec::new() } else { Line::new(look).add(Ink::Dim, &said.join(", ")).wrap(GAP) }
    };
    let mut top = Line::new(look).add(Ink::Bold, &origin(&result.origin)).wrap(GAP);
    top.extend(settings(&result.settings));
    let mut parts = vec![top];
    for case in &result.cases {
        parts.push(settings(&case.settings));
        parts.push(of_threads(&case.all, &case.threads, None, look));
        let bins = &case.all.histogram[..];
        if let Some(axis) = Axis::of(&[bins], None).filter(|_| !bins.is_empty()) {
            let title = format!("{} by latency", counted(case.all.cycles, "wake-up"));
            parts.push(bars_on(axis, &title, bins, None, look));
        }
    }
    let limit = |limit: &String| paragraphs(Line::new(look).add(Ink::Warn, "! "), limit, GAP);
    parts.push(result.limits.iter().flat_map(limit).collect());
    joined(&parts)
}

/// The comparison as a picture: an SVG document.
pub fn svg(diff: &WakeComparison) -> String {
    crate::picture::svg(&picture(diff))
}

/// The same picture as the bytes of a PNG file.
pub fn png(diff: &WakeComparison) -> Vec<u8> {
    crate::picture::png(&picture(diff))
}

/// `imx8, Linux 6.12, 2026-…, by dwell`: what the source reports.
fn origin(origin: &MeasurementOrigin) -> String {
    let kernel = if origin.kernel.is_empty() { String::new() } else { format!("Linux {}", origin.kernel) };
    let by = format!("by {}", origin.tool);
    let parts = [origin.host.clone(), kernel, to_second(&origin.started_at), by];
    let known: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    known.join(", ")
}

/// `before.json: imx8, Linux 6.12, …`: with the file where both are of one host.
fn named(diff: &WakeComparison, at: usize) -> String {
    let alike = (&diff.a.host, &diff.a.kernel) == (&diff.b.host, &diff.b.kernel);
    let name = Some(&diff.names[at]).filter(|name| alike && !name.is_empty());
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}{}", origin([&diff.a, &diff.b][at]))
}

fn top(diff: &WakeComparison, look: Look) -> Vec<Line> {
    let mut lines = parts::origin("A", &named(diff, 0), "", look);
    lines.extend(parts::origin("B", &named(diff, 1), "", look));
    lines.extend(differences(&diff.differences, look));
    lines
}

/// The change of the maximum latency, case by case.
fn summary(diff: &WakeComparison, look: Look) -> Line {
    let line = Line::new(look);
    if diff.cases.is_empty() {
        return line.add(Ink::Plain, "no case is in both");
    }
    let mut line = line.add(Ink::Plain, "B against A: ");
    for (at, case) in diff.cases.iter().enumerate() {
        let lead = if at > 0 { "; " } else { "" };
        let (said, ink) = match case.maxima.change {
            Change::Undecided => ("max undecided", Ink::Plain),
            Change::Same => ("same max", Ink::Plain),
            Change::Less => ("lower max", Ink::Bold),
            Change::More => ("higher max", Ink::Warn),
        };
        line = line.add(Ink::Plain, lead);
        if let CaseName::OfSheet(name) = &case.name {
            line = line.add(Ink::Plain, &format!("{name} "));
        }
        line = line.add(ink, said);
        if let (Seen::Value(a_ns), Seen::Value(b_ns)) = (&case.maxima.a_ns, &case.maxima.b_ns) {
            let figures = format!("{} instead of {}", duration(*b_ns), duration(*a_ns));
            line = line.add(Ink::Plain, " (").glued(Ink::Plain, &figures).add(Ink::Plain, ")");
        }
    }
    line
}

fn table(case: &CaseDiff, look: Look) -> Vec<Line> {
    let columns = vec![
        text("", 8, 0),
        figure("A", 0),
        figure("95 %", 4),
        figure("B", 0),
        figure("95 %", 3),
        figure("B - A", 1),
        figure("95 %", 2),
        text("B is", 9, 0),
    ];
    let title = match &case.name {
        CaseName::Plain => "latency",
        CaseName::OfSheet(name) => name.as_str(),
    };
    let mut table = Table::new(look, title, columns);
    let known = |quantile: &&Quantile| quantile.a.value().or(quantile.b.value()).is_some();
    for quantile in case.quantiles.iter().filter(known) {
        table.row(row(quantile, look));
    }
    let plain = |text: String| (Ink::Plain, text);
    let change = case.maxima.change;
    table.row(vec![
        plain("max".to_owned()),
        plain(seen(&case.maxima.a_ns, look)),
        plain(String::new()),
        plain(seen(&case.maxima.b_ns, look)),
        plain(String::new()),
        plain(apart(&case.maxima)),
        plain(String::new()),
        (ink(change), WORDS.of(change).to_owned()),
    ]);
    let missed = |wakes: &Wakes| wakes.missed.value().map_or_else(|| look.dash().to_owned(), |n| count(*n));
    let mut counts = |name: &str, a: String, b: String| {
        let mut cells = vec![plain(name.to_owned()), plain(a), plain(String::new()), plain(b)];
        cells.extend((0..4).map(|_| plain(String::new())));
        table.row(cells);
    };
    counts("missed", missed(&case.a), missed(&case.b));
    counts("cycles", count(case.a.cycles), count(case.b.cycles));
    table.lines()
}

fn row(quantile: &Quantile, look: Look) -> Vec<(Ink, String)> {
    let plain = |text: String| (Ink::Plain, text);
    let dim = |text: String| (Ink::Dim, text);
    let ns = |within: &Seen<FigureInterval>| {
        within.value().map_or_else(|| look.dash().to_owned(), |within| duration(within.ns))
    };
    let ends = |within: &Seen<FigureInterval>| {
        within
            .value()
            .map_or_else(String::new, |within| duration_range(within.lo_ns, within.hi_ns, look.dash()))
    };
    let later = quantile.later_ns.value().map_or_else(String::new, |ns| signed(*ns));
    let later_ends = match (&quantile.later_lo_ns, &quantile.later_hi_ns) {
        (Seen::Value(lo), Seen::Value(hi)) => format!("{} to {}", signed(*lo), signed(*hi)),
        _ => String::new(),
    };
    let change = quantile.change;
    vec![
        plain(quantile.name.clone()),
        plain(ns(&quantile.a)),
        dim(ends(&quantile.a)),
        plain(ns(&quantile.b)),
        dim(ends(&quantile.b)),
        plain(later),
        dim(later_ends),
        (ink(change), WORDS.of(change).to_owned()),
    ]
}

fn seen(ns: &Seen<Ns>, look: Look) -> String {
    ns.value().map_or_else(|| look.dash().to_owned(), |ns| duration(*ns))
}

fn apart(maxima: &Maxima) -> String {
    match (&maxima.a_ns, &maxima.b_ns) {
        (Seen::Value(a_ns), Seen::Value(b_ns)) => {
            let apart = i128::from(*b_ns) - i128::from(*a_ns);
            signed(i64::try_from(apart).unwrap_or(i64::MAX))
        }
        _ => String::new(),
    }
}

/// The other differences, the significance of the maxima, and the caveats of the case.
fn remarks(case: &CaseDiff, look: Look) -> Vec<Line> {
    let mut lines = differences(&case.differences, look);
    let maxima = &case.maxima;
    if let (Seen::Value(a_ns), Seen::Value(b_ns)) = (&maxima.a_ns, &maxima.b_ns)
        && maxima.beyond > 0
    {
        let (one, other) = if b_ns >= a_ns { ("B", "A") } else { ("A", "B") };
        let blocks = if one == "B" { &case.b.timeline } else { &case.a.timeline };
        let (what, whose) =
            if blocks.is_empty() { ("wake-up", "latency") } else { ("block", "maximum latency") };
        let n = counted(maxima.beyond, what);
        let verb = if maxima.beyond == 1 { "has" } else { "have" };
        let text = format!("{n} of {one} {verb} a higher {whose} than any of {other}");
        let line = Line::new(look).add(Ink::Plain, &text);
        let line = match &maxima.chance {
            Seen::Value(chance) if *chance < LIKELY => line.add(
                Ink::Dim,
                &format!("; if both were alike, the probability of that would be {}", share_of_one(*chance)),
            ),
            Seen::Value(_) => line.add(Ink::Dim, ", as two that are alike have it more often than not"),
            Seen::Absent | Seen::Unseen(_) => line,
        };
        lines.extend(line.wrap(GAP));
    }
    lines.extend(
        case.notes.iter().flat_map(|note| paragraphs(Line::new(look).add(Ink::Warn, "! "), note, GAP)),
    );
    lines
}

/// A's histogram above B's, on one axis.
fn histograms(case: &CaseDiff, look: Look) -> Vec<Vec<Line>> {
    let (a, b) = (&case.a.histogram[..], &case.b.histogram[..]);
    let Some(axis) = Axis::of(&[a, b], None) else { return Vec::new() };
    let bars = |name: &str, wakes: &Wakes| {
        if wakes.histogram.is_empty() {
            return Vec::new();
        }
        let title = format!("{name}: {} by latency", counted(wakes.cycles, "wake-up"));
        bars_on(axis, &title, &wakes.histogram, None, look)
    };
    vec![bars("A", &case.a), bars("B", &case.b)]
}

pub(crate) fn picture(diff: &WakeComparison) -> Picture {
    let mut picture = Picture::new(PAPER);
    let mut lines = vec![summary(diff, PLAIN).render()];
    lines.extend([format!("A: {}", named(diff, 0)), format!("B: {}", named(diff, 1))]);
    head(&mut picture, &lines);
    for case in &diff.cases {
        if let CaseName::OfSheet(name) = &case.name {
            picture.height += ROW;
            picture.row(true, INK, name);
        }
        let series = [series("A", &case.a), series("B", &case.b)];
        draw(&mut picture, &series, &PlotInfo { cycle: "wake-up", deadline_ns: None });
        let mut below = differences_as_text(&case.differences);
        below.extend(case.notes.iter().cloned());
        caveats(&mut picture, &below);
    }
    caveats(&mut picture, &differences_as_text(&diff.differences));
    picture.height += MARGIN;
    picture
}

fn differences_as_text(differences: &[Difference]) -> Vec<String> {
    let words = |one: &Difference| format!("{} differs: {} and {}", one.what, one.a, one.b);
    differences.iter().map(words).collect()
}

fn series<'a>(name: &str, wakes: &'a Wakes) -> Series<'a> {
    let max = wakes.max_ns.value().map_or_else(String::new, |ns| format!(": max {}", duration(*ns)));
    let blocks = &wakes.timeline[..];
    let block_ns = blocks.windows(2).map(|two| two[1].at_ns.saturating_sub(two[0].at_ns)).min();
    let took_ns = blocks.last().map_or(0, |last| last.at_ns) + block_ns.unwrap_or(0);
    Series {
        name: format!("{name}{max}"),
        note: counted(wakes.cycles, "cycle"),
        bins: &wakes.histogram,
        blocks,
        took_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign() {
        assert_eq!([12_300, -400, 0].map(signed), ["+12.3 us", "-400 ns", "0 ns"]);
    }
}
