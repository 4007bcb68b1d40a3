//! Where a process's page faults are, in words: what a finding about them names.

use super::Evidence;
use model::fault_places::{FaultRow, MappingKind};
use model::sentence::Piece::{Name, Share};
use model::{Pid, Sentence, say};

/// With fewer samples of a process the places of its faults are not named: they are known to a
/// quarter then.
const SAMPLES_MIN: u64 = 16;
/// A mapping and line are named that have this part of them or more.
const PART_MIN: f64 = 0.25;

/// `40 % of its page faults are in the heap, at fill (a.c:7)`: the mapping and line that lead. None
/// where none does, or too few faults were sampled.
pub(super) fn leading(evidence: &Evidence<'_>, pid: Pid) -> Option<Sentence> {
    let places = evidence.run.tables.fault_places.value()?;
    let process = places.processes.iter().find(|process| process.pid == pid)?;
    let row = process.rows.first()?;
    let part = row.faults as f64 / process.faults.max(1) as f64;
    let samples = row.samples as f64 / part.max(f64::MIN_POSITIVE);
    (samples.round() as u64 >= SAMPLES_MIN && part >= PART_MIN)
        .then(|| say!(Share(part), " of its page faults are in ").and(mapping(row)).and(at(row)))
}

fn mapping(row: &FaultRow) -> Sentence {
    match (row.kind, row.path.value()) {
        (MappingKind::File, Some(path)) => say!(Name(path.clone())),
        (MappingKind::File, None) => say!("a mapped file"),
        (MappingKind::Heap, _) => say!("the heap"),
        (MappingKind::Stack, _) => say!("a stack"),
        (MappingKind::Anonymous, _) => say!("anonymous memory"),
        (MappingKind::Unknown, _) => say!("mappings that were not found"),
    }
}

fn at(row: &FaultRow) -> Sentence {
    row.place.value().map_or_else(Sentence::default, |place| say!(", at ", Name(place.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::run;
    use model::fault_places::{FaultPlaces, FaultingProcess};
    use model::recording::Tier;
    use model::{Profile, Seen, State};

    /// A process with this many samples in the heap and in a file.
    fn places(pid: Pid, heap: u64, file: u64) -> Seen<FaultPlaces> {
        let row = |kind, path, place: &str, samples| FaultRow {
            kind,
            path,
            place: Seen::Value(place.into()),
            faults: samples * 251,
            samples,
        };
        let process = FaultingProcess {
            pid,
            program: Seen::Value("program".into()),
            counted: Seen::Value((heap + file) * 251),
            faults: (heap + file) * 251,
            peak_bytes: Seen::Absent,
            rows: vec![
                row(MappingKind::Heap, Seen::Absent, "fill (a.c:7)", heap),
                row(MappingKind::File, Seen::Value("/data".into()), "scan (a.c:9)", file),
            ],
            other_faults: 0,
        };
        Seen::Value(FaultPlaces { processes: vec![process], other_faults: 0 })
    }

    fn said(heap: u64, file: u64, of: Pid) -> Option<Sentence> {
        let mut run = run(&[(State::Fault, 1_000_000)]);
        run.tables.fault_places = places(100, heap, file);
        let profile = Profile::default();
        leading(&Evidence::of(Tier::Bpf, &run, &profile), of)
    }

    #[test]
    fn the_mapping_and_line_that_lead_are_named() {
        let at = Name("fill (a.c:7)".into());
        let expected = say!(Share(0.75), " of its page faults are in ", "the heap", ", at ", at);
        assert_eq!(said(30, 10, 100), Some(expected));
        assert_eq!(said(30, 10, 101), None, "another process");
        assert_eq!(said(10, 5, 100), None, "too few");
    }
}
