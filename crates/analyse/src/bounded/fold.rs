//! Rows of a table put together until it is small enough.

use super::size::bytes;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::hash::Hash;

/// How large a table may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Rows.
    pub(crate) rows: usize,
    /// In JSON.
    pub(crate) bytes: usize,
}

/// How deep the rows of a table of a run are in its JSON.
pub(crate) const DEPTH: usize = 2;

/// A row that can be put together with others.
pub(crate) trait Row: Serialize + Clone {
    /// What rows that are put together have in common.
    type Key: Ord + Hash;
    /// Ways to put rows together, each with fewer rows than the one before: what is alike by one is
    /// by the next. With the last there are no more than a few dozen.
    const LEVELS: usize;
    /// Rows of a higher rank are kept apart first. `at`: its place in the table.
    fn rank(&self, at: usize) -> impl Ord + use<Self>;
    /// See [`Row::Key`].
    fn key(&self, level: usize) -> Self::Key;
    /// One row in place of several, two at least. All sums are those of the rows.
    fn of_many(rows: &[&Self]) -> Self;
    /// Brings rows in their order, after some were put together.
    fn arrange(rows: &mut [Self]);
}

/// How many rows were put together, in how many.
pub(crate) type Together = (u64, u64);

/// Puts rows together, those of the lowest rank, where a table is larger than it may be. A quarter
/// of the room is for what they become.
pub(crate) fn fold<R: Row>(rows: &mut Vec<R>, limit: Limit) -> Option<Together> {
    if fits(rows, limit) {
        return None;
    }
    let mut by_rank: Vec<usize> = (0..rows.len()).collect();
    by_rank.sort_by_cached_key(|at| (std::cmp::Reverse(rows[*at].rank(*at)), *at));
    let kept = fitting(by_rank.iter().map(|at| &rows[*at]), three_quarters(limit));
    let (apart, rest) = by_rank.split_at(kept);
    let mut apart = apart.to_vec();
    apart.sort_unstable();
    let kept_bytes: usize = apart.iter().map(|at| bytes(&rows[*at], DEPTH)).sum();
    let left = Limit { rows: limit.rows - kept, bytes: limit.bytes - kept_bytes };
    let mut groups = Groups::new(rest);
    let mut level = 0;
    let (groups, mut made) = loop {
        let is_last = level + 1 == R::LEVELS;
        // Of too many the rows need not be made.
        if groups.merge(rows, level, if is_last { usize::MAX } else { left.rows }) {
            let groups = groups.members(rows, level);
            let made = made(rows, &groups);
            if is_last || fits(&made, left) {
                break (groups, made);
            }
        }
        level += 1;
    };
    let alone = groups.iter().filter(|group| group.len() == 1).count();
    let together = ((rest.len() - alone) as u64, (groups.len() - alone) as u64);
    let mut all: Vec<R> = apart.into_iter().map(|at| rows[at].clone()).collect();
    all.append(&mut made);
    *rows = all;
    R::arrange(rows);
    Some(together)
}

/// Leaves out the last rows of a table that is larger than it may be, and gives them.
pub(crate) fn cut<R: Serialize>(rows: &mut Vec<R>, limit: Limit) -> Vec<R> {
    if fits(rows, limit) { Vec::new() } else { rows.split_off(fitting(rows.iter(), limit)) }
}

/// Bytes of these rows; not much more than `most` where they are more.
pub(crate) fn bytes_of<R: Serialize>(rows: &[R], most: usize) -> usize {
    let mut sum = 0;
    for row in rows {
        sum += bytes(row, DEPTH);
        if sum > most {
            break;
        }
    }
    sum
}

fn fits<R: Serialize>(rows: &[R], limit: Limit) -> bool {
    rows.len() <= limit.rows && bytes_of(rows, limit.bytes) <= limit.bytes
}

/// How many of the first rows are within the limit.
fn fitting<'a, R: Serialize + 'a>(rows: impl Iterator<Item = &'a R>, limit: Limit) -> usize {
    let mut sum = 0;
    let within = |row: &&R| {
        sum += bytes(*row, DEPTH);
        sum <= limit.bytes
    };
    rows.take(limit.rows).take_while(within).count()
}

fn three_quarters(limit: Limit) -> Limit {
    Limit { rows: limit.rows / 4 * 3, bytes: limit.bytes / 4 * 3 }
}

/// Rows by what they have in common, more of them together level by level.
struct Groups<'a> {
    /// The rows, by their places in the table.
    places: &'a [usize],
    /// Which group each of them is in.
    of: Vec<u32>,
    /// The first row of each group.
    first: Vec<usize>,
}

impl<'a> Groups<'a> {
    /// Each row by itself.
    fn new(places: &'a [usize]) -> Self {
        Self { places, of: (0..places.len() as u32).collect(), first: places.to_vec() }
    }

    /// Those together that have the same in common, where that makes no more than `most` groups:
    /// else all stay as they are, which is soon known of a large table. Says whether it did.
    fn merge<R: Row>(&mut self, rows: &[R], level: usize, most: usize) -> bool {
        let mut by_key: FxHashMap<R::Key, u32> = FxHashMap::default();
        let mut first = Vec::new();
        let mut into = Vec::new();
        for place in &self.first {
            into.push(*by_key.entry(rows[*place].key(level)).or_insert_with(|| {
                first.push(*place);
                first.len() as u32 - 1
            }));
            if first.len() > most {
                return false;
            }
        }
        self.of.iter_mut().for_each(|group| *group = into[*group as usize]);
        self.first = first;
        true
    }

    /// The rows of each, in the order of the table; the groups in an order that does not depend on
    /// that.
    fn members<R: Row>(&self, rows: &[R], level: usize) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.first.len()];
        for (place, group) in self.places.iter().zip(&self.of) {
            members[*group as usize].push(*place);
        }
        members.iter_mut().for_each(|group| group.sort_unstable());
        members.sort_by_cached_key(|group| rows[group[0]].key(level));
        members
    }
}

fn made<R: Row>(rows: &[R], groups: &[Vec<usize>]) -> Vec<R> {
    let one = |group: &Vec<usize>| match group[..] {
        [alone] => rows[alone].clone(),
        _ => R::of_many(&group.iter().map(|at| &rows[*at]).collect::<Vec<_>>()),
    };
    groups.iter().map(one).collect()
}
