//! Pages of the lab: the list of pairs, one pair from diagnosis to verdict, and the score of all.

mod cells;
mod list;
mod markdown;
mod quiz;

use crate::Look;
use crate::fit::more_lines;
use crate::page::words;
use crate::paint::{GAP, Ink, Line, joined};
use crate::table::{Column, Table, figure, text};
use crate::units::{count, duration, share_of_one};
use model::lab::{
    LabProfile, LabRun, LabScore, LabShare, LabSitting, Observed, Outcome, Unfound, UnfoundKind, Writing,
};
use model::run::{Ends, FindingRow};
use model::{Ns, Seen};

use cells::{cells, first, has_sittings, is_shown, of, remarks, shares, totals};
pub use list::{Listed, list, short_list};
pub use markdown::{markdown, markdown_of_one};
pub use quiz::quiz;

/// What there is to learn from a pair.
#[derive(Debug, Clone)]
pub struct Lesson {
    /// Paragraphs.
    pub text: &'static str,
}

/// From this part of all CPUs on it is worth a word that others keep them busy.
const BUSY_MIN: f64 = 0.1;
/// What other programs take: beside them it is right as the first finding.
const OF_OTHERS: &str = "cpu-contention";
/// Rows of a profile that are shown of each program.
const PROFILE_ROWS: usize = 6;
/// Smaller shares are not shown.
const PROFILE_SHARE_MIN: f64 = 0.02;

/// Lines of the diagnosis, and of the change where no parts were timed, on a screen.
const DIAGNOSIS_LINES: usize = 9;
const CHANGE_LINES: usize = 6;

/// One pair: diagnosis, change, measured saving, verdict.
pub fn pair(run: &LabRun, lesson: &Lesson, look: Look) -> String {
    joined(&pair_parts(run, lesson, look))
}

/// The parts of that page. A document shows the change as the text that it is.
pub(crate) fn pair_parts(run: &LabRun, lesson: &Lesson, look: Look) -> Vec<Vec<Line>> {
    let sitting = &run.sitting;
    let head =
        Line::new(look).add(Ink::Bold, &run.pair.name).add(Ink::Plain, &format!(": {}", run.pair.title));
    let mut top = head.wrap(GAP);
    if let Some(Writing { title, theirs }) = &run.pair.writing {
        top.extend(Line::new(look).add(Ink::Dim, &format!("{title}: {theirs}")).wrap(GAP));
    }
    let mut parts = vec![top, diagnosis(run, None, look)];
    if !run.change.is_empty() && run.pair.cause.is_some() && !look.is_document() {
        parts.push(change(run, look));
    }
    parts.push(profiles(&run.profiles, look));
    if run.pair.cause.is_some() && !sitting.saved.is_empty() {
        parts.push(measured(sitting, run.whole_size, look));
    }
    parts.push(apart(run, look));
    parts.push(verdict(run, look));
    parts.extend(lesson.text.split("\n\n").map(|text| Line::new(look).add(Ink::Plain, text).wrap(0)));
    if let Some(cause) = &run.pair.cause {
        parts.push(next(cause, &run.pair.name, look));
    }
    parts
}

/// The same on a screen: the verdict whole, what leads to it as far as there is room.
pub fn short_pair(run: &LabRun, look: Look) -> String {
    let title = format!(": {}", run.pair.title);
    let head = Line::new(look).add(Ink::Bold, &run.pair.name).add(Ink::Plain, &title);
    let mut parts =
        vec![vec![head.cut()], cut(diagnosis(run, run.pair.cause.as_deref(), look), DIAGNOSIS_LINES, look)];
    let has_cause = run.pair.cause.is_some();
    if !run.change.is_empty() && has_cause && run.apart.is_empty() {
        parts.push(cut(change(run, look), CHANGE_LINES, look));
    }
    if has_cause && !run.sitting.saved.is_empty() {
        let heading = Line::new(look).add(Ink::Bold, "measured");
        let table = walls(&run.sitting, run.whole_size, look);
        parts.push(std::iter::once(heading).chain(table).collect());
    }
    parts.push(apart(run, look));
    parts.push(verdict(run, look));
    let next = match &run.pair.cause {
        Some(cause) => {
            format!("next: dwell explain {cause}; -v: profiles, the whole change, and what it teaches")
        }
        None => "-v: profiles, and what it teaches".to_owned(),
    };
    parts.push(vec![Line::new(look).add(Ink::Dim, &next)]);
    joined(&parts)
}

