//! A file that is read again and again, one of the same bytes in all that is read once, the first
//! beside a busy loop on each CPU, and where dwell may not see it.
//!
//! The files are there before: what a program writes itself is new to it. Which finding comes first
//! is a matter of figures that a busy machine changes, so what is claimed is asked for again where
//! it does not hold at once.

use crate::support::causes::{How, told_by_script};
use crate::support::{Claims, Told, dwell, errors, hold_coarse, schema, scratch};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::{TempDir, tempdir};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/causes_reads.c");
const CAUSE: &str = "repeated-reads";
const MIB: u64 = 1 << 20;
/// The same number of bytes and calls.
const AGAIN: &str = "./reads data 50";
const ONCE: &str = "./reads long 1";

/// The program, built once.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = scratch().join(format!("causes-reads-{}", std::process::id()));
        let status = Command::new("cc").args(["-g", "-O1", SOURCE, "-o"]).arg(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "cc cannot compile {SOURCE}");
        program
    })
}

/// A directory that anyone may use, with the programs and the files.
fn place() -> TempDir {
    let place = tempdir().expect("a directory");
    let set = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it is ours");
    fs::set_permissions(place.path(), Permissions::from_mode(0o777)).expect("it is ours");
    for (from, name) in [(Path::new(dwell()), "dwell"), (program(), "reads")] {
        let to = place.path().join(name);
        fs::copy(from, &to).expect("a copy");
        set(&to);
    }
    for (name, bytes) in [("data", 2 * MIB), ("long", 100 * MIB)] {
        let file = File::create(place.path().join(name)).expect("a file");
        file.set_len(bytes).expect("there is room for holes");
    }
    place
}

/// What dwell says of `command` (shell).
fn told(how: How, command: &str) -> Told {
    let place = place();
    let (who, busy) = how.words();
    let script = format!(
        "cd {}; pids=; {busy}\n\
         {who} ./dwell run --max-overhead none --json run.json -- {command} >out 2>page; code=$?\n\
         kill $pids 2>/dev/null; wait; exit $code",
        place.path().display(),
    );
    told_by_script(place.path(), &[], &script)
}

fn rows<'a>(told: &'a Told, of: &str) -> Vec<(&'a str, &'a Value)> {
    let rows = told.run[of].as_array().into_iter().flatten();
    rows.map(|row| (row["cause"].as_str().unwrap_or_default(), row)).collect()
}

fn found(told: &Told) -> Vec<&str> {
    rows(told, "findings").into_iter().map(|(cause, _)| cause).collect()
}

/// What was read of the file of this name.
fn read<'a>(told: &'a Told, name: &str) -> Option<&'a Value> {
    let mut rows = told.run["files"]["rows"].as_array().into_iter().flatten();
    rows.find(|row| row["path"].as_str().is_some_and(|path| path.ends_with(name)))
}

/// A sample of 400 is within a fifth.
fn claim_bytes(told: &Told, claims: &mut Claims, name: &str, size: u64) {
    let Some(row) = read(told, name) else {
        return claims.that(false, format!("no {name} in {}", told.run["files"]));
    };
    let figure = |of: &str| row["read"][of].as_u64().unwrap_or_default();
    claims.equal("the size", row["size_bytes"].as_u64(), Some(size));
    claims.between("bytes", figure("bytes"), 80 * MIB, 120 * MIB);
    claims.between("calls", figure("calls"), 80 * 256, 120 * 256);
    claims.that(figure("lo_bytes") < figure("bytes"), "a sample has an interval");
    claims.equal("its call", row["read"]["call"].as_str(), Some("read"));
}

#[test]
fn the_same_bytes_again_and_others() {
    hold_coarse(
        || told(How::Alone, AGAIN),
        |told, claims| {
            claim_bytes(told, claims, "/data", 2 * MIB);
            claims.equal("what comes first", found(told).first().copied(), Some(CAUSE));
            let Some((_, finding)) = rows(told, "findings").into_iter().next() else { return };
            let place = finding["where"].as_str().unwrap_or_default();
            claims.that(place.contains("/data about "), format!("the file is not in {place:?}"));
            claims.equal("the table", finding["points_to"]["table"].as_str(), Some("files"));
            let ends = [&finding["saving_ns"]["lo"], &finding["saving_ns"]["hi"]].map(Value::as_u64);
            let so = matches!(ends, [Some(lo), Some(hi)] if 0 < lo && lo <= hi && hi <= told.wall());
            claims.that(so, format!("it saves {}", finding["saving_ns"]));
            claims.equal("breaks of the schema", errors(&schema("dwell.run/1"), &told.run), Vec::new());
        },
    );
    hold_coarse(
        || told(How::Alone, ONCE),
        |told, claims| {
            claim_bytes(told, claims, "/long", 100 * MIB);
            claims.that(!found(told).contains(&CAUSE), format!("{:?}", found(told)));
        },
    );
}

#[test]
fn the_same_beside_busy_loops() {
    hold_coarse(
        || told(How::BesideBusyLoops, AGAIN),
        |told, claims| {
            let found = found(told);
            let place = found.iter().position(|found| *found == CAUSE);
            let so = place == Some(0) || place == Some(1) && found[0] == "cpu-contention";
            claims.that(so, format!("{CAUSE} among {found:?}"));
        },
    );
}

#[test]
fn where_dwell_may_not_see_calls_it_says_so() {
    hold_coarse(
        || told(How::AsNobody, AGAIN),
        |told, claims| {
            claims.that(!found(told).contains(&CAUSE), "it is claimed");
            let why = rows(told, "not_looked_for").into_iter().find(|(cause, _)| *cause == CAUSE);
            let why = why.and_then(|(_, row)| row["why"].as_str()).unwrap_or_default();
            claims.that(!why.is_empty(), "it is not said why it was not looked for");
            let unseen = told.run["files"]["unseen"].as_str().unwrap_or_default();
            claims.that(unseen.contains("BPF"), format!("files: {}", told.run["files"]));
        },
    );
}
