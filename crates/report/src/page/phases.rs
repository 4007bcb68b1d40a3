//! The strip: the path over time, stacked by state, one column per interval.

use super::apportion;
use crate::Look;
use crate::axis::axis;
use crate::paint::{Ink, Line, mark};
use model::{Ns, Run, State};

/// Rows of the strip when states mix.
const ROWS: usize = 3;

pub(super) fn lines(run: &Run, order: &[State], look: Look) -> Vec<Line> {
    let columns = columns(run, order, look.columns());
    if run.wall_ns == 0 || columns.iter().flatten().all(|ns| *ns == 0) {
        return Vec::new();
    }
    // Where one state fills every column, more rows would repeat it.
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

/// Time by state for each of `count` columns. A slice that spans columns is divided by overlap.
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

/// A column's states from the bottom up, `levels` of them. Empty for a column without time.
fn stack(column: &[Ns], order: &[State], levels: usize) -> Vec<State> {
    let shares = apportion(column, levels);
    order.iter().zip(shares).flat_map(|(state, cells)| std::iter::repeat_n(*state, cells)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_stacks_its_states_in_order() {
        let order = [State::Kernel, State::User, State::Sleep];
        assert_eq!(stack(&[60, 30, 0], &order, 3), [State::Kernel, State::Kernel, State::User]);
        assert_eq!(stack(&[0, 0, 0], &order, 3), []);
    }
}
