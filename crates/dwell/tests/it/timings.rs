//! Files of hyperfine: what hyperfine itself writes, a sample of its second version, and what is
//! none of them.

use crate::support::{self, fresh};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn dwell(verb: &str, words: &[&Path], more: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60", support::dwell(), verb]).args(words).args(more);
    command.env("DWELL_STORE", "off").output().expect("dwell starts")
}

fn page(verb: &str, words: &[&Path]) -> String {
    let output = dwell(verb, words, &["--width", "100"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refused(verb: &str, words: &[&Path]) -> String {
    let output = dwell(verb, words, &[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(125), 0), "{words:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn written(name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = fresh(name);
    fs::write(&path, text).expect("written");
    path
}

/// What the installed hyperfine writes of two commands.
fn hyperfine(commands: &[&str]) -> PathBuf {
    let path = fresh("hyperfine.json");
    let mut timed = Command::new("hyperfine");
    timed.args(["-N", "--style", "none", "--runs", "8", "--export-json"]).arg(&path).args(commands);
    support::kit::done(&mut timed);
    path
}

/// Of its second version.
fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/samples/hyperfine-2.0.0.json")
}

#[test]
fn what_hyperfine_writes_is_shown_without_a_verdict() {
    let path = hyperfine(&["true", "sleep 0.01"]);
    let shown = page("show", &[&path]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("hyperfine, JSON version "), "{shown}");
    assert!(lines[3].contains("A true") && lines[4].contains("B sleep 0.01"), "{shown}");
    assert!(lines[4].contains('×'), "{shown}");
    assert!(shown.contains("no verdict: hyperfine runs all of one command"), "{shown}");
    // The median is that which it says itself.
    let own: Value = support::read_json(&path);
    let html = fresh("page.html");
    let made = dwell("report", &[&path], &["-o", html.to_str().unwrap()]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let text = fs::read_to_string(html).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.contains("no verdict: hyperfine"), "{text}");
    let diff = dwell("diff", &[&path, &path], &["--json", "-"]);
    let diff: Value = serde_json::from_slice(&diff.stdout).unwrap();
    let broken = support::errors(&support::schema("dwell.timings-diff/1"), &diff);
    assert!(broken.is_empty(), "{broken:#?}");
    let says = own["results"][0]["median"].as_f64();
    let says = says.or_else(|| own["results"][0]["summary"]["time_wall_clock"]["median"].as_f64());
    let found = diff["rows"][0]["a"]["median_ns"]["median"].as_f64().unwrap();
    assert!((found - says.unwrap() * 1e9).abs() < 1.0, "{found} {own}");
    assert_eq!((&diff["rows"][1]["ratio"], &diff["rows"][1]["a"]["runs"]), (&json!(1.0), &json!(8)));
}

#[test]
fn files_of_both_versions_and_of_dwell_stand_side_by_side() {
    let shown = page("show", &[&sample()]);
    assert!(shown.starts_with("hyperfine, JSON version 2") && shown.contains("A nap 0.01"), "{shown}");
    let old = written(
        "old.json",
        json!({ "results": [
            { "command": "true", "times": [0.5, 0.25, 1.0], "exit_codes": [0, 1, 0] },
            { "command": "gone\x1b[31m", "times": [1.0] },
        ] })
        .to_string(),
    );
    let own = fresh("compare.json");
    let words = ["--no-why", "-q", "--pairs", "2", "true", "sleep 0.001", "--json", own.to_str().unwrap()];
    assert!(dwell("compare", &[], &words).status.success());
    let diff = page("diff", &[&old, &own]);
    let words: Vec<&str> = diff.split_whitespace().collect();
    let flat = words.join(" ");
    assert!(flat.contains(", hyperfine, JSON version 1 B ") && flat.contains(", dwell compare "), "{diff}");
    assert!(diff.contains("500 ms") && diff.contains("only in A: gone\\x1b[31m"), "{diff}");
    assert!(diff.contains("only in B: sleep 0.001") && diff.contains("no verdict"), "{diff}");
    assert!(page("show", &[&old]).contains("! 1 run of A had an exit status other than 0"), "{diff}");
    assert!(page("diff", &[&old, &sample()]).contains("no command is in both"));
    // What it cannot stand beside.
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/recordings/serial-requests.json");
    let said = refused("diff", &[&old, &run]);
    assert!(said.contains("JSON of hyperfine") && said.contains("they cannot be compared"), "{said}");
}

#[test]
fn what_is_cut_empty_foreign_or_broken_is_named() {
    let whole = fs::read(sample()).unwrap();
    let other = written("other.json", &whole);
    for (content, says) in [
        (b"".to_vec(), "is empty"),
        (whole[..whole.len() / 2].to_vec(), "is cut off: its JSON ends early"),
        (b"tea and biscuits\n".to_vec(), "is no result: neither JSON nor the text of a tool"),
        (b"{\"results\": oops}".to_vec(), "is damaged: its JSON cannot be read on from line 1, column 1"),
        (b"{\"a\": 1}".to_vec(), "it has no \"schema\""),
        (b"{\"results\": []}".to_vec(), "it has no command"),
        (br#"{"results": [{"command": "x", "times": []}]}"#.to_vec(), "no run of command 1"),
        (br#"{"results": [{"command": "x", "times": ["\u001b[31m"]}]}"#.to_vec(), "does not match the JSON"),
        (br#"{"results": [{"command": "x", "times": [-1]}]}"#.to_vec(), "a time that is none"),
        (br#"{"schema_version": 9, "results": [{"times": []}]}"#.to_vec(), "in version 9"),
        (b"dwell recording 1\nand more".to_vec(), "is a recording, not a result"),
    ] {
        let path = written("broken.json", &content);
        let said = refused("diff", &[&path, &other]);
        assert!(said.contains(says) && !said.contains('\x1b'), "{says:?}: {said}");
    }
    let huge = written("huge.json", "{");
    fs::OpenOptions::new().write(true).open(&huge).unwrap().set_len(2 << 30).unwrap();
    assert!(refused("diff", &[&huge, &other]).contains("it holds more than 256 MiB"));
    let _ = fs::remove_file(huge);
}
