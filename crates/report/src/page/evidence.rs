//! The tables that matter for one class: waits, system calls with faults, functions.

use super::words;
use crate::Look;
use crate::clean::clean;
use crate::jit;
use crate::paint::{Ink, Line};
use crate::table::{Column, Table, figure, text};
use crate::units::{count, counted, duration, share_of_one};
use model::diagnosis::Ended;
use model::recording::JIT_MODULE;
use model::run::{FunctionRow, LineRow, Share, WaitRow, WaitingThread, WakerRow};
use model::syscall_rows::{CallRow, Estimate};
use model::wait::{StackFrame, SyscallName, TargetKind, WaitCall, WakerKind};
use model::{Diagnosis, Ns, Run, Seen, State};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A row of waits, and how they were ended.
#[derive(Clone, Copy)]
struct Wait<'a> {
    row: &'a WaitRow,
    /// Its position in the run's waits.
    place: usize,
    ended: Ended,
    /// The frame of its stack that is the program's own.
    own: Option<usize>,
}

impl std::ops::Deref for Wait<'_> {
    type Target = WaitRow;

    fn deref(&self) -> &WaitRow {
        self.row
    }
}

/// Wait targets of blocked threads, those on the path first.
pub(super) fn waits(run: &Run, diagnosis: &Diagnosis, look: Look, rows: usize) -> Vec<Line> {
    if run.waits.is_empty() {
        return vec![Line::new(look).add(Ink::Bold, "waits").add(Ink::Plain, "  none")];
    }
    table_of(run, diagnosis, look, rows, |_| true)
}

/// Waits for locks, beside what a program did on its CPUs: those of a twentieth of the whole.
pub(super) fn locks(run: &Run, diagnosis: &Diagnosis, look: Look, rows: usize) -> Vec<Line> {
    table_of(run, diagnosis, look, rows, |wait| is_lock_that_matters(run, wait))
}

/// The waits that [`locks`] does not have.
pub(super) fn waits_but_locks(run: &Run, diagnosis: &Diagnosis, look: Look, rows: usize) -> Vec<Line> {
    if run.waits.is_empty() {
        return waits(run, diagnosis, look, rows);
    }
    table_of(run, diagnosis, look, rows, |wait| !is_lock_that_matters(run, wait))
}

fn is_lock_that_matters(run: &Run, wait: &WaitRow) -> bool {
    wait.reason == State::Lock && wait.total_ns >= (run.whole_ns() / 20).max(1)
}

