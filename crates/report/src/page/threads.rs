//! Each thread's own time, where more than one was active.

use super::{time_in, words};
use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration};
use model::run::ThreadLedger;
use model::{Ns, Pid, Run, State, Tid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Above this number of threads, those of one name share a row.
const APART: usize = 6;

/// One row: a thread, or all of one name.
#[derive(Default)]
struct ThreadRow<'a> {
    name: &'a str,
    /// The one thread that it is.
    tid: Tid,
    command: Option<&'a str>,
    threads: u64,
    on_path: Ns,
    user: Ns,
    kernel: Ns,
    fault: Ns,
    interrupt: Ns,
    runqueue: Ns,
    waiting: Ns,
}

/// A column: its head, the rank by which narrow pages drop it, its figure.
struct Figure {
    head: &'static str,
    rank: u8,
    of: fn(&ThreadRow) -> Ns,
}

/// The head of a thread's time on the path.
pub(crate) const ON_PATH: &str = "critical path";

const FIGURES: [Figure; 7] = [
    Figure { head: ON_PATH, rank: 0, of: |row| row.on_path },
    Figure { head: "user", rank: 0, of: |row| row.user },
    Figure { head: "kernel", rank: 0, of: |row| row.kernel },
    Figure { head: "page faults", rank: 1, of: |row| row.fault },
    Figure { head: "interrupt", rank: 2, of: |row| row.interrupt },
    Figure { head: "wait for CPU", rank: 2, of: |row| row.runqueue },
    Figure { head: "waiting", rank: 3, of: |row| row.waiting },
];

/// How many there were; more than one only where two at least were active.
pub(super) fn in_the_sum(run: &Run) -> u64 {
    let active: u64 = split(run).0.iter().map(|(thread, _)| thread.threads()).sum();
    if active < 2 { active } else { run.threads.iter().map(ThreadLedger::threads).sum() }
}

/// A row of the run, and its time on the path.
type OnPath<'a> = (&'a ThreadLedger, Ns);

/// Threads that had 0.1 % of the wall clock, on a CPU or on the path; and those that had less.
fn split(run: &Run) -> (Vec<OnPath<'_>>, Vec<OnPath<'_>>) {
    let mut on_path = HashMap::<(Pid, Tid), Ns>::new();
    // Rows that stand for several are of no thread by its number.
    for step in run.path.iter().filter(|step| step.together.is_none()) {
        *on_path.entry((step.pid, step.tid)).or_default() += step.ns;
    }
    let threads = run.threads.iter().filter(|thread| !thread.idle).map(|thread| {
        let path_ns = on_path.get(&(thread.pid, thread.tid)).copied().unwrap_or(0);
        (thread, path_ns)
    });
    let matters = |(thread, path_ns): &(&ThreadLedger, Ns)| {
        let most = time_in(&thread.states, State::on_cpu).max(*path_ns);
        most > 0 && u128::from(most) * 1000 >= u128::from(run.wall_ns)
    };
    threads.partition(matters)
}

/// Which row of the document's table each thread is in: the last one is that of all others, if
/// there are more threads; and the heads of the columns. Nothing where there is no table.
pub(crate) fn row_of_each(run: &Run) -> (HashMap<(Pid, Tid), usize>, Vec<&'static str>) {
    let (active, little) = split(run);
    if active.iter().map(|(thread, _)| thread.threads()).sum::<u64>() < 2 {
        return (HashMap::new(), Vec::new());
    }
    let apart = Look::DOCUMENT.rows(APART);
    let rows = rows(&active, apart);
    let shown = shown(rows.len(), Look::DOCUMENT_ROWS);
    let mut row_of = HashMap::new();
    for (thread, _) in active.iter().filter(|(thread, _)| thread.together.is_none()) {
        let is_of = |row: &ThreadRow| match active.len() <= apart {
            true => row.tid == thread.tid,
            false => row.name == thread.name,
        };
        if let Some(row) = rows.iter().position(is_of) {
            row_of.insert((thread.pid, thread.tid), row.min(shown));
        }
    }
    if many(&little) {
        row_of.extend(little.iter().map(|(thread, _)| ((thread.pid, thread.tid), shown)));
    }
    (row_of, figures(run, &rows).iter().map(|figure| figure.head).collect())
}

/// Rows of so many that are shown: one more than may be takes no more room than to say so.
fn shown(rows: usize, rows_max: usize) -> usize {
    if rows == rows_max + 1 { rows } else { rows.min(rows_max) }
}

/// Whether there are so many that hardly did anything that they are worth a line.
fn many(little: &[OnPath<'_>]) -> bool {
    little.iter().map(|(thread, _)| thread.threads()).sum::<u64>() > APART as u64
}

/// Empty columns are left out. A window has no path to an end: a thread's time on it is its life.
fn figures(run: &Run, rows: &[ThreadRow]) -> Vec<&'static Figure> {
    FIGURES
        .iter()
        .filter(|figure| run.window.is_none() || figure.head != ON_PATH)
        .filter(|figure| rows.iter().any(|row| (figure.of)(row) > 0))
        .collect()
}

