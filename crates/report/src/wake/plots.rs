//! Plots of latencies, one above the other: the histogram with logarithmic counts, the latency by
//! percentile, and the maxima over time. A plot may have several series.

use super::chart::{axis_of, maxima, power};
use super::columns::{Axis, counts};
use crate::axis;
use crate::picture::{
    Anchor, BLACK, BLUE, CHAR, FAINT, GRID, INK, MARGIN, ORANGE, OTHERS, Picture, ROW, Shape, folded,
};
use crate::units::{duration, exact};
use model::Ns;
use model::wake::{Bin, LatencyBlock};

/// Where plots begin, and their sizes.
const LEFT: i32 = MARGIN + 9 * CHAR;
const WIDE: i32 = 820;
const RIGHT: i32 = LEFT + WIDE;
const HISTOGRAM: i32 = 330;
const PERCENTILES: i32 = 240;
const TIMELINE: i32 = 150;
/// Right of the plots: the names of the series.
const LEGEND: i32 = 34 * CHAR;
/// The least width of a column in pixels: histogram, timeline.
const COLUMN: i32 = 6;
const STEP: i32 = 2;
/// Colours of series; further series are grey, below these.
const COLOURS: [u32; 8] = [BLUE, ORANGE, OTHERS[1], OTHERS[2], OTHERS[0], OTHERS[3], BLACK, OTHERS[4]];
const GREY: u32 = 0xbb_bb_bb;
const RED: u32 = 0xcc_00_00;
/// Up to this number of series the legend has two lines for each.
const WITH_NOTES: usize = 6;

/// The width of a picture with plots.
pub(crate) const PAPER: i32 = RIGHT + LEGEND + MARGIN;

/// Caveats below a picture at most.
const CAVEATS: usize = 8;
/// Lines of a sentence at most.
const SENTENCE: usize = 6;

/// The data of one line of each plot.
pub(crate) struct Series<'a> {
    /// Untrusted.
    pub(crate) name: String,
    /// Shown behind the name.
    pub(crate) note: String,
    pub(crate) bins: &'a [Bin],
    pub(crate) blocks: &'a [LatencyBlock],
    pub(crate) took_ns: Ns,
}

impl Series<'_> {
    fn cycles(&self) -> u64 {
        self.bins.iter().fold(0, |sum, bin| bin.count.saturating_add(sum))
    }

    fn max_ns(&self) -> Ns {
        self.bins.last().map_or(0, |bin| bin.to_ns)
    }
}

/// What all plots share.
pub(crate) struct PlotInfo {
    /// `wake-up`, `reading`.
    pub(crate) cycle: &'static str,
    /// The deadline, to be marked.
    pub(crate) deadline_ns: Option<Ns>,
}

/// A series with its colour.
struct Coloured<'a> {
    series: &'a Series<'a>,
    colour: u32,
}

