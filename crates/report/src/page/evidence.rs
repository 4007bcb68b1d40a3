//! The tables that matter for one class: waits, system calls with faults, functions.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::table::{Column, Table, figure, text};
use crate::units::{count, duration, share_of_one};
use model::run::{CallRow, FunctionRow, Share, WaitRow};
use model::{Run, Seen, State};
use std::cmp::Reverse;

/// What threads were blocked on; what is on the path first.
pub(super) fn waits(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    if run.waits.is_empty() {
        return vec![Line::new(look).add(Ink::Bold, "waits").add(Ink::Plain, "  none were seen")];
    }
    let mut waits: Vec<&WaitRow> = run.waits.iter().collect();
    waits.sort_by_key(|wait| (Reverse(wait.path_ns), Reverse(wait.total_ns)));
    let columns = vec![
        text("", 10, 0),
        text("in call", 12, 5),
        text("on", 24, 0),
        figure("times", 3),
        figure("total", 0),
        figure(if run.window.is_some() { "active" } else { "on path" }, 0),
        figure("p50", 6),
        figure("p99", 4),
        figure("max", 2),
    ];
    let mut table = Table::new(look, "waits", columns);
    let shown = rows_shown(waits.len(), rows);
    for wait in &waits[..shown] {
        let call = match wait.call.as_str() {
            "" if wait.reason == State::Unexplained => "?",
            "" => "(fault)",
            call => call,
        };
        let on = match &wait.on.name {
            Seen::Value(name) if !name.is_empty() => format!("{} {name}", wait.on.kind),
            Seen::Value(_) | Seen::Absent => wait.on.kind.clone(),
            Seen::Unseen(_) => format!("{} ?", wait.on.kind),
        };
        table.row(vec![
            (Ink::Of(wait.reason), wait.reason.name().into()),
            (Ink::Plain, call.into()),
            (Ink::Plain, on),
            (Ink::Plain, count(wait.calls)),
            (Ink::Plain, duration(wait.total_ns)),
            (Ink::Plain, duration(wait.path_ns)),
            (Ink::Plain, duration(wait.p50_ns)),
            (Ink::Plain, duration(wait.p99_ns)),
            (Ink::Plain, duration(wait.max_ns)),
        ]);
    }
    let rest = &waits[shown..];
    if !rest.is_empty() {
        let sum = |figure: fn(&WaitRow) -> u64| rest.iter().map(|wait| figure(wait)).sum::<u64>();
        let max = rest.iter().map(|wait| wait.max_ns).max().unwrap_or(0);
        table.rest(dim([
            format!("{} {} more", look.rest(), count(rest.len() as u64)),
            String::new(),
            String::new(),
            count(sum(|wait| wait.calls)),
            duration(sum(|wait| wait.total_ns)),
            duration(sum(|wait| wait.path_ns)),
            String::new(),
            String::new(),
            duration(max),
        ]));
    }
    let mut lines = table.lines();
    // One reason for all `?` is the rule; with several, the first is an example.
    let unnamed = waits[..shown].iter().find_map(|wait| match &wait.on.name {
        Seen::Unseen(why) => Some(why),
        _ => None,
    });
    if let Some(why) = unnamed {
        lines.extend(Line::new(look).add(Ink::Dim, &format!("  ? name not seen: {why}")).wrap(4));
    }
    lines.extend(
        waits[..shown].iter().filter(|wait| wait.path_ns > 0).take(STACKS).flat_map(|wait| from(wait, look)),
    );
    lines
}

/// Waits whose stack is shown, and functions of each.
const STACKS: usize = 2;
const FUNCTIONS: usize = 5;

/// Where a wait was called from.
fn from(wait: &WaitRow, look: Look) -> Vec<Line> {
    let Seen::Value(stack) = &wait.stack else { return Vec::new() };
    let cleaned = |name: &String| clean(name, look.unicode);
    // Where a script waits, what the interpreter did for it says less than the script.
    let script = stack.iter().position(|name| name.contains(".py:")).filter(|at| *at > 1);
    let from = script.unwrap_or(0);
    let mut names: Vec<String> = stack.iter().skip(from).take(FUNCTIONS).map(cleaned).collect();
    if from > 0 {
        names.insert(0, look.rest().to_owned());
        names.insert(0, cleaned(&stack[0]));
    }
    if stack.len() > from + FUNCTIONS {
        names.push(look.rest().to_owned());
    }
    let what = if wait.call.is_empty() { "fault" } else { &wait.call };
    let called = format!(" ({}) from {}", clean(what, look.unicode), names.join(look.called_by()));
    let line = Line::new(look).add(Ink::Plain, "  ").add(Ink::Of(wait.reason), wait.reason.name());
    line.add(Ink::Plain, &called).wrap(6)
}

