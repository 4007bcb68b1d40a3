//! What the script needs to restrict tables to a stretch of time: of each row what was when.

use super::{document, hand_overs, timeline};
use crate::page::functions::functions_of_rows;
use crate::page::source_lines::lines_of_rows;
use crate::page::waits::waits_of_rows;
use crate::page::{places, threads};
use crate::profile::boxes::{lines, spread, strips};
use crate::profile::stack::walk;
use model::profile::{Activity, Frame};
use model::{Ns, Profile, Reason, Run, RunResult, State};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Numbers of one table over time: with more, slices are joined.
const ENTRIES: usize = 10_000;
/// The same of functions and of lines, which have two tables each.
const OF_CODE: usize = 4_000;
/// Equal parts of the wall clock that threads are told apart by.
const PARTS: usize = 120;

/// What the script reads, by table.
#[derive(Serialize)]
struct Times {
    /// The states of the account, in the order of its rows.
    states: Vec<&'static str>,
    /// From when to when each row of the path over time is.
    steps: Vec<(Ns, Ns)>,
    /// When each hand-over was.
    hand_overs: Vec<Ns>,
    /// The places of the path; none where it is not known when they were.
    places: Option<OverTime>,
    /// The threads, a table for each column that is known, by its head.
    threads: BTreeMap<&'static str, OverTime>,
    /// The waits on the path; none as with the places.
    waits: Option<OverTime>,
    /// Rows of waits of which the path does not tell when they were.
    waits_unknown: Vec<usize>,
    /// The functions and the lines that ran; none without stacks.
    functions: Option<CodeOverTime>,
    lines: Option<CodeOverTime>,
}

/// Time on a CPU by samples: of each row with what it called and its own, and of all code.
#[derive(Serialize)]
struct CodeOverTime {
    total: OverTime,
    own: Option<OverTime>,
    all: OverTime,
}

/// The rows of a table over time.
#[derive(Serialize)]
struct OverTime {
    /// Length of a slice, in nanoseconds.
    slice_ns: f64,
    /// Of each row the slices that it has time in: number, time, number, time …
    rows: Vec<Vec<u64>>,
}

/// A row's time, by the number of the slice.
type Row = BTreeMap<u64, Ns>;

impl OverTime {
    /// None where there is nothing.
    fn new(slice_ns: f64, rows: Vec<Row>) -> Option<Self> {
        Self::of(slice_ns, rows, ENTRIES)
    }

    /// The same of at most this many numbers.
    fn of(slice_ns: f64, rows: Vec<Row>, most: usize) -> Option<Self> {
        let known = rows.iter().any(|row| !row.is_empty());
        known.then(|| Self::joined(slice_ns, rows, most))
    }

    fn joined(mut slice_ns: f64, mut rows: Vec<Row>, most: usize) -> Self {
        while rows.iter().map(Row::len).sum::<usize>() > most.max(rows.len()) {
            slice_ns *= 2.0;
            for row in &mut rows {
                let mut longer = Row::new();
                row.iter().for_each(|(slice, ns)| *longer.entry(slice / 2).or_default() += ns);
                *row = longer;
            }
        }
        let flat = |row: &Row| row.iter().flat_map(|(slice, ns)| [*slice, *ns]).collect();
        Self { slice_ns, rows: rows.iter().map(flat).collect() }
    }
}

/// The data of a run with a picture over time; nothing of another one.
pub(super) fn data(
    RunResult { run, profile, path_over_time, .. }: &RunResult,
    states: &[State],
    number: usize,
) -> String {
    if run.wall_ns == 0 || run.phases.slices.is_empty() {
        return String::new();
    }
    let profile = profile.value();
    let drawn = profile.map(|profile| {
        let (strips, _) = strips(profile, run.wall_ns, timeline::STRIP, timeline::THREADS);
        lines(profile, &strips, hand_overs::LINES).drawn
    });
    let (waits, waits_unknown) = waits(run, path_over_time);
    let [functions, lines] = code(run, profile);
    let times = Times {
        states: states.iter().map(|state| state.name()).collect(),
        steps: timeline::row_times(run),
        hand_overs: drawn.unwrap_or_default().iter().map(|one| one.at_ns).collect(),
        places: places(run, path_over_time),
        threads: threads(run, profile, path_over_time),
        waits,
        waits_unknown,
        functions,
        lines,
    };
    let json = document::embedded(&times);
    format!("<script type=\"application/json\" class=\"times\" data-of=\"{number}\">{json}</script>\n")
}

