//! The last ladder of a host from outside: when it is kept, when it is believed, and what a run
//! makes of it.

use crate::support::{self, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

fn dwell(cache: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(support::dwell());
    command.env("XDG_CACHE_HOME", cache).args(args).stdin(Stdio::null());
    command.output().unwrap()
}

/// The ladders kept below a cache directory; and nothing else may be there.
fn kept(cache: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(cache.join("dwell")).into_iter().flatten();
    let found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    for path in &found {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("ladder-") && name.ends_with(".json"), "{name}");
    }
    found
}

/// A cache with a whole quick ladder in it, measured once, and the page it was shown on.
fn measured() -> &'static (PathBuf, String) {
    static ONCE: OnceLock<(PathBuf, String)> = OnceLock::new();
    ONCE.get_or_init(|| {
        let cache = support::fresh("cache");
        let output = dwell(&cache, &["ladder", "--quick", "--width", "100"]);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        (cache, text(&output.stdout))
    })
}

/// A cache of its own with that ladder, changed.
fn changed(change: impl Fn(&mut Value)) -> PathBuf {
    let path = kept(&measured().0).pop().unwrap();
    let mut ladder: Value = support::read_json(&path);
    change(&mut ladder);
    let cache = support::fresh("cache");
    fs::create_dir_all(cache.join("dwell")).unwrap();
    fs::write(cache.join("dwell").join(path.file_name().unwrap()), ladder.to_string()).unwrap();
    cache
}

