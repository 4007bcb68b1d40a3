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
fn results_of_the_store_have_their_ids_and_a_missing_one_is_in_the_list() {
    let store = fresh("ids.sqlite");
    let dwell = |args: &[&str]| {
        let mut dwell = Command::new(env!("CARGO_BIN_EXE_dwell"));
        dwell.env("DWELL_STORE", &store).args(args).output().expect("dwell can be started")
    };
    for _ in 0..2 {
        let done = dwell(&["run", "-q", "--source", "proc", "true"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    let found: Value =
        serde_json::from_slice(&dwell(&["diff", "last-1", "last", "--json", "-"]).stdout).unwrap();
    let ids = ["a", "b"].map(|side| found[side]["id"].as_str().unwrap_or_default().to_owned());
    assert!(ids[0] != ids[1], "{ids:?}");
    let page = text(&dwell(&["diff", "last-1", "last"]).stdout);
    for (side, id) in ["A", "B"].iter().zip(&ids) {
        assert!(!id.is_empty() && page.contains(&format!("{side}  {id}  true, ")), "{page}");
    }
    let missing = text(&dwell(&["show", "nope"]).stderr);
    assert!(missing.contains("\ntry: ") && missing.contains("dwell list"), "{missing}");
    std::fs::remove_file(store).unwrap();
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
