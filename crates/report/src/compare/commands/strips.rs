//! The runs of each command on a common axis, and the ratios of the pairs with their interval.

use super::figures::{amount, letters, number, ratio, values};
use crate::Look;
use crate::clean::width;
use crate::paint::{Ink, Line};
use crate::units;
use model::compare::commands::{CommandChange, Comparison, EstimateInterval};
use model::timing::Figure;
use stats::median::quantile;

/// More strips than this do not fit a screen.
const STRIPS_MAX: usize = 16;
/// What lies further from the quartiles than this many times their distance is drawn at the edge.
const FAR: f64 = 4.0;
/// Columns for the letters before a strip.
const LABEL: usize = 6;
/// Columns from one tick to the next at least.
const TICK: usize = 14;

/// An axis of the page: where values are.
struct Axis {
    lo: f64,
    hi: f64,
    columns: usize,
}

impl Axis {
    /// An axis for these values: from the smallest to the largest that is not far from the others,
    /// and some room on both sides.
    fn of(all: &[Vec<f64>], least: &[f64], columns: usize) -> Option<Self> {
        let mut ends: Option<(f64, f64)> = None;
        for values in all {
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let (q1, q3) = (quantile(&sorted, 0.25)?, quantile(&sorted, 0.75)?);
            let reach = (q3 - q1) * FAR;
            let (lo, hi) = (sorted[0].max(q1 - reach), sorted[sorted.len() - 1].min(q3 + reach));
            ends = Some(ends.map_or((lo, hi), |(low, high)| (low.min(lo), high.max(hi))));
        }
        let (mut lo, mut hi) = ends?;
        for value in least {
            (lo, hi) = (lo.min(*value), hi.max(*value));
        }
        let room = ((hi - lo) * 0.03).max(hi.abs() * 1e-4).max(f64::MIN_POSITIVE);
        Some(Self { lo: lo - room, hi: hi + room, columns })
    }

    /// The column of a value: at the edge, where it lies further out.
    fn column(&self, value: f64) -> usize {
        let share = (value - self.lo) / (self.hi - self.lo);
        ((share * self.columns as f64).max(0.0) as usize).min(self.columns - 1)
    }

    fn is_beyond(&self, value: f64) -> bool {
        !(self.lo..=self.hi).contains(&value)
    }

    /// Whether some lie left of it, and some right.
    fn overflows(&self, values: &[f64]) -> [bool; 2] {
        [values.iter().any(|value| *value < self.lo), values.iter().any(|value| *value > self.hi)]
    }

