//! Which waits share a row of the table, and what they are for.

use crate::page::words;
use crate::units::count;
use model::run::{WaitRow, WaitingThread};
use model::wait::{SyscallName, TargetKind};
use model::{Ns, Run, Seen};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A row of waits.
#[derive(Clone, Copy)]
pub(super) struct Wait<'a> {
    pub(super) row: &'a WaitRow,
    /// Its position in the run's waits.
    pub(super) place: usize,
}

impl std::ops::Deref for Wait<'_> {
    type Target = WaitRow;

    fn deref(&self) -> &WaitRow {
        self.row
    }
}

/// Some of the waits of a run, those on the path first.
pub(super) fn waits(run: &Run, which: impl Fn(&WaitRow) -> bool) -> Vec<Wait<'_>> {
    let all = run.waits.iter().enumerate().map(|(place, row)| Wait { row, place });
    let mut waits: Vec<Wait> = all.filter(|wait| which(wait.row)).collect();
    waits.sort_by_key(|wait| (Reverse(wait.path_ns), Reverse(wait.total_ns)));
    waits
}

/// The waits by row of the table. Where there are more than `rows`, waits in one call on several
/// files share a row, except for a file that has more than half of their time; likewise waits for
/// answers to several name lookups.
pub(super) fn groups<'a>(waits: &[Wait<'a>], rows: usize) -> Vec<Vec<Wait<'a>>> {
    let like =
        |wait: &WaitRow| (wait.reason, wait.call.syscall().map(SyscallName::to_string), wait.on.kind());
    let weight = |wait: &WaitRow| wait.path_ns.max(1);
    let is_file = |wait: &WaitRow| {
        (wait.on.kind() == TargetKind::File || wait.on.question().is_some()) && waits.len() > rows + 1
    };
    let mut totals: BTreeMap<_, Ns> = BTreeMap::new();
    for wait in waits.iter().filter(|wait| is_file(wait)) {
        *totals.entry(like(wait)).or_default() += weight(wait);
    }
    let mut groups: Vec<Vec<Wait>> = Vec::new();
    let mut of_files = BTreeMap::new();
    for wait in waits {
        let small = is_file(wait) && weight(wait) <= totals[&like(wait)] / 2;
        match of_files.get(&like(wait)).filter(|_| small) {
            Some(group) => Vec::push(&mut groups[*group], *wait),
            None => {
                if small {
                    of_files.insert(like(wait), groups.len());
                }
                groups.push(vec![*wait]);
            }
        }
    }
    groups.sort_by_key(|group| {
        (Reverse(sum(group, |wait| wait.path_ns)), Reverse(sum(group, |wait| wait.total_ns)))
    });
    groups
}

/// The sum of a figure over waits.
pub(super) fn sum(waits: &[Wait], figure: fn(&WaitRow) -> u64) -> u64 {
    waits.iter().map(|wait| figure(wait)).sum()
}

/// The longest of waits.
pub(super) fn max_ns(waits: &[Wait]) -> Ns {
    waits.iter().map(|wait| wait.max_ns).max().unwrap_or(0)
}

/// How many rows of the run these are, with those that other rows stand for.
pub(super) fn rows_of(groups: &[Vec<Wait>]) -> u64 {
    let more = |wait: &Wait| wait.together.map_or(0, |together| together - 1);
    groups.len() as u64 + groups.iter().flatten().map(more).sum::<u64>()
}

/// The target of a row of waits.
pub(in crate::page) fn target_of(row: &WaitRow) -> String {
    target(&[Wait { row, place: 0 }])
}

/// The target of a row of one or several waits.
pub(super) fn target(group: &[Wait]) -> String {
    let target = &group[0].on;
    if let Some(words) = words::target(target) {
        return words.to_owned();
    }
    match (target.name(), target.question()) {
        (_, Some(question)) if group.len() > 1 => {
            let names = count(group.len() as u64);
            format!("{} {} for {names} names", target.kind().name(), question.server)
        }
        _ if group.len() > 1 => format!("{} files", count(group.len() as u64)),
        (Seen::Value(name), _) if !name.is_empty() => format!("{} {name}", target.kind().name()),
        (Seen::Value(_) | Seen::Absent, _) => target.kind().name().to_owned(),
        (Seen::Unseen(_), _) => format!("{} ?", target.kind().name()),
    }
}

/// Whose waits they are, where another row would read the same.
pub(super) fn whose(group: &[Wait], groups: &[Vec<Wait>]) -> String {
    let like = |other: &&Vec<Wait>| {
        other[0].reason == group[0].reason && other[0].call == group[0].call && target(other) == target(group)
    };
    let threads: Vec<&WaitingThread> = group.iter().flat_map(|wait| &wait.threads).collect();
    match (groups.iter().filter(like).count(), threads.as_slice()) {
        (0 | 1, _) | (_, []) => String::new(),
        (_, [one]) => format!(" ({})", words::thread(&one.name, one.tid)),
        (_, [first, ..]) => format!(" ({} and others)", words::thread(&first.name, first.tid)),
    }
}
