//! The strip: the path over time, stacked by state, one column a slice of time.

use super::apportion;
use crate::Look;
use crate::clean::width;
use crate::paint::{Ink, Line, mark};
use model::{Ns, Run, State};

/// Rows of the strip when states mix.
const ROWS: usize = 3;

pub(super) fn lines(run: &Run, order: &[State], look: Look) -> Vec<Line> {
    let columns = columns(run, order, look.columns());
    if run.wall_ns == 0 || columns.iter().flatten().all(|ns| *ns == 0) {
        return Vec::new();
    }
    // Where one state fills every column, more rows would say it again.
    let mixed = columns.iter().any(|column| {
        let most = column.iter().copied().max().unwrap_or(0);
        u128::from(most) * 4 < column.iter().map(|ns| u128::from(*ns)).sum::<u128>() * 3
    });
    let rows = if mixed { ROWS } else { 1 };
    let halves = look.colour && look.unicode;
    let levels = if halves { rows * 2 } else { rows };
    let stacks: Vec<Vec<State>> = columns.iter().map(|column| stack(column, order, levels)).collect();
    let mut lines: Vec<Line> = (0..rows)
        .rev()
        .map(|row| {
            stacks.iter().fold(Line::new(look), |line, stack| {
                match stack.get(if halves { row * 2 } else { row }) {
                    None => line.add(Ink::Plain, " "),
                    Some(lower) if halves => {
                        line.add(Ink::Halves(*stack.get(row * 2 + 1).unwrap_or(lower), *lower), "▀")
                    }
                    Some(state) => line.add(Ink::On(*state), mark(*state).1),
                }
            })
        })
        .collect();
    lines.push(axis(run.wall_ns, look));
    lines
}

/// Time by state for each of `count` columns. A slice that straddles columns is shared out by overlap.
fn columns(run: &Run, order: &[State], count: usize) -> Vec<Vec<Ns>> {
    let mut columns = vec![vec![0; order.len()]; count];
    let wall = u128::from(run.wall_ns.max(1));
    let mut start: Ns = 0;
    for slice in &run.phases.slices {
        let end = start.saturating_add(run.phases.slice_ns).min(run.wall_ns);
        let long = end.saturating_sub(start);
        if end <= start {
            continue;
        }
        let column_of = |at: Ns| (u128::from(at) * count as u128 / wall) as usize;
        for (index, column) in
            columns.iter_mut().enumerate().take(column_of(end - 1) + 1).skip(column_of(start))
        {
            let edge = |index: usize| (wall * index as u128).div_ceil(count as u128) as Ns;
            let overlap = u128::from(edge(index + 1).min(end).saturating_sub(edge(index).max(start)));
            for (state, ns) in slice {
                if let Some(place) = order.iter().position(|other| other == state) {
                    column[place] += (u128::from(*ns) * overlap / u128::from(long)) as Ns;
                }
            }
        }
        start = end;
    }
    columns
}

/// A column's states from the bottom up, in so many levels. Empty for a column without time.
fn stack(column: &[Ns], order: &[State], levels: usize) -> Vec<State> {
    let shares = apportion(column, levels);
    order.iter().zip(shares).flat_map(|(state, cells)| std::iter::repeat_n(*state, cells)).collect()
}

/// Ticks at round times, and the end of the wall at the right edge.
pub(crate) fn axis(wall_ns: Ns, look: Look) -> Line {
    let room = look.columns();
    let tick = if look.unicode { "╵" } else { "'" };
    let mut line = Line::new(look).add(Ink::Dim, &format!("{tick}0"));
    // About six ticks, twelve columns apart at least.
    let step = round_step(wall_ns, (room / 12).min(6) as u64);
    let end = format!("{} after start", crate::units::duration(wall_ns));
    let end = if room < 60 { crate::units::duration(wall_ns) } else { end };
    let mut at = step;
    while at < wall_ns {
        let column = (u128::from(at) * room as u128 / u128::from(wall_ns)) as usize;
        let label = format!("{tick}{}", tick_label(at, step));
        if column + width(&label) + 2 > room - width(&end) {
            break;
        }
        if column > line.width() {
            line = line.pad_to(column).add(Ink::Dim, &label);
        }
        let Some(next) = at.checked_add(step) else { break };
        at = next;
    }
    line.pad_to(room - width(&end)).add(Ink::Dim, &end)
}

/// The smallest of 1, 2, 5 times a power of ten that cuts `wall_ns` into at most `most` pieces; from a minute
/// on, of the minutes and hours that clocks have.
pub(crate) fn round_step(wall_ns: Ns, most: u64) -> Ns {
    const SECOND: Ns = 1_000_000_000;
    let least = wall_ns.div_ceil(most.max(1)).max(1);
    if least > 50 * SECOND {
        let clock =
            [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1440, 2880, 14400].map(|minutes| minutes * 60 * SECOND);
        return clock.into_iter().find(|step| *step >= least).unwrap_or(least);
    }
    let power = 10u64.pow(least.ilog10());
    [1, 2, 5, 10].map(|times| times * power).into_iter().find(|step| *step >= least).unwrap_or(least)
}

/// A tick's time in the unit of the step, without digits that every tick would have as zeros.
fn tick_label(at: Ns, step: Ns) -> String {
    const UNITS: [(Ns, &str); 6] = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let fits = |(length, _): &&(Ns, &str)| {
        step.is_multiple_of(*length) || (at >= *length && *length == 1_000_000_000)
    };
    let Some((length, unit)) = UNITS.iter().find(fits) else { return String::new() };
    let hundredths = (u128::from(at) * 100 / u128::from(*length)) as u64;
    let (whole, fraction) = (hundredths / 100, hundredths % 100);
    let text = format!("{whole}.{fraction:02}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for (wall_ns, step) in
            [(2_345_000_000, 500_000_000), (1_000, 200), (7, 2), (1, 1), (600_000_000_000, 120_000_000_000)]
        {
            assert_eq!(round_step(wall_ns, 6), step, "{wall_ns}");
        }
        for power in 0..19 {
            let wall_ns = 3 * 10u64.pow(power);
            let step = round_step(wall_ns, 6);
            assert!(wall_ns.div_ceil(step) <= 6, "{wall_ns} by {step}");
        }
    }

    #[test]
    fn ticks_read_as_one_would_say_them() {
        let label = |at, step| tick_label(at, step);
        assert_eq!(label(500_000_000, 500_000_000), "500 ms");
        assert_eq!(label(1_500_000_000, 500_000_000), "1.5 s");
        assert_eq!(label(40, 20), "40 ns");
        assert_eq!(label(180_000_000_000, 60_000_000_000), "3 min");
        assert_eq!(label(7_200_000_000_000, 3_600_000_000_000), "2 h");
    }

    #[test]
    fn a_column_stacks_its_states_in_order() {
        let order = [State::Kernel, State::User, State::Sleep];
        assert_eq!(stack(&[60, 30, 0], &order, 3), [State::Kernel, State::Kernel, State::User]);
        assert_eq!(stack(&[0, 0, 0], &order, 3), []);
    }
}
