//! What the fuzzer runs on recordings and results that somebody forged: the stages of `dwell show`,
//! `dwell show --what-if` and `dwell diff` behind the opening of the file, with every form.
//!
//! The functions return nothing: they must end, without a panic, whatever the bytes are.

use analyse::compare::timings;
use analyse::what_if::{Edit, Replayer};
use analyse::{Analyser, wake::import};
use model::RunResult;
use model::compare::commands::{Comparison, SCHEMA_COMPARE};
use model::compare::wake::Comparable;
use model::lab::{LabScore, SCHEMA_SCORE};
use model::ladder::{Ladder, SCHEMA_LADDER};
use model::recording::{Ending, Trailer};
use model::run::SCHEMA_RUN;
use model::wake::sheet::{SCHEMA_SHEET, Sheet};
use model::wake::{SCHEMA_WAKE, Wakeups};
use report::profile::{self, FlameOptions, FoldedOptions, FoldedTime, ProfileMetadata, SourceOptions};
use serde_json::Value;
use std::path::Path;
use store::{MAGIC, Reader};

use super::{PLAIN, stored};

/// Bytes of a block before its content: kind and length; and after it.
const BEFORE: usize = 5;
const CRC: usize = 4;

/// The recording with the checksums that its blocks would have, and lengths that fit: what is
/// forged has them right.
pub fn sealed(recording: &[u8]) -> Vec<u8> {
    let mut whole = MAGIC.to_vec();
    let mut rest = recording.strip_prefix(MAGIC).unwrap_or(recording);
    while let Some((before, after)) = rest.split_first_chunk::<BEFORE>() {
        let [kind, length @ ..] = *before;
        let length = (u32::from_le_bytes(length) as usize).min(after.len());
        let mut block = vec![kind];
        block.extend_from_slice(&(length as u32).to_le_bytes());
        block.extend_from_slice(&after[..length]);
        block.extend_from_slice(&crc32fast::hash(&block).to_le_bytes());
        whole.extend_from_slice(&block);
        rest = after.get(length + CRC..).unwrap_or_default();
    }
    whole
}

/// `dwell show` with all its forms, of a recording whose checksums need not be right.
pub fn show(recording: &[u8]) {
    let recording = sealed(recording);
    let Ok(mut reader) = Reader::new(recording.as_slice(), Path::new("forged")) else { return };
    let mut analyser = Analyser::new(reader.header());
    let mut last_at = 0;
    for event in reader.by_ref() {
        last_at = event.at().unwrap_or(last_at);
        analyser.event(&event);
    }
    let end = reader.end();
    let trailer = end.trailer.unwrap_or_else(|| Trailer::unwritten(Ending::Code(-1), last_at, "cut off"));
    let result = match &end.concluded {
        Some(result) if trailer.kept_until.is_some() => match stored(result) {
            Ok(result) => result,
            Err(_) => return,
        },
        _ => match analyser.finish(&trailer) {
            Ok(result) => result,
            Err(_) => return,
        },
    };
    let RunResult { run, diagnosis, .. } = &result;
    let (tree, about) = (result.profile(), ProfileMetadata::of(run));
    let _ = (report::result::whole(&result), report::result::without_stacks(&result));
    let _ = report::terminal(run, diagnosis, PLAIN);
    let _ = report::causes(run, diagnosis, PLAIN);
    let _ = profile::flame(tree, &FlameOptions::new(PLAIN));
    let _ = profile::folded(tree, FoldedOptions { part: FoldedTime::All, threads: false });
    let _ = (profile::speedscope(tree, &about), profile::firefox(tree, &about));
    let options = SourceOptions { look: PLAIN, rows: 40 };
    let _ = profile::source_table(tree, "main", &options, |_| None);
}

/// Edits of each kind.
const EDITS: [&str; 8] = [
    "fsync=0",
    "read=1ms",
    "cpus=8",
    "lock=0.5",
    "tcp 127.0.0.1:80=0",
    "sleep=0",
    "user:main=0.5",
    "program:sh=0",
];

/// `dwell show --what-if` of a recording whose checksums need not be right.
pub fn what_if(recording: &[u8]) {
    let recording = sealed(recording);
    let edits: Vec<Edit> = EDITS.iter().filter_map(|text| Edit::read(text).ok()).collect();
    let Ok(mut reader) = Reader::new(recording.as_slice(), Path::new("forged")) else { return };
    let Ok(mut replayer) = Replayer::new(reader.header(), edits) else { return };
    reader.by_ref().for_each(|event| replayer.event(&event));
    let Some(trailer) = reader.end().trailer else { return };
    if let Ok(what_if) = replayer.finish(&trailer) {
        let _ = (report::json(&what_if), report::what_if::terminal(&what_if, PLAIN));
    }
}

