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

mod rows;
mod stacks;
#[cfg(test)]
mod tests;
mod wait_rows;

use crate::account::StepRef;
use crate::bounded::{BYTES_MAX, Bounded as _, Room, Together, bytes, put_together, rows_size, texts};
use model::run::Run;
use model::tables::Tables;
use model::together::{Folded, TABLES_SHORTENED};
use model::{Step, for_each_table};

/// Of these, for what is concluded from the tables: findings, and causes that are ruled out.
const CONCLUDED_BYTES: usize = 100_000;
/// What all tables together may have, whatever else there is.
const TABLES_BYTES_MIN: usize = 100_000;

/// How much more room than others the tables of the account have: its path, its threads, and its
/// waits, whose rows are several times as long as most, by their stacks.
const WEIGHTS: [usize; 3] = [2, 2, 5];

/// The same run, small enough, with these steps as its path.
///
/// # Panics
/// When the account no longer closes: a mistake in this module.
pub(crate) fn bounded(mut run: Run, mut path: Vec<StepRef<'_>>) -> Run {
    texts::cut(&mut run);
    for_each_table!(run.tables, (_name, table) => table.cut_texts());
    let mut sizes = vec![rows_size(&path), rows_size(&run.threads), rows_size(&run.waits)];
    for_each_table!(run.tables, (_name, table) => sizes.push(table.size()));
    let beside = CONCLUDED_BYTES + beside(&mut run, &sizes[WEIGHTS.len()..]);
    let rooms = rooms(&sizes, BYTES_MAX.saturating_sub(beside).max(TABLES_BYTES_MIN));
    let [of_path, of_threads, mut of_waits] = [rooms[0], rooms[1], rooms[2]];
    let stacks;
    (stacks, of_waits.size) = stacks::leave_out(&mut run.waits, of_waits.size, of_waits.most);
    let mut shrunk = vec![
        ("stacks of waits", stacks),
        ("path", put_together(&mut path, of_path)),
        ("threads", put_together(&mut run.threads, of_threads)),
        ("waits", put_together(&mut run.waits, of_waits)),
    ];
    let mut of_tables = rooms[WEIGHTS.len()..].iter();
    for_each_table!(run.tables, (name, table) => {
        shrunk.extend(of_tables.next().map(|room| (name, table.shrink(*room))));
    });
    let folded = |(table, done): (&str, Option<Together>)| {
        done.map(|(rows, into)| Folded { table: table.to_owned(), rows, into })
    };
    run.folded = shrunk.into_iter().filter_map(folded).collect();
    run.path = path.into_iter().map(Step::from).collect();
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

/// How large each of these may be, so that all together have no more than `all`: as large as it is
/// where that is little, else its part of the rest by its weight.
fn rooms(sizes: &[usize], all: usize) -> Vec<Room> {
    let weight = |at: usize| WEIGHTS.get(at).copied().unwrap_or(1);
    let mut by_need: Vec<usize> = (0..sizes.len()).collect();
    by_need.sort_by_key(|at| sizes[*at] / weight(*at));
    let (mut left, mut weights) = (all, by_need.iter().map(|at| weight(*at)).sum::<usize>());
    let mut rooms: Vec<Room> = sizes.iter().map(|size| Room { size: *size, most: 0 }).collect();
    for at in by_need {
        rooms[at].most = sizes[at].min(left / weights * weight(at));
        left -= rooms[at].most;
        weights -= weight(at);
    }
    rooms
}

/// Bytes of what has no bound of its own: all but the tables with rows, whose sizes these are.
fn beside(run: &mut Run, sizes: &[usize]) -> usize {
    let lists = (std::mem::take(&mut run.threads), std::mem::take(&mut run.waits));
    let mut tables = std::mem::replace(&mut run.tables, Tables::unseen());
    let mut sum = bytes(run, 0);
    let mut sizes = sizes.iter();
    for_each_table!(tables, (_name, table) => {
        sum += if sizes.next() == Some(&0) { bytes(table, 1) } else { 0 };
    });
    (run.threads, run.waits) = lists;
    run.tables = tables;
    sum
}
