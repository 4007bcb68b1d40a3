//! Who of the program wakes whom, and how soon that runs: where hand-overs come thick and fast.

use super::rows::{dim, rows_shown};
use super::words;
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, duration};
use model::hand_overs::{HandOverEnd, HandOverRow};
use model::wait::WaitTarget;
use model::{Ns, Run, Seen};

/// With fewer there is no pattern to see.
const TIMES_MIN: u64 = 100;
/// The longest time between two of them: rarer ones are no matter.
const APART_NS_MAX: Ns = 1_000_000;

/// The table; nothing where threads of the program seldom wait for each other.
pub(super) fn table(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let Some(all) = run.tables.hand_overs.value() else { return Vec::new() };
    let times = all.times();
    if times < TIMES_MIN || run.whole_ns() / times > APART_NS_MAX {
        return Vec::new();
    }
    let columns = vec![
        text("", 10, 0),
        text("wakes", 10, 0),
        text("through", 6, 4),
        figure("count", 0),
        figure("waited p50", 2),
        figure("runs after p50", 1),
        figure("p99", 3),
    ];
    let mut table = Table::new(look, "hand-overs", columns);
    let shown = rows_shown(all.rows.len(), rows);
    for row in &all.rows[..shown] {
        let after = row.until_run.value();
        table.row(vec![
            (Ink::Plain, end(&row.from, row)),
            (Ink::Plain, end(&row.to, row)),
            (Ink::Of(row.reason), through(&row.through)),
            (Ink::Plain, count(row.times)),
            (Ink::Plain, duration(row.waited.p50_ns)),
            (Ink::Plain, after.map(|after| duration(after.p50_ns)).unwrap_or_default()),
            (Ink::Plain, after.map(|after| duration(after.p99_ns)).unwrap_or_default()),
        ]);
    }
    let rest = &all.rows[shown..];
    if !rest.is_empty() || all.other_times > 0 {
        let of_rest = rest.iter().map(|row| row.times).sum::<u64>() + all.other_times;
        let named = format!("{} {} more", look.rest(), count(rest.len() as u64));
        let what = if all.other_times > 0 { format!("{} others", look.rest()) } else { named };
        let none = String::new;
        table.rest(dim([what, none(), none(), count(of_rest), none(), none(), none()]));
    }
    table.lines()
}

/// The thread, told from its namesake at the other end.
fn end(end: &HandOverEnd, row: &HandOverRow) -> String {
    match end.tid {
        Seen::Value(tid) if row.from.name == row.to.name => words::thread(&end.name, tid),
        _ => end.name.clone(),
    }
}

fn through(target: &WaitTarget) -> String {
    if let Some(words) = words::target(target) {
        return words.to_owned();
    }
    match target.name() {
        Seen::Value(name) if !name.is_empty() => format!("{} {name}", target.kind().name()),
        _ => target.kind().name().to_owned(),
    }
}