/// Pairs of runs that decide most of what fewer leave open.
const PAIRS_MIN: u32 = 40;

/// The first of these lines, this many at most, with one that says how many more there are.
fn cut(mut lines: Vec<Line>, most: usize, look: Look) -> Vec<Line> {
    if lines.len() > most {
        let more = more_lines(lines.len() + 1 - most, look);
        lines.truncate(most - 1);
        lines.push(more);
    }
    lines
}

/// What to read next, and what to do with it.
fn next(cause: &str, name: &str, look: Look) -> Vec<Line> {
    let rows = [
        (format!("dwell explain {cause}"), "what the cause is, its signs, what else it could be, what helps"),
        (format!("dwell lab {name} --beside"), "the same beside busy loops on each CPU"),
        ("dwell run -- COMMAND".to_owned(), "whether a program of yours has it"),
    ];
    let wide = rows.iter().map(|(command, _)| command.len()).max().unwrap_or(0) + GAP + 2;
    let line = |(command, what): &(String, &str)| {
        let line = Line::new(look).pad_to(GAP).add(Ink::Plain, command).pad_to(wide);
        line.add(Ink::Dim, what).wrap(wide)
    };
    let heading = Line::new(look).add(Ink::Bold, "read next");
    std::iter::once(heading).chain(rows.iter().flat_map(line)).collect()
}

/// Functions or lines of both programs side by side.
fn profiles(profiles: &[LabProfile], look: Look) -> Vec<Line> {
    let [slow, fast] = profiles else { return Vec::new() };
    let mut lines = Vec::new();
    for (what, slow, fast) in
        [("function", &slow.functions, &fast.functions), ("line", &slow.lines, &fast.lines)]
    {
        let names = leading(slow, fast);
        if names.is_empty() {
            continue;
        }
        let share = |of: &[LabShare], name: &str| {
            let row = of.iter().find(|row| row.name == name);
            row.map_or_else(|| "-".to_owned(), |row| share_of_one(row.share))
        };
        let columns = vec![text("", 24, 0), figure("slow", 0), figure("fast", 0)];
        let mut table = Table::new(look, what, columns);
        for name in names {
            table.row(vec![
                (Ink::Plain, name.to_owned()),
                (Ink::Plain, share(slow, name)),
                (Ink::Plain, share(fast, name)),
            ]);
        }
        lines.extend(table.lines());
    }
    if lines.is_empty() {
        return lines;
    }
    std::iter::once(Line::new(look).add(Ink::Bold, "profiles, in parts of the CPU time of each"))
        .chain(lines)
        .collect()
}

/// The names that have most of either, in the order of the slow one.
fn leading<'a>(slow: &'a [LabShare], fast: &'a [LabShare]) -> Vec<&'a str> {
    let worth =
        |of: &'a [LabShare]| of.iter().filter(|row| row.share >= PROFILE_SHARE_MIN).take(PROFILE_ROWS);
    let mut names: Vec<&str> = worth(slow).map(|row| &*row.name).collect();
    for row in worth(fast) {
        if !names.contains(&&*row.name) {
            names.push(&row.name);
        }
    }
    names
}

fn heading(name: &str, command: &str, look: Look) -> Vec<Line> {
    Line::new(look).add(Ink::Bold, name).add(Ink::Dim, &format!("   {command}")).wrap(GAP)
}

fn words(command: &[String]) -> String {
    // The directory of the executable tells nothing.
    let short = |(at, word): (usize, &String)| match at {
        0 => word.rsplit('/').next().unwrap_or(word).to_owned(),
        _ => word.clone(),
    };
    command.iter().enumerate().map(short).collect::<Vec<_>>().join(" ")
}

/// What to type for this way.
fn by_hand(sitting: &LabSitting, way: usize) -> String {
    let command = sitting.by_hand.get(way).or_else(|| sitting.commands.get(way));
    command.map(|command| words(command)).unwrap_or_default()
}