/// All plots, one below the other. If there are more series than colours, those with the highest
/// maxima have colours.
pub(crate) fn draw(picture: &mut Picture, series: &[Series<'_>], info: &PlotInfo) {
    let bins: Vec<&[Bin]> = series.iter().map(|one| one.bins).collect();
    let Some(axis) = Axis::of(&bins, info.deadline_ns) else { return };
    let mut coloured: Vec<Coloured<'_>> =
        series.iter().map(|series| Coloured { series, colour: GREY }).collect();
    if series.len() > COLOURS.len() {
        coloured.sort_by_key(|one| std::cmp::Reverse(one.series.max_ns()));
    }
    for (one, colour) in coloured.iter_mut().zip(COLOURS) {
        one.colour = colour;
    }
    let top = histogram(picture, &coloured, axis, &bins, info);
    legend(picture, &coloured, info, axis, top);
    percentiles(picture, &coloured, axis, info);
    timeline(picture, &coloured, info);
}

/// A share of a length in pixels.
fn pixels(share: f64, long: i32) -> i32 {
    (share.clamp(0.0, 1.0) * f64::from(long)).round() as i32
}

/// Writes a plot's title, and below it, above the labels of its vertical axis, what that is of;
/// gives the top of the plot.
fn title(picture: &mut Picture, text: &str, vertical: &str) -> i32 {
    picture.height += 2 * ROW;
    picture.text(MARGIN, picture.height, Anchor::Start, true, INK, text);
    picture.height += ROW;
    picture.text(LEFT - CHAR, picture.height, Anchor::End, false, FAINT, vertical);
    picture.height + ROW * 2 / 3
}

fn horizontal(picture: &mut Picture, y: i32, label: &str) {
    picture.line(vec![(LEFT, y), (RIGHT, y)], GRID, 1);
    picture.text(LEFT - CHAR, y + 4, Anchor::End, false, FAINT, label);
}

fn vertical(picture: &mut Picture, x: i32, top: i32, bottom: i32, label: &str) {
    picture.line(vec![(x, top), (x, bottom)], GRID, 1);
    picture.text(x, bottom + ROW - 4, Anchor::Middle, false, FAINT, label);
}

/// What the horizontal axis of a plot is of, right of its labels.
fn of_horizontal(picture: &mut Picture, bottom: i32, text: &str) {
    picture.text(RIGHT + 7 * CHAR, bottom + ROW - 4, Anchor::Start, false, FAINT, text);
}

/// A dashed line.
fn dashed(picture: &mut Picture, from: (i32, i32), to: (i32, i32)) {
    const STROKE: i32 = 8;
    let (along_x, along_y) = (to.0 - from.0, to.1 - from.1);
    let long = along_x.abs().max(along_y.abs());
    for at in (0..long).step_by(2 * STROKE as usize) {
        let point = |at: i32| {
            let at = at.min(long);
            (from.0 + along_x * at / long, from.1 + along_y * at / long)
        };
        picture.line(vec![point(at), point(at + STROKE)], RED, 2);
    }
}

/// The deadline, where it is on the axis.
fn deadline(info: &PlotInfo, axis: Axis) -> Option<(Ns, f64)> {
    let ns = info.deadline_ns?;
    let share = axis.share(ns as f64);
    (share <= 1.0).then_some((ns, share))
}

/// The histogram. Gives the top of the plot.
fn histogram(
    picture: &mut Picture,
    series: &[Coloured<'_>],
    axis: Axis,
    bins: &[&[Bin]],
    info: &PlotInfo,
) -> i32 {
    let (edges, step) = axis.edges(bins, (WIDE / COLUMN) as usize);
    let cycles = format!("{}s", info.cycle);
    let top = title(picture, &format!("{cycles} by latency, in steps of {step}"), &cycles);
    let bottom = top + HISTOGRAM;
    let of: Vec<Vec<f64>> = series.iter().map(|one| counts(one.series.bins, &edges)).collect();
    let most = of.iter().flatten().copied().fold(1.0, f64::max);
    let decades = (most.log10() + 1e-9).floor() as i32 + 1;
    // The bottom is one half, so that a count of one is visible.
    let low = 0.5_f64.log10();
    let y = |count: f64| {
        let share = (count.max(1.0).log10() - low) / (f64::from(decades) - low);
        bottom - pixels(if count > 0.0 { share } else { 0.0 }, HISTOGRAM)
    };
    for at in 0..=decades {
        horizontal(picture, y(10_f64.powi(at)), &power(at as usize));
    }
    for (ns, label) in axis.ticks(10) {
        vertical(picture, LEFT + pixels(axis.share(ns), WIDE), top, bottom, &label);
    }
    of_horizontal(picture, bottom, "latency");
    picture.line(vec![(LEFT, bottom), (RIGHT, bottom)], FAINT, 1);
    if let Some((_, share)) = deadline(info, axis) {
        let x = LEFT + pixels(share, WIDE);
        dashed(picture, (x, top), (x, bottom));
    }
    // Grey ones first, those with the highest maxima on top.
    for (one, counts) in series.iter().zip(&of).rev() {
        // Nothing is drawn along the bottom: it would cover other series.
        for run in runs(counts) {
            let mut points = vec![(LEFT + pixels(axis.share(edges[run.start]), WIDE), bottom)];
            for at in run.clone() {
                let x = |at: usize| LEFT + pixels(axis.share(edges[at]), WIDE);
                points.extend([(x(at), y(counts[at])), (x(at + 1), y(counts[at]))]);
            }
            points.push((LEFT + pixels(axis.share(edges[run.end]), WIDE), bottom));
            points.dedup();
            picture.line(points, one.colour, 2);
        }
    }
    picture.height = bottom + ROW;
    top
}

/// Runs of columns that are not empty.
fn runs(counts: &[f64]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for at in (0..counts.len()).filter(|at| counts[*at] > 0.0) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// The legend, right of the first plot.
fn legend(picture: &mut Picture, series: &[Coloured<'_>], info: &PlotInfo, axis: Axis, top: i32) {
    let x = RIGHT + 2 * CHAR;
    let mut y = top + ROW / 2;
    let fitted =
        |text: &str| crate::clean::fit(&crate::clean(text, false), (LEGEND / CHAR - 5) as usize, false);
    let with_notes = series.len() <= WITH_NOTES;
    for one in series.iter().take(COLOURS.len()) {
        swatch(picture, x, y, one.colour);
        picture.text(x + 3 * CHAR, y, Anchor::Start, true, INK, &fitted(&one.series.name));
        if with_notes {
            let below = y + ROW - 6;
            picture.text(x + 3 * CHAR, below, Anchor::Start, false, FAINT, &fitted(&one.series.note));
            y += ROW - 4;
        }
        y += ROW;
    }
    if series.len() > COLOURS.len() {
        swatch(picture, x, y, GREY);
        let rest = format!("{} more, none with a higher max", series.len() - COLOURS.len());
        picture.text(x + 3 * CHAR, y, Anchor::Start, false, FAINT, &rest);
        y += ROW;
    }
    if let Some(ns) = info.deadline_ns {
        let beyond = if deadline(info, axis).is_some() { "" } else { ", beyond the axis" };
        dashed(picture, (x, y - 4), (x + 2 * CHAR, y - 4));
        picture.text(x + 3 * CHAR, y, Anchor::Start, false, RED, &format!("deadline {}{beyond}", exact(ns)));
    }
}

fn swatch(picture: &mut Picture, x: i32, y: i32, colour: u32) {
    picture.shapes.push(Shape::Rect { x, y: y - 9, width: 2 * CHAR, height: 9, colour });
}

/// Latency by percentile; each nine has the same width.
fn percentiles(picture: &mut Picture, series: &[Coloured<'_>], axis: Axis, info: &PlotInfo) {
    let most = series.iter().map(|one| one.series.cycles()).max().unwrap_or(0).max(10);
    let nines = (most as f64).log10().ceil();
    let top = title(picture, "latency by percentile", "latency");
    let bottom = top + PERCENTILES;
    let y = |ns: f64| bottom - pixels(axis.share(ns), PERCENTILES);
    for (ns, label) in axis.ticks(7) {
        horizontal(picture, y(ns), &label);
    }
    for at in 0..=nines as i32 {
        let label = match at {
            // Long labels would overlap.
            8.. if at % 2 == 1 => String::new(),
            0 => "0 %".to_owned(),
            1 => "90 %".to_owned(),
            2 => "99 %".to_owned(),
            _ => format!("99.{} %", "9".repeat(at as usize - 2)),
        };
        vertical(picture, LEFT + pixels(f64::from(at) / nines, WIDE), top, bottom, &label);
    }
    of_horizontal(picture, bottom, "percentile");
    if let Some((_, share)) = deadline(info, axis) {
        let y = bottom - pixels(share, PERCENTILES);
        dashed(picture, (LEFT, y), (RIGHT, y));
    }
    for one in series.iter().rev() {
        let all = one.series.cycles();
        let mut points: Vec<(i32, i32)> = Vec::new();
        let mut below = 0_u64;
        for bin in one.series.bins {
            below = bin.count.saturating_add(below);
            // Nothing is above the last bin: it is drawn where one value would be.
            let beyond = (all - below).max(1) as f64 / all as f64;
            let point = (
                LEFT + pixels(-beyond.log10() / nines, WIDE),
                y(f64::midpoint(bin.from_ns as f64, bin.to_ns as f64)),
            );
            if points.last() != Some(&point) {
                points.push(point);
            }
        }
        picture.line(points, one.colour, 2);
    }
    picture.height = bottom + ROW;
}

/// The maximum of each block over time.
fn timeline(picture: &mut Picture, series: &[Coloured<'_>], info: &PlotInfo) {
    let long = series.iter().map(|one| one.series.took_ns).max().unwrap_or(0);
    if long == 0 || series.iter().all(|one| one.series.blocks.len() < 2) {
        return;
    }
    let all: Vec<LatencyBlock> = series.iter().flat_map(|one| one.series.blocks).copied().collect();
    let axis = axis_of(&all, info.deadline_ns);
    let parts = (WIDE / STEP) as usize;
    let blocks = series.iter().map(|one| one.series.blocks.len()).max().unwrap_or(0);
    let each = (long / parts as u64).max(long / blocks.max(1) as u64);
    let top = title(picture, &format!("maximum latency over time, per {}", duration(each)), "latency");
    let bottom = top + TIMELINE;
    for (ns, label) in axis.ticks(5) {
        horizontal(picture, bottom - pixels(axis.share(ns), TIMELINE), &label);
    }
    let step = axis::round_step(long, 8);
    for at in (0..=long / step).map(|at| at * step) {
        let x = LEFT + pixels(at as f64 / long as f64, WIDE);
        vertical(picture, x, top, bottom, &if at == 0 { "0".to_owned() } else { exact(at) });
    }
    of_horizontal(picture, bottom, "time");
    if let Some((_, share)) = deadline(info, axis) {
        let y = bottom - pixels(share, TIMELINE);
        dashed(picture, (LEFT, y), (RIGHT, y));
    }
    for one in series.iter().rev() {
        let mut points = Vec::new();
        for (at, max) in maxima(one.series.blocks, long, parts).into_iter().enumerate() {
            let x = LEFT + at as i32 * STEP;
            match max {
                Some(ns) => {
                    let y = bottom - pixels(axis.share(ns as f64), TIMELINE);
                    points.extend([(x, y), (x + STEP, y)]);
                }
                // Nothing is drawn across a time without wake-ups.
                None => picture.line(std::mem::take(&mut points), one.colour, 1),
            }
        }
        picture.line(points, one.colour, 1);
    }
    picture.height = bottom + ROW;
}

/// Text above the plots, the result first; long lines are folded.
pub(crate) fn head(picture: &mut Picture, sentences: &[String]) {
    for (at, text) in sentences.iter().enumerate() {
        let (bold, colour) = if at == 0 { (true, INK) } else { (false, FAINT) };
        for line in folded(text, SENTENCE) {
            picture.row(bold, colour, &line);
        }
    }
}

/// The caveats below the picture, without what to try.
pub(crate) fn caveats(picture: &mut Picture, limits: &[String]) {
    if !limits.is_empty() {
        picture.height += ROW / 2;
    }
    for limit in limits.iter().take(CAVEATS) {
        let first = limit.lines().next().unwrap_or("");
        for line in folded(&format!("! {first}"), SENTENCE) {
            picture.row(false, FAINT, &line);
        }
    }
    let rest = limits.len().saturating_sub(CAVEATS);
    if rest > 0 {
        picture.row(false, FAINT, &format!("! {rest} more on the page"));
    }
}