pub(super) fn table(run: &Run, look: Look, rows_max: usize) -> Vec<Line> {
    let (active, little) = split(run);
    if active.iter().map(|(thread, _)| thread.threads()).sum::<u64>() < 2 {
        return Vec::new();
    }
    let rows = rows(&active, look.rows(APART));
    let figures = figures(run, &rows);
    let mut columns = vec![text("", 12, 0)];
    columns.extend(figures.iter().map(|one| figure(one.head, one.rank)));
    let mut table = Table::new(look, "threads", columns);
    let shown = shown(rows.len(), rows_max);
    for row in &rows[..shown] {
        let name = match row.threads {
            1 if has_namesakes(row, &rows) => words::thread(row.name, row.tid),
            1 => row.name.to_owned(),
            many => format!("{} {}{}", row.name, look.times(), count(many)),
        };
        let mut cells = vec![(Ink::Plain, name)];
        cells.extend(figures.iter().map(|figure| match (figure.of)(row) {
            0 => (Ink::Dim, "0".to_owned()),
            ns => (Ink::Plain, duration(ns)),
        }));
        table.row(cells);
    }
    let mut rest = ThreadRow::default();
    rows[shown..].iter().for_each(|row| rest.add(row));
    if many(&little) {
        little.iter().map(row_of).for_each(|row| rest.add(&row));
    }
    if rest.threads > 0 {
        let more = format!("{} {} more threads", look.rest(), count(rest.threads));
        let mut cells = vec![(Ink::Dim, more)];
        cells.extend(figures.iter().map(|figure| (Ink::Dim, duration((figure.of)(&rest)))));
        table.rest(cells);
    }
    let mut lines = table.lines();
    lines.extend(rows[..shown].iter().filter(|row| has_namesakes(row, &rows)).filter_map(|row| {
        let said = format!("  {}: {}", words::thread(row.name, row.tid), row.command?);
        Some(Line::new(look).add(Ink::Dim, &clean(&said, look.unicode)).cut())
    }));
    lines
}

/// Whether another row reads the same.
fn has_namesakes(row: &ThreadRow, rows: &[ThreadRow]) -> bool {
    row.threads == 1 && rows.iter().filter(|other| other.name == row.name).count() > 1
}

/// The idle threads of a window, in one line.
pub(super) fn idle(run: &Run, look: Look) -> Vec<Line> {
    let Some(window) = run.window.as_ref().filter(|window| window.threads_idle > 0) else {
        return Vec::new();
    };
    let mut names = BTreeMap::<&str, u64>::new();
    for thread in run.threads.iter().filter(|thread| thread.idle) {
        *names.entry(&thread.name).or_default() += thread.threads();
    }
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|(name, many)| (Reverse(*many), *name));
    let rest = names.len().saturating_sub(NAMES);
    let mut said: Vec<String> = names
        .iter()
        .take(NAMES)
        .map(|(name, many)| {
            let name = clean(name, look.unicode);
            if *many == 1 { name } else { format!("{name} {}{}", look.times(), count(*many)) }
        })
        .collect();
    if rest > 0 {
        said.push(format!("{} more names", count(rest as u64)));
    }
    let text = format!(
        " {}, waiting for {} in total: {}",
        counted(window.threads_idle, "thread"),
        duration(window.idle_ns),
        said.join(", ")
    );
    Line::new(look).add(Ink::Bold, "idle").add(Ink::Plain, &text).wrap(2)
}

/// Names of idle threads that are shown.
const NAMES: usize = 6;

/// One row's own.
fn row_of<'a>((thread, path_ns): &OnPath<'a>) -> ThreadRow<'a> {
    let time = |which: fn(State) -> bool| time_in(&thread.states, which);
    ThreadRow {
        name: &thread.name,
        tid: thread.tid,
        command: thread.command.as_deref(),
        threads: thread.threads(),
        on_path: *path_ns,
        user: time(|state| state == State::User),
        kernel: time(|state| state == State::Kernel),
        fault: time(|state| state == State::Fault),
        interrupt: time(|state| state == State::Interrupt),
        runqueue: time(|state| matches!(state, State::Runqueue | State::Throttled)),
        waiting: time(State::blocked),
    }
}

/// The rows, most time on the path first, then most CPU time.
fn rows<'a>(active: &[OnPath<'a>], apart: usize) -> Vec<ThreadRow<'a>> {
    let each = active.iter().map(row_of);
    let mut rows: Vec<ThreadRow> = if active.len() <= apart {
        each.collect()
    } else {
        let mut by_name = BTreeMap::<&str, ThreadRow>::new();
        for row in each {
            by_name
                .entry(row.name)
                .or_insert_with(|| ThreadRow { name: row.name, ..ThreadRow::default() })
                .add(&row);
        }
        by_name.into_values().collect()
    };
    rows.sort_by_key(|row| Reverse((row.on_path, row.user + row.kernel + row.fault + row.interrupt)));
    rows
}

impl ThreadRow<'_> {
    fn add(&mut self, other: &ThreadRow) {
        self.threads += other.threads;
        self.on_path += other.on_path;
        self.user += other.user;
        self.kernel += other.kernel;
        self.fault += other.fault;
        self.interrupt += other.interrupt;
        self.runqueue += other.runqueue;
        self.waiting += other.waiting;
    }
}