/// The table of some of the waits; nothing where there are none of these.
fn table_of(
    run: &Run,
    diagnosis: &Diagnosis,
    look: Look,
    rows: usize,
    which: impl Fn(&WaitRow) -> bool,
) -> Vec<Line> {
    let waits = sorted(run, diagnosis, which);
    if waits.is_empty() {
        return Vec::new();
    }
    let kinds = kinds(&waits, rows);
    let shown = rows_shown(kinds.len(), rows);
    let with_code = kinds[..shown].iter().any(|kind| at(&kind[0]).is_some());
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
    for kind in &kinds[..shown] {
        let wait = kind[0];
        let call = match &wait.call {
            WaitCall::Syscall(name) => name.to_string(),
            _ if wait.reason == State::Unexplained => "?".to_owned(),
            WaitCall::Fault | WaitCall::Unseen => "(page fault)".to_owned(),
        };
        let on = format!("{}{}", target(kind), whose(kind, &kinds));
        // The quantiles of several rows do not give those of all their waits.
        let quantile = |ns| if kind.len() > 1 { String::new() } else { duration(ns) };
        let sum = |figure: fn(&WaitRow) -> u64| kind.iter().map(|wait| figure(wait)).sum::<u64>();
        let mut cells =
            vec![(Ink::Of(wait.reason), wait.reason.name().into()), (Ink::Plain, call), (Ink::Plain, on)];
        cells.extend(with_code.then(|| (Ink::Plain, at(&wait).unwrap_or_default())));
        cells.extend([
            (Ink::Plain, count(sum(|wait| wait.calls))),
            (Ink::Plain, duration(sum(|wait| wait.total_ns))),
            (Ink::Plain, duration(sum(|wait| wait.path_ns))),
            (Ink::Plain, quantile(wait.p50_ns)),
            (Ink::Plain, quantile(wait.p99_ns)),
            (Ink::Plain, duration(kind.iter().map(|wait| wait.max_ns).max().unwrap_or(0))),
        ]);
        table.row(cells);
    }
    let rest: Vec<Wait> = kinds[shown..].iter().flatten().copied().collect();
    if !rest.is_empty() {
        let sum = |figure: fn(&WaitRow) -> u64| rest.iter().map(|wait| figure(wait)).sum::<u64>();
        let max = rest.iter().map(|wait| wait.max_ns).max().unwrap_or(0);
        let mut cells = dim([
            format!("{} {} more", look.rest(), count(rows_of(&kinds[shown..]))),
            String::new(),
            String::new(),
        ]);
        cells.extend(with_code.then(|| (Ink::Dim, String::new())));
        cells.extend(dim([
            count(sum(|wait| wait.calls)),
            duration(sum(|wait| wait.total_ns)),
            duration(sum(|wait| wait.path_ns)),
            String::new(),
            String::new(),
            duration(max),
        ]));
        table.rest(cells);
    }
    let mut lines = table.lines();
    // Mostly one reason applies to all `?`; of several, the first is an example.
    let unnamed = kinds[..shown].iter().find_map(|kind| match kind[0].on.name() {
        Seen::Unseen(why) => Some(why),
        _ => None,
    });
    if let Some(why) = unnamed {
        lines.extend(Line::new(look).add(Ink::Dim, &format!("  ? name unknown: {why}")).wrap(4));
    }
    lines.extend(disks(&waits, look));
    lines.extend(
        kinds[..shown]
            .iter()
            .map(|kind| kind[0])
            .filter(|wait| wait.path_ns > 0)
            .take(STACKS)
            .flat_map(|wait| from(&wait, look)),
    );
    lines.extend(
        waits.iter().filter(|wait| is_of_a_lock(wait, run)).take(STACKS).flat_map(|wait| from(wait, look)),
    );
    lines
}

/// Some of the waits, those on the path first.
fn sorted<'a>(run: &'a Run, diagnosis: &Diagnosis, which: impl Fn(&WaitRow) -> bool) -> Vec<Wait<'a>> {
    let ended = diagnosis.ended.iter().copied().chain(std::iter::repeat(Ended::Woken));
    let owns = diagnosis.whose.waits.iter().copied().chain(std::iter::repeat(None));
    let all = run.waits.iter().enumerate().zip(ended).zip(owns);
    let all = all.map(|(((place, row), ended), own)| Wait { row, place, ended, own });
    let mut waits: Vec<Wait> = all.filter(|wait| which(wait.row)).collect();
    waits.sort_by_key(|wait| (Reverse(wait.path_ns), Reverse(wait.total_ns)));
    waits
}

/// The run's waits that each row of the document's table is of; of its last one, where there are
/// more, all others.
pub(crate) fn waits_of_rows(run: &Run, diagnosis: &Diagnosis) -> Vec<Vec<usize>> {
    let waits = sorted(run, diagnosis, |_| true);
    let rows = Look::DOCUMENT_ROWS;
    let kinds = kinds(&waits, rows);
    let shown = rows_shown(kinds.len(), rows);
    let mut rows: Vec<Vec<usize>> =
        kinds.iter().map(|kind| kind.iter().map(|wait| wait.place).collect()).collect();
    let rest: Vec<usize> = rows.drain(shown..).flatten().collect();
    rows.extend((!rest.is_empty()).then_some(rest));
    rows
}

/// The line, or else the function, of the program's own code that waited.
fn at(wait: &Wait) -> Option<String> {
    let frame = wait.stack.value()?.get(wait.own?)?;
    Some(match &frame.source {
        Some((file, line)) => format!("{file}:{line}"),
        None => frame.function.clone(),
    })
}

/// The target of a row of waits.
pub(super) fn target_of(row: &WaitRow) -> String {
    target(&[Wait { row, place: 0, ended: Ended::Woken, own: None }])
}

