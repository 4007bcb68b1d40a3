//! What the script needs to restrict tables to a stretch of time: of each row what was when.

use super::{document, hand_overs, timeline};
use crate::page::{places, threads};
use crate::profile::boxes::{lines, spread, strips};
use model::profile::Activity;
use model::{Ns, Profile, Run, State};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Numbers of one table over time: with more, slices are joined.
const ENTRIES: usize = 10_000;
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
}

/// The rows of a table over time.
#[derive(Serialize)]
struct OverTime {
    /// Length of a slice, in nanoseconds.
    slice_ns: f64,
    /// Of each row the slices that it has time in: number, time, number, time …
    rows: Vec<Vec<u64>>,
}

/// Of a row its time by the number of the slice.
type Row = BTreeMap<u64, Ns>;

impl OverTime {
    /// None where there is nothing.
    fn new(mut slice_ns: f64, mut rows: Vec<Row>) -> Option<Self> {
        while rows.iter().map(Row::len).sum::<usize>() > ENTRIES.max(rows.len()) {
            slice_ns *= 2.0;
            for row in &mut rows {
                let mut longer = Row::new();
                row.iter().for_each(|(slice, ns)| *longer.entry(slice / 2).or_default() += ns);
                *row = longer;
            }
        }
        let flat = |row: &Row| row.iter().flat_map(|(slice, ns)| [*slice, *ns]).collect();
        let known = rows.iter().any(|row| !row.is_empty());
        known.then(|| Self { slice_ns, rows: rows.iter().map(flat).collect() })
    }
}

/// The data of a run with a picture over time; nothing of another one.
pub(super) fn data(
    run: &Run,
    profile: Option<&Profile>,
    path_over_time: &[Vec<(u32, Ns)>],
    states: &[State],
    number: usize,
) -> String {
    if run.wall_ns == 0 || run.phases.slices.is_empty() {
        return String::new();
    }
    let drawn = profile.map(|profile| {
        let (strips, _) = strips(profile, run.wall_ns, timeline::STRIP, timeline::THREADS);
        lines(profile, &strips, hand_overs::LINES).drawn
    });
    let times = Times {
        states: states.iter().map(|state| state.name()).collect(),
        steps: timeline::row_times(run),
        hand_overs: drawn.unwrap_or_default().iter().map(|one| one.at_ns).collect(),
        places: places(run, path_over_time),
        threads: threads(run, profile, path_over_time),
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
