//! The latency ladder: a page for a terminal, with every rung on one logarithmic axis, and a
//! picture.

mod axis;
mod beside;
mod figures;
mod picture;

use crate::Look;
use crate::clean::width;
use crate::paint::{GAP, Grid, Ink, Line, joined, paragraphs};
use crate::units;
use axis::Axis;
pub use figures::latency;
pub(crate) use figures::range;
use figures::rate;
use model::Seen;
use model::ladder::beside::Reference;
use model::ladder::{Ladder, MedianInterval, Plausibility, Rung, RungGroup, cycle_ns};

/// The least width of the axis; a narrower page has figures only.
const AXIS: usize = 20;
/// Pages narrower than this leave out the interval.
const WIDE: usize = 76;
/// Pages narrower than this have the rates below the chart.
const WITH_RATES: usize = 96;

/// The page, with a newline after each line; `others` are references, marked on the axis.
pub fn terminal(ladder: &Ladder, others: &[Reference], look: Look) -> String {
    let mut notes = Notes::default();
    let shown = beside::shown(ladder, others);
    let mut parts = vec![head(ladder, look), chart(ladder, &shown, look, &mut notes, true)];
    parts.extend(beside::tables(ladder, &shown, look));
    parts.extend([beside::legend(others, &shown, look), rates(ladder, look), curve(ladder, look)]);
    parts.push(missing(ladder, look));
    parts.push(notes.lines(look));
    parts.push(ladder.limits.iter().flat_map(|limit| paragraphs(Line::new(look), limit, 2)).collect());
    joined(&parts)
}

/// The parts of the page for a document: sentences and tables, not laid out.
pub(crate) struct Parts {
    pub(crate) head: Vec<Line>,
    pub(crate) rungs: Grid,
    /// Figures of other machines, where there are any.
    pub(crate) beside: Option<Grid>,
    pub(crate) legend: Vec<Line>,
    /// Where caches end, and the sizes that tell it.
    pub(crate) edges: Vec<Line>,
    pub(crate) curve: Option<Grid>,
    pub(crate) missing: Vec<Line>,
    pub(crate) notes: Vec<Line>,
}

/// The parts.
pub(crate) fn parts(ladder: &Ladder, others: &[Reference]) -> Parts {
    let look = Look::DOCUMENT;
    let shown = beside::shown(ladder, others);
    let mut notes = Notes::default();
    let rungs = rungs_grid(ladder, look, &mut notes);
    let mut lines = notes.lines(look);
    lines.extend(ladder.limits.iter().flat_map(|limit| paragraphs(Line::new(look), limit, 2)));
    Parts {
        head: head(ladder, look),
        rungs,
        beside: beside::grid(ladder, &shown, look),
        legend: beside::legend(others, &shown, look),
        edges: curve(ladder, look),
        curve: curve_grid(ladder, look),
        missing: missing(ladder, look),
        notes: lines,
    }
}

fn rungs_grid(ladder: &Ladder, look: Look, notes: &mut Notes) -> Grid {
    let heads = [
        ("", false),
        ("group", false),
        ("what", false),
        ("median", true),
        ("95 %", true),
        ("bandwidth", true),
        ("notes", false),
    ];
    let rows = ladder.rungs.iter().filter_map(|rung| {
        let row = row(rung, look, notes)?;
        let cells = vec![
            (Ink::Bold, row.name),
            (Ink::Dim, rung.about.group.name().to_owned()),
            (Ink::Plain, crate::clean(&rung.about.what, true)),
            (Ink::Bold, row.figure),
            (Ink::Dim, row.interval),
            (Ink::Plain, row.rate),
            (Ink::Dim, row.marks),
        ];
        Some((cells, false))
    });
    let rows = rows.collect();
    Grid { title: "rung".to_owned(), heads: heads.map(|(head, of)| (head.to_owned(), of)).to_vec(), rows }
}

fn curve_grid(ladder: &Ladder, look: Look) -> Option<Grid> {
    let curve = ladder.curve.value()?;
    let heads = [("", true), ("median", true), ("95 %", true)];
    let row = |point: &model::ladder::Point| {
        let cells = vec![
            (Ink::Plain, units::bytes(point.bytes)),
            (Ink::Bold, latency(point.ns.median)),
            (Ink::Dim, range(&point.ns, look)),
        ];
        (cells, false)
    };
    let rows = curve.points.iter().map(row).collect();
    let heads = heads.map(|(head, of)| (head.to_owned(), of)).to_vec();
    Some(Grid { title: "working set".to_owned(), heads, rows })
}