/// The slow program under `dwell run`. If there is room for one cause only, findings of others are
/// a line and what they save: that of the pair is judged below.
fn diagnosis(run: &LabRun, only: Option<&str>, look: Look) -> Vec<Line> {
    let sitting = &run.sitting;
    let mut lines = heading("diagnosis", &format!("dwell run -- {}", by_hand(sitting, 0)), look);
    if let Some(server) = &sitting.server {
        let text = format!("its server, in another terminal first: {}", words(server));
        lines.extend(Line::new(look).pad_to(GAP).add(Ink::Dim, &text).wrap(GAP));
    }
    let of = format!("{}, {}", duration(sitting.slow.wall_ns), words::class(sitting.slow.class, None));
    lines.push(Line::new(look).pad_to(GAP).add(Ink::Plain, &of));
    for (at, finding) in sitting.slow.findings.iter().take(3).enumerate() {
        let line = Line::new(look).pad_to(GAP).add(Ink::Plain, &format!("{}. ", at + 1));
        let line = line.add(Ink::Plain, &format!("{}: {}", finding.place, finding.action));
        match only {
            Some(only) if finding.cause != only => lines.push(line.cut()),
            _ => lines.extend(line.wrap(GAP + 3)),
        }
        let line = Line::new(look).pad_to(GAP + 3).add(Ink::Plain, &saves(finding, &sitting.slow, look));
        lines.push(line.add(Ink::Dim, &format!("   {}", finding.cause)));
    }
    if sitting.slow.findings.is_empty() {
        lines.push(Line::new(look).pad_to(GAP).add(Ink::Plain, "nothing is claimed"));
    }
    lines
}

fn saves(finding: &FindingRow, of: &Observed, look: Look) -> String {
    match &finding.saving_ns {
        Seen::Value(saving) if finding.saves_wall() => {
            let part = |ns: Ns| ns as f64 / of.wall_ns.max(1) as f64;
            format!("saves {} ({})", shares(part(saving.lo), part(saving.hi), look), finding.known)
        }
        Seen::Value(_) => "saves no wall-clock time".to_owned(),
        Seen::Absent => "saves nothing by itself".to_owned(),
        Seen::Unseen(why) => format!("the saving is not known: {why}"),
    }
}

/// What makes it fast.
fn change(run: &LabRun, look: Look) -> Vec<Line> {
    let mut lines = vec![Line::new(look).add(Ink::Bold, "change")];
    for line in &run.change {
        let ink = if line.starts_with(['+', '-']) { Ink::Plain } else { Ink::Dim };
        lines.push(Line::new(look).pad_to(GAP).add(ink, line).cut());
    }
    lines
}

/// All ways in alternation, and what a whole job would take.
fn measured(sitting: &LabSitting, whole_size: Option<u64>, look: Look) -> Vec<Line> {
    let [slow, fast] = [0, 1].map(|way| by_hand(sitting, way));
    let mut lines = heading("measured", &format!("dwell compare '{slow}' '{fast}'"), look);
    lines.extend(walls(sitting, whole_size, look));
    lines
}

/// The table of that.
fn walls(sitting: &LabSitting, whole_size: Option<u64>, look: Look) -> Vec<Line> {
    let wall = |at: usize| sitting.wall_ns.get(at).copied().flatten().map_or("-".to_owned(), duration);
    let mut columns = vec![text("", 16, 0), figure("wall", 0), figure("saves", 0)];
    columns.extend(whole_size.map(|_| figure("whole job", 0)));
    let mut table = Table::new(look, &format!("{} pairs", sitting.pairs), columns);
    for (at, way) in sitting.ways.iter().enumerate() {
        let saved = match at.checked_sub(1) {
            None => String::new(),
            Some(at) => {
                sitting.saved.get(at).copied().flatten().map_or("-".to_owned(), |saved| of(saved, look))
            }
        };
        let mut row = vec![(Ink::Plain, way.clone()), (Ink::Plain, wall(at)), (Ink::Plain, saved)];
        if let Some(whole_size) = whole_size {
            let times = whole_size as f64 / sitting.size.max(1) as f64;
            let wall_ns = sitting.wall_ns.get(at).copied().flatten();
            let would_take = wall_ns.map(|ns| duration((ns as f64 * times) as Ns));
            row.push((Ink::Plain, would_take.unwrap_or_else(|| "-".to_owned())));
        }
        table.row(row);
    }
    let mut lines = table.lines();
    if let Some(size) = whole_size {
        let text = format!("whole job: {} {} at the same rate", count(size), sitting.unit);
        lines.extend(Line::new(look).pad_to(GAP).add(Ink::Dim, &text).wrap(GAP));
    }
    lines
}

