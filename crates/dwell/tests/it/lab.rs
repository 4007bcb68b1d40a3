//! The lab: each program does its work and leaves nothing behind, a pair goes from diagnosis to
//! verdict, and a score can be ended and resumed. Whether dwell is right about the programs is what
//! the score itself measures, and no test.

use crate::support::{errors, read_json, schema};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::{TempDir, tempdir_in};

const DWELL: &str = env!("CARGO_BIN_EXE_dwell");

/// A directory on the disk of the tests' programs.
fn place() -> TempDir {
    tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

fn lab(place: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "300", DWELL, "lab"]).args(arguments).current_dir(place);
    command.stdin(Stdio::null()).output().expect("dwell starts")
}

/// The page of a result again.
fn shown(place: &Path, name: &str) -> String {
    let done =
        Command::new(DWELL).args(["show", "-v", name]).current_dir(place).output().expect("dwell starts");
    assert!(done.status.success(), "{}", stderr(&done));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).expect("a directory");
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_pair_goes_from_diagnosis_to_verdict_and_leaves_nothing_behind() {
    let place = place();
    let done =
        lab(place.path(), &["small-files", "-v", "--size", "500", "--pairs", "6", "--json", "one.json"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let page = String::from_utf8_lossy(&done.stdout);
    for part in [
        "diagnosis   dwell run -- dwell lab small-files --run",
        "\nchange\n",
        "\nmeasured   dwell compare",
        "\nverdict\n",
        "\nread next\n  dwell explain small-files",
    ] {
        assert!(page.contains(part), "{part:?} in {page}");
    }
    assert_eq!(shown(place.path(), "one.json"), page);
    let result = read_json(&place.path().join("one.json"));
    assert_eq!(errors(&schema("dwell.lab/1"), &result), Vec::<String>::new());
    let sitting = &result["sitting"];
    assert_eq!(
        (&sitting["size"], sitting["ways"].as_array().unwrap().len()),
        (&500.into(), sitting["commands"].as_array().unwrap().len())
    );
    assert!(sitting["wall_ns"].as_array().unwrap().iter().all(|wall| wall.as_u64().is_some_and(|ns| ns > 0)));
    assert!(result["ended_early"].is_null() && result["profiles"].as_array().unwrap().len() == 2);
    let change = result["change"].as_array().unwrap();
    assert!(change.iter().any(|line| line.as_str().unwrap().starts_with('-')), "{change:?}");
    assert_eq!(names(place.path()), ["one.json"]);
}

#[test]
fn a_quiz_hides_the_program_and_grades_the_answer() {
    let place = place();
    let quiz = |input: &str, arguments: &[&str]| -> Output {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "300", DWELL, "lab", "--quiz", "--seed", "11", "--pairs", "6"]);
        command.args(arguments).current_dir(place.path()).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("dwell starts");
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().expect("dwell ends")
    };
    let read = |name: &str| {
        let quiz = read_json(&place.path().join(name));
        assert_eq!(errors(&schema("dwell.lab-quiz/1"), &quiz), [""; 0]);
        quiz
    };
    let done = quiz("", &["--answer", "dns-lookups", "--saving", "10-20", "--json", "one.json"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let one = read("one.json");
    let page = String::from_utf8_lossy(&done.stdout).into_owned();
    let (asked, graded) = page.split_once("\nquiz 11: ").expect("it asks");
    let name = one["pair"]["name"].as_str().unwrap();
    let module = name.replace('-', "_");
    for hint in [format!("pairs::{module}"), format!("{module}.rs"), format!("lab {name}")] {
        assert!(!asked.contains(&hint), "{hint}: {asked}");
    }
    assert!(!asked.contains("what to change") && !asked.contains("saves"), "{asked}");
    let cause = one["pair"]["cause"].as_str().unwrap();
    assert!(graded.contains(&format!("dwell lab {name}")) && graded.contains(cause), "{graded}");
    assert_eq!(one["grade"]["cause"], cause == "dns-lookups");
    assert!(one["grade"]["score"].is_number() && one["grade"]["rule_score"].is_number(), "{}", one["grade"]);

    // The same seed, answered on the terminal; what is no answer is asked for again.
    let input = format!("magic\n{cause}\nmuch\n0-100 %\n");
    let done = quiz(&input, &["--json", "two.json"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let two = read("two.json");
    assert_eq!((&two["pair"], &two["grade"]["cause"]), (&one["pair"], &Value::Bool(true)));
    assert!(stderr(&done).contains("no program of the lab has the cause \"magic\""), "{}", stderr(&done));
    assert!(shown(place.path(), "two.json").contains(name));

    let done = quiz("", &[]);
    assert!(done.status.code() == Some(125) && stderr(&done).contains("there is no answer"));
    for name in ["one.json", "two.json"] {
        fs::remove_file(place.path().join(name)).unwrap();
    }
    assert_eq!(names(place.path()), [""; 0]);
}

#[test]
fn a_score_is_ended_and_resumed() {
    let place = place();
    let begin =
        ["--score", "--only", "list-nodes,computes", "--rounds", "2", "--seed", "7", "--json", "whole.json"];
    let done = lab(place.path(), &begin);
    assert!(done.status.success(), "{}", stderr(&done));
    let whole = read_json(&place.path().join("whole.json"));
    assert_eq!(errors(&schema("dwell.lab-score/1"), &whole), Vec::<String>::new());
    assert_eq!((&whole["total"]["sittings"], &whole["total"]["healthy"]), (&2.into(), &2.into()));
    let sizes = |score: &Value| -> Vec<u64> {
        let rows = score["rows"].as_array().unwrap().iter();
        rows.flat_map(|row| {
            row["sittings"].as_array().unwrap().iter().map(|one| one["size"].as_u64().unwrap())
        })
        .collect()
    };
    // As if it had been ended after the first round.
    let mut cut = whole.clone();
    for row in cut["rows"].as_array_mut().unwrap() {
        row["sittings"].as_array_mut().unwrap().truncate(1);
    }
    fs::write(place.path().join("cut.json"), cut.to_string()).unwrap();
    let done = lab(place.path(), &["--score", "-v", "--resume", "cut.json", "--json", "again.json"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let again = read_json(&place.path().join("again.json"));
    assert_eq!(sizes(&again), sizes(&whole), "the seed draws the sizes that were missing");
    assert_eq!(again["rows"][0]["sittings"][0], whole["rows"][0]["sittings"][0], "what was held is kept");
    let page = String::from_utf8_lossy(&done.stdout);
    assert!(page.contains("Of 2 sittings the cause is the first finding in"), "{page}");
    assert_eq!(shown(place.path(), "again.json"), page);
    let diff = |arguments: &[&str]| {
        let mut command = Command::new(DWELL);
        command.arg("diff").args(arguments).current_dir(place.path()).output().expect("dwell starts")
    };
    let compared = diff(&["whole.json", "again.json", "-v", "--json", "diff.json"]);
    assert!(compared.status.success(), "{}", stderr(&compared));
    let page = String::from_utf8_lossy(&compared.stdout);
    assert!(page.contains("2 pairs in both") && page.contains("mean width of predictions"), "{page}");
    let compared = read_json(&place.path().join("diff.json"));
    assert_eq!(errors(&schema("dwell.lab-diff/1"), &compared), Vec::<String>::new());
    assert_eq!(compared["total"]["a"]["total"], whole["total"], "all pairs are in both");
    for empty in ["differences", "uncompared"] {
        assert!(compared[empty].as_array().is_some_and(Vec::is_empty), "{}", compared[empty]);
    }
    let refused = diff(&["whole.json", "diff.json"]);
    assert!(stderr(&refused).contains("they cannot be compared\ntry: "), "{}", stderr(&refused));
}

#[test]
fn ctrl_c_ends_it_with_the_score_so_far_and_nothing_left() {
    let place = place();
    let mut command = Command::new("env");
    command.args([
        "--default-signal=INT",
        DWELL,
        "lab",
        "--score",
        "--only",
        "computes",
        "--rounds",
        "500",
        "--json",
        "s.json",
    ]);
    let child = command
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("dwell starts");
    let begun = Instant::now();
    while names(place.path()).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130));
    let score = read_json(&place.path().join("s.json"));
    assert_eq!(score["ended_early"], "a signal ended it");
    assert_eq!(names(place.path()), ["s.json"]);
}

#[test]
fn ctrl_c_in_the_comparison_leaves_what_was_found_by_then() {
    let (place, results) = (place(), place());
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", DWELL, "lab", "polls", "--size", "5", "--pairs", "200"]);
    command.args(["--json", "one.json"]).env("TMPDIR", results.path()).current_dir(place.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("dwell starts");
    let observed = || {
        let within = |name: String| fs::metadata(results.path().join(name).join("run.json"));
        names(results.path()).into_iter().any(|name| within(name).is_ok_and(|file| file.len() > 0))
    };
    let begun = Instant::now();
    while !observed() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the first run does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let done = child.wait_with_output().unwrap();
    let page = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(130), "{page}");
    for part in ["diagnosis   dwell run", "a signal ended it: this is the result until then"] {
        assert!(page.contains(part), "{part:?} in {page}");
    }
    let result = read_json(&place.path().join("one.json"));
    assert_eq!(errors(&schema("dwell.lab/1"), &result), Vec::<String>::new());
    assert_eq!(result["ended_early"], "a signal ended it");
    assert_eq!(names(place.path()), ["one.json"]);
}

#[test]
fn what_cannot_be_run_is_said_with_the_reason() {
    let place = place();
    for (arguments, says) in [
        (&["no-such-pair"][..], "the lab has no \"no-such-pair\"\n"),
        (&["small-files", "--run", "sideways"], "small-files has no way \"sideways\"\n"),
        (&["--score", "--only", "small-files,none"], "the lab has no \"none\"\n"),
        (&["small-files", "--dir", "/no/such"], "cannot use \"/no/such\": No such file or directory"),
        (&["list-nodes", "--pairs", "6"], "6 pairs of runs can decide nothing here"),
        (&["computes", "--latency", "5"], "--latency is for downloads and log-resolver\n"),
        (&["log-resolver", "--rate", "5000"], "--rate is for downloads\n"),
    ] {
        let done = lab(place.path(), arguments);
        assert_eq!(done.status.code(), Some(125), "{arguments:?}");
        assert!(stderr(&done).contains(says) && stderr(&done).contains("try: "), "{}", stderr(&done));
    }
    fs::write(place.path().join("run.json"), r#"{"schema": "dwell.run/1"}"#).unwrap();
    let done = lab(place.path(), &["--score", "--resume", "run.json"]);
    assert!(stderr(&done).contains("is a dwell.run/1\ntry: "), "{}", stderr(&done));
}

#[test]
fn every_program_does_its_work_each_way_and_leaves_nothing_behind() {
    let listed = lab(place().path(), &[]);
    let list = String::from_utf8_lossy(&listed.stdout).into_owned();
    for pair in pairs::ALL {
        assert!(list.contains(pair.name), "{} is not in the list", pair.name);
        let foreign = pair.ways.iter().any(|way| matches!(way.run, pairs::Run::Foreign(_)));
        if foreign || pair.service().is_some() {
            continue;
        }
        for way in pair.ways {
            let place = place();
            let size = pair.size.least.to_string();
            let done = lab(place.path(), &[pair.name, "--run", way.name, "--size", &size]);
            assert!(done.status.success(), "{} {}: {}", pair.name, way.name, stderr(&done));
            assert_eq!(names(place.path()), Vec::<String>::new(), "{} {}", pair.name, way.name);
        }
    }
}

/// Dwell in a directory whose file system is one of this many bytes; with words of its environment.
fn in_room(bytes: &str, environment: &str, arguments: &str) -> Output {
    let script = format!(
        "mount -t tmpfs -o size={bytes} none /mnt && cd /mnt && exec env {environment} timeout -k 5 120 {DWELL} lab \
         {arguments}"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).stdin(Stdio::null()).output().expect("unshare is there")
}

#[test]
fn without_room_on_the_disk_it_is_said_what_to_do() {
    for arguments in ["small-files", "small-files --run many"] {
        let done = in_room("64k", "", arguments);
        assert_eq!(done.status.code(), Some(125), "{arguments}: {}", stderr(&done));
        let says = "No space left on device (os error 28)\ntry: another directory, with 256 MiB of room";
        assert!(stderr(&done).contains(says), "{arguments}: {}", stderr(&done));
    }
    // There is room for the programs, and none for what dwell writes.
    let work = place();
    let arguments = format!("computes --size 20 --dir {}", work.path().display());
    let done = in_room("4k", "TMPDIR=/mnt", &arguments);
    assert_eq!(done.status.code(), Some(125), "{}", stderr(&done));
    let says = "there is no room in \"/mnt\" for what dwell writes meanwhile\ntry: TMPDIR=DIR dwell lab";
    assert!(stderr(&done).contains(says), "{}", stderr(&done));
    assert_eq!(names(work.path()), Vec::<String>::new());
}

/// With an empty `$PATH`.
fn lab_without_programs(place: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(DWELL);
    command.arg("lab").args(arguments).env("PATH", "/none").current_dir(place);
    command.stdin(Stdio::null()).output().expect("dwell starts")
}

#[test]
fn a_pair_whose_programs_are_missing_says_so() {
    let place = place();
    let python = "heat-grid-python cannot be run here: there is no python3 in $PATH";
    let score = lab_without_programs(place.path(), &["--score", "--only", "heat-grid-python,link-copy"]);
    let page = String::from_utf8_lossy(&score.stdout);
    for says in
        ["No pair was run, so there is no score.", "heat-grid-python was not run: there is no python3 in"]
    {
        assert!(score.status.success() && page.contains(says), "{says:?} in {page}");
    }
    assert!(!page.contains("found first"), "a table without rows: {page}");
    for (arguments, says) in [
        (&["heat-grid-python"][..], python),
        (&["heat-grid-python", "--run", "new"], python),
        (&["link-copy"], "link-copy cannot be run here: there is no ip in $PATH"),
    ] {
        let done = lab_without_programs(place.path(), arguments);
        assert_eq!(done.status.code(), Some(125));
        assert!(stderr(&done).contains(says), "{}", stderr(&done));
    }
    assert_eq!(names(place.path()), Vec::<String>::new());
}

#[test]
fn without_a_network_namespace_the_pair_says_so() {
    // One that may not be made, as in a container.
    let (place, programs) = (place(), place());
    let unshare = programs.path().join("unshare");
    fs::write(&unshare, "#!/bin/sh\necho 'unshare: Operation not permitted' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&unshare, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(DWELL);
    command.args(["lab", "link-copy"]).env("PATH", path).current_dir(place.path());
    let done = command.stdin(Stdio::null()).output().expect("dwell starts");
    assert_eq!(done.status.code(), Some(125), "{}", stderr(&done));
    for says in ["link-copy cannot be run here", "no network namespace can be made here", "not permitted"] {
        assert!(stderr(&done).contains(says), "{says:?} in {}", stderr(&done));
    }
    assert_eq!(names(place.path()), Vec::<String>::new());
}

#[test]
fn a_second_lab_at_the_same_time_is_told_that_there_is_another() {
    let (one, other, cache) = (place(), place(), place());
    let begin = |place: &TempDir, arguments: &[&str]| {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", DWELL, "lab"]).args(arguments).current_dir(place.path());
        command.env("XDG_CACHE_HOME", cache.path()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("dwell starts")
    };
    let first = begin(&one, &["--score", "--only", "computes", "--rounds", "500"]);
    let begun = Instant::now();
    // Its programs run: it has the lock.
    let runs = || !names(one.path()).is_empty() && cache.path().join("dwell/lab.lock").exists();
    while !runs() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    let second = begin(&other, &["computes", "--size", "20"]).wait_with_output().unwrap();
    let killed = Command::new("kill").args(["-INT", &first.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let first = first.wait_with_output().unwrap();
    let says = "another dwell lab is running: each disturbs what the other measures";
    assert!(second.status.success() && stderr(&second).contains(says), "{}", stderr(&second));
    assert_eq!(first.status.code(), Some(130));
    assert!(!stderr(&first).contains(says), "{}", stderr(&first));
}

#[test]
fn ctrl_c_ends_a_program_that_is_only_run_and_its_directory_goes() {
    let place = place();
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", DWELL, "lab", "spawns", "--run", "process", "--size", "5000"]);
    let mut child = command.current_dir(place.path()).stdin(Stdio::null()).spawn().expect("dwell starts");
    let begun = Instant::now();
    while names(place.path()).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(names(place.path()), Vec::<String>::new());
}

#[test]
fn every_cause_of_a_pair_is_one_that_dwell_knows() {
    for pair in pairs::ALL {
        let Some(cause) = pair.cause else { continue };
        let explained = Command::new(DWELL).args(["explain", cause]).output().unwrap();
        assert!(explained.status.success(), "{}: {cause}", pair.name);
    }
}

/// The tests of causes, a file for each kind of them: with it, without it, beside busy loops, and
/// started without privileges.
const TESTS_OF_CAUSES: [&str; 5] = [
    include_str!("causes_cpu.rs"),
    include_str!("causes_files.rs"),
    include_str!("causes_memory.rs"),
    include_str!("causes_net.rs"),
    include_str!("causes_reads.rs"),
];

/// The cases of the corpus, by their names, and what each says of itself: programs with recordings
/// and savings that were measured, each beside the same work with the change.
fn corpus() -> Vec<(String, String)> {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/cases");
    let names = fs::read_dir(cases).expect("the corpus").map(|entry| entry.expect("a case").file_name());
    let named = names.map(|name| name.to_string_lossy().into_owned());
    let read = |name: String| {
        let told = fs::read_to_string(format!("{cases}/{name}/case.toml")).expect("what the case is");
        (name, told)
    };
    named.map(read).collect()
}

/// Whether a case is one of this cause, and has the same work without it.
fn is_pair_of(told: &str, id: &str) -> bool {
    let has = |start: &str| told.lines().find(|line| line.starts_with(start));
    let named = has("causes = ").is_some_and(|line| line.contains(&format!("\"{id}\"")));
    named && has("fast = ").is_some()
}

#[test]
fn every_cause_has_a_pair_and_a_test() {
    let listed = Command::new(DWELL).arg("explain").output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let ids: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(ids.contains(&"memory-pressure"), "{listed}");
    let corpus = corpus();
    let in_corpus = |id: &str| corpus.iter().any(|(_, told)| is_pair_of(told, id));
    for id in ids {
        if !pairs::ALL.iter().any(|pair| pair.cause == Some(id)) {
            assert!(in_corpus(id), "{id} has no pair in the lab, and none in the corpus");
            continue;
        }
        let named = format!("\"{id}\"");
        assert!(TESTS_OF_CAUSES.iter().any(|tests| tests.contains(&named)), "{id} has no test");
    }
}

/// The table of these tests, `docs/results/causes.md`, has each cause, with tests that there are or
/// with cases of the corpus.
#[test]
fn the_table_of_tests_names_each_cause_and_tests_that_there_are() {
    let table = include_str!("../../../../docs/results/causes.md");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    let corpus = corpus();
    let listed = Command::new(DWELL).arg("explain").output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for id in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        let row = rows.iter().find(|row| row.starts_with(&format!("| `{id}` |")));
        let cell = row.and_then(|row| row.split('|').nth(2)).unwrap_or_default();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{id} has no row with a test");
        for name in names {
            let written = format!("fn {name}()");
            let is_test = TESTS_OF_CAUSES.iter().any(|tests| tests.contains(&written));
            let is_case = corpus.iter().any(|(case, told)| case == name && is_pair_of(told, id));
            assert!(is_test || is_case, "{id}: no {name}");
        }
    }
}

#[test]
fn a_program_is_run_by_hand_with_the_server_that_its_page_names() {
    let place = place();
    let at = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let port = at.port().to_string();
    let mut command = Command::new(DWELL);
    let mut server = command
        .args(["lab", "--serve", "requests", "--port", &port])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut told = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut told).unwrap();
    assert_eq!(told.trim(), at.to_string());
    let done = lab(place.path(), &["parts", "--run", "one", "--size", "3", "--port", &port]);
    assert!(done.status.success(), "{}", stderr(&done));
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success(), "the server ends with its input");
    let done = lab(place.path(), &["parts", "--port", &port]);
    assert!(stderr(&done).contains("--port is for --run and --serve\ntry: "), "{}", stderr(&done));
}

#[test]
fn urls_that_fail_are_said_by_name_and_the_others_come() {
    let place = place();
    let mut command = Command::new(DWELL);
    let mut server = command
        .args(["lab", "--serve", "requests"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut at = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut at).unwrap();
    let url = |path: &str| format!("http://{}/{path}", at.trim());
    let (whole, none) = (url("30000?cut=1"), url("none"));
    for way in ["one-by-one", "six"] {
        let all =
            ["downloads", "--run", way, "--url", &whole, "--url", &none, "--url", "http://127.0.0.1:1/"];
        let done = lab(place.path(), &all);
        let (out, error) = (String::from_utf8_lossy(&done.stdout).into_owned(), stderr(&done));
        assert_eq!(done.status.code(), Some(125), "{error}");
        assert!(out.contains("length and checksum right, resumed"), "{out}");
        assert!(error.contains("/none: the server says 404 Not Found"), "{error}");
        assert!(error.contains("http://127.0.0.1:1/: Connection refused"), "{error}");
    }
    // Fewer than those that the pair was judged with: what is not found is not wrong.
    let few = url("3000?latency_ms=20");
    let done = lab(
        place.path(),
        &["downloads", "--url", &few, "--url", &few, "--url", &few, "--pairs", "6", "--json", "few.json"],
    );
    assert!(done.status.success(), "{}", stderr(&done));
    let result = read_json(&place.path().join("few.json"));
    assert_eq!(errors(&schema("dwell.lab/1"), &result), Vec::<String>::new());
    let outcome = &result["sitting"]["outcome"];
    assert_eq!(outcome["unfound"]["kind"], "unjudged", "{outcome}");
    let why = outcome["unfound"]["why"].as_str().unwrap();
    assert!(outcome["held"].is_null() && why.ends_with("(10 needed)"), "{outcome}");
    assert!(!String::from_utf8_lossy(&done.stdout).contains("wrong:"), "{}", stderr(&done));
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success(), "the server ends with its input");
    let other = lab(place.path(), &["computes", "--url", &whole]);
    assert!(stderr(&other).contains("--url is for downloads\ntry: "), "{}", stderr(&other));
}
