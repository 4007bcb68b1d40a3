//! The ladder as a picture.

use super::beside;
use super::figures::{latency, range, rate};
use crate::Look;
use crate::clean;
use crate::picture::{
    Anchor, BLACK, BLUE, CHAR, FAINT, GRID, INK, MARGIN, ORANGE, OTHERS, Picture, ROW, Shape, folded,
};
use crate::units;
use crate::wake::plots::caveats;
use model::Seen;
use model::ladder::beside::Reference;
use model::ladder::{Curve, Ladder, Plausibility, Rung};

/// Where the axis begins and how wide a power of ten is.
const AXIS_X: i32 = 200;
const DECADE: i32 = 78;
/// Right of the axis: the figure and its interval.
const FIGURES: i32 = 330;
const CURVE_HEIGHT: i32 = 300;
/// How far the marks of references reach up from a row's baseline.
const MARK: i32 = 12;
/// The radius of a median's dot.
const DOT: i32 = 4;
/// The ends of the axis in nanoseconds.
const AXIS_NS: [f64; 2] = [0.1, 1e9];

const LABELS: [&str; 11] =
    ["0.1 ns", "1 ns", "10 ns", "100 ns", "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"];

/// The picture of a ladder, with references marked on its bars.
pub(super) fn of(ladder: &Ladder, others: &[Reference]) -> Picture {
    let width = AXIS_X + DECADE * 10 + FIGURES + MARGIN;
    let mut picture = Picture::new(width);
    picture.head(ladder);
    picture.all(ladder, others);
    caveats(&mut picture, &ladder.limits);
    picture.height += MARGIN;
    picture
}

/// The same without its head and its caveats.
pub(super) fn plots(ladder: &Ladder, others: &[Reference]) -> Picture {
    let mut picture = Picture::new(AXIS_X + DECADE * 10 + FIGURES + MARGIN);
    picture.all(ladder, others);
    picture
}

/// The position of a latency in pixels from the start of the axis.
fn along(ns: f64) -> i32 {
    if ns.is_nan() || ns <= 0.0 {
        return 0;
    }
    ((ns.log10() + 1.0).clamp(0.0, 10.0) * f64::from(DECADE)).round() as i32
}

/// Whether the figures are as published ones, in a sentence.
fn verdict(ladder: &Ladder) -> String {
    let rungs = ladder.rungs.iter().filter(|rung| rung.ns.value().is_some());
    let (doubtful, measured): (Vec<&Rung>, Vec<&Rung>) =
        rungs.partition(|rung| rung.plausible.verdict == Plausibility::Doubtful);
    let measured = doubtful.len() + measured.len();
    let of = units::counted(measured as u64, "rung");
    match &doubtful[..] {
        [] => format!("{of} measured, none of them doubtful"),
        doubtful => {
            let names: Vec<&str> = doubtful.iter().map(|rung| rung.about.id.as_str()).collect();
            format!("{of} measured, {} of them doubtful: {}", doubtful.len(), names.join(", "))
        }
    }
}

/// The colour of a reference.
fn colour_of(at: usize, other: &Reference) -> u32 {
    if other.textbook { BLACK } else { OTHERS[at % OTHERS.len()] }
}

impl Picture {
    fn all(&mut self, ladder: &Ladder, others: &[Reference]) {
        let rungs: Vec<_> = ladder.rungs.iter().filter(|rung| rung.ns.value().is_some()).collect();
        if !rungs.is_empty() {
            let shown = beside::shown(ladder, others);
            self.bars(&rungs, &shown);
            self.legend(&rungs, &shown);
        }
        if let Seen::Value(curve) = &ladder.curve
            && curve.points.len() > 1
        {
            self.curve(curve);
        }
        self.height += MARGIN;
    }

    fn head(&mut self, ladder: &Ladder) {
        let host = &ladder.host;
        let cpu = ladder.machine.cpu.value().map_or("unknown CPU", String::as_str);
        self.height += ROW;
        self.text(MARGIN, self.height, Anchor::Start, true, INK, &format!("{}: {cpu}", host.name));
        self.height += ROW;
        let virtualisation = host.virtualisation.value().map_or(String::new(), |kind| format!(", {kind}"));
        let line = format!(
            "{}, {}, Linux {}{virtualisation}, {}",
            units::counted(u64::from(host.cpus), "CPU"),
            units::memory(&host.memory_bytes),
            host.kernel,
            units::to_second(&ladder.started_at)
        );
        self.text(MARGIN, self.height, Anchor::Start, false, FAINT, &line);
        self.row(false, FAINT, &verdict(ladder));
        self.height += ROW;
    }

