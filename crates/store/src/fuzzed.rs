//! What the fuzzer runs on a store of results that somebody forged: a file of SQLite, the packed
//! JSON of one result, or a packed recording.
//!
//! The function returns nothing: it must end, without a panic, whatever the bytes are.

use crate::results::{Filter, Found, Lease, Named, Sent, Store};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// The beginning of a file of SQLite.
const FILE: &[u8] = b"SQLite format 3\0";

/// How long others are waited for: there are none.
const WAIT: Duration = Duration::from_secs(2);

/// `dwell list`, `show`, `tag`, `rm`, `store` and `push` of a forged store. Bytes
/// that are no file of SQLite are a result as it lies in one, and a recording as it lies beside it.
///
/// # Panics
/// No file can be made here.
pub fn store(bytes: &[u8]) {
    if !bytes.starts_with(FILE) {
        let _ = crate::results::json(bytes);
        return packed(bytes);
    }
    let directory = tempfile::tempdir().expect("there is a place for files");
    let top = directory.path().canonicalize().expect("it is there");
    let path = top.join("results.sqlite");
    fs::write(&path, bytes).expect("there is room");
    let owner = fs::metadata(&path).expect("it is there").uid();
    let until = Instant::now() + WAIT;
    if let Ok(Some(store)) = Store::open_to_read(&path, owner, until) {
        let _ = (store.check(), store.counted(), store.is_newer());
        let filters = [
            Filter::default(),
            Filter { verb: Some("run".into()), ..Filter::default() },
            Filter { command: Some("a".into()), tag: Some("base".into()), ..Filter::default() },
            Filter { host: Some("here".into()), since_s: Some(1), ..Filter::default() },
        ];
        for filter in &filters {
            for row in store.list(filter, 20).map(|(rows, _)| rows).unwrap_or_default() {
                let _ = (store.json(&row), store.recording(&row.id));
            }
        }
        for name in ["last", "last-1", "base", "a"] {
            if let Some(Ok(Found::One(row))) = Named::read(name).map(|named| store.find(&named)) {
                let _ = store.json(&row);
            }
        }
        let _ = store.ladder("0123456789abcdef", "whole");
        for to in store.destinations().unwrap_or_default() {
            let _ = (store.refusals(to.id, 5), store.unsealed(to.sealed_to, 5));
        }
    }
    if let Ok(mut store) = Store::open(&path, owner, true, until) {
        if let Ok((rows, _)) = store.list(&Filter::default(), 3) {
            for row in &rows {
                let _ = store.tag(row, &["new".to_owned()], &[]);
                let _ = store.note(row, Some("a note"));
            }
            let _ = store.remove(&rows);
        }
        if let Ok(to) = store.destination("lake (rows)")
            && let Ok(Lease::Batch(batch)) = store.lease(to.id, false, 1, 1)
        {
            let _ = store.settle(to.id, &batch, &batch.items, Sent::Refused("no"), 2, 3);
            let _ = (store.postpone(to.id, &batch, 9, "no"), store.forget(&to.name, true));
        }
        let _ = store.limit(1 << 20);
    }
}

/// The packing of a recording: the first 4 MiB of what is in it.
fn packed(bytes: &[u8]) {
    let mut piece = [0; 1 << 12];
    let mut unpacked = flate2::read::GzDecoder::new(bytes);
    for _ in 0..(1 << 10) {
        if !matches!(unpacked.read(&mut piece), Ok(1..)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn kept_inputs_end_without_a_panic() {
        let of_version = |number: u32| {
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/results-{number}.sqlite"))
        };
        seeds::replay_also("store", &[of_version(1), of_version(2)], store);
    }
}
