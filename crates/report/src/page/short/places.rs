//! The few places that have nearly all of the time, by the program's own code.

use super::super::words;
use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration, share};
use model::{CodePlace, Ns, Reason, Run, State};
use std::collections::BTreeSet;

/// The part of the time that is enough.
const ENOUGH_PERCENT: u128 = 90;
/// The part of it (1 in N) from which the program's own work has a row in any case.
const OWN_WORTH: Ns = 20;

pub(super) fn table(run: &Run, look: Look, most: usize) -> Vec<Line> {
    let places = run.places.value().map_or(&[][..], Vec::as_slice);
    let whole_ns = run.whole_ns();
    let mut shown = 0;
    let mut so_far: u128 = 0;
    while shown < places.len().min(most) && so_far * 100 < u128::from(whole_ns) * ENOUGH_PERCENT {
        so_far += u128::from(places[shown].ns);
        shown += 1;
    }
    let (mut rows, mut rest): (Vec<&CodePlace>, Vec<&CodePlace>) =
        (places[..shown].iter().collect(), places[shown..].iter().collect());
    if rows.is_empty() {
        return Vec::new();
    }
    // What the program's own code computes is what its author can change, also where waits have
    // more of the time: of a busy host, or of a server.
    let own = places.iter().position(|place| is_own_work(place, whole_ns)).filter(|at| *at >= shown);
    let function = |place: &CodePlace| place.code.as_ref().map(|code| code.function.clone());
    if let Some(at) = own
        && rows.iter().all(|place| function(place) != function(&places[at]))
    {
        rows.push(rest.remove(at - shown));
    }
    let processes: BTreeSet<&str> = rows.iter().map(|place| place.process.as_str()).collect();
    // Of one process, its name stands in for code that is not known.
    let with_process = processes.len() > 1 && rows.iter().any(|place| place.code.is_some());
    let mut columns = vec![text("", 16, 0)];
    columns.extend(with_process.then(|| text("", 8, 1)));
    columns.extend([text("", 17, 0), text("", 10, 2), figure("share", 0), figure("time", 0)]);
    let mut table = Table::new(look, "where the time went", columns);
    for place in &rows {
        let first = place
            .code
            .as_ref()
            .map(words::located)
            .unwrap_or_else(|| if with_process { String::new() } else { process(place, look) });
        let mut cells = vec![(Ink::Plain, first)];
        cells.extend(with_process.then(|| (Ink::Plain, process(place, look))));
        cells.extend([
            (Ink::Of(place.state), words::state(place.state).to_owned()),
            (Ink::Plain, reason(place)),
            (Ink::Plain, share(place.ns, whole_ns)),
            (Ink::Plain, duration(place.ns)),
        ]);
        table.row(cells);
    }
    if !rest.is_empty() {
        let ns: Ns = rest.iter().map(|place| place.ns).sum();
        let more = format!("{} {}", look.rest(), counted(rest.len() as u64, "more place"));
        let empty = usize::from(with_process) + 2;
        let mut cells = vec![(Ink::Dim, more)];
        cells.extend((0..empty).map(|_| (Ink::Dim, String::new())));
        cells.extend([(Ink::Dim, share(ns, whole_ns)), (Ink::Dim, duration(ns))]);
        table.rest(cells);
    }
    table.lines()
}

/// Whether it is a line or a function of the program that computes for long enough to be named.
fn is_own_work(place: &CodePlace, whole_ns: Ns) -> bool {
    place.state == State::User && place.code.is_some() && place.ns >= whole_ns / OWN_WORTH
}

fn process(place: &CodePlace, look: Look) -> String {
    let name = if place.process.is_empty() { "-" } else { &place.process };
    match place.threads {
        0 | 1 => name.to_owned(),
        many => format!("{name} {}{}", look.times(), count(many)),
    }
}

fn reason(place: &CodePlace) -> String {
    let reason = match &place.reason {
        // The address of a lock says less than the code that waits for it.
        Reason::Wait(call, _) if place.state == State::Lock && place.code.is_some() => {
            call.syscall().map_or_else(|| words::reason(&place.reason), ToString::to_string)
        }
        reason => words::reason(reason),
    };
    match place.other_reasons {
        0 => reason,
        // Who had the CPU.
        others if reason.is_empty() => format!("not seen, and {} more", count(others)),
        others => format!("{reason}, and {} more", count(others)),
    }
}
