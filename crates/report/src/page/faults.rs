//! Page faults by process, mapping and line: where faults take a part of the time.

use super::rows::{dim, rows_shown};
use super::time_in;
use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{bytes, count};
use model::fault_places::{FaultRow, FaultingProcess, MappingKind};
use model::{Run, Seen, State};

/// With less than one part in this many of the time, faults are no matter.
const PART_MIN: u64 = 20;
/// With fewer samples there is nothing to see.
const SAMPLES_MIN: u64 = 8;

/// The table; nothing where faults are a small part of the time, or are not known by place.
pub(super) fn table(run: &Run, look: Look, rows: usize) -> Vec<Line> {
    let Some(places) = run.tables.fault_places.value() else { return Vec::new() };
    let account: Vec<_> = run.account.iter().map(|part| (part.state, part.ns)).collect();
    let fault_ns = time_in(&account, |state| state == State::Fault);
    let mut all: Vec<(&FaultingProcess, &FaultRow)> = places
        .processes
        .iter()
        .flat_map(|process| process.rows.iter().map(move |row| (process, row)))
        .collect();
    let samples: u64 = all.iter().map(|(_, row)| row.samples).sum();
    if fault_ns * PART_MIN < run.whole_ns() || samples < SAMPLES_MIN {
        return Vec::new();
    }
    all.sort_by_key(|(_, row)| std::cmp::Reverse(row.faults));
    let columns = vec![
        text("", 10, 0),
        text("page faults in", 10, 0),
        text("at", 10, 0),
        figure("faults", 0),
        figure("largest size", 1),
    ];
    let mut table = Table::new(look, "faults", columns);
    let shown = rows_shown(all.len(), rows);
    for (process, row) in &all[..shown] {
        let name = process.program.value().map_or_else(|| format!("PID {}", process.pid), String::clone);
        let place = row.place.value().map(ToString::to_string).unwrap_or_default();
        table.row(vec![
            (Ink::Plain, clean(&name, look.unicode)),
            (Ink::Of(State::Fault), mapping(row, look)),
            (Ink::Plain, clean(&place, look.unicode)),
            (Ink::Plain, about(row.faults)),
            (Ink::Plain, process.peak_bytes.value().map(|peak| bytes(*peak)).unwrap_or_default()),
        ]);
    }
    let of_rest: u64 = all[shown..].iter().map(|(_, row)| row.faults).sum::<u64>()
        + places.other_faults
        + places.processes.iter().map(|process| process.other_faults).sum::<u64>();
    if of_rest > 0 {
        let none = String::new;
        table.rest(dim([format!("{} others", look.rest()), none(), none(), about(of_rest), none()]));
    }
    table.lines()
}

/// It is an estimate.
fn about(faults: u64) -> String {
    format!("~{}", count(faults))
}

fn mapping(row: &FaultRow, look: Look) -> String {
    match (row.kind, &row.path) {
        (MappingKind::File, Seen::Value(path)) => clean(path, look.unicode),
        (MappingKind::File, _) => "a file".to_owned(),
        (MappingKind::Heap, _) => "heap".to_owned(),
        (MappingKind::Stack, _) => "stack".to_owned(),
        (MappingKind::Anonymous, _) => "anonymous memory".to_owned(),
        (MappingKind::Unknown, _) => "?".to_owned(),
    }
}