    fn bars(&mut self, rungs: &[&Rung], others: &[&Reference]) {
        let look = Look { width: 120, colour: false, unicode: false, height: Look::HEIGHT };
        self.height += ROW;
        self.text(AXIS_X, self.height, Anchor::Start, false, FAINT, "time of one operation (logarithmic)");
        let x = AXIS_X + DECADE * 10 + 2 * CHAR;
        self.text(x + 9 * CHAR, self.height, Anchor::End, false, FAINT, "median");
        self.text(x + 10 * CHAR, self.height, Anchor::Start, false, FAINT, "95 % interval, bandwidth");
        self.height += ROW;
        let labels_y = self.height;
        let top = labels_y + 6;
        let mut y = top;
        let mut rows = Vec::new();
        let mut group = None;
        for rung in rungs {
            if group != Some(rung.about.group) {
                group = Some(rung.about.group);
                y += ROW;
                rows.push((y, None, rung));
            }
            y += ROW;
            rows.push((y, Some(()), rung));
        }
        let bottom = y + 8;
        for (power, label) in LABELS.iter().enumerate() {
            let x = AXIS_X + DECADE * power as i32;
            self.shapes.push(Shape::Line { points: vec![(x, top), (x, bottom)], colour: GRID, width: 1 });
            self.text(x, labels_y, Anchor::Middle, false, FAINT, label);
        }
        for (y, row, rung) in rows {
            match row {
                None => self.text(MARGIN, y, Anchor::Start, true, INK, rung.about.group.name()),
                Some(()) => {
                    self.bar(rung, y, look);
                    self.strokes(rung, others, y);
                }
            }
        }
        self.height = bottom;
    }

    fn bar(&mut self, rung: &Rung, y: i32, look: Look) {
        let Seen::Value(ns) = &rung.ns else { return };
        let doubtful = rung.plausible.verdict == Plausibility::Doubtful;
        let colour = if doubtful { ORANGE } else { BLUE };
        let name = crate::clean::fit(&clean(&rung.about.id, false), 21, false);
        self.text(MARGIN + CHAR, y, Anchor::Start, false, INK, &name);
        let middle = y - DOT;
        self.line(vec![(AXIS_X, middle), (AXIS_X + DECADE * 10, middle)], GRID, 1);
        if let Seen::Value(spread) = &rung.spread_ns {
            let end = |ns: f64| (AXIS_X + along(ns), (AXIS_NS[0]..=AXIS_NS[1]).contains(&ns));
            self.whisker(end(spread.p10), end(spread.p90), middle);
        }
        self.shapes.push(Shape::Dot { x: AXIS_X + along(ns.median), y: middle, radius: DOT, colour });
        let x = AXIS_X + DECADE * 10 + 2 * CHAR;
        self.text(x + 9 * CHAR, y, Anchor::End, true, INK, &latency(ns.median));
        let note = if doubtful { " doubtful" } else { "" };
        let rate =
            rung.bytes_per_s.value().map_or_else(String::new, |found| format!(", {}", rate(found.median)));
        let line = format!("{}{rate}{note}", range(ns, look));
        self.text(x + 10 * CHAR, y, Anchor::Start, false, FAINT, &line);
    }

    /// The marks of references: a stroke, or a bracket for a range.
    fn strokes(&mut self, rung: &Rung, others: &[&Reference], y: i32) {
        for (at, other) in others.iter().enumerate() {
            let Some(figure) = beside::figure(other, &rung.about.id) else { continue };
            let colour = colour_of(at, other);
            let (lo, hi) = (AXIS_X + along(figure.lo_ns), AXIS_X + along(figure.hi_ns));
            let (top, bottom) = (y - MARK - 2, y + 4);
            for x in [lo, hi] {
                self.shapes.push(Shape::Line { points: vec![(x, top), (x, bottom)], colour, width: 3 });
            }
            if hi > lo {
                self.shapes.push(Shape::Line { points: vec![(lo, bottom), (hi, bottom)], colour, width: 3 });
            }
        }
    }

