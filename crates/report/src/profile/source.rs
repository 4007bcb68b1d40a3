//! The source lines of one function, each with its share of the function's time.
//!
//! A line's *self* time is that of stacks that end there; its *total* that of stacks
//! that contain it, counted once however often a recursion repeats it. Shares are of the function's
//! total time; their intervals come from the number of stacks. The caller passes the
//! reader of source text, since this crate reads no files; without text the lines are shown by
//! their numbers.

use super::names::plain;
use super::tree::{Time, functions};
use crate::Look;
use crate::clean::{clean, fit, width};
use crate::paint::{Ink, Line};
use crate::units::{counted, duration, share, share_range};
use model::name::Match;
use model::profile::Profile;
use model::{Ns, State};
use stats::{Proportion, wilson_of};
use std::collections::{BTreeMap, BTreeSet};

/// How to show it.
#[derive(Debug, Clone, Copy)]
pub struct SourceOptions {
    /// What the output supports. The table has 40 to 240 columns.
    pub look: Look,
    /// The most lines of source; omitted ones become `…`.
    pub rows: usize,
}

/// The time of one line.
#[derive(Debug, Default)]
struct LineTime {
    own: Time,
    with_calls: Time,
    /// The number of stacks that contain it.
    stacks: u64,
}

/// The function to show.
struct Found {
    /// By the first of its frames: see [`functions`].
    function: u32,
    /// Its total time.
    time: Time,
    stacks: u64,
    /// By file and line; line 0 if unknown.
    rows: BTreeMap<(String, u32), LineTime>,
}

/// The table of the function called `name`, with a newline after each line; none if no stack
/// contains such a function.
///
/// `name` is the full name, or without arguments, or its last parts (`push_back`), or a part of it;
/// the best kind of match is taken, and of several functions the one with the most time. Or it is a
/// place: a source file (`slow.py`, `src/slow.c`) or one of its lines (`slow.py:13`). `source`
/// returns the text of a file.
pub fn source_table(
    profile: &Profile,
    name: &str,
    options: &SourceOptions,
    source: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let numbers = functions(&profile.frames);
    let (at_place, missed) = at_place(profile, name, &numbers);
    let (function, others) = match hottest(profile, &at_place, &numbers) {
        Some(function) => (function, 0),
        None => {
            let all = matching(profile, name, &numbers);
            (hottest(profile, &all, &numbers)?, all.len() - 1)
        }
    };
    let found = find(profile, function, &numbers);
    if found.time.sum() == 0 {
        return None;
    }
    let columns = usize::from(options.look.width).clamp(40, 240);
    let table = Table { profile, found: &found, look: options.look, columns };
    let mut lines = table.head(others);
    if let Some(line) = missed {
        let text = format!("no stack is on line {line}: this is the function that begins last before it");
        lines.insert(1, Line::new(options.look).add(Ink::Dim, &text).cut());
    }
    lines.extend(table.body(options.rows.max(1), source));
    let mut page = String::new();
    for line in lines {
        page.push_str(&line.render());
        page.push('\n');
    }
    Some(page)
}

/// The functions that have code of a source file, or of one of its lines, on a stack: `FILE` or
/// `FILE:LINE`, where FILE is the end of a path. Of a line that no stack is on, which is then the
/// second value, the function that begins last before it.
fn at_place(profile: &Profile, place: &str, numbers: &[u32]) -> (BTreeSet<u32>, Option<u32>) {
    let (file, line) = match place.rsplit_once(':').map(|(file, line)| (file, line.parse::<u32>())) {
        Some((file, Ok(line))) if line > 0 => (file, Some(line)),
        _ => (place, None),
    };
    let of_file = |path: &str| {
        path.strip_suffix(file).is_some_and(|before| before.is_empty() || before.ends_with('/'))
            && !file.is_empty()
    };
    let here = || {
        profile.frames.iter().zip(numbers).filter_map(|(frame, number)| {
            let (path, at) = frame.source.as_ref()?;
            of_file(path).then_some((*number, *at, frame.first_line))
        })
    };
    let Some(line) = line else { return (here().map(|(number, ..)| number).collect(), None) };
    let exact: BTreeSet<u32> = here().filter(|(_, at, _)| *at == line).map(|(number, ..)| number).collect();
    if !exact.is_empty() {
        return (exact, None);
    }
    let begins = here().map(|(.., first)| first).filter(|first| (1..=line).contains(first)).max();
    let before: BTreeSet<u32> =
        here().filter(|(.., first)| Some(*first) == begins).map(|(number, ..)| number).collect();
    let missed = (!before.is_empty()).then_some(line);
    (before, missed)
}

