//! The page of a replay with edits: what the wall clock would have been, what the edits are about,
//! the path before and after, and what is taken for granted.

use crate::Look;
use crate::command;
use crate::page::words;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::results::class;
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration, duration_precise, duration_range, share, share_range};
use model::run::Bound;
use model::what_if::{EditTimes, ReplayAssumption, ReplayedPath, ReplayedPlace, WhatIf};
use model::{Ns, Reason, Seen, State};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Places that are shown.
const PLACES: usize = 8;
/// A state or place with less of the path than this part is not worth its line.
const PART: u128 = 200;
/// A replay that is further from the recording than this, in percent, is not to be trusted much.
const FAR: u64 = 5;

/// The page, with a newline after each line.
pub fn terminal(what_if: &WhatIf, look: Look) -> String {
    joined(&[
        head(what_if, look),
        edits(what_if, look),
        states(what_if, look),
        places(what_if, look),
        notes(what_if, look),
    ])
}

/// The command, the wall clocks, the saving, and what bounds the program then.
fn head(what_if: &WhatIf, look: Look) -> Vec<Line> {
    let WhatIf { wall_ns, after, .. } = what_if;
    let mut lines = vec![command::line(&what_if.command, look)];
    let line = Line::new(look).glued(Ink::Plain, &format!("wall {}", duration_precise(*wall_ns)));
    let asked: Vec<&str> = what_if.edits.iter().map(|edit| edit.edit.as_str()).collect();
    let line = match asked.as_slice() {
        [] => line.add(Ink::Plain, "; replayed as it was: "),
        asked => line.add(Ink::Plain, &format!("; with {}: ", asked.join(", "))),
    };
    let line = line.glued(Ink::Bold, &duration_precise(after.ns));
    lines.extend(line.add(Ink::Plain, &interval(after.lo_ns, after.hi_ns, look)).wrap(GAP));
    lines.extend(saving(what_if, look).wrap(GAP));
    let (before, then) = (bound(&what_if.path_before.bound), bound(&what_if.path_after.bound));
    let line = if before == then {
        Line::new(look).add(Ink::Plain, "still ").add(Ink::Bold, &then)
    } else {
        Line::new(look)
            .add(Ink::Plain, "then ")
            .add(Ink::Bold, &then)
            .add(Ink::Plain, &format!(", no longer {before}"))
    };
    lines.extend(line.wrap(GAP));
    lines
}

/// ` (1.20-1.40 s)`; nothing where both ends show the same.
fn interval(lo: Ns, hi: Ns, look: Look) -> String {
    if duration(lo) == duration(hi) {
        String::new()
    } else {
        format!(" ({})", duration_range(lo, hi, look.dash()))
    }
}

fn saving(what_if: &WhatIf, look: Look) -> Line {
    let WhatIf { wall_ns, saving, .. } = what_if;
    let parts = |lo: i64, hi: i64| share_range(lo.unsigned_abs(), hi.unsigned_abs(), *wall_ns, look.dash());
    let line = Line::new(look);
    match (saving.lo_ns, saving.ns, saving.hi_ns) {
        (0, 0, 0) => line.add(Ink::Plain, "saves nothing"),
        (lo, ns, hi) if lo >= 0 && hi > 0 => {
            let (lo_ns, hi_ns) = (lo.unsigned_abs(), hi.unsigned_abs());
            line.add(Ink::Plain, "saves ")
                .glued(Ink::Bold, &duration(ns.unsigned_abs()))
                .add(Ink::Plain, &interval(lo_ns, hi_ns, look))
                .add(Ink::Plain, &format!(", {} of the wall clock", parts(lo, hi)))
        }
        (.., ns, hi) if hi < 0 => {
            let longer = line.add(Ink::Plain, "takes ").glued(Ink::Warn, &duration(ns.unsigned_abs()));
            longer.add(Ink::Plain, " longer")
        }
        (lo, ns, hi) => {
            let line = line.add(Ink::Plain, "takes ");
            let line = match ns {
                0 => line.add(Ink::Plain, "as long"),
                _ => line
                    .glued(Ink::Bold, &duration(ns.unsigned_abs()))
                    .add(Ink::Plain, if ns < 0 { " longer" } else { " less" }),
            };
            let ends = format!(
                ": from {} longer to {} less",
                duration(lo.min(0).unsigned_abs()),
                duration(hi.max(0).unsigned_abs())
            );
            line.add(Ink::Plain, &ends)
        }
    }
}

