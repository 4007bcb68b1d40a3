//! Where the difference of two walls lies: rows of the tables of both runs, matched by typed keys.
//!
//! Which names mean the same is up to `why/names.rs`, how rows are added up over pairs to
//! `why/rows.rs`, their means and intervals to `why/times.rs`, and what sampling adds to
//! `why/code.rs`. What the difference means is not said here: it has no verdict.

mod code;
mod keys;
mod limits;
pub(super) mod names;
mod path;
mod rows;
#[cfg(test)]
mod tests;
mod times;

use keys::{FileKey, FunctionKey, LineKey, PeerKey, WaitKey, WakerKey};
pub use limits::not_as_timed;
use model::compare::EstimateInterval;
use model::compare::why::{
    CallDifference, FileDifference, FunctionDifference, LineDifference, PeerDifference, WaitDifference,
    WakerDifference, Why,
};
use model::{Run, Seen};
use rows::{Amount, Pairs, Row, folded, rows};
use std::hash::Hash;
use times::largest;

/// Rows of a table; later ones are too small to matter.
const ROWS: usize = 100;

/// Where the difference of the walls lies: B less A, as a mean over pairs of observed runs.
pub fn why(pairs: &[(&Run, &Run)]) -> Why {
    let path = path::of(pairs);
    let mut why = Why {
        pairs: pairs.len() as u32,
        wall: path.wall,
        ratio: ratio(pairs),
        states: path.states,
        processes: path.processes,
        steps: path.steps,
        steps_rest: path.rest,
        calls: calls(pairs),
        functions: functions(pairs),
        lines: lines(pairs),
        waits: waits(pairs),
        wakers: wakers(pairs),
        peers: peers(pairs),
        files: files(pairs),
        limits: Vec::new(),
    };
    why.limits = limits::of(pairs, &why);
    why
}

/// B by A: the mean of the logarithms.
fn ratio(pairs: &Pairs<'_>) -> Option<EstimateInterval> {
    let logarithms: Vec<f64> =
        pairs.iter().map(|(a, b)| (b.whole_ns() as f64 / a.whole_ns() as f64).ln()).collect();
    let (middle, lo, hi) = stats::mean_interval(&logarithms)?;
    let all = [middle, lo, hi];
    let found = EstimateInterval { estimate: middle.exp(), lo: lo.exp(), hi: hi.exp() };
    all.iter().all(|end| end.is_finite()).then_some(found)
}

/// The rows of a table that every run must have to be compared.
fn seen_rows<T, K: Clone + Eq + Hash>(
    pairs: &Pairs<'_>,
    table: impl Fn(&Run) -> &Seen<Vec<T>>,
    row: impl Fn(&Run, &T) -> (K, Amount),
) -> Seen<Vec<Row<K>>> {
    let unseen = pairs.iter().flat_map(|(a, b)| [a, b]).find_map(|run| match table(run) {
        Seen::Unseen(why) => Some(why.clone()),
        Seen::Value(_) | Seen::Absent => None,
    });
    match unseen {
        Some(why) => Seen::Unseen(why),
        None => Seen::Value(rows(pairs, |run| {
            table(run).value().into_iter().flatten().map(|of| row(run, of)).collect()
        })),
    }
}

fn calls(pairs: &Pairs<'_>) -> Seen<Vec<CallDifference>> {
    let found = seen_rows(
        pairs,
        |run| &run.tables.syscalls,
        |_, row| (row.name.clone(), Amount::new(row.total_ns, row.calls)),
    );
    found.map(|rows| {
        largest(rows, ROWS, |row, time| CallDifference { name: row.key.clone(), calls: row.counts(), time })
    })
}

fn functions(pairs: &Pairs<'_>) -> Seen<Vec<FunctionDifference>> {
    let [a, b] = keys::commands(pairs);
    code::differences(
        pairs,
        |run| {
            let table = run.tables.functions.as_ref();
            table.map(|rows| rows.iter().map(|row| (FunctionKey::of(run, row), row.share)).collect())
        },
        |rows| rows,
        ROWS,
        |key, time| {
            let (module, module_in_b) = key.module.names(&a, &b);
            FunctionDifference { name: key.name.clone(), module, module_in_b, mode: key.mode.clone(), time }
        },
    )
}

fn lines(pairs: &Pairs<'_>) -> Seen<Vec<LineDifference>> {
    code::differences(
        pairs,
        |run| {
            let table = run.tables.lines.as_ref();
            table.map(|rows| rows.iter().map(|row| (LineKey::of(row), row.share)).collect())
        },
        folded,
        ROWS,
        |LineKey { file, line, function }, time| LineDifference {
            file: file.clone(),
            line: *line,
            function: function.clone(),
            time,
        },
    )
}

fn waits(pairs: &Pairs<'_>) -> Vec<WaitDifference> {
    let found = rows(pairs, |run| {
        run.waits.iter().map(|row| (WaitKey::of(row), Amount::new(row.total_ns, row.calls))).collect()
    });
    largest(folded(found), ROWS, |row, time| WaitDifference {
        reason: row.key.reason,
        call: row.key.call.clone(),
        on: row.key.on.clone(),
        names: row.names,
        calls: row.counts(),
        time,
    })
}

fn wakers(pairs: &Pairs<'_>) -> Vec<WakerDifference> {
    let found = rows(pairs, |run| {
        let of_each = run.waits.iter().flat_map(|row| row.by.iter().map(move |by| (row.reason, by)));
        of_each.map(|(state, by)| (WakerKey::of(run, state, by), Amount::new(by.ns, by.times))).collect()
    });
    let [a, _] = keys::commands(pairs);
    largest(folded(found), ROWS, |row, time| WakerDifference {
        reason: row.key.reason,
        kind: row.key.kind,
        name: row.key.name.task_names(&a, &a).0,
        names: row.names,
        times: row.counts(),
        time,
    })
}

fn peers(pairs: &Pairs<'_>) -> Seen<Vec<PeerDifference>> {
    let found = seen_rows(
        pairs,
        |run| &run.tables.connections,
        |_, row| (PeerKey::of(row), Amount::new(row.waited_ns, row.waits)),
    );
    found.map(|rows| {
        largest(folded(rows), ROWS, |row, time| PeerDifference {
            remote: row.key.remote.clone(),
            service: row.key.service.clone(),
            names: row.names,
            waits: row.counts(),
            time,
        })
    })
}

fn files(pairs: &Pairs<'_>) -> Vec<FileDifference> {
    let found = rows(pairs, |run| {
        let of_files = run.waits.iter().filter_map(|row| Some((FileKey::of(row)?, row)));
        of_files.map(|(key, row)| (key, Amount::new(row.total_ns, row.calls))).collect()
    });
    largest(folded(found), ROWS, |row, time| FileDifference {
        on: row.key.0.clone(),
        names: row.names,
        waits: row.counts(),
        time,
    })
}
