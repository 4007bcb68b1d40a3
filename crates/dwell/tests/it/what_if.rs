//! `dwell show --what-if`: page, JSON, what is refused, and a program that is really recorded.

use crate::support::{alone, dwell, errors, fresh, schema, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn show(args: &[&str]) -> Output {
    Command::new(dwell()).args(["show", "-v"]).args(args).output().expect("dwell can be started")
}

/// A kept recording.
fn kept(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../golden/recordings/{name}.dwell"));
    path.to_str().expect("the path is UTF-8").to_owned()
}

fn refused(args: &[&str]) -> String {
    let output = show(args);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(125) && output.stdout.is_empty(), "{args:?}: {said}");
    said
}

fn json(args: &[&str]) -> Value {
    let output = show(&[args, &["--json", "-"]].concat());
    let value = serde_json::from_slice(&output.stdout);
    let value: Value = value.unwrap_or_else(|error| panic!("{args:?}: {error}: {}", text(&output.stderr)));
    assert_eq!(errors(&schema("dwell.what-if/1"), &value), [""; 0]);
    let sum = |path: &str| -> u64 {
        let parts = value[path]["account"].as_array().expect("an account");
        parts.iter().map(|part| part["ns"].as_u64().expect("a time")).sum()
    };
    assert_eq!(sum("path_before"), value["replay"]["unedited_ns"]);
    assert_eq!(sum("path_after"), value["replay"]["edited_ns"]);
    value
}

#[test]
fn a_recording_is_replayed_with_several_edits() {
    let recording = kept("fsync");
    let found = json(&[&recording, "--what-if", "fsync=0", "runqueue=0"]);
    let edits: Vec<_> = found["edits"].as_array().unwrap().iter().map(|edit| edit["edit"].as_str()).collect();
    assert_eq!(edits, [Some("fsync=0"), Some("runqueue=0")]);
    let (wall, after) = (found["wall_ns"].as_u64().unwrap(), found["after"]["ns"].as_u64().unwrap());
    assert!(after * 3 < wall, "it waited for the disk, and for a busy host: {after} of {wall}");
    assert_eq!(found["saving"]["ns"].as_u64().unwrap(), wall - after);
    let again = json(&[&recording, "--what-if", "fsync=0", "--what-if", "runqueue=0"]);
    assert_eq!(again, found, "the option may be given several times");
    let page = text(&show(&["--width", "80", &recording, "--what-if", "fsync=0"]).stdout);
    for part in ["wall 60.77 ms; with fsync=0: ", "saves ", "edits", "the path by state", "assumed: "] {
        assert!(page.contains(part), "{part:?} is not in\n{page}");
    }
}

#[test]
fn what_cannot_be_replayed_says_what_would_help() {
    let fsync = kept("fsync");
    let cut = fresh("cut.dwell");
    let bytes = std::fs::read(&fsync).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let cut = cut.to_str().unwrap();
    for (recording, edit, said) in [
        (kept("attach-busy"), "disk=0", "a window has no end that could come earlier"),
        (kept("perf-mutex"), "disk=0", "try: dwell run --source bpf --keep"),
        (kept("keep-limit"), "disk=0", "larger --keep-limit"),
        (cut.to_owned(), "disk=0", "ends before the program did"),
        (fsync.clone(), "fsink=0", "try: fsync ("),
        (fsync.clone(), "tcp 192.0.2.1:5432=1ms", "no peer of that name"),
        (fsync.clone(), "program:sh=0", "try: program:calls ("),
        (fsync.clone(), "fsync", "it takes NAME=VALUE"),
        (fsync.clone(), "fsync=soon", "\"soon\" is no value for \"fsync\""),
    ] {
        let error = refused(&[&recording, "--what-if", edit]);
        assert!(error.contains(said), "{recording} {edit}: {error}");
        assert!(error.contains("try: "), "{recording} {edit}: {error}");
    }
    std::fs::remove_file(cut).unwrap();
}

#[test]
fn options_that_are_for_the_page_of_a_run_are_refused() {
    let recording = kept("fsync");
    assert!(refused(&["--flame", &recording, "--what-if", "fsync=0"]).contains("cannot be used with"));
    let folded = refused(&[&recording, "--what-if", "fsync=0", "--folded", "-"]);
    assert!(folded.contains("this result has no --folded"), "{folded}");
}

/// A recording of a command.
fn recorded(command: &[&str]) -> PathBuf {
    let path = fresh("kept.dwell");
    let mut run = Command::new(dwell());
    run.args(["run", "--quiet", "--keep"]).arg(&path).arg("--").args(command);
    assert!(run.status().expect("dwell can be started").success(), "{command:?}");
    path
}

/// What a replay says, in milliseconds.
struct Said {
    wall: i64,
    saved: i64,
    /// The path with the edits: asleep, and waiting for a CPU.
    slept: i64,
    queued: i64,
}

fn said(recording: &Path, edits: &[&str]) -> Said {
    let recording = recording.to_str().expect("the path is UTF-8");
    let found = json(&[&[recording, "--what-if"], edits].concat());
    let ms = |value: &Value| value.as_i64().expect("a time") / 1_000_000;
    let account = found["path_after"]["account"].as_array().expect("an account");
    let of =
        |state: &str| account.iter().find(|part| part["state"] == state).map_or(0, |part| ms(&part["ns"]));
    let (slept, queued) = (of("sleep"), of("runqueue"));
    Said { wall: ms(&found["wall_ns"]), saved: ms(&found["saving"]["ns"]), slept, queued }
}

/// Where others have the CPUs, what is saved of sleeps may go to waits for a CPU: these waits were
/// there, while something else slept.
#[test]
fn a_program_that_was_recorded_would_have_taken_as_long_as_what_is_left_of_it() {
    let _alone = alone();
    let path = recorded(&["sh", "-c", "sleep 0.3; sleep 0.2 & sleep 0.4; wait"]);
    for edit in ["clock_nanosleep=0", "program:sleep=0"] {
        let Said { wall, saved, slept, queued } = said(&path, &[edit]);
        let so = (690 - queued..=wall).contains(&saved) && slept == 0;
        assert!(so, "{edit}: 0.3 s and 0.4 s of {wall}: {saved}; {slept} asleep, {queued} in the run queue");
    }
    let Said { wall, saved, queued, .. } = said(&path, &["sleep=0.25s"]);
    let so = saved >= 195 - queued && saved <= 205 + (wall - 700);
    assert!(so, "0.05 s of the first, 0.15 s of the third: {saved} of {wall}; {queued} in the run queue");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_sleep_that_was_stopped_is_one_call() {
    let _alone = alone();
    let script = "sleep 0.3 & p=$!; sleep 0.05; kill -STOP $p; kill -CONT $p; wait";
    let path = recorded(&["sh", "-c", script]);
    let Said { wall, saved, slept, queued } = said(&path, &["clock_nanosleep=0"]);
    let so = (290 - queued..=wall).contains(&saved) && slept == 0;
    assert!(so, "0.3 s of {wall}: {saved}; {slept} asleep, {queued} in the run queue");
    std::fs::remove_file(path).unwrap();
}