    /// A step between ticks: 1, 2 or 5 times a power of ten; of bytes a power of two.
    fn step(&self, on: Option<Figure>) -> f64 {
        let most = (self.columns / TICK).max(1) as f64;
        let least = (self.hi - self.lo) / most;
        if on == Some(Figure::Memory) {
            return least.max(1.0).log2().ceil().exp2();
        }
        let power = 10_f64.powf(least.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
        let least_step = if on == Some(Figure::Faults) { 1.0 } else { 0.0 };
        steps.into_iter().find(|step| *step >= least * 0.999).unwrap_or(power * 10.0).max(least_step)
    }

    /// Ticks with their labels.
    fn line(&self, on: Option<Figure>, look: Look) -> Line {
        let tick = if look.unicode { "╵" } else { "'" };
        let mut line = Line::new(look).pad_to(LABEL);
        let step = self.step(on);
        let first = (self.lo / step).ceil();
        let mut before = String::new();
        for at in 0..self.columns {
            let value = (first + at as f64) * step;
            if value > self.hi {
                break;
            }
            let column = LABEL + self.column(value);
            let label = format!("{tick}{}", label(on, value, step));
            // Ticks closer than the digits of a label say nothing.
            if label == std::mem::replace(&mut before, label.clone()) {
                continue;
            }
            if column >= line.width() + usize::from(at > 0) && column + width(&label) <= LABEL + self.columns
            {
                line = line.pad_to(column).add(Ink::Dim, &label);
            }
        }
        line
    }
}

/// A tick's value. None: a ratio.
fn label(on: Option<Figure>, value: f64, step: f64) -> String {
    match on {
        None => {
            let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{value:.decimals$}")
        }
        Some(on) if on.is_time() => units::exact(value.round().max(0.0) as u64),
        Some(Figure::Printed) => number(value),
        Some(on) => amount(on, value),
    }
}

/// The marks of a strip, by how many of its values are in a column.
fn strip(values: &[f64], axis: &Axis, look: Look) -> String {
    let mut counts = vec![0_usize; axis.columns];
    values.iter().for_each(|value| counts[axis.column(*value)] += 1);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let marks: &[char] = if look.unicode {
        &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    } else {
        &['.', ':', '|', '#']
    };
    let mark = |count: &usize| match count {
        0 => ' ',
        count => marks[(count * marks.len()).div_ceil(most).saturating_sub(1).min(marks.len() - 1)],
    };
    let mut marks: Vec<char> = counts.iter().map(mark).collect();
    let edges = if look.unicode { ['‹', '›'] } else { ['<', '>'] };
    let columns = [0, axis.columns - 1];
    for ((column, edge), beyond) in columns.into_iter().zip(edges).zip(axis.overflows(values)) {
        if beyond {
            marks[column] = edge;
        }
    }
    marks.into_iter().collect()
}

/// The picture.
pub(super) fn lines(comparison: &Comparison, look: Look) -> Vec<Line> {
    let mut lines = runs(comparison, look);
    lines.extend(pairs(comparison, look));
    lines
}

/// The runs of each command.
fn runs(comparison: &Comparison, look: Look) -> Vec<Line> {
    let on = comparison.settings.on;
    let all: Vec<Vec<f64>> =
        (0..comparison.commands.len().min(STRIPS_MAX)).map(|at| values(comparison, at)).collect();
    let drawn: Vec<Vec<f64>> = all.iter().filter(|values| !values.is_empty()).cloned().collect();
    let Some(axis) = Axis::of(&drawn, &[], look.columns() - LABEL) else { return Vec::new() };
    let label = |at: usize| Line::new(look).add(Ink::Bold, &letters(at)).pad_to(LABEL);
    let line = |(at, values): (usize, &Vec<f64>)| label(at).add(Ink::Plain, &strip(values, &axis, look));
    let mut lines: Vec<Line> = all.iter().enumerate().map(line).collect();
    lines.push(axis.line(Some(on), look));
    for (at, values) in all.iter().enumerate() {
        let beyond: Vec<f64> = values.iter().copied().filter(|value| axis.is_beyond(*value)).collect();
        let Some(most) = beyond.iter().copied().reduce(f64::max).filter(|most| *most > axis.hi) else {
            continue;
        };
        let runs = units::counted(beyond.len() as u64, "run");
        let text = format!("{runs} of {} beyond the axis, up to {}", letters(at), amount(on, most));
        lines.push(Line::new(look).pad_to(LABEL).add(Ink::Dim, &text).cut());
    }
    lines
}

/// The ratios of the pairs.
fn pairs(comparison: &Comparison, look: Look) -> Vec<Line> {
    let of = |change: &&CommandChange| change.pairs.len() > 1;
    let changes: Vec<&CommandChange> = comparison.comparisons.iter().filter(of).take(STRIPS_MAX).collect();
    let ratios = |change: &CommandChange| -> Vec<f64> {
        let each = change.pairs.iter().map(|pair| pair.b / pair.a);
        each.filter(|ratio| ratio.is_finite()).collect()
    };
    let all: Vec<Vec<f64>> = changes.iter().map(|change| ratios(change)).collect();
    let drawn: Vec<Vec<f64>> = all.iter().filter(|ratios| !ratios.is_empty()).cloned().collect();
    let Some(axis) = Axis::of(&drawn, &[1.0], look.columns() - LABEL) else { return Vec::new() };
    let mut lines = Vec::new();
    for (change, ratios) in changes.iter().zip(&all) {
        let name = format!("{}/{}", letters(change.b as usize), letters(change.a as usize));
        let marks = Line::new(look).add(Ink::Bold, &name).pad_to(LABEL);
        lines.push(marks.add(Ink::Plain, &strip(ratios, &axis, look)));
        lines.extend(change.ratio.map(|found| interval(found, &axis, look)));
    }
    lines.push(axis.line(None, look));
    lines
}

/// The interval below a strip: `├──┼──┤`.
fn interval(found: EstimateInterval, axis: &Axis, look: Look) -> Line {
    let marks = if look.unicode { ['├', '─', '┼', '┤'] } else { ['[', '-', '+', ']'] };
    let [begin, between, middle, end] = marks;
    let (lo, at, hi) = (axis.column(found.lo), axis.column(found.estimate), axis.column(found.hi));
    let text: String = (lo..=hi)
        .map(|column| match column {
            column if column == at => middle,
            column if column == lo => begin,
            column if column == hi => end,
            _ => between,
        })
        .collect();
    let line = Line::new(look).pad_to(LABEL + lo).add(Ink::Bold, &text);
    let figure = format!(" {}", ratio(found.estimate));
    if line.width() + width(&figure) > look.columns() { line } else { line.add(Ink::Dim, &figure) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 60, colour: false, unicode: false, height: Look::HEIGHT };

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::of(&[vec![20.1e6, 20.4e6, 24.9e6]], &[], 54).unwrap();
        let line = axis.line(Some(Figure::Wall), LOOK).render();
        assert!(line.contains("'22 ms") && line.contains("'24 ms"), "{line}");
        assert!(width(&line) <= 60, "{line}");
    }

    #[test]
    fn a_far_value_is_at_the_edge() {
        let mut values = vec![10.0, 10.1, 10.2, 10.3, 10.4];
        values.push(900.0);
        let axis = Axis::of(&[values], &[], 50).unwrap();
        assert!(axis.is_beyond(900.0) && !axis.is_beyond(10.4));
        assert_eq!(axis.column(900.0), 49);
        assert!(axis.hi < 20.0, "{}", axis.hi);
    }

    #[test]
    fn equal_values_have_an_axis() {
        for value in [0.0, 1.0, 1e9] {
            let axis = Axis::of(&[vec![value; 4]], &[], 50).unwrap();
            assert!(axis.column(value) < 50 && axis.step(None) > 0.0, "{value}");
            assert!(strip(&[value; 4], &axis, LOOK).contains('#'));
        }
    }

    #[test]
    fn marks_grow_with_the_number_of_runs() {
        let axis = Axis { lo: 0.0, hi: 10.0, columns: 10 };
        let values: Vec<f64> =
            [(0.5, 1), (1.5, 2), (2.5, 8)].iter().flat_map(|(at, n)| vec![*at; *n]).collect();
        assert_eq!(strip(&values, &axis, LOOK).trim_end(), "..#");
        assert_eq!(strip(&values, &axis, Look { unicode: true, ..LOOK }).trim_end(), "▁▂█");
    }
}
