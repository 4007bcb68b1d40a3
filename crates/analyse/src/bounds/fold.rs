//! Rows of a table put together until it is small enough.

use super::size::bytes;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::hash::Hash;

/// How large a table may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    /// Rows.
    pub(super) rows: usize,
    /// In JSON.
    pub(super) bytes: usize,
}

/// How deep the rows of a table of a run are in its JSON.
pub(super) const DEPTH: usize = 2;

/// A row that can be put together with others.
pub(super) trait Row: Serialize + Clone {
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
pub(super) type Together = (u64, u64);

/// Puts rows together, those of the lowest rank, where a table is larger than it may be. A quarter
/// of the room is for what they become.
pub(super) fn fold<R: Row>(rows: &mut Vec<R>, limit: Limit) -> Option<Together> {
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
    let mut groups = grouped(rows, rest.iter().map(|at| vec![*at]), 0);
    let mut level = 1;
    let mut made = loop {
        // Of too many the rows need not be made.
        let made = (groups.len() <= left.rows || level == R::LEVELS).then(|| made(rows, &groups));
        match made {
            Some(made) if level == R::LEVELS || fits(&made, left) => break made,
            _ => groups = grouped(rows, groups.into_iter(), level),
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
pub(super) fn cut<R: Serialize>(rows: &mut Vec<R>, limit: Limit) -> Vec<R> {
    if fits(rows, limit) { Vec::new() } else { rows.split_off(fitting(rows.iter(), limit)) }
}

/// Bytes of these rows; not much more than `most` where they are more.
pub(super) fn bytes_of<R: Serialize>(rows: &[R], most: usize) -> usize {
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

/// Groups of rows that have the same in common, in an order that does not depend on theirs: those
/// of the level before together. Rows are by their places in the table.
fn grouped<R: Row>(rows: &[R], groups: impl Iterator<Item = Vec<usize>>, level: usize) -> Vec<Vec<usize>> {
    let mut alike: FxHashMap<R::Key, Vec<usize>> = FxHashMap::default();
    for group in groups {
        alike.entry(rows[group[0]].key(level)).or_default().extend(group);
    }
    let mut alike: Vec<(R::Key, Vec<usize>)> = alike.into_iter().collect();
    alike.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    alike.into_iter().map(|(_, group)| group).collect()
}

fn made<R: Row>(rows: &[R], groups: &[Vec<usize>]) -> Vec<R> {
    let one = |group: &Vec<usize>| match group[..] {
        [alone] => rows[alone].clone(),
        _ => {
            // In the order of the table, whatever came together before.
            let mut places = group.clone();
            places.sort_unstable();
            let rows: Vec<&R> = places.iter().map(|at| &rows[*at]).collect();
            R::of_many(&rows)
        }
    };
    groups.iter().map(one).collect()
}
