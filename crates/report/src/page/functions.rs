//! The functions that were sampled on a CPU.

use super::counters;
use super::rows::{dim, no_data, rows_shown};
use super::samples::{interval, own_first, single_samples};
use crate::Look;
use crate::jit;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, share_of_one};
use model::recording::JIT_MODULE;
use model::run::{FunctionRow, UnnamedRow};
use model::{Run, Seen};

/// The share of the time on a CPU from which code without names is worth a word of the first
/// screen.
const UNNAMED_SHARE: f64 = 0.1;

/// The table: the program's own by their time with callees, then others by their own
/// time on a CPU.
pub(super) fn table(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let all = match &run.tables.functions {
        Seen::Value(functions) if !functions.is_empty() => functions,
        Seen::Value(_) | Seen::Absent => {
            return vec![Line::new(look).add(Ink::Bold, "functions").add(Ink::Plain, "  no samples")];
        }
        Seen::Unseen(why) => return no_data("functions", why, look),
    };
    let counted = run.tables.counters.value().filter(|table| !table.all.functions.is_empty());
    let mut columns = vec![
        text("", 16, 0),
        text("in", 10, 1),
        text("mode", 6, 2),
        figure("total", 0),
        figure("self", 0),
        figure("samples", 3),
    ];
    if counted.is_some() {
        columns.extend([figure("ins/cycle", 4), figure("misses/1,000", 5)]);
    }
    let mut table = Table::new(look, "functions", columns);
    let order = order(all);
    let shown = rows_shown(order.len(), rows);
    let functions: Vec<&FunctionRow> = order.iter().map(|at| &all[*at]).collect();
    for function in &functions[..shown] {
        let mut cells = vec![
            (Ink::Plain, name(function)),
            (Ink::Plain, function.module.clone()),
            (Ink::Plain, function.mode.clone()),
            (Ink::Plain, function.total.map(|total| share_of_one(total.value)).unwrap_or_default()),
            (Ink::Plain, interval(&function.share, look)),
            (Ink::Plain, count(function.samples)),
        ];
        cells.extend(
            counted
                .into_iter()
                .flat_map(|table| counters::cells(table, function).map(|cell| (Ink::Plain, cell))),
        );
        table.row(cells);
    }
    let samples: u64 = functions[shown..].iter().map(|function| function.samples).sum();
    let single = single_samples(all, |row| row.samples, &order);
    let more = functions.len() - shown + single;
    if more > 0 {
        let more = format!("{} {} more", look.rest(), count(more as u64));
        let none = String::new;
        let mut rest = dim([more, none(), none(), none(), none(), count(samples + single as u64)]).to_vec();
        rest.extend(counted.into_iter().flat_map(|_| dim([none(), none()])));
        table.rest(rest);
    }
    let mut lines = table.lines();
    let unnamed = functions[..shown].iter().filter_map(|function| function.unnamed.as_ref());
    let remedies = unnamed.filter_map(|row| remedy(run, all, row));
    let told = |remedy: String| {
        let line = Line::new(look).add(Ink::Plain, "  ").add(Ink::Dim, "for names: ");
        line.add(Ink::Plain, &remedy).wrap(4)
    };
    lines.extend(remedies.flat_map(told));
    lines
}

fn remedy(run: &Run, all: &[FunctionRow], row: &UnnamedRow) -> Option<String> {
    let others_named = all.iter().any(|row| row.module == JIT_MODULE && row.unnamed.is_none());
    jit::remedy(row, run.window.is_some(), others_named)
}

/// What would name code of a JIT, where that has enough of the time on a CPU to matter.
pub(super) fn names_missing(run: &Run) -> Option<String> {
    let all = run.tables.functions.value()?;
    let matters = |row: &&FunctionRow| row.unnamed.is_some() && row.share.value >= UNNAMED_SHARE;
    let row = all.iter().find(matters)?;
    remedy(run, all, row.unnamed.as_ref()?)
}

fn order(all: &[FunctionRow]) -> Vec<usize> {
    let own = |at: usize| all[at].own;
    own_first(all, |row| row.samples, |row| row.total, own)
}

/// The functions of the run that the rows of the document's table are. What further rows are summed
/// up in is not among them.
pub(crate) fn functions_of_rows(run: &Run) -> Vec<&FunctionRow> {
    let all = run.tables.functions.value().map_or(&[][..], |all| all);
    let order = order(all);
    let shown = rows_shown(order.len(), Look::DOCUMENT_ROWS);
    order.into_iter().take(shown).map(|at| &all[at]).collect()
}

/// What a row of the functions is called.
fn name(function: &FunctionRow) -> String {
    function.unnamed.as_ref().map_or_else(|| function.name.clone(), |row| jit::unnamed(row.runtime))
}