/// What the slow and the fast way take for each part of the work.
fn apart(run: &LabRun, look: Look) -> Vec<Line> {
    if run.apart.is_empty() {
        return Vec::new();
    }
    let columns = vec![text("", 24, 0), figure("slow", 0), figure("fast", 0), figure("times", 0)];
    let mut table = Table::new(look, "part", columns);
    for part in &run.apart {
        let [slow_ns, fast_ns, ..] = part.wall_ns[..] else { continue };
        let times = slow_ns as f64 / fast_ns.max(1) as f64;
        let times = format!("{times:.*}", usize::from(times < 10.0));
        table.row(vec![
            (Ink::Plain, part.what.clone()),
            (Ink::Plain, duration(slow_ns)),
            (Ink::Plain, duration(fast_ns)),
            (Ink::Plain, times),
        ]);
    }
    let heading = Line::new(look).add(Ink::Bold, "apart, each timed by itself: the median of 5 runs");
    std::iter::once(heading).chain(table.lines()).collect()
}

/// Whether dwell was right.
fn verdict(run: &LabRun, look: Look) -> Vec<Line> {
    let outcome = &run.sitting.outcome;
    let line = |ink, text: &str| Line::new(look).pad_to(GAP).add(ink, text).wrap(GAP);
    let mut lines = vec![Line::new(look).add(Ink::Bold, "verdict")];
    if let Some(why) = &run.ended_early {
        lines.extend(line(Ink::Warn, &format!("{why}: this is the result until then")));
    }
    let Some(cause) = &run.pair.cause else {
        lines.extend(match outcome.cause_first {
            true => {
                line(Ink::Plain, "right: the program is healthy, and dwell finds nothing but its own code")
            }
            false => line(Ink::Warn, "wrong: the program is healthy, and dwell finds something to change"),
        });
        return lines;
    };
    lines.extend(match outcome.cause_first {
        true => {
            let others =
                if first(&run.sitting.slow) == cause { "" } else { "after what other programs take, " };
            line(Ink::Plain, &format!("right: {others}the first finding is {cause}, which the program has"))
        }
        false => line(Ink::Warn, &not_first(cause, run)),
    });
    lines.extend(match held(outcome, run, look) {
        (Some(true), text) => line(Ink::Plain, &text),
        (_, text) => line(Ink::Warn, &text),
    });
    if outcome.first_again {
        let text = format!("wrong: {cause} is the first finding of the fast program too");
        lines.extend(line(Ink::Warn, &text));
    }
    lines
}

/// What that the cause of the pair is not the first finding says of dwell.
fn not_first(cause: &str, run: &LabRun) -> String {
    let (sitting, name) = (&run.sitting, &run.pair.name);
    let found = found_instead(&sitting.slow);
    let unfound = sitting.outcome.unfound.as_ref();
    // What saves nothing, as where others have the CPUs, is no cause there.
    let saves = sitting.saved.first().copied().flatten().is_none_or(is_shown);
    if !saves && unfound.is_none_or(|unfound| unfound.kind == UnfoundKind::RuledOut) {
        return format!("undecided: {found}; the change of {cause} was not shown to save anything");
    }
    let Some(Unfound { kind, why }) = unfound else {
        return format!("wrong: the program has {cause}, and {found}");
    };
    match kind {
        UnfoundKind::Unseen => format!(
            "undecided: the program has {cause}, and dwell could not look for it: {why}; dwell doctor says what would \
             change that, as a rule: sudo dwell lab {name}"
        ),
        UnfoundKind::Unjudged => format!(
            "undecided: {found}; {cause} is ruled out, since {why}. The pair is known to show it only \
             with its own size and server: dwell lab {name}"
        ),
        UnfoundKind::RuledOut => {
            format!("wrong: the program has {cause}, and {found}; {cause} is ruled out, since {why}")
        }
    }
}