fn places(run: &Run, path_over_time: &[Vec<(u32, Ns)>]) -> Option<OverTime> {
    if path_over_time.len() != run.path.len() {
        return None;
    }
    let row = |steps: Vec<usize>| {
        let mut row = Row::new();
        for (slice, ns) in steps.into_iter().flat_map(|step| &path_over_time[step]) {
            *row.entry(u64::from(*slice)).or_default() += ns;
        }
        row
    };
    let rows = places::steps_of_rows(run).into_iter().map(row).collect();
    OverTime::new(run.phases.slice_ns as f64, rows)
}

/// The time of waits on the path, by the path's own rows of the same wait. A row whose time is not
/// that of those rows (several rows that read the same, or are told apart by their threads only) is
/// among the unknown ones.
fn waits(run: &Run, path_over_time: &[Vec<(u32, Ns)>]) -> (Option<OverTime>, Vec<usize>) {
    if path_over_time.len() != run.path.len() {
        return (None, Vec::new());
    }
    let rows = waits_of_rows(run);
    let mut row_of: HashMap<(State, String), BTreeSet<usize>> = HashMap::new();
    for (row, waits) in rows.iter().enumerate() {
        for wait in waits.iter().map(|at| &run.waits[*at]) {
            let reads = Reason::Wait(wait.call.clone(), wait.on.clone()).to_string();
            row_of.entry((wait.reason, reads)).or_default().insert(row);
        }
    }
    let mut over_time = vec![Row::new(); rows.len()];
    let mut sums = vec![0; rows.len()];
    for (step, slices) in run.path.iter().zip(path_over_time).filter(|(step, _)| step.state.blocked()) {
        let of = row_of.get(&(step.state, step.reason.to_string()));
        let Some(row) = of.filter(|rows| rows.len() == 1).and_then(|rows| rows.first()) else { continue };
        sums[*row] += step.ns;
        slices.iter().for_each(|(slice, ns)| *over_time[*row].entry(u64::from(*slice)).or_default() += ns);
    }
    let on_path = |row: usize| -> Ns { rows[row].iter().map(|at| run.waits[*at].path_ns).sum() };
    let unknown: Vec<usize> = (0..rows.len()).filter(|row| sums[*row] != on_path(*row)).collect();
    unknown.iter().for_each(|row| over_time[*row].clear());
    // A run that never waited on its path has none of them in any stretch.
    (Some(OverTime::joined(run.phases.slice_ns as f64, over_time, ENTRIES)), unknown)
}

/// Functions and lines by their samples.
fn code(run: &Run, profile: Option<&Profile>) -> [Option<CodeOverTime>; 2] {
    let Some(profile) = profile else { return [None, None] };
    let (functions, lines) = (functions_of_rows(run), lines_of_rows(run));
    let functions: HashMap<_, usize> = functions
        .iter()
        .enumerate()
        .map(|(row, one)| {
            let runtime = one.unnamed.as_ref().map(|unnamed| unnamed.runtime);
            ((&*one.name, &*one.module, one.mode == "kernel", runtime), row)
        })
        .collect();
    let lines: HashMap<_, usize> =
        lines.iter().enumerate().map(|(row, one)| ((&*one.file, one.line, &*one.function), row)).collect();
    let function = |frame: &Frame| functions.get(&frame.function_key()?).copied();
    let line = |frame: &Frame| {
        let (file, line, function, _) = frame.line_key()?;
        lines.get(&(file, line, function)).copied()
    };
    let of_stack = |stack: &[&Frame]| stack.first().and_then(|frame| function(frame));
    [
        over_time(run, profile, functions.len(), of_stack, function),
        over_time(run, profile, lines.len(), |stack| Frame::of_line(stack).and_then(line), line),
    ]
}

