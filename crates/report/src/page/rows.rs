//! What the tables of the page share: how many rows are shown, the row of the rest, and what is
//! said where there is no data.

use crate::Look;
use crate::paint::{Ink, Line};

/// The reason in place of a table without data.
pub(super) fn no_data(what: &str, why: &str, look: Look) -> Vec<Line> {
    Line::new(look).add(Ink::Bold, what).add(Ink::Plain, &format!("  no data: {why}")).wrap(2)
}

/// How many of `all` rows to show: a single further row is shown, not summed up.
pub(super) fn rows_shown(all: usize, rows: usize) -> usize {
    if all == rows + 1 { all } else { all.min(rows) }
}

pub(super) fn dim<const N: usize>(cells: [String; N]) -> Vec<(Ink, String)> {
    cells.map(|cell| (Ink::Dim, cell)).to_vec()
}
