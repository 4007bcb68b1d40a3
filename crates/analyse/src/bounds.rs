//! Results of bounded size: a megabyte of JSON, whatever was observed.
//!
//! A build of an hour has hundreds of thousands of threads, each with its places on the path and
//! its waits. What is short of these is put together by program and reason, so that sums stay what
//! they were; [`Folded`] says of which tables how many rows. This is the one place where that is
//! done: after the tables are made, and before anything is concluded from them, so that a finding
//! points to a row that is there.
//!
//! How much room a table has depends on the others: those that need little get what they need, and
//! the large ones share the rest. What the account is made of has more of it.

mod fold;
mod rows;
mod size;
mod stacks;
#[cfg(test)]
mod tests;
mod texts;
mod wait_rows;

use crate::account::StepRef;
use fold::{Limit, Row, Together, bytes_of, cut, fold};
use model::disk_requests::DiskRequestRow;
use model::fault_places::FaultingProcess;
use model::files::FileRow;
use model::hand_overs::HandOverRow;
use model::peers::{ConnectionRow, LookupRow};
use model::run::{FunctionRow, LineRow, Run, ThreadLedger, WaitRow};
use model::syscall_rows::CallRow;
use model::together::{Folded, TABLES_SHORTENED};
use model::{Seen, Step};
use serde::Serialize;

/// Rows of a table.
const ROWS_MAX: usize = 2000;
/// JSON of a result.
const BYTES_MAX: usize = 1_000_000;
/// Of these, for what is concluded from the tables: findings, and causes that are ruled out.
const CONCLUDED_BYTES: usize = 100_000;
/// What all tables together may have, whatever else there is.
const TABLES_BYTES_MIN: usize = 100_000;

/// How much more room than others a table has, in the order of [`Tables::sizes`]: a row of a wait
/// is several times as long as most, by its stack.
const WEIGHTS: [usize; TABLES] = [2, 2, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1];
const TABLES: usize = 12;

/// The same run, small enough, with these steps as its path.
///
/// # Panics
/// When the account no longer closes: a mistake in this module.
pub(crate) fn bounded(mut run: Run, path: Vec<StepRef<'_>>) -> Run {
    texts::cut(&mut run);
    let mut tables = Tables::take(&mut run, path);
    let sizes = tables.sizes();
    let beside = size::bytes(&run, 0) + CONCLUDED_BYTES;
    let most = shares(&sizes, &WEIGHTS, BYTES_MAX.saturating_sub(beside).max(TABLES_BYTES_MIN));
    run.folded = tables.shrink(&sizes, &most);
    tables.give_back(&mut run);
    run.coverage.notes.extend(note(&run.folded));
    if run.folded.iter().any(|folded| folded.table == "path") {
        let closed = run.closes();
        closed.expect("what is put together is not lost");
    }
    run
}

/// A command with its arguments for a result of any kind: few of them, or the first and how many
/// more there are.
pub fn bounded_command(mut arguments: Vec<String>) -> Vec<String> {
    texts::command(&mut arguments);
    arguments
}

/// What was done, in words.
fn note(folded: &[Folded]) -> Option<String> {
    let said = |folded: &Folded| match folded.into {
        0 => format!("{} rows of {} are left out", folded.rows, folded.table),
        into => format!("{} rows of {} are put together in {into}", folded.rows, folded.table),
    };
    let said: Vec<String> = folded.iter().map(said).collect();
    let why = "to 2,000 rows each and 1 MB of JSON in all";
    (!said.is_empty()).then(|| format!("{TABLES_SHORTENED} {why}: {}", said.join("; ")))
}

/// The most that each of these may have, so that all together have no more than `all`: what it
/// needs where that is little, else its part of the rest by its weight.
fn shares<const N: usize>(sizes: &[usize; N], weights: &[usize; N], all: usize) -> [usize; N] {
    let mut by_need: [usize; N] = std::array::from_fn(|at| at);
    by_need.sort_by_key(|at| sizes[*at] / weights[*at]);
    let (mut left, mut weight) = (all, weights.iter().sum::<usize>());
    let mut most = [0; N];
    for at in by_need {
        most[at] = sizes[at].min(left / weight * weights[at]);
        left -= most[at];
        weight -= weights[at];
    }
    most
}

/// The tables of a run that may become large.
struct Tables<'a> {
    path: Vec<StepRef<'a>>,
    threads: Vec<ThreadLedger>,
    waits: Vec<WaitRow>,
    connections: Vec<ConnectionRow>,
    lookups: Vec<LookupRow>,
    files: Vec<FileRow>,
    disk_requests: Vec<DiskRequestRow>,
    hand_overs: Vec<HandOverRow>,
    fault_places: Vec<FaultingProcess>,
    syscalls: Vec<CallRow>,
    functions: Vec<FunctionRow>,
    lines: Vec<LineRow>,
    /// What of the tables went into their own sums.
    beyond: Beyond,
}

/// Sums that tables have beside their rows.
#[derive(Default)]
struct Beyond {
    file_bytes: u64,
    disk_requests: u64,
    hand_overs: u64,
    faults: u64,
}

/// The rows of a table, where there is one.
fn rows<T, R>(table: &mut Seen<T>, of: impl Fn(&mut T) -> &mut Vec<R>) -> Vec<R> {
    match table {
        Seen::Value(table) => std::mem::take(of(table)),
        Seen::Absent | Seen::Unseen(_) => Vec::new(),
    }
}

fn put_back<T>(table: &mut Seen<T>, with: impl FnOnce(&mut T)) {
    if let Seen::Value(table) = table {
        with(table);
    }
}

