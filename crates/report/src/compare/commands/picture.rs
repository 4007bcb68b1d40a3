//! Pictures of commands that were compared: the pairs in their order, the runs of each command,
//! and the ratio with its interval as it narrowed.

use super::figures::{amount, letters, ratio, values};
use crate::picture::{Anchor, BLUE, CHAR, FAINT, GRID, INK, MARGIN, ORANGE, OTHERS, Picture, ROW, Shape};
use model::compare::commands::{CommandChange, Comparison};
use model::timing::Figure;
use stats::paired::{Sequence, hodges_lehmann, signed_rank};

/// Where plots begin, and their sizes.
const LEFT: i32 = MARGIN + 10 * CHAR;
const WIDE: i32 = 880;
const RIGHT: i32 = LEFT + WIDE;
const HIGH: i32 = 220;
const STRIP: i32 = 46;
/// Pixels of a dot.
const DOT: i32 = 5;
/// What lies beyond this part of the values on either side is drawn at the edge.
const FAR: f64 = 0.01;
/// Points of an interval that narrowed.
const STEPS: usize = 160;
const COLOURS: [u32; 7] = [BLUE, ORANGE, OTHERS[1], OTHERS[2], OTHERS[0], OTHERS[3], OTHERS[4]];

/// An axis of values.
#[derive(Clone, Copy)]
struct Axis {
    lo: f64,
    hi: f64,
}

impl Axis {
    /// From the smallest value to the largest, without the few that are far away.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let far = (sorted.len() as f64 * FAR) as usize;
        let (lo, hi) = (*sorted.get(far)?, *sorted.get(sorted.len() - 1 - far)?);
        let room = ((hi - lo) * 0.06).max(hi.abs() * 0.002).max(f64::MIN_POSITIVE);
        Some(Self { lo: lo - room, hi: hi + room })
    }

    /// `; at the edge: 2 beyond it, up to 143 ms`: values that are drawn at an edge, not where they
    /// are.
    fn beyond(self, on: Figure, values: impl Iterator<Item = f64>) -> String {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let far = |value: &&f64| **value < self.lo || **value > self.hi;
        let count = values.iter().filter(far).count();
        let most = values.iter().filter(far).copied().fold(f64::NEG_INFINITY, f64::max);
        match count {
            0 => String::new(),
            _ if most > self.hi => format!("; at the edge: {count} beyond it, up to {}", amount(on, most)),
            _ => format!("; at the edge: {count} beyond it"),
        }
    }

    fn share(self, value: f64) -> f64 {
        ((value - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0)
    }

    /// Round values, about five of them.
    fn ticks(self) -> Vec<f64> {
        let least = (self.hi - self.lo) / 5.0;
        let power = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= least);
        let step = step.unwrap_or(least).max(f64::MIN_POSITIVE);
        let first = (self.lo / step).ceil();
        let ticks = (0..12).map(|at| (first + f64::from(at)) * step);
        ticks.take_while(|tick| *tick <= self.hi).collect()
    }
}

fn pixels(share: f64, long: i32) -> i32 {
    (share.clamp(0.0, 1.0) * f64::from(long)).round() as i32
}

fn title(picture: &mut Picture, text: &str) -> i32 {
    picture.height += ROW;
    picture.text(LEFT, picture.height, Anchor::Start, true, INK, text);
    picture.height + ROW / 2
}

fn horizontal(picture: &mut Picture, y: i32, label: &str) {
    picture.line(vec![(LEFT, y), (RIGHT, y)], GRID, 1);
    picture.text(LEFT - CHAR, y + 4, Anchor::End, false, FAINT, label);
}

fn dot(picture: &mut Picture, x: i32, y: i32, colour: u32) {
    picture.shapes.push(Shape::Rect { x: x - DOT / 2, y: y - DOT / 2, width: DOT, height: DOT, colour });
}

/// The pairs of a comparison in their order: a line from A's run to B's.
pub(crate) fn pairs(comparison: &Comparison, change: &CommandChange) -> Option<Picture> {
    let axis = Axis::of(change.pairs.iter().flat_map(|pair| [pair.a, pair.b]))?;
    let on = comparison.settings.on;
    let mut picture = Picture::new(RIGHT + MARGIN);
    let letter = letters(change.b as usize);
    let beyond = axis.beyond(on, change.pairs.iter().flat_map(|pair| [pair.a, pair.b]));
    let top = title(&mut picture, &format!("pairs in their order: A blue, {letter} orange{beyond}"));
    let y = |value: f64| top + HIGH - pixels(axis.share(value), HIGH);
    for tick in axis.ticks() {
        horizontal(&mut picture, y(tick), &amount(on, tick));
    }
    let many = change.pairs.len().max(1) as f64;
    for (at, pair) in change.pairs.iter().enumerate() {
        let x = LEFT + pixels((at as f64 + 0.5) / many, WIDE);
        picture.line(vec![(x, y(pair.a)), (x, y(pair.b))], GRID, 1);
        dot(&mut picture, x, y(pair.a), BLUE);
        dot(&mut picture, x, y(pair.b), ORANGE);
    }
    picture.height = top + HIGH + ROW;
    Some(picture)
}