/// How many there are, with those that other rows stand for.
fn rows_of(kinds: &[Vec<Wait>]) -> u64 {
    let more = |wait: &Wait| wait.together.map_or(0, |together| together - 1);
    kinds.len() as u64 + kinds.iter().flatten().map(more).sum::<u64>()
}

/// The target of a row of one or several waits.
fn target(kind: &[Wait]) -> String {
    let target = &kind[0].on;
    if let Some(words) = words::target(target) {
        return words.to_owned();
    }
    match (target.name(), target.question()) {
        (_, Some(question)) if kind.len() > 1 => {
            let names = count(kind.len() as u64);
            format!("{} {} for {names} names", target.kind().name(), question.server)
        }
        _ if kind.len() > 1 => format!("{} files", count(kind.len() as u64)),
        (Seen::Value(name), _) if !name.is_empty() => format!("{} {name}", target.kind().name()),
        (Seen::Value(_) | Seen::Absent, _) => target.kind().name().to_owned(),
        (Seen::Unseen(_), _) => format!("{} ?", target.kind().name()),
    }
}

/// Whose waits they are, where another row would read the same.
fn whose(kind: &[Wait], kinds: &[Vec<Wait>]) -> String {
    let like = |other: &&Vec<Wait>| {
        other[0].reason == kind[0].reason && other[0].call == kind[0].call && target(other) == target(kind)
    };
    let threads: Vec<&WaitingThread> = kind.iter().flat_map(|wait| &wait.threads).collect();
    match (kinds.iter().filter(like).count(), threads.as_slice()) {
        (0 | 1, _) | (_, []) => String::new(),
        (_, [one]) => format!(" ({})", words::thread(&one.name, one.tid)),
        (_, [first, ..]) => format!(" ({} and others)", words::thread(&first.name, first.tid)),
    }
}

/// Whether it is a long wait for a lock with a known place of release. The path is with the holder
/// meanwhile, so none of the wait is on it.
fn is_of_a_lock(wait: &WaitRow, run: &Run) -> bool {
    let somewhere = wait.by.iter().any(|waker| waker.place.value().is_some());
    somewhere && wait.path_ns == 0 && wait.total_ns >= run.wall_ns / 100
}

/// The waits by row. Where there are more than `rows`, waits in one call on several files share a
/// row, except for a file that has more than half of their time; likewise waits for answers to
/// several name lookups.
fn kinds<'a>(waits: &[Wait<'a>], rows: usize) -> Vec<Vec<Wait<'a>>> {
    let like =
        |wait: &WaitRow| (wait.reason, wait.call.syscall().map(SyscallName::to_string), wait.on.kind());
    let weight = |wait: &WaitRow| wait.path_ns.max(1);
    let is_file = |wait: &WaitRow| {
        (wait.on.kind() == TargetKind::File || wait.on.question().is_some()) && waits.len() > rows + 1
    };
    let mut totals: BTreeMap<_, Ns> = BTreeMap::new();
    for wait in waits.iter().filter(|wait| is_file(wait)) {
        *totals.entry(like(wait)).or_default() += weight(wait);
    }
    let mut kinds: Vec<Vec<Wait>> = Vec::new();
    let mut of_files = BTreeMap::new();
    for wait in waits {
        let small = is_file(wait) && weight(wait) <= totals[&like(wait)] / 2;
        match of_files.get(&like(wait)).filter(|_| small) {
            Some(kind) => Vec::push(&mut kinds[*kind], *wait),
            None => {
                if small {
                    of_files.insert(like(wait), kinds.len());
                }
                kinds.push(vec![*wait]);
            }
        }
    }
    let sum = |kind: &[Wait], figure: fn(&WaitRow) -> Ns| kind.iter().map(|wait| figure(wait)).sum::<Ns>();
    kinds.sort_by_key(|kind| {
        (Reverse(sum(kind, |wait| wait.path_ns)), Reverse(sum(kind, |wait| wait.total_ns)))
    });
    kinds
}

