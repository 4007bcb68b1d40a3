//! Commands that another tool timed, one after the other, as pages: one file, and two side by
//! side. Neither has a verdict.

use super::commands::letters;
use super::parts;
use crate::Look;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration, duration_range};
use model::Ns;
use model::compare::timings::{TimedCommand, Timings, TimingsDiff, TimingsOrigin};
use model::ladder::MedianInterval;

/// Why nothing is concluded.
const NO_VERDICT: &str = "no verdict: hyperfine runs all of one command before the next, so a change of \
                          the machine in between is in every difference and in no interval. dwell compare \
                          runs them in alternation, in random order";

/// Columns that a name keeps: intervals go first.
const NAME: usize = 16;
/// Rows of a table on a terminal.
const ROWS: usize = 40;

/// The page of a file, with a newline after each line.
pub fn one(timings: &Timings, look: Look) -> String {
    let several = timings.commands.len() > 1;
    let columns = vec![
        text("", NAME, 0),
        figure("median", 0),
        figure("95 %", 1),
        figure("range", 3),
        figure("runs", 2),
        figure(if several { "of A" } else { "" }, 1),
    ];
    let mut table = Table::new(look, "commands", columns);
    let first = timings.commands.first();
    for (at, command) in timings.commands.iter().enumerate().take(look.rows(ROWS)) {
        let by = first.filter(|_| at > 0).map(|first| command.median_ns.median / first.median_ns.median);
        table.row(vec![
            (Ink::Plain, format!("{} {}", letters(at), command.name)),
            (Ink::Plain, duration(whole(command.median_ns.median))),
            (Ink::Dim, interval(command.median_ns, look)),
            (Ink::Dim, range(command.range_ns.0, command.range_ns.1, look)),
            (Ink::Dim, count(u64::from(command.runs))),
            (Ink::Plain, by.map_or_else(String::new, |by| times(Some(by), look))),
        ]);
    }
    let tool = Line::new(look).add(Ink::Bold, &timings.tool).cut();
    joined(&[
        vec![tool],
        table.lines(),
        notes(&timings.commands, look),
        if several { paragraphs(Line::new(look), NO_VERDICT, GAP) } else { Vec::new() },
    ])
}

/// The page of two files, with a newline after each line.
pub fn two(diff: &TimingsDiff, look: Look) -> String {
    joined(&two_parts(diff, look))
}

/// The parts of that page.
pub(crate) fn two_parts(diff: &TimingsDiff, look: Look) -> Vec<Vec<Line>> {
    let origin =
        |letter: &str, of: &TimingsOrigin| parts::origin(letter, &format!("{}, ", of.file), &of.tool, look);
    let columns = vec![
        text("", NAME, 0),
        figure("A", 0),
        figure("95 %", 2),
        figure("B", 0),
        figure("95 %", 2),
        figure("B/A", 0),
    ];
    let mut table = Table::new(look, "medians", columns);
    for row in diff.rows.iter().take(look.rows(ROWS)) {
        table.row(vec![
            (Ink::Plain, row.name.clone()),
            (Ink::Plain, duration(whole(row.a.median_ns.median))),
            (Ink::Dim, interval(row.a.median_ns, look)),
            (Ink::Plain, duration(whole(row.b.median_ns.median))),
            (Ink::Dim, interval(row.b.median_ns, look)),
            (Ink::Plain, times(row.ratio, look)),
        ]);
    }
    let only = [("A", &diff.only_a), ("B", &diff.only_b)];
    let only = only.into_iter().flat_map(|(letter, names)| {
        let line = move |name: &String| {
            Line::new(look).add(Ink::Dim, &format!("only in {letter}: ")).add(Ink::Plain, name).cut()
        };
        names.iter().take(look.rows(ROWS)).map(line)
    });
    let found = match diff.rows.is_empty() {
        true => Line::new(look).add(Ink::Plain, "no command is in both").wrap(GAP),
        false => table.lines(),
    };
    vec![
        [origin("A", &diff.a), origin("B", &diff.b)].concat(),
        found,
        only.collect(),
        paragraphs(Line::new(look), NO_VERDICT, GAP),
    ]
}

/// Runs that failed, which hyperfine counts.
fn notes(commands: &[TimedCommand], look: Look) -> Vec<Line> {
    let failed = commands.iter().enumerate().filter(|(_, command)| command.failed > 0);
    let line = |(at, command): (usize, &TimedCommand)| {
        let runs = counted(u64::from(command.failed), "run");
        let text = format!("{runs} of {} had an exit status other than 0, and are included", letters(at));
        Line::new(look).add(Ink::Warn, "! ").add(Ink::Plain, &text).cut()
    };
    failed.map(line).take(look.rows(ROWS)).collect()
}

fn whole(ns: f64) -> Ns {
    ns.max(0.0).round() as Ns
}

fn range(lo: f64, hi: f64, look: Look) -> String {
    duration_range(whole(lo), whole(hi), look.dash())
}

fn interval(of: MedianInterval, look: Look) -> String {
    range(of.lo, of.hi, look)
}

fn times(ratio: Option<f64>, look: Look) -> String {
    match ratio.filter(|ratio| ratio.is_finite()) {
        Some(ratio) => format!("{}{}", parts::figure(ratio), look.times()),
        None => look.dash().to_owned(),
    }
}
