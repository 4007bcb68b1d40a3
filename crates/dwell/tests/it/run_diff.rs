//! `dwell diff` of runs, from results that were kept: page, JSON, and what is refused.

use crate::support::{errors, fresh, read_json, schema, text, utf8};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn diff(args: &[&str]) -> Output {
    let args = ["diff"].iter().chain(args);
    Command::new(env!("CARGO_BIN_EXE_dwell")).args(args).output().expect("dwell can be started")
}

/// The kept result of a recording.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/recordings").join(format!("{name}.json"))
}

fn sum(rows: &Value) -> i64 {
    rows.as_array().expect("rows").iter().map(|row| row["ns"].as_i64().expect("a difference")).sum()
}

#[test]
fn the_rows_of_two_runs_sum_to_the_difference_of_their_walls() {
    let (a, b) = (kept("fsync"), kept("page-faults"));
    let output = diff(&["--json", "-", utf8(&a), utf8(&b)]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(errors(&schema("dwell.run-diff/1"), &found), [""; 0]);
    let wall = |path: &Path| {
        let run: Value = read_json(path);
        run["wall_ns"].as_i64().unwrap()
    };
    let expected = wall(&b) - wall(&a);
    let why = &found["why"];
    assert_eq!(why["wall"]["ns"], expected);
    assert_eq!((sum(&why["states"]), sum(&why["processes"])), (expected, expected));
    let rest = why["steps_rest"]["ns"].as_i64().unwrap_or(0);
    assert_eq!(sum(&why["steps"]) + rest, expected);
    let page = text(&diff(&["-v", "--width", "80", utf8(&a), utf8(&b)]).stdout);
    assert!(page.contains("less than A") && page.contains("No verdict"), "{page}");
}

#[test]
fn two_windows_are_compared_by_what_their_threads_did() {
    let window = kept("attach-busy");
    let page = text(&diff(&["-v", "--width", "80", utf8(&window), utf8(&window)]).stdout);
    assert!(page.contains("The time of the threads that were active"), "{page}");
    assert!(!page.contains("less than A") && !page.contains("dwell compare"), "{page}");
    let output = diff(&[utf8(&window), utf8(&kept("fsync"))]);
    assert!(text(&output.stderr).contains("they cannot be compared"));
}

#[test]
fn what_does_not_close_or_fit_is_refused() {
    let (a, b) = (kept("fsync"), kept("page-faults"));
    let changed = fresh("changed.json");
    let mut run: Value = read_json(&a);
    run["wall_ns"] = 12.into();
    std::fs::write(&changed, run.to_string()).unwrap();
    for (args, said) in [
        (vec![utf8(&changed), utf8(&b)], "was changed since it was written: the account does not close"),
        (vec![utf8(&a), utf8(&b), utf8(&a)], "is a third file"),
        (vec!["--svg", "-", utf8(&a), utf8(&b)], "this result has no --svg"),
    ] {
        let output = diff(&args);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(125) && error.contains(said), "{args:?}: {error}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    std::fs::remove_file(changed).unwrap();
}