/// The picture without its head.
pub(crate) fn plots(ladder: &Ladder, others: &[Reference]) -> crate::picture::Picture {
    picture::plots(ladder, others)
}

/// Rungs of the page that fits a screen, one for each level. Others are of a level as well, or of
/// few programs.
const MAIN: [&str; 14] = [
    "cycle",
    "branch-miss",
    "l1",
    "l2",
    "l3",
    "dram",
    "system-call",
    "thread-switch",
    "page-fault",
    "process-create",
    "open",
    "fsync",
    "direct-read",
    "tcp-round-trip",
];

/// The page that fits a screen: the main rungs, or those that were asked for.
pub fn screen(ladder: &Ladder, others: &[Reference], look: Look) -> String {
    let mut main = ladder.clone();
    if ladder.asked.only.is_empty() {
        main.rungs.retain(|rung| MAIN.contains(&rung.about.id.as_str()));
    }
    // Of the notes only those on what is doubtful.
    main.rungs.iter_mut().for_each(|rung| rung.limits.clear());
    let mut notes = Notes::default();
    let shown = beside::shown(&main, others);
    let chart = chart(&main, &shown, look, &mut notes, false);
    let left = ladder.rungs.len() - main.rungs.len();
    let more = match left {
        0 => "notes, and what was not measured".to_owned(),
        left => format!("{left} more rungs, notes, and what was not measured"),
    };
    let mut rest = curve(ladder, look);
    rest.extend(notes.lines(look));
    rest.extend(ladder.limits.iter().flat_map(|limit| paragraphs(Line::new(look), limit, 2)));
    rest.extend(beside::legend(others, &shown, look));
    crate::fit::fit_with(&joined(&[head(ladder, look), chart, rest]), Some(&more), look)
}

/// The ladder as a picture, with `others` marked on it: an SVG document.
pub fn svg(ladder: &Ladder, others: &[Reference]) -> String {
    crate::picture::svg(&picture::of(ladder, others))
}

/// The same picture as the bytes of a PNG file.
pub fn png(ladder: &Ladder, others: &[Reference]) -> Vec<u8> {
    crate::picture::png(&picture::of(ladder, others))
}

/// The machine, and when it was measured.
fn head(ladder: &Ladder, look: Look) -> Vec<Line> {
    let host = &ladder.host;
    let cpu = ladder.machine.cpu.value().map_or("unknown CPU", String::as_str);
    let mut line = Line::new(look)
        .add(Ink::Bold, &host.name)
        .add(Ink::Plain, &format!(": {cpu}, "))
        .glued(Ink::Plain, &units::counted(u64::from(host.cpus), "CPU"))
        .add(Ink::Plain, ", ")
        .glued(Ink::Plain, &units::memory(&host.memory_bytes))
        .add(Ink::Plain, &format!(", Linux {}", host.kernel));
    if let Seen::Value(kind) = &host.virtualisation {
        line = line.add(Ink::Plain, &format!(", {kind}"));
    }
    if let Some(cycle) = cycle_ns(&ladder.rungs) {
        line = line.add(Ink::Plain, ", ").glued(Ink::Plain, &format!("{:.2} GHz by its cycles", 1.0 / cycle));
    }
    let when = format!("{}, took {}", units::to_second(&ladder.started_at), units::duration(ladder.took_ns));
    let mut lines = line.wrap(GAP);
    lines.extend(Line::new(look).add(Ink::Dim, &when).wrap(GAP));
    if ladder.rungs_disturbed > 0 {
        let measured = ladder.rungs.iter().filter(|rung| rung.samples > 0).count();
        let busy = format!(
            "! a busy host: during {} of {measured} rungs others had the CPU for more than a tenth of the time",
            // Older results count those that could not be measured.
            measured.min(ladder.rungs_disturbed as usize)
        );
        lines.extend(Line::new(look).add(Ink::Warn, &busy).wrap(GAP));
    }
    lines
}