/// Each disk's requests that ended waits, with their shares of time in the queue and the device.
fn disks(waits: &[Wait], look: Look) -> Vec<Line> {
    let mut disks: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for wait in waits.iter().map(|wait| wait.row) {
        if let (Seen::Value(disk), Seen::Value(requests), Seen::Value(queue), Seen::Value(device)) =
            (&wait.device, &wait.requests, &wait.queue_ns, &wait.device_ns)
        {
            let sums = disks.entry(disk).or_default();
            sums.iter_mut().zip([requests, queue, device]).for_each(|(sum, more)| *sum += more);
        }
    }
    let line = |(disk, [requests, queue, device]): (&str, [u64; 3])| {
        let all = queue + device;
        let share = |ns: u64| share_of_one(ns as f64 / all.max(1) as f64);
        let said = format!(
            ": {} ended these waits, {}{}: queue {}, device {}",
            counted(requests, "request"),
            duration(all / requests.max(1)),
            if requests == 1 { "" } else { " each on average" },
            share(queue),
            share(device)
        );
        Line::new(look)
            .add(Ink::Of(State::Disk), &format!("  {}", clean(disk, look.unicode)))
            .add(Ink::Plain, &said)
            .wrap(4)
    };
    disks.into_iter().flat_map(line).collect()
}

/// Waits whose stack is shown, and functions of each stack.
const STACKS: usize = 2;
const FUNCTIONS: usize = 5;
/// Wakers of each wait.
const WAKERS: usize = 2;

/// The stack of a wait, and its wakers.
fn from(wait: &Wait, look: Look) -> Vec<Line> {
    let Seen::Value(stack) = &wait.stack else { return Vec::new() };
    let cleaned = |frame: &StackFrame| clean(&jit::frame(frame), look.unicode);
    // A program's own functions say more than those of its library or interpreter.
    let script = stack.iter().position(StackFrame::is_script);
    let from = wait.own.or(script).filter(|at| *at > 1).unwrap_or(0);
    // What calls a script's function is one of the interpreter, and says nothing.
    let says = |frame: &&StackFrame| !stack[from].is_script() || frame.is_script();
    let mut callers = stack.iter().skip(from).filter(says).peekable();
    let mut names: Vec<String> = callers.by_ref().take(FUNCTIONS).map(cleaned).collect();
    if from > 0 {
        names.insert(0, look.rest().to_owned());
        names.insert(0, cleaned(&stack[0]));
    }
    if callers.peek().is_some() {
        names.push(look.rest().to_owned());
    }
    let what = wait.call.syscall().map_or_else(|| "page fault".to_owned(), SyscallName::to_string);
    let called = format!(
        " ({}) from {}{}",
        clean(&what, look.unicode),
        names.join(look.called_by()),
        woken_by(wait, look)
    );
    let line = Line::new(look).add(Ink::Plain, "  ").add(Ink::Of(wait.reason), wait.reason.name());
    line.add(Ink::Plain, &called).wrap(6)
}

/// The threads that ended most of the waits: the holders of a lock, the writers of a pipe.
fn woken_by(wait: &Wait, look: Look) -> String {
    let threads = wait.by.iter().filter(|waker| matches!(waker.kind, WakerKind::Thread | WakerKind::Outside));
    let who: Vec<String> = threads
        .take(WAKERS)
        .map(|waker| {
            let outside = if waker.kind == WakerKind::Outside { ", another program" } else { "" };
            let number = number(waker);
            let place = match &waker.place {
                Seen::Value(place) => format!(" in {}", clean(&jit::frame(place), look.unicode)),
                _ => String::new(),
            };
            let name = clean(&waker.name, look.unicode);
            format!("{name} ({number}{}{outside}{}){place}", counted(waker.times, "time"), activity(waker))
        })
        .collect();
    let how = match wait.ended {
        Ended::Unlocked => "released",
        Ended::Woken => "woken",
    };
    if who.is_empty() { String::new() } else { format!("; {how} by {}", who.join(", ")) }
}

/// The waker's process, or its thread where that is another.
fn number(waker: &WakerRow) -> String {
    match (&waker.pid, &waker.tid) {
        (Seen::Value(pid), Seen::Value(tid)) if pid == tid => format!("PID {pid}, "),
        (_, Seen::Value(tid)) => format!("TID {tid}, "),
        _ => String::new(),
    }
}

