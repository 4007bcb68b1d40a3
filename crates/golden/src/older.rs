//! Results that older versions wrote, each named after its day: they are read as they were.

use crate::PLAIN;
use model::run::FindingRow;
use model::{KeptRun, RunResult, Seen};
use std::fs;
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("older");
    let mut files: Vec<_> =
        fs::read_dir(directory).expect("results").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn page(result: &RunResult) -> String {
    report::terminal(&result.run, &result.diagnosis, PLAIN)
}

/// What tells findings apart, and what they save.
fn told(rows: &[FindingRow]) -> Vec<(&str, &Seen<model::coverage::Interval>, &str, &str)> {
    rows.iter().map(|row| (&*row.cause, &row.saving_ns, &*row.place, &*row.action)).collect()
}

#[test]
fn they_say_what_they_found_and_what_they_lack() {
    let mut with_findings = 0;
    for path in files() {
        let text = fs::read_to_string(&path).expect("it can be read");
        let kept: KeptRun = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let result = analyse::whole(kept.clone()).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(result.run.wall_ns, kept.run.wall_ns);
        let page = page(&result);
        assert!(page.contains("made by an older dwell"), "{path:?}\n{page}");
        if let Seen::Value(rows) = &kept.findings {
            assert_eq!(told(&report::in_words(&result).findings), told(rows), "{path:?}");
            with_findings += rows.len();
        }
        // What is written of it now is whole, and read back as such.
        let json = report::result::without_stacks(&result);
        let again = crate::stored(&json).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(self::page(&again), page, "{path:?}");
    }
    assert!(with_findings >= 2, "{with_findings} findings");
}

#[test]
fn what_is_cut_or_of_another_kind_is_refused() {
    let path = &files()[0];
    let text = fs::read_to_string(path).expect("it can be read");
    for length in [0, 1, text.len() / 2, text.len() - 3] {
        assert!(crate::stored(&text[..length]).is_err(), "{length} bytes");
    }
    assert!(crate::stored(&text.replacen("\"wall_ns\": ", "\"wall_ns\": 1", 1)).is_err());
}

/// What was concluded of a run may change with the rules; its number does not.
#[test]
fn a_recording_has_the_number_of_its_older_results() {
    for (older, recording) in [
        ("2026-11-22-mutex", "mutex"),
        ("2026-11-28-mutex", "mutex"),
        ("2026-11-28-attach-busy", "attach-busy"),
    ] {
        let base = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(base.join(format!("older/{older}.json"))).expect("it can be read");
        let kept = crate::stored(&text).expect("a result");
        let case = crate::Case::read(&base.join(format!("recordings/{recording}.dwell"))).expect("whole");
        let mut run = case.result().run.clone();
        let id = run.origin.id.clone().expect("a number");
        assert_eq!(analyse::identity::of_run(&kept.run), id, "{older}");
        // It is now kept to the nanosecond when a run began.
        run.started_at = run.started_at.replace('Z', ".000000001Z");
        assert_eq!(analyse::identity::of_run(&run), id, "{older}");
    }
}
