//! The places where the wall clock went: the steps of the path, merged by name.
//!
//! A build runs the same compiler five hundred times; one row for all of them says more than five
//! hundred. Steps with the same process name, state and reason are one place. Threads are listed by
//! name only where their process has a few names for them. Time in the run queue is one place per
//! process behind threads of the tree and one behind all else, whatever ran instead: on a busy host
//! that changes each time, and the leading names suffice.

use super::words;
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, duration, share};
use model::{Ns, Pid, Reason, Run, State, Step, Tid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rows before the rest is folded.
const ROWS: usize = 8;
/// Threads of a process with more names than this share a row.
const THREAD_NAMES: usize = 6;

struct PathGroup {
    who: String,
    state: State,
    /// As displayed.
    reason: String,
    /// Whether threads of the tree ran instead.
    behind_own: bool,
    /// What ran instead, with its time.
    ran: BTreeMap<String, Ns>,
    ns: Ns,
    count: u64,
    many: BTreeSet<(Pid, Tid)>,
    /// Threads of rows that stand for several.
    together: u64,
    /// The rows of the path that it is.
    steps: Vec<usize>,
}

pub(super) fn table(run: &Run, look: Look) -> Vec<Line> {
    let places = merged(run);
    if places.is_empty() {
        return Vec::new();
    }
    let shown = shown(&places, run, look);
    let columns = vec![
        text("", 10, 0),
        text(look.head("state"), 11, 0),
        text(look.head("reason"), 12, 0),
        figure("share", 0),
        text(look.head("part"), 10, 2),
        figure("time", 0),
        figure("count", 1),
    ];
    let mut table = Table::new(look, "where the time went", columns);
    for place in &places[..shown] {
        let many = match place.many.len() as u64 + place.together {
            0 | 1 => String::new(),
            many => format!(" {}{}", look.times(), count(many)),
        };
        let ink = Ink::Of(place.state);
        table.row(vec![
            (Ink::Plain, format!("{}{many}", place.who)),
            (ink, words::state(place.state).into()),
            (Ink::Plain, place.reason()),
            (Ink::Plain, share(place.ns, run.whole_ns())),
            (ink, bar(place.ns, run.whole_ns(), look)),
            (Ink::Plain, duration(place.ns)),
            (Ink::Plain, count(place.count)),
        ]);
    }
    let rest = &places[shown..];
    if !rest.is_empty() {
        let ns = rest.iter().map(|place| place.ns).sum();
        table.rest(vec![
            (Ink::Dim, format!("{} {} more places", look.rest(), count(rest.len() as u64))),
            (Ink::Dim, String::new()),
            (Ink::Dim, String::new()),
            (Ink::Dim, share(ns, run.whole_ns())),
            (Ink::Dim, String::new()),
            (Ink::Dim, duration(ns)),
            (Ink::Dim, count(rest.iter().map(|place| place.count).sum())),
        ]);
    }
    table.lines()
}

/// Places that have a row.
fn shown(places: &[PathGroup], run: &Run, look: Look) -> usize {
    // At least one place, whatever its size: all may be small.
    let matters = |place: &PathGroup| u128::from(place.ns) * 200 >= u128::from(run.whole_ns());
    let mut shown = places.iter().take_while(|place| matters(place)).count().clamp(1, ROWS);
    if look.is_document() {
        shown = places.len().min(look.rows(ROWS));
    }
    if places.len() == shown + 1 { places.len() } else { shown }
}

/// The rows of the run's path that each row of the document's table is of; of its last one, where
/// there are more places, all others.
pub(crate) fn steps_of_rows(run: &Run) -> Vec<Vec<usize>> {
    let places = merged(run);
    if places.is_empty() {
        return Vec::new();
    }
    let shown = shown(&places, run, Look::DOCUMENT);
    let mut rows: Vec<Vec<usize>> = places.into_iter().map(|place| place.steps).collect();
    let rest: Vec<usize> = rows.drain(shown..).flatten().collect();
    rows.extend((!rest.is_empty()).then_some(rest));
    rows
}

impl PathGroup {
    /// The reason; of several programs that ran instead, the leading two.
    fn reason(&self) -> String {
        let mut ran: Vec<(&str, Ns)> = self.ran.iter().map(|(name, ns)| (name.as_str(), *ns)).collect();
        ran.sort_by_key(|(_, ns)| Reverse(*ns));
        let named: Vec<&str> = ran.iter().take(2).map(|(name, _)| *name).collect();
        let whose = match (self.behind_own, ran.len()) {
            (false, _) => "",
            (true, 1) => "own thread ",
            (true, _) => "own threads ",
        };
        match (named.as_slice(), ran.len().saturating_sub(2)) {
            ([], _) => self.reason.clone(),
            (named, 0) => format!("{whose}{} ran", named.join(", ")),
            (named, more) => format!("{whose}{} and {more} more ran", named.join(", ")),
        }
    }
}

/// The places, longest first.
fn merged(run: &Run) -> Vec<PathGroup> {
    let labels = Labels::new(run);
    let mut places = BTreeMap::<(String, State, bool, String), PathGroup>::new();
    for (at, step) in run.path.iter().enumerate().filter(|(_, step)| step.ns > 0) {
        let who = labels.of(step);
        let reason = words::reason(&step.reason);
        let merged_by = if step.state == State::Runqueue { String::new() } else { reason.clone() };
        let behind_own = matches!(step.reason, Reason::PreemptedByOwn(_));
        let place =
            places.entry((who.clone(), step.state, behind_own, merged_by)).or_insert_with(|| PathGroup {
                who,
                state: step.state,
                reason: reason.clone(),
                behind_own,
                ran: BTreeMap::new(),
                ns: 0,
                count: 0,
                many: BTreeSet::new(),
                together: 0,
                steps: Vec::new(),
            });
        match &step.reason {
            Reason::Preempted(name) | Reason::PreemptedByOwn(name) => {
                *place.ran.entry(name.clone()).or_default() += step.ns
            }
            // Of several the first by name, so that the page is the same each time.
            _ if reason < place.reason => place.reason = reason,
            _ => {}
        }
        place.steps.push(at);
        place.ns += step.ns;
        place.count += step.count;
        match step.together {
            Some(together) => place.together += together.threads,
            None => {
                place.many.insert((step.pid, step.tid));
            }
        }
    }
    let mut places: Vec<PathGroup> = places.into_values().collect();
    // Among equals the map's order stays: by name.
    places.sort_by_key(|place| Reverse(place.ns));
    places
}

/// The names that threads are shown by.
struct Labels<'a> {
    names: HashMap<(Pid, Tid), &'a str>,
    /// Per process name, the names of its threads on the path other than main threads.
    on_path: HashMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Labels<'a> {
    fn new(run: &'a Run) -> Self {
        let names: HashMap<_, _> =
            run.threads.iter().map(|thread| ((thread.pid, thread.tid), thread.name.as_str())).collect();
        let mut on_path = HashMap::<&str, BTreeSet<&str>>::new();
        for step in run.path.iter().filter(|step| step.tid != step.pid) {
            let name = names.get(&(step.pid, step.tid)).copied().unwrap_or_default();
            on_path.entry(&step.process).or_default().insert(name);
        }
        Labels { names, on_path }
    }

    /// `cc`, `server/worker`; `demo/thread` where a thread has no name of its own, or its process
    /// too many.
    fn of(&self, step: &Step) -> String {
        let process = match step.process.as_str() {
            "" => "-",
            process => process,
        };
        if step.pid == step.tid {
            return process.to_owned();
        }
        let few = self.on_path.get(process).is_some_and(|names| names.len() <= THREAD_NAMES);
        match self.names.get(&(step.pid, step.tid)) {
            Some(name) if few && !name.is_empty() && *name != process => format!("{process}/{name}"),
            _ => format!("{process}/thread"),
        }
    }
}

/// The share as a bar, ten columns for the whole wall clock.
fn bar(ns: Ns, wall_ns: Ns, look: Look) -> String {
    const COLUMNS: u128 = 10;
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = u128::from(ns) * COLUMNS * 8 / u128::from(wall_ns.max(1));
    let eighths = eighths.min(COLUMNS * 8) as usize;
    if look.unicode {
        format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
    } else {
        "#".repeat((eighths + 4) / 8)
    }
}