/// `I/O-bound (disk)`.
fn bound(bound: &Bound) -> String {
    format!("{} ({})", class(bound), bound.resource.name())
}

/// What the edits are about.
fn edits(what_if: &WhatIf, look: Look) -> Vec<Line> {
    let columns = vec![
        text("", 12, 0),
        figure("count", 1),
        figure("all threads", 2),
        figure("on the path", 0),
        figure("share", 0),
    ];
    let mut table = Table::new(look, "edits", columns);
    let time = |ns: &Seen<Ns>| ns.value().map_or_else(|| look.dash().to_owned(), |ns| duration(*ns));
    for EditTimes { edit, times, total_ns, path_ns } in &what_if.edits {
        let part = path_ns.value().map_or_else(String::new, |ns| share(*ns, what_if.wall_ns));
        table.row(vec![
            (Ink::Plain, edit.clone()),
            (Ink::Plain, times.value().map_or_else(String::new, |times| count(*times))),
            (Ink::Plain, time(total_ns)),
            (Ink::Plain, time(path_ns)),
            (Ink::Plain, part),
        ]);
    }
    if what_if.edits.is_empty() { Vec::new() } else { table.lines() }
}

/// The path by state, before and after.
fn states(what_if: &WhatIf, look: Look) -> Vec<Line> {
    let (before, after) = (&what_if.path_before, &what_if.path_after);
    let of = |path: &ReplayedPath, state: State| -> Ns {
        path.account.iter().filter(|part| part.state == state).map(|part| part.ns).sum()
    };
    let all = before.account.iter().chain(&after.account).map(|part| part.state);
    let mut states: Vec<State> = all.collect::<BTreeSet<_>>().into_iter().collect();
    states.sort_by_key(|state| Reverse(of(before, *state).max(of(after, *state))));
    let matters = |state: &State| {
        u128::from(of(before, *state).max(of(after, *state))) * PART >= u128::from(what_if.replay.unedited_ns)
    };
    let columns = vec![
        text("", 11, 0),
        figure("before", 0),
        figure("share", 1),
        figure("after", 0),
        figure("share", 1),
    ];
    let mut table = Table::new(look, "the path by state", columns);
    for state in states.into_iter().filter(matters) {
        let (before_ns, after_ns) = (of(before, state), of(after, state));
        table.row(vec![
            (Ink::Of(state), words::state(state).to_owned()),
            (Ink::Plain, duration(before_ns)),
            (Ink::Dim, share(before_ns, what_if.replay.unedited_ns)),
            (Ink::Plain, duration(after_ns)),
            (Ink::Dim, share(after_ns, what_if.replay.edited_ns)),
        ]);
    }
    table.lines()
}

/// Where the time would go.
fn places(what_if: &WhatIf, look: Look) -> Vec<Line> {
    let wall_ns = what_if.replay.edited_ns;
    let path = &what_if.path_after;
    let merged = merged(&path.places);
    let matters = |ns: Ns| u128::from(ns) * PART >= u128::from(wall_ns);
    let shown = merged.iter().take_while(|(.., ns)| matters(*ns)).count().min(PLACES);
    let columns =
        vec![text("", 10, 0), text("", 11, 0), text("", 12, 0), figure("share", 0), figure("time", 0)];
    let mut table = Table::new(look, "where the time would go", columns);
    for (process, state, reason, ns) in &merged[..shown] {
        table.row(vec![
            (Ink::Plain, if process.is_empty() { look.dash().to_owned() } else { process.clone() }),
            (Ink::Of(*state), words::state(*state).to_owned()),
            (Ink::Plain, reason.clone()),
            (Ink::Plain, share(*ns, wall_ns)),
            (Ink::Plain, duration(*ns)),
        ]);
    }
    let rest_ns = merged[shown..].iter().map(|(.., ns)| ns).sum::<Ns>() + path.rest_ns;
    if rest_ns > 0 {
        let empty = || (Ink::Dim, String::new());
        table.rest(vec![
            (Ink::Dim, format!("{} other places", look.rest())),
            empty(),
            empty(),
            (Ink::Dim, share(rest_ns, wall_ns)),
            (Ink::Dim, duration(rest_ns)),
        ]);
    }
    if wall_ns == 0 { Vec::new() } else { table.lines() }
}