/// The system calls of the tree, most CPU time first, and its faults.
pub(super) fn calls(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let mut lines = match &run.syscalls {
        Seen::Value(calls) if !calls.is_empty() => call_table(calls, look, rows),
        Seen::Value(_) | Seen::Absent => {
            vec![Line::new(look).add(Ink::Bold, "system calls").add(Ink::Plain, "  none returned")]
        }
        Seen::Unseen(why) => not_seen("system calls", why, look),
    };
    match &run.faults {
        Seen::Value(faults) => {
            let figures = format!("  {} minor, {} major (with IO)", count(faults.minor), count(faults.major));
            lines.extend(Line::new(look).add(Ink::Bold, "page faults").add(Ink::Plain, &figures).wrap(2));
        }
        Seen::Absent => {}
        Seen::Unseen(why) => lines.extend(not_seen("page faults", why, look)),
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
            (Ink::Plain, call.name.clone()),
            (Ink::Plain, count(call.calls)),
            (if call.errors > 0 { Ink::Plain } else { Ink::Dim }, count(call.errors)),
            (Ink::Plain, duration(call.total_ns)),
            (Ink::Plain, duration(call.cpu_ns)),
            (Ink::Plain, duration(call.p50_ns)),
            (Ink::Plain, duration(call.p99_ns)),
            (Ink::Plain, duration(call.max_ns)),
        ]);
    }
    let rest = &calls[shown..];
    if !rest.is_empty() {
        let sum = |figure: fn(&CallRow) -> u64| rest.iter().map(|call| figure(call)).sum::<u64>();
        let max = rest.iter().map(|call| call.max_ns).max().unwrap_or(0);
        table.rest(dim([
            format!("{} {} more", look.rest(), count(rest.len() as u64)),
            count(sum(|call| call.calls)),
            count(sum(|call| call.errors)),
            duration(sum(|call| call.total_ns)),
            duration(sum(|call| call.cpu_ns)),
            String::new(),
            String::new(),
            duration(max),
        ]));
    }
    table.lines()
}

/// The functions that ran, by their own time on a CPU.
pub(super) fn functions(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let functions = match &run.functions {
        Seen::Value(functions) if !functions.is_empty() => functions,
        Seen::Value(_) | Seen::Absent => {
            return vec![Line::new(look).add(Ink::Bold, "functions").add(Ink::Plain, "  none were sampled")];
        }
        Seen::Unseen(why) => return not_seen("functions", why, look),
    };
    let columns = vec![
        text("", 16, 0),
        text("in", 10, 1),
        text("mode", 6, 2),
        figure("share", 0),
        figure("with callees", 4),
        figure("samples", 3),
    ];
    let mut table = Table::new(look, "functions", columns);
    let own = functions.iter().filter(|function| function.samples > 0).count();
    let shown = rows_shown(own, rows);
    for function in &functions[..shown] {
        table.row(vec![
            (Ink::Plain, function.name.clone()),
            (Ink::Plain, function.module.clone()),
            (Ink::Plain, function.mode.clone()),
            (Ink::Plain, interval(&function.share, look)),
            (Ink::Plain, function.total.map(|total| share_of_one(total.value)).unwrap_or_default()),
            (Ink::Plain, count(function.samples)),
        ]);
    }
    let rest: &[FunctionRow] = &functions[shown..own];
    if !rest.is_empty() {
        let samples = rest.iter().map(|function| function.samples).sum();
        let more = format!("{} {} more", look.rest(), count(rest.len() as u64));
        let none = String::new;
        table.rest(dim([more, none(), none(), none(), none(), count(samples)]));
    }
    table.lines()
}

/// The source lines that ran. Nothing where no code has lines: the functions say enough.
pub(super) fn source_lines(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let Seen::Value(lines) = &run.lines else { return Vec::new() };
    let columns = vec![text("", 16, 0), text("function", 10, 1), figure("share", 0), figure("samples", 3)];
    let mut table = Table::new(look, "lines", columns);
    let own = lines.iter().filter(|line| line.samples > 0).count();
    if own == 0 {
        return Vec::new();
    }
    for line in &lines[..rows_shown(own, rows)] {
        let file = line.file.rsplit('/').next().unwrap_or(&line.file);
        table.row(vec![
            (Ink::Plain, format!("{file}:{}", line.line)),
            (Ink::Plain, line.function.clone()),
            (Ink::Plain, interval(&line.share, look)),
            (Ink::Plain, count(line.samples)),
        ]);
    }
    table.lines()
}

/// A share as its interval: what sampling leaves open is part of the figure.
fn interval(share: &Share, look: Look) -> String {
    let ends = (share_of_one(share.lo), share_of_one(share.hi));
    let (lo, hi) = (ends.0.trim_end_matches(" %"), ends.1.trim_end_matches(" %"));
    if lo == hi { ends.1 } else { format!("{lo}{}{hi} %", look.dash()) }
}

/// A table that could not be made, and why.
fn not_seen(what: &str, why: &str, look: Look) -> Vec<Line> {
    Line::new(look).add(Ink::Bold, what).add(Ink::Plain, &format!("  not seen: {why}")).wrap(2)
}

/// How many of `all` rows to show: a rest of one is shown, not summed up.
fn rows_shown(all: usize, rows: usize) -> usize {
    if all == rows + 1 { all } else { all.min(rows) }
}

fn dim<const N: usize>(cells: [String; N]) -> Vec<(Ink, String)> {
    cells.map(|cell| (Ink::Dim, cell)).to_vec()
}