/// The functions on stacks that are called nearly so, and their source files, for a name that is
/// none: names that a person may have meant.
pub fn names(profile: &Profile) -> BTreeSet<String> {
    let functions = profile.frames.iter().map(|frame| plain(frame, "…"));
    let sources = profile.frames.iter().filter_map(|frame| frame.source.as_ref());
    let files = sources.filter_map(|(path, _)| path.rsplit('/').next().map(str::to_owned));
    functions.chain(files).filter(|name| !name.is_empty()).collect()
}

/// The functions with the best kind of match.
fn matching(profile: &Profile, name: &str, numbers: &[u32]) -> BTreeSet<u32> {
    let (mut best, mut functions) = (Match::Part, BTreeSet::new());
    for (frame, number) in profile.frames.iter().zip(numbers) {
        let short = plain(frame, "…");
        let Some(kind) = Match::of(name, &frame.function, &short) else { continue };
        if kind < best {
            best = kind;
            functions.clear();
        }
        if kind == best {
            functions.insert(*number);
        }
    }
    functions
}

/// The one of these functions with the most time, with callees. (Recursion is counted repeatedly
/// here: it only affects the choice.)
fn hottest(profile: &Profile, all: &BTreeSet<u32>, numbers: &[u32]) -> Option<u32> {
    let mut totals: Vec<Ns> = vec![0; profile.nodes.len()];
    for weight in &profile.weights {
        if let Some(total) = totals.get_mut(weight.node as usize) {
            *total = total.saturating_add(weight.ns);
        }
    }
    let mut of_function = BTreeMap::<u32, Ns>::new();
    for (index, node) in profile.nodes.iter().enumerate().rev() {
        if let Some(caller) = node.caller.map(|caller| caller as usize).filter(|caller| *caller < index) {
            totals[caller] = totals[caller].saturating_add(totals[index]);
        }
        if let Some(function) = numbers.get(node.frame as usize).filter(|function| all.contains(function)) {
            let total = of_function.entry(*function).or_default();
            *total = total.saturating_add(totals[index]);
        }
    }
    of_function
        .into_iter()
        .max_by_key(|(function, ns)| (*ns, std::cmp::Reverse(*function)))
        .map(|(function, _)| function)
}

fn find(profile: &Profile, function: u32, numbers: &[u32]) -> Found {
    let mut found = Found { function, time: Time::default(), stacks: 0, rows: BTreeMap::new() };
    // For each node, the nearest node of the function among it and its callers.
    let mut nearest: Vec<Option<u32>> = Vec::with_capacity(profile.nodes.len());
    let mut above: Vec<Option<u32>> = Vec::with_capacity(profile.nodes.len());
    for (index, node) in profile.nodes.iter().enumerate() {
        let caller = node.caller.and_then(|caller| nearest.get(caller as usize).copied().flatten());
        let is = numbers.get(node.frame as usize) == Some(&function);
        above.push(caller);
        nearest.push(if is { Some(index as u32) } else { caller });
    }
    let mut seen = BTreeSet::new();
    for weight in &profile.weights {
        seen.clear();
        let mut at = nearest.get(weight.node as usize).copied().flatten();
        while let Some(node) = at {
            at = above[node as usize];
            let frame = &profile.frames[profile.nodes[node as usize].frame as usize];
            let (file, line) = frame.source.clone().unwrap_or_default();
            let row = found.rows.entry((file.clone(), line)).or_default();
            if node == weight.node {
                row.own.add(weight.doing.state(), weight.ns);
            }
            if seen.insert((file, line)) {
                row.with_calls.add(weight.doing.state(), weight.ns);
                row.stacks = row.stacks.saturating_add(weight.count);
            }
        }
        if !seen.is_empty() {
            found.time.add(weight.doing.state(), weight.ns);
            found.stacks = found.stacks.saturating_add(weight.count);
        }
    }
    found
}

/// The table of lines.
struct Table<'a> {
    profile: &'a Profile,
    found: &'a Found,
    look: Look,
    columns: usize,
}

/// Columns of a share with its interval, of one without, and of a line's number.
const WIDE: usize = 19;
const NARROW: usize = 8;
const NUMBER: usize = 7;