/// Places by the words of the page: which of others had the CPU is not told apart.
fn merged(places: &[ReplayedPlace]) -> Vec<(String, State, String, Ns)> {
    let mut sums = BTreeMap::<(String, State, String), Ns>::new();
    for ReplayedPlace { process, state, reason, ns } in places {
        let reason = match reason {
            Reason::PreemptedByOwn(_) => "behind its own threads".to_owned(),
            Reason::Preempted(_) => "behind other programs".to_owned(),
            reason => words::reason(reason),
        };
        *sums.entry((process.clone(), *state, reason)).or_default() += ns;
    }
    let mut merged: Vec<_> =
        sums.into_iter().map(|((process, state, reason), ns)| (process, state, reason, ns)).collect();
    merged.sort_by_key(|(.., ns)| Reverse(*ns));
    merged
}

/// How the replay was done, and what it takes for granted.
fn notes(what_if: &WhatIf, look: Look) -> Vec<Line> {
    let replay = &what_if.replay;
    let off_ns = replay.unedited_ns.abs_diff(what_if.wall_ns);
    let far = u128::from(off_ns) * 100 > u128::from(what_if.wall_ns) * u128::from(FAR);
    let cpus = counted(replay.cpus.into(), "CPU");
    let before = match replay.cpus == replay.cpus_recorded {
        true => String::new(),
        false => format!(" (recorded on {})", replay.cpus_recorded),
    };
    let own = format!(
        "without edits the replay takes {}, {} off; the figures above are scaled and widened by that",
        duration_precise(replay.unedited_ns),
        share(off_ns, what_if.wall_ns)
    );
    let size = format!(
        "{cpus}{before}; {}, {} of {}; ",
        counted(replay.threads, "thread"),
        counted(replay.steps, "step"),
        counted(replay.events, "event")
    );
    let line = Line::new(look).add(Ink::Dim, "replay: ").add(Ink::Plain, &size);
    let mut lines = line.add(if far { Ink::Warn } else { Ink::Plain }, &own).wrap(GAP);
    if let Seen::Value(until_ns) = replay.until_ns {
        let text = format!(
            "note: the recording has more steps than dwell keeps: the first {} were replayed, the other {} are \
             taken as recorded",
            duration(until_ns),
            duration(replay.rest_ns)
        );
        lines.extend(Line::new(look).add(Ink::Warn, &text).wrap(GAP));
    }
    for assumption in &what_if.assumptions {
        let lead = Line::new(look).add(Ink::Dim, "assumed: ");
        lines.extend(paragraphs(lead, said(*assumption), GAP));
    }
    lines
}

fn said(assumption: ReplayAssumption) -> &'static str {
    match assumption {
        ReplayAssumption::SameOrder => "threads wake each other in the recorded order, and do the same work",
        ReplayAssumption::UnseenDependencies => {
            "dependencies that never blocked were not seen; the longer time assumes that they block now"
        }
        ReplayAssumption::DevicesAsRecorded => {
            "disks and peers take as long as recorded, however many requests they have at once"
        }
        ReplayAssumption::EqualCpus => "CPUs are alike, and share no cache, memory or clock rate",
        ReplayAssumption::OthersAsRecorded => {
            "other programs use the CPUs for as long as recorded; the shorter time leaves out what they used \
             after waits that are gone"
        }
        ReplayAssumption::QuotaAsRecorded => "the CPU quota stops the program for as long as recorded",
        ReplayAssumption::FutexesAreLocks => {
            "futexes without a recorded stack are locks, unless the end of a thread ended the wait"
        }
        ReplayAssumption::FunctionBySamples => {
            "a function's part of each interval on a CPU is its part of the samples in it; where there are none, \
             its part of the thread's samples"
        }
        ReplayAssumption::FaultsBySamples => {
            "the time of page faults without I/O is estimated from samples in the same way"
        }
        ReplayAssumption::CallsBySamples => {
            "the time of system calls outside of tracing windows is estimated from samples in the same way"
        }
        ReplayAssumption::LostEvents => {
            "events were lost: some waits of threads for each other were not seen"
        }
        ReplayAssumption::RestAsRecorded => "everything after the last kept step takes as long as recorded",
    }
}
