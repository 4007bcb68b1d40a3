//! The system calls of the program, and how many page faults it had.

use super::rows::{dim, no_data, rows_shown};
use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::table::{Column, Table, figure, text};
use crate::units::{count, duration, share};
use model::syscall_rows::{CallRow, Estimate, TimedCalls};
use model::{Ns, Run, Seen};
use std::cmp::Reverse;

/// The table, most CPU time first, and below it the page faults.
pub(super) fn table(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let mut lines = match &run.tables.syscalls {
        Seen::Value(calls) if !calls.is_empty() => call_table(calls, look, rows),
        Seen::Value(_) | Seen::Absent => {
            vec![Line::new(look).add(Ink::Bold, "system calls").add(Ink::Plain, "  none completed")]
        }
        Seen::Unseen(why) => no_data("system calls", why, look),
    };
    match &run.tables.faults {
        Seen::Value(faults) => {
            let figures =
                format!("  {} minor, {} major (with I/O)", count(faults.minor), count(faults.major));
            lines.extend(Line::new(look).add(Ink::Bold, "page faults").add(Ink::Plain, &figures).wrap(2));
        }
        Seen::Absent => {}
        Seen::Unseen(why) => lines.extend(no_data("page faults", why, look)),
    }
    lines
}

fn call_table(calls: &[CallRow], look: Look, rows: usize) -> Vec<Line> {
    let mut calls: Vec<&CallRow> = calls.iter().collect();
    calls.sort_by_key(|call| (Reverse(call.cpu_ns), Reverse(call.total_ns)));
    let columns: Vec<Column> = vec![
        text("", 10, 0),
        figure("calls", 0),
        figure("errors", 3),
        figure("total", 0),
        figure("on CPU", 1),
        figure("p50", 5),
        figure("p99", 4),
        figure("max", 2),
    ];
    let mut table = Table::new(look, "system calls", columns);
    let shown = rows_shown(calls.len(), rows);
    for call in &calls[..shown] {
        table.row(vec![
            (Ink::Plain, call.name.to_string()),
            (Ink::Plain, estimated(call, look)),
            (if call.errors > 0 { Ink::Plain } else { Ink::Dim }, count(call.errors)),
            (Ink::Plain, about(call, call.total_ns)),
            (Ink::Plain, about(call, call.cpu_ns)),
            (Ink::Plain, of_one(call, &call.p50_ns)),
            (Ink::Plain, of_one(call, &call.p99_ns)),
            (Ink::Plain, of_one(call, &call.max_ns)),
        ]);
    }
    let rest = &calls[shown..];
    if !rest.is_empty() {
        let sum = |figure: fn(&CallRow) -> u64| rest.iter().map(|call| figure(call)).sum::<u64>();
        let max = rest.iter().filter_map(|call| call.max_ns.value()).max();
        table.rest(dim([
            format!("{} {} more", look.rest(), count(rest.len() as u64)),
            count(sum(|call| call.calls)),
            count(sum(|call| call.errors)),
            duration(sum(|call| call.total_ns)),
            duration(sum(|call| call.cpu_ns)),
            String::new(),
            String::new(),
            max.map(|max| duration(*max)).unwrap_or_default(),
        ]));
    }
    let mut lines = table.lines();
    let estimates: Vec<_> = calls[..shown].iter().filter_map(|call| Some((call, call.estimate?))).collect();
    if !estimates.is_empty() {
        lines.extend(Line::new(look).add(Ink::Dim, &of_windows(&estimates, look)).wrap(4));
    }
    let timed: Vec<_> = calls[..shown].iter().filter_map(|call| Some((call, call.timed?))).collect();
    if !timed.is_empty() {
        lines.extend(Line::new(look).add(Ink::Dim, &of_timed(&timed, look)).wrap(4));
    }
    lines
}

/// How long one call of a row was; nothing where none was timed. Documents of an earlier dwell have
/// a 0 there.
fn of_one(call: &CallRow, ns: &Seen<Ns>) -> String {
    let timed = call.timed.is_none_or(|timed| timed.calls > 0);
    ns.value().filter(|_| timed).map(|ns| duration(*ns)).unwrap_or_default()
}

/// A time of all calls of a row, marked where not all were timed.
fn about(call: &CallRow, ns: Ns) -> String {
    let mark = if call.timed.is_some() { "~" } else { "" };
    format!("{mark}{}", duration(ns))
}

/// What the marks of times say, with the first intervals.
fn of_timed(calls: &[(&&CallRow, TimedCalls)], look: Look) -> String {
    let of_call = |(call, timed): &(&&CallRow, TimedCalls)| {
        format!("{} {} to {}", call.name, duration(timed.lo_ns), duration(timed.hi_ns))
    };
    let intervals: Vec<String> = calls.iter().map(of_call).take(3).collect();
    let sum = |of: fn(&(&&CallRow, TimedCalls)) -> u64| calls.iter().map(of).sum::<u64>();
    let part = share(sum(|(_, timed)| timed.calls), sum(|(call, _)| call.calls).max(1));
    let said = format!(
        "  ~ on CPU from samples: {}; p50, p99 and max are from the {part} of these calls that were timed",
        intervals.join(", ")
    );
    clean(&said, look.unicode)
}

/// The number of calls, marked where it is an estimate or a lower bound.
fn estimated(call: &CallRow, look: Look) -> String {
    let mark = match call.estimate {
        None => "",
        Some(estimate) if estimate.hi.is_none() => at_least(look),
        Some(_) => "~",
    };
    format!("{mark}{}", count(call.calls))
}

/// What a figure of tracing windows is that has no upper end.
fn at_least(look: Look) -> &'static str {
    if look.unicode { "\u{2265}" } else { ">=" }
}

/// What the marks of such figures say, with the first intervals.
fn of_windows(calls: &[(&&CallRow, Estimate)], look: Look) -> String {
    let of_call = |(call, estimate): &(&&CallRow, Estimate)| {
        let hi = estimate.hi?;
        Some(format!("{} {} to {}", call.name, count(estimate.lo), count(hi)))
    };
    let intervals: Vec<String> = calls.iter().filter_map(of_call).take(3).collect();
    let mut said = Vec::new();
    if !intervals.is_empty() {
        said.push(format!("~ estimated from tracing windows: {}", intervals.join(", ")));
    }
    if calls.iter().any(|(_, estimate)| estimate.hi.is_none()) {
        said.push(format!(
            "{} at least: the calls in tracing windows, which are too few for an estimate",
            at_least(look)
        ));
    }
    clean(&format!("  {}", said.join("; ")), look.unicode)
}
