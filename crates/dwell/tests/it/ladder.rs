//! `dwell ladder` from outside: what it prints, what it promises, and that Ctrl-C shows what there
//! is.

use crate::support::{self, read_json, schema, text};
use serde_json::Value;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn ladder(args: &[&str]) -> Command {
    let mut command = Command::new(support::dwell());
    command
        .env("XDG_CACHE_HOME", support::scratch().join("no-cache"))
        .arg("ladder")
        .args(args)
        .stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    ladder(args).output().unwrap()
}

fn median(ladder: &Value, id: &str) -> f64 {
    let rungs = ladder["rungs"].as_array().unwrap();
    let rung = rungs.iter().find(|rung| rung["id"] == id).unwrap_or_else(|| panic!("no {id} in {rungs:#?}"));
    rung["ns"]["median"].as_f64().unwrap_or_else(|| panic!("no figure: {rung:#}"))
}

#[test]
fn a_whole_ladder_is_what_the_schema_says_and_levels_are_in_their_order() {
    let _alone = support::alone();
    let output = run(&["--quick", "--no-keep", "--json", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let ladder: Value = serde_json::from_slice(&output.stdout).unwrap();
    let errors: Vec<String> = schema("dwell.ladder/1")
        .iter_errors(&ladder)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    for rung in ladder["rungs"].as_array().unwrap() {
        let seen = rung["ns"]["median"].is_number();
        let reason = rung["ns"]["unseen"].is_string() || !rung["limits"].as_array().unwrap().is_empty();
        assert!(seen || reason, "neither figure nor reason: {rung:#}");
    }
    // Factors that hold on a busy machine too: samples are short, and a median stands half of them
    // being disturbed.
    let [cycle, l1, dram] = ["cycle", "l1", "dram"].map(|id| median(&ladder, id));
    assert!((0.1..3.0).contains(&cycle), "{cycle}");
    assert!(l1 > cycle * 2.0 && dram > l1 * 10.0, "{cycle} {l1} {dram}");
    let points = ladder["curve"]["points"].as_array().unwrap();
    let at = |point: &Value| point["ns"]["median"].as_f64().unwrap();
    assert!(points.len() >= 15 && at(&points[points.len() - 1]) > at(&points[0]) * 5.0, "{points:#?}");
}

#[test]
fn what_is_asked_for_is_measured_and_nothing_else() {
    let output = run(&["--quick", "--only", "cycle,lock", "--width", "80", "--color", "never"]);
    let page = text(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let has = |id: &str| page.lines().any(|line| line.trim_start().starts_with(&format!("{id} ")));
    assert!(has("cycle") && has("lock") && !has("l1") && !has("curve"), "{page}");
}

#[test]
fn what_is_no_rung_is_refused_with_the_way_to_find_one() {
    let output = run(&["--only", "l1,warp"]);
    assert_eq!(output.status.code(), Some(125));
    let said = text(&output.stderr);
    assert!(said.contains("\"warp\"") && said.contains("try: dwell ladder --list"), "{said}");
    let list = text(&run(&["--list"]).stdout);
    assert!(["core", "memory"].iter().all(|group| list.lines().any(|line| line == *group)), "{list}");
    assert!(list.lines().any(|line| line.trim_start().starts_with("l1 ")), "{list}");
}

#[test]
fn pictures_and_json_go_to_files_of_their_own() {
    let [svg, png] = ["ladder.svg", "ladder.png"].map(support::fresh);
    let [svg_path, png_path] = [&svg, &png].map(|path| path.to_str().unwrap());
    let output = run(&["--quick", "--only", "cycle", "-q", "--svg", svg_path, "--png", png_path]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.contains(">cycle<"), "{drawn}");
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
    let output = run(&["--only", "cycle", "--svg", svg_path, "--png", svg_path]);
    assert!(text(&output.stderr).contains("two outputs are the same file"));
    assert_eq!(std::fs::read_to_string(&svg).unwrap(), drawn, "what was there is still there");
    [svg, png].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn options_that_no_rung_uses_are_refused() {
    let files = text(&run(&["--list"]).stdout).lines().any(|line| line == "files");
    let output = run(&["--dir", ".", "--only", "cycle", "--quick", "-q"]);
    assert_eq!(output.status.success(), files, "{}", text(&output.stderr));
}

#[test]
fn an_interrupt_shows_what_there_is_and_is_told_by_the_exit_status() {
    let mut child = ladder(&["--width", "80"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(2_500));
    let begun = Instant::now();
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let mut page = String::new();
    child.stdout.take().unwrap().read_to_string(&mut page).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 2), "{page}");
    // Whole, it takes far longer; the bound is for machines that are busy with the other tests.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert!(page.contains("ended early") && page.contains("cycle"), "{page}");
}

#[test]
fn a_file_that_cannot_be_written_is_said_before_anything_is_measured() {
    let begun = Instant::now();
    let output = run(&["--json", "/no/such/directory/ladder.json"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("cannot write"), "{}", text(&output.stderr));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

fn diff(args: &[&str]) -> Output {
    Command::new(support::dwell()).arg("diff").args(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn two_ladders_of_this_machine_are_compared_rung_by_rung() {
    let [a, b, json, png] = ["a.json", "b.json", "diff.json", "diff.png"].map(support::fresh);
    let paths = [&a, &b, &json, &png].map(|path| path.to_str().unwrap());
    for path in &paths[..2] {
        let output = run(&["--only", "core", "--quick", "-q", "--json", path]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let output = diff(&["-v", "--width", "80", "--json", paths[2], "--png", paths[3], paths[0], paths[1]]);
    let page = text(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    assert!(page.contains("B against A: ") && !page.contains("differs: host"), "{page}");
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
    let found: Value = read_json(&json);
    let errors: Vec<String> =
        schema("dwell.ladder-diff/1").iter_errors(&found).map(|one| one.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let (of_a, of_b) = (median(&read_json(&a), "cycle"), median(&read_json(&b), "cycle"));
    let rungs = found["rungs"].as_array().unwrap();
    let cycle = rungs.iter().find(|rung| rung["id"] == "cycle").unwrap();
    let ratio = cycle["ratio"]["median"].as_f64().unwrap();
    assert!((ratio - of_b / of_a).abs() < 1e-9, "{cycle:#}");

    // A ladder against itself has no rung that is faster or slower.
    let output = diff(&["--json", "-", paths[0], paths[0]]);
    let same: Value = serde_json::from_slice(&output.stdout).unwrap();
    for rung in same["rungs"].as_array().unwrap() {
        assert!(["same", "undecided"].contains(&rung["change"].as_str().unwrap()), "{rung:#}");
    }
    assert_eq!(same["differences"], serde_json::json!([]));

    // The same file beside a new ladder.
    let output = run(&["--only", "cycle", "--quick", "--width", "80", "--beside", paths[0]]);
    let page = text(&output.stdout);
    assert!(
        output.status.success() && page.contains("measured by dwell at "),
        "{page}{}",
        text(&output.stderr)
    );
    let kept = std::fs::read_to_string(&a).unwrap();
    let output = run(&["--only", "cycle", "--beside", paths[0], "--json", paths[0]]);
    assert!(text(&output.stderr).contains("would be overwritten"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&a).unwrap(), kept);
    [a, b, json, png].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn what_cannot_be_compared_or_shown_beside_is_refused() {
    let files = [
        ("no.json", "{"),
        ("some.json", "[]"),
        ("run.json", r#"{"schema": "dwell.run/1"}"#),
        ("load.json", r#"{"schema": "dwell.load/1"}"#),
    ]
    .map(|(name, content)| (support::fresh(name), content));
    let broken =
        (support::fresh("broken.json"), r#"{"schema": "dwell.ladder/1", "asked": {"quick": "\u001b[2J"}}"#);
    for (path, content) in files.iter().chain([&broken]) {
        std::fs::write(path, content).unwrap();
    }
    let path = |at: usize| files[at].0.to_str().unwrap();
    let broken = broken.0.to_str().unwrap();
    for (args, said) in [
        (["/no/such/file", path(2)], "cannot read"),
        (
            [path(0), path(2)],
            "is cut off: its JSON ends early, in line 1, column 1\ntry: a file written by dwell ladder --json",
        ),
        (
            [path(1), path(2)],
            "is not a result of dwell: it has no \"schema\"\ntry: a file written by dwell ladder --json",
        ),
        ([path(2), path(2)], "does not match its schema"),
        ([path(3), path(3)], "cannot compare two results of \"dwell.load/1\""),
        ([path(2), broken], "try: two results of the same kind"),
        ([broken, broken], "does not match its schema"),
    ] {
        let output = diff(&args);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(125) && error.contains(said), "{args:?}: {error}");
        assert!(output.stdout.is_empty() && !error.contains('\x1b'), "{error:?}");
    }
    let error = text(&run(&["--only", "cycle", "--beside", "pdp-11"]).stderr);
    assert!(error.contains("no reference machine and no file is called \"pdp-11\""), "{error}");
    // What the list names is in the help as well.
    let help = Command::new(support::dwell()).args(["help", "ladder"]).output().unwrap();
    let help = text(&help.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let names = error.split("one of ").nth(1).unwrap().split(", or a file").next().unwrap();
    assert!(help.contains(names), "{names} are not in {help}");
    let error = text(&run(&["--only", "cycle", "--beside", path(2)]).stderr);
    assert!(error.contains("not a ladder"), "{error}");
    files.iter().for_each(|(path, _)| std::fs::remove_file(path).unwrap());
    std::fs::remove_file(broken).unwrap();
}