/// What was found where the cause of the pair was not first; with what other programs take, what is
/// after it too.
fn found_instead(slow: &Observed) -> String {
    let causes: Vec<&str> = slow.findings.iter().map(|row| &*row.cause).collect();
    match causes[..] {
        [] => "nothing is found".to_owned(),
        [OF_OTHERS, own, ..] => format!("the first findings are {OF_OTHERS} and {own}"),
        [first, ..] => format!("the first finding is {first}"),
    }
}

/// The command of a sitting with four times the pairs of runs: its interval is half as wide.
fn decides(run: &LabRun) -> String {
    let pairs = run.sitting.pairs.saturating_mul(4).max(PAIRS_MIN);
    format!("what would decide it: dwell lab {} --pairs {pairs}", run.pair.name)
}

fn held(outcome: &Outcome, run: &LabRun, look: Look) -> (Option<bool>, String) {
    let sitting = &run.sitting;
    let saved = sitting.saved.first().copied().flatten();
    let undecided = saved.filter(|saved| saved.lo <= 0.0 && saved.hi >= 0.0).map(|saved| {
        let busy = sitting.slow.host_busy.value().filter(|busy| **busy >= BUSY_MIN);
        let busy = busy.map_or_else(String::new, |busy| {
            format!(", and others kept {} of the CPUs busy", share_of_one(*busy))
        });
        format!(
            "undecided: the fast way takes between {} less and {} more time{busy}; {}",
            share_of_one(saved.hi),
            share_of_one(-saved.lo),
            decides(run)
        )
    });
    if let Some(undecided) = undecided {
        return (None, undecided);
    }
    let text = match (outcome.held, outcome.predicted, saved) {
        (Some(held), Some(Ends { lo, hi }), Some(saved)) => {
            let (within, right) = if held { ("lies in", "right") } else { ("lies outside of", "wrong") };
            let predicted = shares(lo, hi, look);
            let crosses = [lo, hi].iter().any(|end| (saved.lo..=saved.hi).contains(end));
            let doubt = if crosses { ", though its interval includes an end of that" } else { "" };
            let what = match is_shown(saved) {
                true => format!("the measured saving, {},", share_of_one(saved.estimate)),
                false => format!("the fast way takes {} more time, which", share_of_one(-saved.estimate)),
            };
            format!("{right}: {what} {within} the predicted {predicted}{doubt}")
        }
        (Some(_), None, _) => "wrong: no saving was predicted".to_owned(),
        (None, None, Some(_)) if !outcome.is_judged() => "no saving was predicted".to_owned(),
        _ => "the saving could not be measured".to_owned(),
    };
    (outcome.held, text)
}

/// The score of all pairs.
pub fn score(score: &LabScore, look: Look) -> String {
    joined(&score_parts(score, look))
}

/// What it comes to, the table, and what was not held.
pub(crate) fn score_parts(score: &LabScore, look: Look) -> [Vec<Line>; 3] {
    let columns: Vec<Column> = vec![
        text("", 10, 0),
        text("cause", 12, 1),
        text("found first", 9, 0),
        figure("predicted", 0),
        figure("measured", 0),
        figure("held", 0),
        figure("score", 2),
        figure("rule", 2),
    ];
    let mut table = Table::new(look, "pair", columns);
    for row in &score.rows {
        table.row(cells(row, look).into_iter().map(|cell| (Ink::Plain, cell)).collect());
    }
    // What the table comes to is first: on a screen the last rows of the table are cut.
    let totals =
        totals(score).iter().flat_map(|text| Line::new(look).add(Ink::Plain, text).wrap(0)).collect();
    let rest = remarks(score);
    let rest = rest.iter().flat_map(|text| Line::new(look).add(Ink::Warn, text).wrap(GAP)).collect();
    let table = if has_sittings(score) { table.lines() } else { Vec::new() };
    [totals, table, rest]
}

#[cfg(test)]
mod tests;
