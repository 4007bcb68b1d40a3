//! The stages of `dwell export` and `dwell report` behind the opening of the file: every format of
//! what was read, which must be what a reader of the format takes.

use crate::fuzzed::{comparable, read, run, sealed};
use analyse::Analyser;
use analyse::what_if::Replayer;
use model::RunResult;
use model::compare::commands::{Comparison, SCHEMA_COMPARE};
use model::lab::{LabScore, SCHEMA_SCORE};
use model::ladder::{Ladder, SCHEMA_LADDER};
use model::run::{SCHEMA_ATTACH, SCHEMA_RUN};
use model::wake::load::{LoadRun, SCHEMA_LOAD};
use model::wake::{SCHEMA_WAKE, Wakeups};
use report::export::tables::Tables;
use report::export::{self, Exported};
use report::html;
use report::profile::{self, FoldedOptions, FoldedTime, ProfileMetadata};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use store::Reader;

/// Steps of threads in a file over time.
const STEPS: u64 = 10_000;

/// Each format of a recording whose checksums need not be right.
///
/// # Panics
/// A format is not what its readers take.
pub fn export_recordings(recording: &[u8]) {
    let recording = sealed(recording);
    let open = || Reader::new(recording.as_slice(), Path::new("forged")).ok();
    let Some(mut reader) = open() else { return };
    let header = reader.header().clone();
    let mut analyser = Analyser::new(&header);
    reader.by_ref().for_each(|event| analyser.event(&event));
    let Some(trailer) = reader.end().trailer else { return };
    let Ok(result) = analyser.finish(&trailer) else { return };
    let (run, profile, about) = (&result.run, result.profile(), ProfileMetadata::of(&result.run));
    is_json(profile::firefox(profile, &about).as_bytes());
    is_json(profile::speedscope(profile, &about).as_bytes());
    for line in profile::folded(profile, FoldedOptions { part: FoldedTime::All, threads: false }).lines() {
        let weight = line.rsplit_once(' ').and_then(|(_, weight)| weight.parse::<u64>().ok());
        assert!(weight.is_some(), "{line:?}");
    }
    assert!(profile::pprof(run, profile, &about).bytes.starts_with(&[0x1f, 0x8b]));
    of_run(&result);
    let Some(mut reader) = open() else { return };
    let Ok(mut replayer) = Replayer::new(&header, Vec::new()).map(|replayer| replayer.keeping(STEPS)) else {
        return;
    };
    reader.by_ref().for_each(|event| replayer.event(&event));
    if let Ok((result, timeline)) = replayer.timeline(&trailer) {
        let _ = export::perfetto(&result, &timeline);
        is_json(&export::otlp(&result, &timeline).bytes);
        let _ = export::hdr_of_waits(&result.run, Some(&timeline));
    }
}

/// Each format of a result of dwell as JSON.
///
/// # Panics
/// A format is not what its readers take.
pub fn export_results(json: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(json) else { return };
    let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default().to_owned();
    match schema.as_str() {
        SCHEMA_RUN | SCHEMA_ATTACH => {
            let Some(result) = run(value) else { return };
            of_run(&result);
            let _ = export::hdr_of_waits(&result.run, None);
        }
        SCHEMA_COMPARE => {
            let Some(comparison) = read::<Comparison>(value) else { return };
            is_json(report::compare::commands_hyperfine(&comparison).as_bytes());
            is_json(report::compare::commands_hyperfine_1(&comparison).0.as_bytes());
            of_tables(&comparison);
            is_page(&html::comparisons(&[&comparison]));
        }
        SCHEMA_WAKE => {
            let Some(wakeups) = read::<Wakeups>(value.clone()) else { return };
            let _ = (export::hdr_of_wakeups(&wakeups), report::wake::junit(&wakeups), comparable(value));
            of_tables(&wakeups);
            is_page(&html::wakes(&[&wakeups]));
        }
        SCHEMA_LADDER => {
            let Some(ladder) = read::<Ladder>(value) else { return };
            of_tables(&ladder);
            is_page(&html::ladders(&[(&ladder, &Vec::new())]));
        }
        SCHEMA_SCORE => {
            let Some(score) = read::<LabScore>(value) else { return };
            of_tables(&score);
            is_page(&html::scores(&[&score]));
        }
        SCHEMA_LOAD => {
            let Some(load) = read::<LoadRun>(value) else { return };
            of_tables(&load);
            is_page(&html::loads(&[&load]));
        }
        _ => {}
    }
}

fn of_run(result: &RunResult) {
    of_tables(&report::result::tables(result));
    is_page(&html::runs(&[result]));
}

/// CSV of each table, whose rows all have the columns of its head; and Markdown.
fn of_tables<T: Serialize>(result: &T) {
    let tables = Tables::of(result);
    for name in tables.names() {
        let Some(table) = tables.named(name) else { continue };
        let Exported { bytes, .. } = export::csv(table);
        let text = String::from_utf8(bytes).expect("CSV is UTF-8");
        let columns = columns(&text);
        assert!(columns.iter().all(|row| *row == columns[0]), "{name}: {columns:?}");
    }
    let _ = export::markdown(&tables.tables);
}

/// How many columns each row of CSV has.
fn columns(text: &str) -> Vec<usize> {
    let (mut rows, mut row, mut quoted) = (Vec::new(), 1, false);
    for char in text.chars() {
        match char {
            '"' => quoted = !quoted,
            ',' if !quoted => row += 1,
            '\n' if !quoted => {
                rows.push(row);
                row = 1;
            }
            _ => {}
        }
    }
    rows
}

fn is_json(text: &[u8]) {
    let read = serde_json::from_slice::<serde::de::IgnoredAny>(text);
    assert!(read.is_ok(), "{read:?}");
}

/// A page has its result, whole.
fn is_page(page: &str) {
    let results = html::results(page);
    assert_eq!(results.len(), 1);
    is_json(results[0].as_bytes());
    assert!(page.ends_with("</html>\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn below(directory: &str) -> Vec<PathBuf> {
        seeds::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory))
    }

    #[test]
    fn forged_recordings_are_exported_or_refused() {
        seeds::replay_also("export_recordings", &below("fuzz/seeds/show"), export_recordings);
    }

    #[test]
    fn forged_results_are_exported_or_refused() {
        let samples = ["wakes", "ladders"].map(|kind| below(&format!("crates/report/tests/samples/{kind}")));
        let more = [samples.concat(), below("fuzz/seeds/results")].concat();
        seeds::replay_also("export_results", &more, export_results);
    }
}