impl<'a> Tables<'a> {
    /// Out of the run.
    fn take(run: &mut Run, path: Vec<StepRef<'a>>) -> Self {
        Self {
            path,
            threads: std::mem::take(&mut run.threads),
            waits: std::mem::take(&mut run.waits),
            connections: rows(&mut run.connections, |rows| rows),
            lookups: rows(&mut run.lookups, |rows| rows),
            files: rows(&mut run.files, |all| &mut all.rows),
            disk_requests: rows(&mut run.disk_requests, |all| &mut all.rows),
            hand_overs: rows(&mut run.hand_overs, |all| &mut all.rows),
            fault_places: rows(&mut run.fault_places, |all| &mut all.processes),
            syscalls: rows(&mut run.syscalls, |rows| rows),
            functions: rows(&mut run.functions, |rows| rows),
            lines: rows(&mut run.lines, |rows| rows),
            beyond: Beyond::default(),
        }
    }

    /// Bytes of each, in the order of [`Tables::shrink`].
    fn sizes(&self) -> [usize; TABLES] {
        fn size<R: Serialize>(rows: &[R]) -> usize {
            bytes_of(rows, BYTES_MAX)
        }
        [
            size(&self.path),
            size(&self.threads),
            size(&self.waits),
            size(&self.connections),
            size(&self.lookups),
            size(&self.files),
            size(&self.disk_requests),
            size(&self.hand_overs),
            size(&self.fault_places),
            size(&self.syscalls),
            size(&self.functions),
            size(&self.lines),
        ]
    }

    /// Makes each small enough; says what was done. `sizes`: as they are.
    fn shrink(&mut self, sizes: &[usize; TABLES], most: &[usize; TABLES]) -> Vec<Folded> {
        let beyond = &mut self.beyond;
        let room: [Room; TABLES] = std::array::from_fn(|at| Room { size: sizes[at], most: most[at] });
        let [path, threads, mut waits, connections, lookups, others @ ..] = room;
        let [files, disk_requests, hand_overs, fault_places, syscalls, functions, lines] = others;
        let (stacks, size) = stacks::leave_out(&mut self.waits, waits.size, waits.most);
        waits.size = size;
        let shrunk = [
            ("stacks of waits", stacks),
            ("path", together(&mut self.path, path)),
            ("threads", together(&mut self.threads, threads)),
            ("waits", together(&mut self.waits, waits)),
            ("connections", together(&mut self.connections, connections)),
            ("lookups", together(&mut self.lookups, lookups)),
            (
                "files",
                beside(&mut self.files, files, |row| {
                    beyond.file_bytes += row.read.bytes + row.written.bytes;
                }),
            ),
            (
                "disk_requests",
                beside(&mut self.disk_requests, disk_requests, |row| {
                    beyond.disk_requests += row.requests;
                }),
            ),
            ("hand_overs", beside(&mut self.hand_overs, hand_overs, |row| beyond.hand_overs += row.times)),
            ("fault_places", beside(&mut self.fault_places, fault_places, |row| beyond.faults += row.faults)),
            ("syscalls", beside(&mut self.syscalls, syscalls, |_| {})),
            ("functions", beside(&mut self.functions, functions, |_| {})),
            ("lines", beside(&mut self.lines, lines, |_| {})),
        ];
        let folded = |(table, done): (&str, Option<Together>)| {
            done.map(|(rows, into)| Folded { table: table.to_owned(), rows, into })
        };
        shrunk.into_iter().filter_map(folded).collect()
    }

    /// Into the run again.
    fn give_back(self, run: &mut Run) {
        let Beyond { file_bytes, disk_requests, hand_overs, faults } = self.beyond;
        run.path = self.path.into_iter().map(Step::from).collect();
        run.threads = self.threads;
        run.waits = self.waits;
        put_back(&mut run.connections, |rows| *rows = self.connections);
        put_back(&mut run.lookups, |rows| *rows = self.lookups);
        put_back(&mut run.files, |all| {
            all.rows = self.files;
            all.other_bytes += file_bytes;
        });
        put_back(&mut run.disk_requests, |all| {
            all.rows = self.disk_requests;
            all.other_requests += disk_requests;
        });
        put_back(&mut run.hand_overs, |all| {
            all.rows = self.hand_overs;
            all.other_times += hand_overs;
        });
        put_back(&mut run.fault_places, |all| {
            all.processes = self.fault_places;
            all.other_faults += faults;
        });
        put_back(&mut run.syscalls, |rows| *rows = self.syscalls);
        put_back(&mut run.functions, |rows| *rows = self.functions);
        put_back(&mut run.lines, |rows| *rows = self.lines);
    }
}

/// Bytes that a table takes, and may take.
#[derive(Debug, Clone, Copy)]
struct Room {
    size: usize,
    most: usize,
}

/// Puts rows together.
fn together<R: Row>(rows: &mut Vec<R>, room: Room) -> Option<Together> {
    let is_small = rows.len() <= ROWS_MAX && room.size <= room.most;
    if is_small { None } else { fold(rows, Limit { rows: ROWS_MAX, bytes: room.most }) }
}

/// Leaves out the last rows, which go into a sum where the table has one.
fn beside<R: Serialize>(rows: &mut Vec<R>, room: Room, mut add: impl FnMut(&R)) -> Option<Together> {
    if rows.len() <= ROWS_MAX && room.size <= room.most {
        return None;
    }
    let left_out = cut(rows, Limit { rows: ROWS_MAX, bytes: room.most });
    left_out.iter().for_each(&mut add);
    (!left_out.is_empty()).then_some((left_out.len() as u64, 0))
}
