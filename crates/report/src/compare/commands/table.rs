//! The commands with what their runs had.

use super::figures::{amount, letters, range};
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Column, Table, figure, text};
use crate::units;
use model::compare::commands::{ComparedCommand, Comparison};
use model::timing::Figure;

/// Ranges are shown whole or not at all.
const WHOLE: usize = 40;

/// The table.
pub(super) fn lines(comparison: &Comparison, look: Look) -> Vec<Line> {
    let on = comparison.settings.on;
    let failed = comparison.commands.iter().any(|command| command.failed > 0);
    let mut columns: Vec<Column> = vec![
        text("", 1, 0),
        text("", 14, 0),
        figure(head(on), 0),
        text("95 %", WHOLE, 3),
        text("range", WHOLE, 4),
        figure("user", 5),
        figure("kernel", 5),
        figure("memory", 6),
        figure("faults", 7),
        figure("runs", 1),
    ];
    if failed {
        columns.push(figure("failed", 0));
    }
    let mut table = Table::new(look, "commands", columns);
    for (at, command) in comparison.commands.iter().enumerate() {
        let mut cells = row(on, at, command, look);
        if failed {
            let ink = if command.failed > 0 { Ink::Warn } else { Ink::Dim };
            cells.push((ink, units::count(u64::from(command.failed))));
        }
        table.row(cells);
    }
    table.lines()
}

/// The head of the figure's column.
fn head(on: Figure) -> &'static str {
    match on {
        Figure::Wall => "median",
        Figure::User => "median user",
        Figure::Kernel => "median kernel",
        Figure::Cpu => "median CPU",
        Figure::Memory => "median memory",
        Figure::Faults => "median faults",
        Figure::Printed => "median printed",
    }
}

fn row(on: Figure, at: usize, command: &ComparedCommand, look: Look) -> Vec<(Ink, String)> {
    let found = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let has_runs = command.runs > 0;
    let of = |text: String| found(has_runs.then_some(text));
    let at_most = match (command.memory_at_most, look.unicode) {
        (false, _) => "",
        (true, true) => "≤",
        (true, false) => "<=",
    };
    vec![
        (Ink::Bold, letters(at)),
        (Ink::Plain, command.name.clone()),
        (Ink::Bold, found(command.figure.map(|found| amount(on, found.median)))),
        (Ink::Dim, found(command.figure.map(|found| range(on, found.lo, found.hi, look)))),
        (Ink::Dim, found(command.range.map(|(lo, hi)| range(on, lo, hi, look)))),
        (Ink::Plain, of(units::duration(command.user_ns))),
        (Ink::Plain, of(units::duration(command.kernel_ns))),
        (Ink::Plain, of(format!("{at_most}{}", units::bytes(command.memory_bytes)))),
        (Ink::Plain, of(units::count(command.faults))),
        (Ink::Plain, units::count(u64::from(command.runs))),
    ]
}
