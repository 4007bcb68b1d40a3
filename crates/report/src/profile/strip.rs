//! An interval of time as a row of cells: each cell shows the state that has most of it. All rows
//! of a flame view are cut out of one strip, so that waiting is in the same columns from the
//! outermost function to the innermost.

use crate::Look;
use crate::paint::{Ink, Line};
use model::{Ns, State};
use std::ops::Range;

/// The strip, cell by cell.
#[derive(Debug)]
pub(super) struct Strip {
    cells: Vec<State>,
    whole: Ns,
}

impl Strip {
    /// `pieces` one after the other, in `cells` cells.
    pub(super) fn new(pieces: &[(State, Ns)], cells: usize) -> Self {
        let whole = pieces.iter().fold(0, |sum: Ns, (_, ns)| sum.saturating_add(*ns));
        let mut shown = vec![(State::Unexplained, 0); cells];
        let mut best = |cell: usize, state: State, share: u128, sums: &mut Vec<(State, u128)>| {
            match sums.iter_mut().find(|(known, _)| *known == state) {
                Some((_, sum)) => *sum += share,
                None => sums.push((state, share)),
            }
            let most = sums.iter().max_by_key(|(state, sum)| (*sum, std::cmp::Reverse(*state)));
            if let (Some((state, sum)), Some(shown)) = (most, shown.get_mut(cell)) {
                *shown = (*state, *sum);
            }
        };
        // In units of a nanosecond per number of cells, every edge is an integer.
        let (wide, count) = (u128::from(whole), cells as u128);
        let (mut at, mut cell, mut sums) = (0_u128, 0_usize, Vec::new());
        for (state, ns) in pieces {
            let end = at + u128::from(*ns) * count;
            while at < end && cell < cells {
                let edge = (cell as u128 + 1) * wide;
                best(cell, *state, edge.min(end) - at, &mut sums);
                at = edge.min(end);
                if at == edge {
                    cell += 1;
                    sums.clear();
                }
            }
        }
        Strip { cells: shown.into_iter().map(|(state, _)| state).collect(), whole }
    }

    /// The cells of a part of the time, among those `within` which it lies; at least one for any
    /// time.
    pub(super) fn cells(&self, start: Ns, length: Ns, within: &Range<usize>) -> Range<usize> {
        let count = self.cells.len();
        if self.whole == 0 || length == 0 || within.is_empty() {
            return 0..0;
        }
        let whole = u128::from(self.whole);
        let nearest = |at: Ns| ((2 * u128::from(at) * count as u128 + whole) / (2 * whole)) as usize;
        let first = nearest(start).clamp(within.start, within.end - 1);
        first..nearest(start.saturating_add(length)).clamp(first + 1, within.end)
    }

    /// All cells.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.cells.len()
    }

    /// The line with these cells at its end, and blanks before them. A part that shares a single
    /// cell with others shows its own state, `mostly`.
    pub(super) fn paint(&self, line: Line, look: Look, cells: &Range<usize>, mostly: State) -> Line {
        let line = line.add(Ink::Plain, &" ".repeat(cells.start));
        let own = [mostly];
        let cells = if cells.len() == 1 { &own } else { &self.cells[cells.clone()] };
        cells.iter().fold(line, |line, state| line.add(Ink::Of(*state), fill(*state, look)))
    }
}

/// The fill of a state without colour: user solid, kernel medium, waiting light.
pub(super) fn fill(state: State, look: Look) -> &'static str {
    match (state, look.unicode) {
        (State::User, true) => "█",
        (state, true) if state.in_kernel() => "▓",
        (_, true) => "░",
        (State::User, false) => "#",
        (state, false) if state.in_kernel() => "=",
        (_, false) => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_the_state_with_most_of_it() {
        let strip = Strip::new(&[(State::User, 25), (State::Lock, 60), (State::Kernel, 15)], 4);
        assert_eq!(strip.cells, [State::User, State::Lock, State::Lock, State::Kernel]);
        let tiny =
            Strip::new(&[(State::Kernel, 1), (State::User, 1), (State::Kernel, 1), (State::User, 2)], 1);
        assert_eq!(tiny.cells, [State::User]);
        assert_eq!(Strip::new(&[(State::User, u64::MAX)], 3).cells, [State::User; 3]);
        assert_eq!(Strip::new(&[], 2).cells(0, 0, &(0..2)), 0..0);
    }

    #[test]
    fn parts_have_at_least_one_cell() {
        let strip = Strip::new(&[(State::User, 100)], 10);
        assert_eq!(strip.cells(0, 100, &strip.all()), 0..10);
        assert_eq!(strip.cells(50, 1, &strip.all()), 5..6);
        assert_eq!(strip.cells(99, 1, &strip.all()), 9..10);
        assert_eq!(strip.cells(100, 5, &strip.all()), 9..10);
        assert_eq!(strip.cells(54, 1, &(3..5)), 4..5);
    }
}