    /// What a dot and a whisker are, and the legend of the marks, with their sources.
    fn legend(&mut self, rungs: &[&Rung], others: &[&Reference]) {
        self.height += ROW;
        let (x, y) = (MARGIN + CHAR, self.height + ROW);
        self.height = y;
        self.whisker((x - CHAR, true), (x + CHAR, true), y - DOT);
        self.shapes.push(Shape::Dot { x, y: y - DOT, radius: DOT, colour: BLUE });
        let doubtful = rungs.iter().any(|rung| rung.plausible.verdict == Plausibility::Doubtful);
        let orange = if doubtful { " (orange: doubtful)" } else { "" };
        let below = rungs.iter().any(|rung| rung.spread_ns.value().is_some_and(|ns| ns.p10 < AXIS_NS[0]));
        let open = if below { "; without a stroke at its left end it begins below the axis" } else { "" };
        let said = format!("dot: the median{orange}; whisker: from 10 % to 90 % of the samples{open}");
        for (row, line) in folded(&said, 3).iter().enumerate() {
            self.height += if row > 0 { ROW } else { 0 };
            self.text(x + 2 * CHAR, self.height, Anchor::Start, false, INK, line);
        }
        for (at, other) in others.iter().enumerate() {
            self.height += ROW;
            let (y, colour) = (self.height, colour_of(at, other));
            let x = MARGIN + CHAR;
            self.shapes.push(Shape::Line { points: vec![(x, y - MARK), (x, y + 2)], colour, width: 3 });
            for (row, line) in folded(&format!("{}: {}", other.name, other.source), 3).iter().enumerate() {
                self.height += if row > 0 { ROW } else { 0 };
                self.text(x + 2 * CHAR, self.height, Anchor::Start, false, INK, line);
            }
        }
    }

    /// Latency against size, both logarithmic.
    fn curve(&mut self, curve: &Curve) {
        self.height += 2 * ROW;
        let title = "latency of a load, by working set size";
        self.text(MARGIN, self.height, Anchor::Start, true, INK, title);
        if !curve.edges.is_empty() {
            let beside = MARGIN + (title.len() as i32 + 2) * CHAR;
            let unknown = curve.edges.iter().any(|edge| edge.level.is_none());
            let unknown = if unknown { "; ?: of no level that is known" } else { "" };
            let said = format!("orange: where a level ends{unknown}");
            self.text(beside, self.height, Anchor::Start, false, ORANGE, &said);
        }
        let top = self.height + ROW;
        let bottom = top + CURVE_HEIGHT;
        let (left, right) = (AXIS_X, AXIS_X + DECADE * 10);
        let log = |bytes: u64| (bytes.max(1) as f64).log2();
        let (first, last) = (log(curve.points[0].bytes), log(curve.points[curve.points.len() - 1].bytes));
        let x = |bytes: u64| {
            left + ((log(bytes) - first) / (last - first).max(1.0) * f64::from(right - left)).round() as i32
        };
        // From 0.1 ns up to the power of ten above the highest point.
        let highest = curve.points.iter().map(|point| point.ns.median).fold(1.0, f64::max);
        let decades = (highest.log10().ceil() as i32 + 1).clamp(2, 10);
        let y = |ns: f64| {
            let share = f64::from(along(ns)) / f64::from(DECADE * decades);
            bottom - (share.min(1.0) * f64::from(CURVE_HEIGHT)).round() as i32
        };
        for (power, label) in LABELS.iter().enumerate().take(decades as usize + 1) {
            let at = bottom - CURVE_HEIGHT * power as i32 / decades;
            self.shapes.push(Shape::Line { points: vec![(left, at), (right, at)], colour: GRID, width: 1 });
            self.text(left - CHAR, at + 4, Anchor::End, false, FAINT, label);
        }
        for power in (first.ceil() as u32..=last.floor() as u32).step_by(2) {
            let bytes = 1_u64 << power;
            let at = x(bytes);
            self.shapes.push(Shape::Line { points: vec![(at, top), (at, bottom)], colour: GRID, width: 1 });
            let label = match power {
                ..20 => format!("{} KiB", bytes >> 10),
                20..30 => format!("{} MiB", bytes >> 20),
                _ => format!("{} GiB", bytes >> 30),
            };
            self.text(at, bottom + ROW, Anchor::Middle, false, FAINT, &label);
        }
        for edge in &curve.edges {
            let at = x(edge.bytes);
            self.shapes.push(Shape::Line { points: vec![(at, top), (at, bottom)], colour: ORANGE, width: 1 });
            let name = edge.level.as_deref().unwrap_or("?");
            self.text(at + 4, top + ROW / 2, Anchor::Start, false, ORANGE, name);
        }
        let points = curve.points.iter().map(|point| (x(point.bytes), y(point.ns.median))).collect();
        self.shapes.push(Shape::Line { points, colour: BLUE, width: 2 });
        self.text(right + 5 * CHAR, bottom + ROW, Anchor::Start, false, FAINT, "working set size");
        self.height = bottom + ROW;
    }
}
