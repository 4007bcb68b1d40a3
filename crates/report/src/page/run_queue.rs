//! Behind whom threads of the program waited for a CPU, where that is a good part of the account.

use super::rows::{dim, rows_shown};
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, duration, share_of_one};
use model::{Ns, OccupantRow, QueueOfAll, Run, Seen, State};

/// One in this many parts of the account is worth a table, from some time slices on.
const WORTH: Ns = 10;
const WORTH_NS_MIN: Ns = 20_000_000;

/// The table; nothing where the program hardly waited for a CPU, or it was not seen for whom.
pub(super) fn table(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let queued = run.account.iter().filter(|part| part.state == State::Runqueue);
    let queued_ns: Ns = queued.map(|part| part.ns).sum();
    let of_all = run.run_queue.value().and_then(|queue| queue.of_all.value());
    let Some(all) = of_all.filter(|all| !all.rows.is_empty()) else { return Vec::new() };
    if queued_ns < WORTH_NS_MIN.max(run.whole_ns() / WORTH) {
        return Vec::new();
    }
    let columns = vec![
        text("", 14, 0),
        figure("PID", 1),
        text(look.head("whose"), 8, 2),
        figure("time", 0),
        figure("share", 0),
    ];
    let mut table = Table::new(look, "waiting for a CPU behind", columns);
    let shown = rows_shown(all.rows.len(), rows);
    let share = |ns: Ns| share_of_one(ns as f64 / all.total_ns.max(1) as f64);
    for row in &all.rows[..shown] {
        table.row(vec![
            (Ink::Plain, row.name.clone()),
            (Ink::Plain, pid(row)),
            (Ink::Dim, if row.of_tree { "its own" } else { "outside" }.to_owned()),
            (Ink::Plain, duration(row.ns)),
            (Ink::Plain, share(row.ns)),
        ]);
    }
    for (named, ns) in rest(all, shown, look) {
        table.rest(dim([named, String::new(), String::new(), duration(ns), share(ns)]));
    }
    table.lines()
}

fn pid(row: &OccupantRow) -> String {
    match row.pid {
        Seen::Value(pid) => pid.to_string(),
        Seen::Absent => "several".to_owned(),
        Seen::Unseen(_) => "?".to_owned(),
    }
}

/// What no row has.
fn rest(all: &QueueOfAll, shown: usize, look: Look) -> Vec<(String, Ns)> {
    let more = all.rows[shown..].iter().map(|row| row.ns).sum::<Ns>() + all.other_ns;
    let named = match all.other_ns {
        0 => format!("{} {} more", look.rest(), count((all.rows.len() - shown) as u64)),
        _ => format!("{} others", look.rest()),
    };
    let rest =
        [(named, more), ("an idle CPU".to_owned(), all.idle_cpu_ns), ("not seen".to_owned(), all.unseen_ns)];
    rest.into_iter().filter(|(_, ns)| *ns > 0).collect()
}