/// A row of the chart before the columns have widths.
struct Row<'a> {
    rung: &'a Rung,
    name: String,
    figure: String,
    interval: String,
    rate: String,
    marks: String,
    ns: MedianInterval,
}

/// The rungs on one axis; with a heading for each group.
fn chart(ladder: &Ladder, others: &[&Reference], look: Look, notes: &mut Notes, groups: bool) -> Vec<Line> {
    let rows: Vec<Row> = ladder.rungs.iter().filter_map(|rung| row(rung, look, notes)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let most = |of: for<'r> fn(&'r Row<'r>) -> &'r str, least: usize| {
        rows.iter().map(|row| width(of(row))).max().unwrap_or(0).max(least)
    };
    let names = most(|row| &row.name, 5).min(look.columns() / 3);
    let figures = most(|row| &row.figure, "median".len());
    let with_interval = look.columns() >= WIDE;
    let intervals = if with_interval { most(|row| &row.interval, "95 %".len()) } else { 0 };
    let rates = if rows.iter().any(|row| !row.rate.is_empty()) && look.columns() >= WITH_RATES {
        most(|row| &row.rate, "rate".len())
    } else {
        0
    };
    let marks = most(|row| &row.marks, 0);
    let figure_end = GAP + names + GAP + figures;
    let mut end = figure_end;
    let mut column = |wide: usize| {
        end += if wide > 0 { GAP + wide } else { 0 };
        end
    };
    let interval_end = column(intervals);
    let rate_end = column(rates);
    let mark_end = column(marks);
    let left = look.columns().saturating_sub(mark_end + GAP);
    let axis = (left >= AXIS).then(|| Axis::new(left.min(72), look));

    let right = |line: Line, end: usize, ink: Ink, text: &str| {
        line.pad_to(end.saturating_sub(width(text))).add(ink, text)
    };
    let mut lines = Vec::new();
    let mut header = right(Line::new(look), figure_end, Ink::Dim, "median");
    if intervals > 0 {
        header = right(header, interval_end, Ink::Dim, "95 %");
    }
    if rates > 0 {
        header = right(header, rate_end, Ink::Dim, "rate");
    }
    if let Some(axis) = &axis {
        header = axis.labels(header.pad_to(mark_end + GAP));
    }
    lines.push(header.cut());
    let mut group = None;
    for row in &rows {
        if groups && group != Some(row.rung.about.group) {
            group = Some(row.rung.about.group);
            lines.push(Line::new(look).add(Ink::Bold, row.rung.about.group.name()).cut());
        }
        let ink = if row.rung.plausible.verdict == Plausibility::Doubtful { Ink::Warn } else { Ink::Plain };
        let name = Line::new(look).pad_to(GAP).add(Ink::Plain, &row.name).cut_to(GAP + names);
        let mut line = right(name, figure_end, ink, &row.figure);
        if intervals > 0 {
            line = right(line, interval_end, Ink::Dim, &row.interval);
        }
        if rates > 0 {
            line = right(line, rate_end, Ink::Dim, &row.rate);
        }
        if marks > 0 {
            line = right(line, mark_end, Ink::Dim, &row.marks);
        }
        if let Some(axis) = &axis {
            let far = row.rung.spread_ns.value().map_or(row.ns.hi, |spread| spread.p90);
            let marks = beside::marks(&row.rung.about.id, others, look);
            line = axis.bar(line.pad_to(mark_end + GAP), row.ns.median, far, &marks);
        }
        lines.push(line.cut());
    }
    lines
}

fn row<'a>(rung: &'a Rung, look: Look, notes: &mut Notes) -> Option<Row<'a>> {
    let ns = *rung.ns.value()?;
    let mut marks: Vec<usize> = rung.limits.iter().map(|limit| notes.number(limit)).collect();
    if rung.plausible.verdict == Plausibility::Doubtful {
        marks.push(notes.number(&format!("doubtful: {}", rung.plausible.why)));
    }
    marks.sort_unstable();
    marks.dedup();
    let marks: Vec<String> = marks.into_iter().map(|mark| mark.to_string()).collect();
    Some(Row {
        rung,
        name: crate::clean(&rung.about.id, look.unicode),
        figure: latency(ns.median),
        interval: range(&ns, look),
        rate: rung.bytes_per_s.value().map_or_else(String::new, |found| rate(found.median)),
        marks: marks.join(","),
        ns,
    })
}