/// The rows, by the row that a stack's own time is of, and by those that its frames are of.
fn over_time(
    run: &Run,
    profile: &Profile,
    rows: usize,
    own: impl Fn(&[&Frame]) -> Option<usize>,
    each: impl Fn(&Frame) -> Option<usize>,
) -> Option<CodeOverTime> {
    let row_of: Vec<Option<usize>> = profile.frames.iter().map(each).collect();
    let (mut totals, mut owns, mut all) = (vec![Row::new(); rows], vec![Row::new(); rows], Row::new());
    let mut known: HashMap<u32, (Option<usize>, BTreeSet<usize>)> = HashMap::new();
    for moment in profile.moments.iter().filter(|moment| !matches!(moment.doing, Activity::Waiting(_))) {
        let (own, total) = known.entry(moment.node).or_insert_with(|| {
            let known = |at| profile.nodes.get(at as usize).map(|node| node.frame as usize);
            let frames: Vec<usize> = walk(profile, moment.node).filter_map(known).collect();
            let stack: Vec<&Frame> = frames.iter().map(|at| &profile.frames[*at]).collect();
            (own(&stack), frames.iter().filter_map(|at| row_of[*at]).collect())
        });
        spread(moment, run.wall_ns, PARTS, |part, ns| {
            let add = |row: &mut Row| *row.entry(part as u64).or_default() += ns;
            add(&mut all);
            own.iter().for_each(|at| add(&mut owns[*at]));
            total.iter().for_each(|at| add(&mut totals[*at]));
        });
    }
    let part_ns = run.wall_ns as f64 / PARTS as f64;
    Some(CodeOverTime {
        total: OverTime::of(part_ns, totals, OF_CODE)?,
        own: OverTime::of(part_ns, owns, OF_CODE),
        all: OverTime::of(part_ns, vec![all], OF_CODE)?,
    })
}

/// Of threads: their time on the path, and what is known of them by samples and by waits with
/// stacks.
fn threads(
    run: &Run,
    profile: Option<&Profile>,
    path_over_time: &[Vec<(u32, Ns)>],
) -> BTreeMap<&'static str, OverTime> {
    let (row_of, heads) = threads::row_of_each(run);
    let rows = row_of.values().max().map_or(0, |last| last + 1);
    let mut all: HashMap<&str, Vec<Row>> = HashMap::new();
    let mut add = |head: &'static str, row: usize, slice: u64, ns: Ns| {
        let rows = all.entry(head).or_insert_with(|| vec![Row::new(); rows]);
        *rows[row].entry(slice).or_default() += ns;
    };
    if path_over_time.len() == run.path.len() {
        for (step, slices) in run.path.iter().zip(path_over_time) {
            let Some(row) = row_of.get(&(step.pid, step.tid)) else { continue };
            slices.iter().for_each(|(slice, ns)| add(threads::ON_PATH, *row, u64::from(*slice), *ns));
        }
    }
    if let Some(profile) = profile {
        let thinned = Ns::from(profile.thinned.max(1));
        for moment in &profile.moments {
            let owner = profile.threads.get(moment.thread as usize);
            let row = owner.and_then(|owner| row_of.get(&(owner.pid, owner.tid)));
            let Some(row) = row else { continue };
            let head = match moment.doing {
                Activity::User => "user",
                Activity::Kernel => "kernel",
                Activity::Interrupt => "interrupt",
                Activity::Waiting(_) => "waiting",
            };
            let stands_for = |ns: Ns| ns.saturating_mul(thinned);
            spread(moment, run.wall_ns, PARTS, |part, ns| add(head, *row, part as u64, stands_for(ns)));
        }
    }
    let part_ns = run.wall_ns as f64 / PARTS as f64;
    let slice_ns = |head: &str| if head == threads::ON_PATH { run.phases.slice_ns as f64 } else { part_ns };
    let known = |head| Some((head, OverTime::new(slice_ns(head), all.remove(head)?)?));
    heads.into_iter().filter_map(known).collect()
}