/// The states in which the waker spent the waits, those of a tenth of their time or more.
fn activity(waker: &WakerRow) -> String {
    let mut states: Vec<_> = waker.meanwhile.iter().filter(|(_, ns)| *ns >= waker.ns.max(10) / 10).collect();
    states.sort_by_key(|(_, ns)| Reverse(*ns));
    let share = |ns: Ns| share_of_one(ns as f64 / waker.ns.max(1) as f64);
    let said: Vec<_> =
        states.iter().take(2).map(|(state, ns)| format!("{} {}", words::state(*state), share(*ns))).collect();
    if said.is_empty() { String::new() } else { format!("; during the waits: {}", said.join(", ")) }
}

/// The system calls of the tree, most CPU time first, and its page faults.
pub(super) fn calls(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let mut lines = match &run.syscalls {
        Seen::Value(calls) if !calls.is_empty() => call_table(calls, look, rows),
        Seen::Value(_) | Seen::Absent => {
            vec![Line::new(look).add(Ink::Bold, "system calls").add(Ink::Plain, "  none completed")]
        }
        Seen::Unseen(why) => no_data("system calls", why, look),
    };
    match &run.faults {
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
    let mut lines = table.lines();
    let estimates: Vec<_> = calls[..shown].iter().filter_map(|call| Some((call, call.estimate?))).collect();
    if !estimates.is_empty() {
        lines.extend(Line::new(look).add(Ink::Dim, &of_windows(&estimates, look)).wrap(4));
    }
    lines
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
            "{} at least: what tracing windows had, too few to tell how many more",
            at_least(look)
        ));
    }
    clean(&format!("  {}", said.join("; ")), look.unicode)
}

/// The sampled functions: the program's own by their time with callees, then others by their own
/// time on a CPU.
pub(super) fn functions(run: &Run, diagnosis: &Diagnosis, look: Look, rows: usize) -> Vec<Line> {
    let all = match &run.functions {
        Seen::Value(functions) if !functions.is_empty() => functions,
        Seen::Value(_) | Seen::Absent => {
            return vec![Line::new(look).add(Ink::Bold, "functions").add(Ink::Plain, "  no samples")];
        }
        Seen::Unseen(why) => return no_data("functions", why, look),
    };
    let columns = vec![
        text("", 16, 0),
        text("in", 10, 1),
        text("mode", 6, 2),
        figure("total", 0),
        figure("self", 0),
        figure("samples", 3),
    ];
    let mut table = Table::new(look, "functions", columns);
    let order = order_of_functions(all, diagnosis);
    let shown = rows_shown(order.len(), rows);
    let functions: Vec<&FunctionRow> = order.iter().map(|at| &all[*at]).collect();
    for function in &functions[..shown] {
        table.row(vec![
            (Ink::Plain, name(function)),
            (Ink::Plain, function.module.clone()),
            (Ink::Plain, function.mode.clone()),
            (Ink::Plain, function.total.map(|total| share_of_one(total.value)).unwrap_or_default()),
            (Ink::Plain, interval(&function.share, look)),
            (Ink::Plain, count(function.samples)),
        ]);
    }
    let samples: u64 = functions[shown..].iter().map(|function| function.samples).sum();
    let single = single_samples(all, |row| row.samples, &order);
    let more = functions.len() - shown + single;
    if more > 0 {
        let more = format!("{} {} more", look.rest(), count(more as u64));
        let none = String::new;
        table.rest(dim([more, none(), none(), none(), none(), count(samples + single as u64)]));
    }
    let mut lines = table.lines();
    let unnamed = functions[..shown].iter().filter_map(|function| function.unnamed.as_ref());
    let others_named = all.iter().any(|row| row.module == JIT_MODULE && row.unnamed.is_none());
    let remedies = unnamed.filter_map(|row| jit::remedy(row, run.window.is_some(), others_named));
    let told = |remedy: String| {
        let line = Line::new(look).add(Ink::Plain, "  ").add(Ink::Dim, "for names: ");
        line.add(Ink::Plain, &remedy).wrap(4)
    };
    lines.extend(remedies.flat_map(told));
    lines
}

fn order_of_functions(all: &[FunctionRow], diagnosis: &Diagnosis) -> Vec<usize> {
    let own = |at: usize| diagnosis.whose.functions.get(at).copied().unwrap_or(false);
    own_first(all, |row| row.samples, |row| row.total, own)
}

