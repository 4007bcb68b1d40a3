//! The source lines that were sampled on a CPU.

use super::rows::{dim, rows_shown};
use super::samples::{interval, own_first, single_samples};
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, share_of_one};
use model::run::LineRow;
use model::{Run, Seen};

/// The table, in the order of the functions; nothing where no code has lines.
pub(super) fn table(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let Seen::Value(lines) = &run.tables.lines else { return Vec::new() };
    let columns = vec![
        text("", 16, 0),
        text("function", 10, 1),
        figure("total", 0),
        figure("self", 0),
        figure("samples", 3),
    ];
    let order = order(lines);
    let shown = rows_shown(order.len(), rows);
    if shown == 0 || lines.iter().all(|line| line.samples == 0) {
        return Vec::new();
    }
    let mut table = Table::new(look, "lines", columns);
    for line in order[..shown].iter().map(|at| &lines[*at]) {
        let file = line.file.rsplit('/').next().unwrap_or(&line.file);
        table.row(vec![
            (Ink::Plain, format!("{file}:{}", line.line)),
            (Ink::Plain, line.function.clone()),
            (Ink::Plain, line.total.map(|total| share_of_one(total.value)).unwrap_or_default()),
            (Ink::Plain, interval(&line.share, look)),
            (Ink::Plain, count(line.samples)),
        ]);
    }
    let samples: u64 = order[shown..].iter().map(|at| lines[*at].samples).sum();
    let single = single_samples(lines, |row| row.samples, &order);
    let more = order.len() - shown + single;
    if more > 0 {
        let more = format!("{} {} more", look.rest(), count(more as u64));
        let none = String::new;
        table.rest(dim([more, none(), none(), none(), count(samples + single as u64)]));
    }
    table.lines()
}

fn order(all: &[LineRow]) -> Vec<usize> {
    let own = |at: usize| all[at].own;
    own_first(all, |row| row.samples, |_| None, own)
}

/// The lines of the run that the rows of the document's table are, as [`functions_of_rows`].
///
/// [`functions_of_rows`]: super::functions::functions_of_rows
pub(crate) fn lines_of_rows(run: &Run) -> Vec<&LineRow> {
    let all = run.tables.lines.value().map_or(&[][..], |all| all);
    let order = order(all);
    let shown = rows_shown(order.len(), Look::DOCUMENT_ROWS);
    order.into_iter().take(shown).map(|at| &all[at]).collect()
}