/// The runs of each command on one axis, with their median.
pub(crate) fn distributions(comparison: &Comparison) -> Option<Picture> {
    let all: Vec<Vec<f64>> = (0..comparison.commands.len()).map(|at| values(comparison, at)).collect();
    let axis = Axis::of(all.iter().flatten().copied())?;
    let on = comparison.settings.on;
    let mut picture = Picture::new(RIGHT + MARGIN);
    let beyond = axis.beyond(on, all.iter().flatten().copied());
    let top = title(&mut picture, &format!("runs of each command; a stroke is the median{beyond}"));
    let bottom = top + STRIP * all.len() as i32;
    for tick in axis.ticks() {
        let x = LEFT + pixels(axis.share(tick), WIDE);
        picture.line(vec![(x, top), (x, bottom)], GRID, 1);
        picture.text(x, bottom + ROW - 4, Anchor::Middle, false, FAINT, &amount(on, tick));
    }
    for (at, values) in all.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let middle = top + STRIP * at as i32 + STRIP / 2;
        picture.text(LEFT - 2 * CHAR, middle + 4, Anchor::End, true, INK, &letters(at));
        for (run, value) in values.iter().enumerate() {
            // Apart by their order, so that equal ones are seen.
            let off = (run as i32 * 7) % (STRIP - 16) - (STRIP - 16) / 2;
            dot(&mut picture, LEFT + pixels(axis.share(*value), WIDE), middle + off, colour);
        }
        if let Some(figure) = comparison.commands.get(at).and_then(|command| command.figure) {
            let x = LEFT + pixels(axis.share(figure.median), WIDE);
            picture.line(vec![(x, middle - STRIP / 2 + 4), (x, middle + STRIP / 2 - 4)], INK, 3);
        }
    }
    picture.height = bottom + 2 * ROW;
    Some(picture)
}

/// The ratio with its interval after each pair.
pub(crate) fn narrowing(comparison: &Comparison, change: &CommandChange) -> Option<Picture> {
    let steps = narrowed(comparison, change);
    let shown = steps.iter().filter(|step| step.lo.is_finite() && step.hi.is_finite());
    let axis = Axis::of(shown.clone().flat_map(|step| [step.lo, step.hi]).chain([1.0]))?;
    let (first, last) = (shown.clone().next()?, steps.last()?);
    let mut picture = Picture::new(RIGHT + MARGIN);
    let letter = letters(change.b as usize);
    let top = title(
        &mut picture,
        &format!(
            "ratio {letter} by A (orange) with its {} % interval (blue), by pairs: from {} to {} pairs",
            ((1.0 - comparison.settings.alpha) * 100.0).round(),
            first.pairs,
            last.pairs
        ),
    );
    let y = |value: f64| top + HIGH - pixels(axis.share(value), HIGH);
    let x = |pairs: usize| LEFT + pixels(pairs as f64 / last.pairs.max(1) as f64, WIDE);
    for tick in axis.ticks() {
        horizontal(&mut picture, y(tick), &ratio(tick));
    }
    picture.line(vec![(LEFT, y(1.0)), (RIGHT, y(1.0))], FAINT, 2);
    for step in shown.clone() {
        picture.line(vec![(x(step.pairs), y(step.lo)), (x(step.pairs), y(step.hi))], GRID, 3);
    }
    picture.line(shown.clone().map(|step| (x(step.pairs), y(step.lo))).collect(), BLUE, 1);
    picture.line(shown.clone().map(|step| (x(step.pairs), y(step.hi))).collect(), BLUE, 1);
    picture.line(shown.map(|step| (x(step.pairs), y(step.estimate))).collect(), ORANGE, 2);
    picture.height = top + HIGH + ROW;
    Some(picture)
}

/// What this many pairs said.
struct Step {
    pairs: usize,
    estimate: f64,
    lo: f64,
    hi: f64,
}

/// By the method of the result: one interval after each pair where it was looked at after each.
fn narrowed(comparison: &Comparison, change: &CommandChange) -> Vec<Step> {
    let settings = &comparison.settings;
    let alpha = settings.alpha / comparison.comparisons.len().max(1) as f64;
    let mut sequence = Sequence::new(alpha);
    let every = change.pairs.len().div_ceil(STEPS).max(1);
    let mut steps = Vec::new();
    for (at, pair) in change.pairs.iter().enumerate() {
        if pair.a > 0.0 && pair.b > 0.0 {
            sequence.add((pair.b / pair.a).ln());
        }
        if (at + 1) % every != 0 && at + 1 != change.pairs.len() {
            continue;
        }
        let differences: Vec<f64> = sequence.values().collect();
        let interval = match settings.pairs {
            Some(_) => signed_rank(&differences, alpha),
            None => Some(sequence.interval()),
        };
        if let (Some(estimate), Some((lo, hi))) = (hodges_lehmann(&differences), interval) {
            steps.push(Step { pairs: at + 1, estimate: estimate.exp(), lo: lo.exp(), hi: hi.exp() });
        }
    }
    steps
}
