//! What a table does so that a result has a bound: each says it beside the rows that it makes.
//!
//! How much room each table of a run has is up to `bounds`.

mod fold;
mod size;
pub(crate) mod texts;

pub(crate) use fold::{DEPTH, Row, Together, bytes_of};
use fold::{Limit, cut, fold};
use model::Seen;
use serde::Serialize;
pub(crate) use size::bytes;

/// Rows of a table.
pub(crate) const ROWS_MAX: usize = 2000;
/// JSON of a result.
pub(crate) const BYTES_MAX: usize = 1_000_000;

/// How a table is kept small. The defaults are for a table of a few figures, which always has room.
pub(crate) trait Bounded {
    /// Cuts texts of the measured program that are too long.
    fn cut_texts(&mut self) {}

    /// Bytes of its rows in JSON.
    fn size(&self) -> usize {
        0
    }

    /// Makes it as small as it may be; says what was done.
    fn shrink(&mut self, _room: Room) -> Option<Together> {
        None
    }
}

impl<T: Bounded> Bounded for Seen<T> {
    fn cut_texts(&mut self) {
        self.value_mut().into_iter().for_each(T::cut_texts);
    }

    fn size(&self) -> usize {
        self.value().map_or(0, T::size)
    }

    fn shrink(&mut self, room: Room) -> Option<Together> {
        self.value_mut()?.shrink(room)
    }
}

/// Bytes that a table takes, and may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) size: usize,
    pub(crate) most: usize,
}

impl Room {
    fn is_enough(self, rows: usize) -> bool {
        rows <= ROWS_MAX && self.size <= self.most
    }

    fn limit(self) -> Limit {
        Limit { rows: ROWS_MAX, bytes: self.most }
    }
}

/// Bytes of these rows in JSON, as far as more of them matter.
pub(crate) fn rows_size<R: Serialize>(rows: &[R]) -> usize {
    bytes_of(rows, BYTES_MAX)
}

/// Puts rows together.
pub(crate) fn put_together<R: Row>(rows: &mut Vec<R>, room: Room) -> Option<Together> {
    if room.is_enough(rows.len()) { None } else { fold(rows, room.limit()) }
}

/// Leaves out the last rows, which go into a sum where the table has one.
pub(crate) fn leave_out<R: Serialize>(
    rows: &mut Vec<R>,
    room: Room,
    mut add: impl FnMut(&R),
) -> Option<Together> {
    if room.is_enough(rows.len()) {
        return None;
    }
    let left_out = cut(rows, room.limit());
    left_out.iter().for_each(&mut add);
    (!left_out.is_empty()).then_some((left_out.len() as u64, 0))
}