/// The costs in a run's JSON, and its page.
fn run(cache: &Path, options: &[&str], program: &[&str]) -> (Value, String) {
    let json = support::fresh("run.json");
    let output =
        dwell(cache, &[&["run", "--json", json.to_str().unwrap()], options, &["--"], program].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run: Value = support::read_json(&json);
    (run["costs"].clone(), text(&output.stderr))
}

#[test]
fn a_whole_ladder_is_kept_and_shown_again_and_a_part_of_one_is_not() {
    let _alone = support::alone();
    let (cache, page) = measured();
    let files = kept(cache);
    assert_eq!(files.len(), 1);
    let name = files[0].file_name().unwrap().to_str().unwrap();
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    assert!(id.len() < 8 || !name.contains(&id[..8]), "{name}");
    let again = dwell(cache, &["ladder", "--kept", "--width", "100"]);
    assert_eq!(&text(&again.stdout), page);

    let other = support::fresh("cache");
    for args in [&["ladder", "--quick", "--only", "cycle"][..], &["ladder", "--quick", "--no-keep", "-q"]] {
        assert!(dwell(&other, args).status.success());
        assert!(!other.exists(), "{args:?}");
    }
    let none = dwell(&other, &["ladder", "--kept"]);
    assert_eq!(none.status.code(), Some(125));
    assert!(text(&none.stderr).contains("no ladder of this host is kept\ntry: dwell ladder"));
}

#[test]
fn a_quick_ladder_replaces_none_that_took_its_time() {
    let _alone = support::alone();
    let cache = changed(|ladder| ladder["asked"]["quick"] = false.into());
    let path = kept(&cache).pop().unwrap();
    let before = fs::read(&path).unwrap();
    assert!(dwell(&cache, &["ladder", "--quick", "-q"]).status.success());
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn a_directory_that_refuses_is_said_and_is_no_failure() {
    let _alone = support::alone();
    let file = support::fresh("file");
    fs::write(&file, "no directory").unwrap();
    let output = dwell(&file, &["ladder", "--quick", "-q"]);
    assert!(output.status.success());
    assert!(
        text(&output.stderr).starts_with("dwell: cannot keep the ladder in "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_run_has_the_costs_of_the_kept_ladder_and_says_where_none_is() {
    let _alone = support::alone();
    let (costs, _) = run(&measured().0, &[], &["true"]);
    assert!(costs["from"].as_str().unwrap().starts_with("kept quick ladder of 20"), "{costs}");
    // On a busy machine a quick ladder may doubt one of its own figures; then it says which.
    for (cost, least) in [("memory_access_ns", 1.0), ("process_ns", 10_000.0)] {
        let so =
            costs[cost]["median"].as_f64().is_some_and(|ns| ns > least) || costs[cost]["unseen"].is_string();
        assert!(so, "{cost}: {costs}");
    }
    assert!(
        ["call_ns", "open_ns", "stat_ns"].iter().any(|cost| costs[cost]["median"].is_number()),
        "{costs}"
    );

    let (costs, page) = run(&support::fresh("none"), &[], &["cat"]);
    assert_eq!(costs["unseen"], "no ladder of this host is kept\ntry: dwell ladder");
    assert!(!page.contains("ladder") && !page.contains("longest wait"), "{page}");
}

#[test]
fn a_ladder_of_another_host_kernel_or_version_is_not_believed() {
    let _alone = support::alone();
    for (what, change) in [
        ("of another CPU: \"Another\"", ("/machine/cpu", "Another")),
        ("of another kernel: \"5.0\"", ("/host/kernel", "5.0")),
        ("of another version of dwell: \"dwell.ladder/9\"", ("/schema", "dwell.ladder/9")),
    ] {
        let cache = changed(|ladder| *ladder.pointer_mut(change.0).unwrap() = change.1.into());
        let (costs, _) = run(&cache, &[], &["true"]);
        let why = costs["unseen"].as_str().unwrap();
        assert!(why.contains(what) && why.ends_with("try: dwell ladder"), "{why}");
    }
}

/// Waits until dwell's child executes a program of this name.
fn until_it_runs(dwell: u32, name: &str) {
    let children = format!("/proc/{dwell}/task/{dwell}/children");
    for _ in 0..2000 {
        let children = std::fs::read_to_string(&children).unwrap_or_default();
        let mut comms =
            children.split_whitespace().map(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")));
        if comms.any(|comm| comm.is_ok_and(|comm| comm.trim() == name)) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("dwell did not start {name}");
}

#[test]
fn what_a_program_waits_for_is_held_against_the_ladder_and_shown_the_same_later() {
    let _alone = support::alone();
    // Figures that no busy machine changes.
    let cache = changed(|ladder| {
        for rung in ladder["rungs"].as_array_mut().unwrap() {
            if rung["id"] == "dram" {
                rung["ns"] = serde_json::json!({"median": 100.0, "lo": 99.123_456_789, "hi": 101.0});
                rung["plausible"]["verdict"] = "plausible".into();
            }
        }
    });
    let keep = support::fresh("kept.dwell");
    let json = support::fresh("run.json");
    let [keep, json] = [&keep, &json].map(|path| path.to_str().unwrap());
    let mut command = Command::new(support::dwell());
    command
        .env("XDG_CACHE_HOME", &cache)
        .args(["run", "-v", "--width", "120", "--json", json, "--keep", keep]);
    // Nobody writes: `head` waits for a pipe of ours until we close it.
    let mut child = command
        .args(["head", "-c1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_it_runs(child.id(), "head");
    std::thread::sleep(std::time::Duration::from_millis(900));
    drop(child.stdin.take());
    let page = text(&child.wait_with_output().unwrap().stderr);
    assert!(page.contains("longest wait in read: ") && page.contains("memory accesses"), "{page}");
    // Elsewhere, where no ladder or another is kept, the recording has its own.
    let shown = dwell(&support::fresh("none"), &["show", "--json", "-", keep]);
    assert_eq!(text(&shown.stdout), fs::read_to_string(json).unwrap());
}

#[test]
fn a_ladder_is_measured_after_the_run_when_that_is_asked_for() {
    let _alone = support::alone();
    let cache = support::fresh("cache");
    let (costs, _) = run(&cache, &["--ladder"], &["true"]);
    assert_eq!(costs["from"], "quick ladder right after the run");
    assert_eq!((kept(&cache).len(), &costs["quick"]), (1, &Value::Bool(true)));
}

#[test]
fn the_last_ladder_is_a_result_like_others() {
    let file = kept(&measured().0).pop().unwrap();
    let machine = file.file_stem().unwrap().to_str().unwrap().strip_prefix("ladder-").unwrap();
    let store = support::fresh("results.sqlite");
    let store_name = store.to_str().unwrap();
    let cache = support::fresh("cache");
    let with = |words: &[&str]| dwell(&cache, &[&["--store", store_name], words].concat());
    assert!(with(&["run", "-q", "true"]).status.success());
    // As `dwell ladder` would have kept it: a full one, and a quick one after it.
    let script = r"
import sqlite3, sys, zlib
c = sqlite3.connect(sys.argv[1])
text = open(sys.argv[2]).read()
row = 'INSERT INTO results SELECT ?, ?, at_s, ?, ?, host, ?, kernel, wall_ns, ?, NULL, ?, dwell, 1, 0, NULL'
for seq, kind in ((7, 'full'), (8, 'quick')):
    values = (seq, '0000000%d' % seq, 'ladder', '', sys.argv[3], kind, 'dwell.ladder/1')
    c.execute(row + ' FROM results LIMIT 1', values)
    c.execute('INSERT INTO contents VALUES (?, ?)', (seq, zlib.compress(text.encode())))
c.commit()
";
    support::kit::done(
        Command::new(support::python()).args(["-c", script]).args([&store, &file]).arg(machine),
    );
    let page = with(&["ladder", "--kept", "--width", "100"]);
    assert_eq!(text(&page.stdout), measured().1, "{}", text(&page.stderr));
    let shown = with(&["show", "last"]);
    assert!(shown.status.success() && !shown.stdout.is_empty(), "{}", text(&shown.stderr));
    assert!(with(&["diff", "last-1", "last"]).status.success());
    let costs = || {
        let json = with(&["run", "-q", "--json", "-", "true"]).stdout;
        serde_json::from_slice::<Value>(&json).unwrap()["costs"].clone()
    };
    assert!(costs()["from"].as_str().unwrap().starts_with("kept quick ladder of"), "{}", costs());
    assert!(!cache.exists(), "nothing is kept in a file");
    // Removed, it is no more; another one that is left is.
    for id in ["00000007", "00000008"] {
        assert!(with(&["rm", id]).status.success());
    }
    assert!(costs()["unseen"].as_str().unwrap().contains("no ladder of this host is kept"), "{}", costs());
}