impl Table<'_> {
    /// The number of figures next to the text: fewer on narrow pages.
    fn columns_shown(&self) -> usize {
        match self.columns {
            ..60 => 0,
            60..100 => 1,
            _ => 3,
        }
    }

    fn head(&self, others: usize) -> Vec<Line> {
        let frame = &self.profile.frames[self.found.function as usize];
        let all = self.profile.weights.iter().fold(0, |sum: Ns, weight| sum.saturating_add(weight.ns));
        let time = self.found.time.sum();
        let name =
            fit(&clean(&frame.function, self.look.unicode), self.columns.max(60) - 40, self.look.unicode);
        let of = format!("{}, {} of the total", duration(time), share(time, all));
        let mut line = Line::new(self.look).add(Ink::Bold, &name).add(Ink::Plain, "  ").add(Ink::Plain, &of);
        if others > 0 {
            line =
                line.add(Ink::Dim, &format!("; {} of this name", counted(others as u64, "other function")));
        }
        let mut heads = Line::new(self.look).pad_to(NUMBER - 4).add(Ink::Dim, "line");
        heads = heads.pad_to(NUMBER + WIDE - 5).add(Ink::Dim, "total");
        for (index, head) in ["self", "on CPU", "waiting"].into_iter().take(self.columns_shown()).enumerate()
        {
            heads = heads.pad_to(NUMBER + WIDE + NARROW * (index + 1) - width(head)).add(Ink::Dim, head);
        }
        vec![line.cut_to(self.columns), heads]
    }

    fn body(&self, rows_max: usize, source: impl Fn(&str) -> Option<String>) -> Vec<Line> {
        let mut by_file = BTreeMap::<&str, Ns>::new();
        for ((file, line), row) in &self.found.rows {
            if *line > 0 {
                let sum = by_file.entry(file).or_default();
                *sum = sum.saturating_add(row.with_calls.sum());
            }
        }
        // A function has one file; macros and includes may add lines of others.
        let Some(file) =
            by_file.iter().max_by_key(|(file, ns)| (**ns, std::cmp::Reverse(**file))).map(|best| *best.0)
        else {
            return self.rest("");
        };
        let text = source(file);
        let rows: BTreeMap<u32, &LineTime> = self.rows_of(file);
        let shown = self.choose(&rows, rows_max, text.is_some());
        let wanted: BTreeSet<u32> = shown.iter().copied().collect();
        let mut texts = BTreeMap::new();
        if let (Some(text), Some(last)) = (&text, shown.last()) {
            for (number, line) in (1..=*last).zip(text.lines()) {
                if wanted.contains(&number) {
                    texts.insert(number, line);
                }
            }
        }
        let mut lines = Vec::new();
        let mut before = None;
        for number in shown {
            if before.is_some_and(|before| before + 1 < number) {
                lines.push(Line::new(self.look).pad_to(NUMBER - 1).add(Ink::Dim, self.look.rest()));
            }
            before = Some(number);
            lines.push(self.line(
                number,
                rows.get(&number).copied(),
                texts.get(&number).copied().unwrap_or(""),
            ));
        }
        lines.extend(self.rest(file));
        let missing = if text.is_none() { "  (source not found)" } else { "" };
        let file = clean(file, self.look.unicode);
        let name = Line::new(self.look).pad_to(2).add(Ink::Dim, &format!("{file}{missing}"));
        lines.push(name.cut_to(self.columns));
        lines
    }

    fn rows_of(&self, file: &str) -> BTreeMap<u32, &LineTime> {
        let of_file = self.found.rows.iter().filter(|((other, line), _)| other == file && *line > 0);
        of_file.map(|((_, line), row)| (*line, row)).collect()
    }

    /// The lines to show, in order: all from the first to the last if they fit; else the hottest,
    /// with their neighbours as far as there is room.
    fn choose(&self, rows: &BTreeMap<u32, &LineTime>, rows_max: usize, with_text: bool) -> Vec<u32> {
        let (Some(first), Some(last)) = (rows.keys().next().copied(), rows.keys().next_back().copied())
        else {
            return Vec::new();
        };
        let begins = self.profile.frames[self.found.function as usize].first_line;
        let first = if (1..first).contains(&begins) { begins } else { first };
        if !with_text {
            return self.hottest(rows, rows_max).into_iter().collect();
        }
        if ((last - first) as usize) < rows_max {
            return (first..=last).collect();
        }
        let mut shown = self.hottest(rows, rows_max);
        for around in 1..=3 {
            let near: Vec<u32> = shown
                .iter()
                .flat_map(|line| [line.saturating_sub(around), line.saturating_add(around)])
                .collect();
            for line in near.into_iter().filter(|line| (first..=last).contains(line)) {
                if shown.len() < rows_max {
                    shown.insert(line);
                }
            }
        }
        shown.into_iter().collect()
    }

    fn hottest(&self, rows: &BTreeMap<u32, &LineTime>, rows_max: usize) -> BTreeSet<u32> {
        let mut by_time: Vec<(&u32, &&LineTime)> = rows.iter().collect();
        by_time.sort_by_key(|(line, row)| (std::cmp::Reverse(row.with_calls.sum()), **line));
        by_time.into_iter().take(rows_max).map(|(line, _)| *line).collect()
    }

    fn line(&self, number: u32, row: Option<&LineTime>, text: &str) -> Line {
        let number = number.to_string();
        let quiet = row.is_none();
        let mut line = Line::new(self.look).pad_to(NUMBER.saturating_sub(width(&number)));
        line = line.add(if quiet { Ink::Dim } else { Ink::Plain }, &number);
        if let Some(row) = row {
            line = self.figures(line, row);
        }
        let at = NUMBER + WIDE + NARROW * self.columns_shown() + 2;
        // Tabs become blanks; everything else that is not plain text is escaped.
        let text = clean(text.replace('\t', "    ").trim_end(), self.look.unicode);
        let text = fit(&text, self.columns.saturating_sub(at), self.look.unicode);
        line.pad_to(at).add(if quiet { Ink::Dim } else { Ink::Plain }, &text)
    }

    fn figures(&self, line: Line, row: &LineTime) -> Line {
        let whole = self.found.time.sum();
        let with_calls = row.with_calls.sum();
        let hot = with_calls >= whole / 10;
        let value = share(with_calls, whole);
        let stacks = self.found.stacks.max(1) as f64;
        let Proportion { lo, hi, .. } = wilson_of(with_calls as f64 / whole.max(1) as f64, stacks);
        let parts = |share: f64| (share.clamp(0.0, 1.0) * 1e9) as u64;
        let between = format!(" ({})", share_range(parts(lo), parts(hi), 1_000_000_000, self.look.dash()));
        let ink = if hot { Ink::Bold } else { Ink::Plain };
        // The figure is aligned at the end of its column; the interval fills the room to the next.
        let mut line = line
            .pad_to(NUMBER + 7_usize.saturating_sub(width(&value)))
            .add(ink, &value)
            .add(Ink::Dim, &between);
        let waiting: Ns =
            row.with_calls.parts().iter().filter(|(state, _)| !state.on_cpu()).map(|part| part.1).sum();
        let mostly =
            row.with_calls.parts().into_iter().filter(|(state, _)| !state.on_cpu()).max_by_key(|part| part.1);
        let figures = [
            (row.own.sum(), Ink::Plain),
            (with_calls - waiting.min(with_calls), Ink::Of(State::User)),
            (waiting, mostly.map_or(Ink::Dim, |(state, _)| Ink::Of(state))),
        ];
        for (index, (ns, ink)) in figures.into_iter().take(self.columns_shown()).enumerate() {
            let end = NUMBER + WIDE + NARROW * (index + 1);
            let text = if ns > 0 { share(ns, whole) } else { String::new() };
            line = line.pad_to(end.saturating_sub(width(&text))).add(ink, &text);
        }
        line
    }

    /// Time of the function in other files, or on unknown lines.
    fn rest(&self, file: &str) -> Vec<Line> {
        let mut rest = Time::default();
        let outside = self.found.rows.iter().filter(|((other, line), _)| other != file || *line == 0);
        for (_, row) in outside {
            rest.add_all(&row.with_calls);
        }
        if rest.sum() == 0 {
            return Vec::new();
        }
        let value = share(rest.sum(), self.found.time.sum());
        let line = Line::new(self.look)
            .pad_to(NUMBER + 7_usize.saturating_sub(width(&value)))
            .add(Ink::Plain, &value);
        let line = line.add(Ink::Dim, "  on unknown lines, or in other files");
        vec![line.cut_to(self.columns)]
    }
}