/// Results of dwell as JSON, with another of their kind and with themselves.
pub fn results(json: &[u8]) {
    // Two results may be given; what parts them is no byte of JSON.
    let mut both = json.splitn(2, |byte| *byte == 0).map(serde_json::from_slice::<Value>);
    let Some(Ok(a)) = both.next() else { return };
    let b = both.next().and_then(Result::ok).unwrap_or_else(|| a.clone());
    let schema = |value: &Value| value.get("schema").and_then(Value::as_str).map(str::to_owned);
    let Some(of) = schema(&a) else { return timed(&a, &b) };
    if of == SCHEMA_RUN {
        if let (Some(a), Some(b)) = (run(a), run(b)) {
            let compared = analyse::compare::runs(&a.run, &b.run);
            let _ = (report::json(&compared), report::compare::runs(&compared, PLAIN));
        }
    } else if of == SCHEMA_COMPARE {
        if let (Some(a), Some(b)) = (read::<Comparison>(a), read::<Comparison>(b)) {
            let compared = analyse::compare::sittings(&[("a".to_owned(), a), ("b".to_owned(), b)]);
            let _ = (report::json(&compared), report::compare::sittings(&compared, PLAIN));
        }
    } else if of == SCHEMA_SCORE {
        if let (Some(a), Some(b)) = (read::<LabScore>(a), read::<LabScore>(b)) {
            let compared = analyse::compare::scores(&a, &b);
            let _ = (report::json(&compared), report::compare::labs(&compared, PLAIN));
        }
    } else if of == SCHEMA_LADDER {
        if let (Some(a), Some(b)) = (read::<Ladder>(a), read::<Ladder>(b)) {
            let compared = analyse::compare::ladders(&a, &b);
            let beside = [analyse::ladder::beside::ladder("a", &a)];
            let _ = (report::json(&compared), report::compare::ladders(&compared, PLAIN));
            let _ = (report::ladder::svg(&b, &beside), report::ladder::terminal(&b, &beside, PLAIN));
        }
    } else if (of == SCHEMA_WAKE || of == SCHEMA_SHEET)
        && let (Some(a), Some(b)) = (comparable(a), comparable(b))
    {
        compare(&a, &b);
    }
}

/// JSON of hyperfine.
fn timed(a: &Value, b: &Value) {
    let (Ok(a), Ok(b)) = (timings::hyperfine(a), timings::hyperfine(b)) else { return };
    let compared = timings::compare(("a", &a), ("b", &b));
    let _ = (report::json(&compared), report::html::timings_diffs(&[&compared]));
    let _ = (report::compare::timings::one(&a, PLAIN), report::compare::timings::two(&compared, PLAIN));
}

/// Results of cyclictest, jitterdebugger and rtla.
pub fn imported(text: &[u8]) {
    if let Ok(comparable) = import::import(&String::from_utf8_lossy(text)) {
        compare(&comparable, &comparable);
    }
}

fn compare(a: &Comparable, b: &Comparable) {
    let compared = analyse::compare::wakes(a, b);
    let _ = (report::json(&compared), report::compare::wakes(&compared, PLAIN));
    let _ = report::compare::wakes_svg(&compared);
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

pub(crate) fn run(value: Value) -> Option<RunResult> {
    analyse::whole(read(value)?).ok()
}

pub(crate) fn comparable(value: Value) -> Option<Comparable> {
    if value["schema"] == SCHEMA_SHEET {
        let sheet: Sheet = read(value)?;
        let _ = (report::wake::sheet_terminal(&sheet, PLAIN, None), report::wake::sheet_svg(&sheet));
        return analyse::wake::comparable_sheet(&sheet);
    }
    let wakeups: Wakeups = read(value)?;
    let _ = (report::wake::terminal(&wakeups, PLAIN), report::wake::svg(&wakeups));
    Some(analyse::wake::comparable(&wakeups))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn below(directory: &str) -> Vec<PathBuf> {
        seeds::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory))
    }

    #[test]
    fn forged_recordings_are_shown_or_refused() {
        seeds::replay("show", show);
    }

    #[test]
    fn forged_recordings_are_replayed_or_refused() {
        seeds::replay("what_if", what_if);
    }

    #[test]
    fn forged_results_are_compared_or_refused() {
        let samples = ["wakes", "ladders"].map(|kind| below(&format!("../report/tests/samples/{kind}")));
        seeds::replay_also("results", &samples.concat(), results);
    }

    #[test]
    fn forged_results_of_other_tools_are_compared_or_refused() {
        seeds::replay_also("imported", &below("../analyse/tests/data/wake"), imported);
    }

    #[test]
    fn a_recording_is_sealed_as_it_was_written() {
        for path in
            below("recordings").into_iter().filter(|path| path.extension().is_some_and(|e| e == "dwell"))
        {
            let written = std::fs::read(&path).expect("it can be read");
            assert!(sealed(&written) == written, "{}", path.display());
        }
    }
}