fn order_of_lines(all: &[LineRow], diagnosis: &Diagnosis) -> Vec<usize> {
    let own = |at: usize| diagnosis.whose.lines.get(at).copied().unwrap_or(false);
    own_first(all, |row| row.samples, |_| None, own)
}

/// The functions of the run that the rows of the document's table are, and its lines. What further
/// rows are summed up in is not among them.
pub(crate) fn code_of_rows<'a>(
    run: &'a Run,
    diagnosis: &Diagnosis,
) -> (Vec<&'a FunctionRow>, Vec<&'a LineRow>) {
    let few = |mut order: Vec<usize>| {
        order.truncate(rows_shown(order.len(), Look::DOCUMENT_ROWS));
        order
    };
    let functions = run.functions.value().map_or(&[][..], |all| all);
    let lines = run.lines.value().map_or(&[][..], |all| all);
    (
        few(order_of_functions(functions, diagnosis)).into_iter().map(|at| &functions[at]).collect(),
        few(order_of_lines(lines, diagnosis)).into_iter().map(|at| &lines[at]).collect(),
    )
}

/// What a row of the functions is called.
fn name(function: &FunctionRow) -> String {
    function.unnamed.as_ref().map_or_else(|| function.name.clone(), |row| jit::unnamed(row.runtime))
}

/// The sampled source lines, in the order of the functions. Nothing where no code has lines.
pub(super) fn source_lines(run: &Run, diagnosis: &Diagnosis, look: Look, rows: usize) -> Vec<Line> {
    let Seen::Value(lines) = &run.lines else { return Vec::new() };
    let columns = vec![
        text("", 16, 0),
        text("function", 10, 1),
        figure("total", 0),
        figure("self", 0),
        figure("samples", 3),
    ];
    let order = order_of_lines(lines, diagnosis);
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

/// Rows with this many samples say something. One sample is a share between 3 and 56 % of ten.
const TOLD_FROM: u64 = 2;

/// The positions of rows that are worth a line: the program's own first, of these those with the
/// largest total; the others in their order, by self time.
fn own_first<R>(
    rows: &[R],
    samples: fn(&R) -> u64,
    total: fn(&R) -> Option<Share>,
    own: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let part = |at: usize| total(&rows[at]).map_or(0.0, |total| total.value);
    // A caller without samples of its own counts where it leads to much.
    let leads = |at: usize| own(at) && part(at) >= LEADS;
    let told = (0..rows.len()).filter(|at| samples(&rows[*at]) >= TOLD_FROM || leads(*at));
    let (mut owned, others): (Vec<usize>, Vec<usize>) = told.partition(|at| own(*at));
    owned.sort_by(|a, b| part(*b).total_cmp(&part(*a)).then(a.cmp(b)));
    owned.extend(others);
    owned
}

/// The share from which on an own function without samples of its own has a row.
const LEADS: f64 = 0.05;

/// How many rows with a sample have none of these lines.
fn single_samples<R>(rows: &[R], samples: fn(&R) -> u64, order: &[usize]) -> usize {
    let told = |at: &usize| order.contains(at);
    (0..rows.len()).filter(|at| samples(&rows[*at]) > 0 && !told(at)).count()
}

/// A share as its 95 % interval.
fn interval(share: &Share, look: Look) -> String {
    let ends = (share_of_one(share.lo), share_of_one(share.hi));
    let (lo, hi) = (ends.0.trim_end_matches(" %"), ends.1.trim_end_matches(" %"));
    if lo == hi { ends.1 } else { format!("{lo}{}{hi} %", look.dash()) }
}

/// The reason in place of a table without data.
fn no_data(what: &str, why: &str, look: Look) -> Vec<Line> {
    Line::new(look).add(Ink::Bold, what).add(Ink::Plain, &format!("  no data: {why}")).wrap(2)
}

/// How many of `all` rows to show: a single further row is shown, not summed up.
pub(super) fn rows_shown(all: usize, rows: usize) -> usize {
    if all == rows + 1 { all } else { all.min(rows) }
}

pub(super) fn dim<const N: usize>(cells: [String; N]) -> Vec<(Ink, String)> {
    cells.map(|cell| (Ink::Dim, cell)).to_vec()
}