/// Footnotes, each text once.
#[derive(Default)]
pub(crate) struct Notes(Vec<String>);

impl Notes {
    /// The number of a text, from 1.
    pub(crate) fn number(&mut self, text: &str) -> usize {
        let at = self.0.iter().position(|known| known == text);
        at.unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        }) + 1
    }

    pub(crate) fn lines(&self, look: Look) -> Vec<Line> {
        let number = |at: usize| Line::new(look).add(Ink::Dim, &format!("{:>3}  ", at + 1));
        self.0.iter().enumerate().flat_map(|(at, text)| paragraphs(number(at), text, 5)).collect()
    }
}

/// Bandwidths, where the chart has no room for them.
fn rates(ladder: &Ladder, look: Look) -> Vec<Line> {
    if look.columns() >= WITH_RATES {
        return Vec::new();
    }
    let all = ladder.rungs.iter().filter_map(|rung| {
        let found = rung.bytes_per_s.value().filter(|_| rung.ns.value().is_some())?;
        Some((&rung.about.id, rate(found.median)))
    });
    let mut line = Line::new(look);
    for (id, rate) in all {
        let lead = if line.is_empty() { "rates: " } else { ", " };
        line = line.add(Ink::Dim, lead);
        line = line.glued(Ink::Plain, id).add(Ink::Plain, " ").glued(Ink::Plain, &rate);
    }
    line.wrap(GAP)
}

/// Where caches end.
fn curve(ladder: &Ladder, look: Look) -> Vec<Line> {
    let Seen::Value(curve) = &ladder.curve else { return Vec::new() };
    let mut lines = Vec::new();
    for edge in &curve.edges {
        let line = match &edge.level {
            Some(level) => Line::new(look).add(Ink::Plain, level).add(Ink::Plain, " ends at about "),
            None => Line::new(look).add(Ink::Plain, "latency also rises at about "),
        };
        let line = line
            .glued(Ink::Bold, &units::bytes(edge.bytes))
            .add(Ink::Plain, ": ")
            .glued(Ink::Plain, &latency(edge.below_ns))
            .add(Ink::Plain, " below, ")
            .glued(Ink::Plain, &latency(edge.above_ns))
            .add(Ink::Plain, " above");
        lines.extend(line.wrap(GAP));
    }
    lines
}

/// Rungs without a figure, with the reason.
fn missing(ladder: &Ladder, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    for rung in &ladder.rungs {
        let why = match &rung.ns {
            Seen::Value(_) => continue,
            Seen::Absent => rung.limits.first().map_or("not present on this machine", String::as_str),
            Seen::Unseen(why) => why,
        };
        let lead = Line::new(look).add(Ink::Plain, &rung.about.id).add(Ink::Dim, " not measured: ");
        lines.extend(paragraphs(lead, why, GAP));
    }
    if let Seen::Unseen(why) = &ladder.curve
        && ladder.asked.only.is_empty()
    {
        let lead = Line::new(look).add(Ink::Plain, "curve").add(Ink::Dim, " not measured: ");
        lines.extend(paragraphs(lead, why, GAP));
    }
    lines
}

/// The list of rungs for `--list`.
pub fn list(abouts: &[model::ladder::RungDescription], look: Look) -> String {
    let names = abouts.iter().map(|about| width(&about.id)).max().unwrap_or(0);
    let mut lines = Vec::new();
    let mut group: Option<RungGroup> = None;
    for about in abouts {
        if group != Some(about.group) {
            group = Some(about.group);
            lines.push(Line::new(look).add(Ink::Bold, about.group.name()));
        }
        let mut line = Line::new(look).pad_to(GAP).add(Ink::Plain, &about.id).pad_to(2 * GAP + names);
        line = line.add(Ink::Plain, &about.what);
        if !about.needs.is_empty() {
            line = line.add(Ink::Dim, &format!("; needs {}", about.needs));
        }
        lines.extend(line.wrap(2 * GAP + names));
    }
    lines.iter().map(|line| line.render() + "\n").collect()
}
