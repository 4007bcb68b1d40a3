//! The table of waits: what threads waited for, and below it the disks and the stacks of the
//! longest.

mod disks;
mod groups;
mod stacks;

use super::rows::{dim, rows_shown};
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, duration};
pub(super) use groups::target_of;
use groups::{Wait, groups, max_ns, rows_of, sum, target, whose};
use model::run::WaitRow;
use model::wait::WaitCall;
use model::{Run, Seen, State};

/// All waits, those on the path first.
pub(super) fn table(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    if run.waits.is_empty() {
        return vec![Line::new(look).add(Ink::Bold, "waits").add(Ink::Plain, "  none")];
    }
    some(run, look, rows, |_| true)
}

/// Waits for locks, beside what a program did on its CPUs: those of a twentieth of the whole.
pub(super) fn locks(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    some(run, look, rows, |wait| is_lock_that_matters(run, wait))
}

/// The waits that [`locks`] does not have.
pub(super) fn but_locks(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    if run.waits.is_empty() {
        return table(run, look, rows);
    }
    some(run, look, rows, |wait| !is_lock_that_matters(run, wait))
}

fn is_lock_that_matters(run: &Run, wait: &WaitRow) -> bool {
    wait.reason == State::Lock && wait.total_ns >= (run.whole_ns() / 20).max(1)
}

/// The table of some of the waits; nothing where there are none of these.
fn some(run: &Run, look: Look, rows: usize, which: impl Fn(&WaitRow) -> bool) -> Vec<Line> {
    let waits = groups::waits(run, which);
    if waits.is_empty() {
        return Vec::new();
    }
    let groups = groups(&waits, rows);
    let (shown, rest) = groups.split_at(rows_shown(groups.len(), rows));
    let with_code = shown.iter().any(|group| at(&group[0]).is_some());
    let mut columns = vec![text("", 10, 0), text("syscall", 9, 2), text("target", 20, 0)];
    columns.extend(with_code.then(|| text("at", 10, 1)));
    columns.extend([
        figure("count", 3),
        figure("total", 0),
        figure(if run.window.is_some() { "active" } else { "critical path" }, 0),
        figure("p50", 6),
        figure("p99", 5),
        figure("max", 4),
    ]);
    let mut table = Table::new(look, "waits", columns);
    for group in shown {
        table.row(row(group, &groups, with_code));
    }
    if !rest.is_empty() {
        table.rest(row_of_rest(rest, with_code, look));
    }
    let mut lines = table.lines();
    // Mostly one reason applies to all `?`; of several, the first is an example.
    let unnamed = shown.iter().find_map(|group| match group[0].on.name() {
        Seen::Unseen(why) => Some(why),
        _ => None,
    });
    if let Some(why) = unnamed {
        lines.extend(Line::new(look).add(Ink::Dim, &format!("  ? name unknown: {why}")).wrap(4));
    }
    lines.extend(disks::lines(waits.iter().map(|wait| wait.row), look));
    lines.extend(stacks::lines(shown, &waits, run, look));
    lines
}

/// The run's waits that each row of the document's table is of; of its last one, where there are
/// more, all others.
pub(crate) fn waits_of_rows(run: &Run) -> Vec<Vec<usize>> {
    let waits = groups::waits(run, |_| true);
    let rows = Look::DOCUMENT_ROWS;
    let groups = groups(&waits, rows);
    let shown = rows_shown(groups.len(), rows);
    let mut rows: Vec<Vec<usize>> =
        groups.iter().map(|group| group.iter().map(|wait| wait.place).collect()).collect();
    let rest: Vec<usize> = rows.drain(shown..).flatten().collect();
    rows.extend((!rest.is_empty()).then_some(rest));
    rows
}

fn row(group: &[Wait], groups: &[Vec<Wait>], with_code: bool) -> Vec<(Ink, String)> {
    let wait = group[0];
    let call = match &wait.call {
        WaitCall::Syscall(name) => name.to_string(),
        WaitCall::Fault if wait.reason != State::Unexplained => "(page fault)".to_owned(),
        WaitCall::Fault | WaitCall::Unseen => "?".to_owned(),
    };
    let on = format!("{}{}", target(group), whose(group, groups));
    // The quantiles of several rows do not give those of all their waits.
    let quantile = |ns| if group.len() > 1 { String::new() } else { duration(ns) };
    let mut cells =
        vec![(Ink::Of(wait.reason), wait.reason.name().into()), (Ink::Plain, call), (Ink::Plain, on)];
    cells.extend(with_code.then(|| (Ink::Plain, at(&wait).unwrap_or_default())));
    cells.extend([
        (Ink::Plain, count(sum(group, |wait| wait.calls))),
        (Ink::Plain, duration(sum(group, |wait| wait.total_ns))),
        (Ink::Plain, duration(sum(group, |wait| wait.path_ns))),
        (Ink::Plain, quantile(wait.p50_ns)),
        (Ink::Plain, quantile(wait.p99_ns)),
        (Ink::Plain, duration(max_ns(group))),
    ]);
    cells
}

fn row_of_rest(rest: &[Vec<Wait>], with_code: bool, look: Look) -> Vec<(Ink, String)> {
    let waits: Vec<Wait> = rest.iter().flatten().copied().collect();
    let none = String::new;
    let mut cells = dim([format!("{} {} more", look.rest(), count(rows_of(rest))), none(), none()]);
    cells.extend(with_code.then(|| (Ink::Dim, none())));
    cells.extend(dim([
        count(sum(&waits, |wait| wait.calls)),
        duration(sum(&waits, |wait| wait.total_ns)),
        duration(sum(&waits, |wait| wait.path_ns)),
        none(),
        none(),
        duration(max_ns(&waits)),
    ]));
    cells
}

/// The line, or else the function, of the program's own code that waited.
fn at(wait: &Wait) -> Option<String> {
    let frame = wait.stack.value()?.get(wait.own_frame?)?;
    Some(match &frame.source {
        Some((file, line)) => format!("{file}:{line}"),
        None => frame.function.clone(),
    })
}
