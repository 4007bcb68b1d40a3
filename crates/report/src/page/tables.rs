//! The tables of the page: what each is called, who makes it, and which of them stand on a
//! terminal, with how many rows.

use super::{calls, faults, functions, hand_overs, peers, run_queue, source_lines, threads, waits};
use crate::Look;
use crate::paint::Line;
use model::diagnosis::TimeKind;
use model::run::Class;
use model::{Diagnosis, Run};

/// A table of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Waits,
    /// Waits for locks that matter beside what a program did on its CPUs.
    Locks,
    /// The other waits.
    WaitsButLocks,
    Calls,
    Functions,
    Lines,
    Threads,
    Connections,
    Lookups,
    Faults,
    HandOvers,
    RunQueue,
}

use Table::*;

/// Those of a document but for requests, in its order.
pub(super) const ALL: [Table; 10] =
    [Waits, Calls, Functions, Lines, Threads, Connections, Lookups, Faults, HandOvers, RunQueue];

/// Tables that follow on a terminal whatever the program did, with their rows.
const LAST: [(Table, usize); 3] = [(Faults, 4), (HandOvers, 3), (RunQueue, 3)];

impl Table {
    pub(super) fn name(self) -> &'static str {
        match self {
            Waits | Locks | WaitsButLocks => "waits",
            Calls => "system calls",
            Functions => "functions",
            Lines => "lines",
            Threads => "threads",
            Connections => "connections",
            Lookups => "name lookups",
            Faults => "page faults",
            HandOvers => "hand-overs",
            RunQueue => "run queue",
        }
    }

    /// Its lines; none where it has no row.
    pub(super) fn lines(self, run: &Run, look: Look, rows: usize) -> Vec<Line> {
        match self {
            Waits => waits::table(run, look, rows),
            Locks => waits::locks(run, look, rows),
            WaitsButLocks => waits::but_locks(run, look, rows),
            Calls => calls::table(run, look, rows),
            Functions => functions::table(run, look, rows),
            Lines => source_lines::table(run, look, rows),
            Threads => [threads::table(run, look, rows), threads::idle(run, look)].concat(),
            Connections => peers::connections(run, look, rows),
            Lookups => peers::lookups(run, look, rows),
            Faults => faults::table(run, look, rows),
            HandOvers => hand_overs::table(run, look, rows),
            RunQueue => run_queue::table(run, look, rows),
        }
    }
}

/// Those on a terminal but for threads, with their rows: those that say most about a program of
/// this class first.
pub(super) fn on_terminal(class: Class, diagnosis: &Diagnosis) -> impl Iterator<Item = (Table, usize)> {
    let mut tables = match class {
        Class::Io | Class::Idle => vec![(Waits, 6), (Connections, 2), (Lookups, 2), (Functions, 4)],
        Class::Kernel => vec![(Calls, 5), (Functions, 3), (Locks, 3)],
        Class::Cpu => vec![(Functions, 7), (Lines, 5), (Locks, 3)],
        Class::Mixed | Class::Starved => {
            let of = |kind| match kind {
                TimeKind::Waiting => &[(Waits, 4), (Connections, 2), (Lookups, 2)][..],
                TimeKind::Kernel => &[(Calls, 4)],
                TimeKind::User => &[(Functions, 4)],
            };
            diagnosis.kinds.iter().take(2).flat_map(|(kind, _)| of(*kind)).copied().collect()
        }
    };
    let has = |tables: &[(Table, usize)], one| tables.iter().any(|(table, _)| *table == one);
    let waits = if has(&tables, Locks) { WaitsButLocks } else { Waits };
    for other in [Functions, Lines, Calls, waits, Connections, Lookups] {
        if !has(&tables, other) {
            tables.push((other, 3));
        }
    }
    tables.into_iter().chain(LAST)
}
