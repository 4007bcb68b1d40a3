//! `dwell compare` from outside: real commands, its verdicts, its exit status, and what it says of
//! command lines that cannot work.

use crate::support::{self, text};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn compare(args: &[&str]) -> Command {
    let mut command = Command::new(support::dwell());
    command.args(["compare", "-v"]).args(args).stdin(Stdio::null());
    command
}

/// The result of a comparison that must succeed, valid by its schema.
fn json(args: &[&str]) -> Value {
    let output = compare(&[&["--json", "-"], args].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    parsed(&output)
}

fn parsed(output: &Output) -> Value {
    let value = support::json(output);
    let errors = support::errors(&support::schema("dwell.compare/1"), &value);
    assert!(errors.is_empty(), "{errors:#?}");
    value
}

/// How it fails: the status and what it says. Nothing may be on standard output.
fn fails(args: &[&str]) -> (i32, String) {
    let output = compare(args).output().unwrap();
    assert_eq!(text(&output.stdout), "", "{args:?}");
    (output.status.code().unwrap(), text(&output.stderr))
}

#[test]
fn a_shorter_sleep_is_faster_and_a_longer_one_slower() {
    for (commands, verdict) in
        [(["sleep 0.02", "sleep 0.03"], "slower"), (["sleep 0.03", "sleep 0.02"], "faster")]
    {
        let said = json(&[&["--no-why", "--margin", "5%"], &commands[..]].concat());
        let change = &said["comparisons"][0];
        assert_eq!(change["verdict"], verdict, "{said}");
        assert_eq!(said["ended"], "decided");
        let (lo, hi) = (change["ratio"]["lo"].as_f64().unwrap(), change["ratio"]["hi"].as_f64().unwrap());
        let expected = if verdict == "slower" { 1.47 } else { 0.68 };
        assert!((lo..hi).contains(&expected) || (lo - expected).abs() < 0.05, "{change}");
        // It goes on for three seconds, also where it is clear.
        assert!(said["took_ns"].as_u64().unwrap() > 3_000_000_000);
        assert!(change["pairs"].as_array().unwrap().len() > 20);
    }
}

#[test]
fn the_difference_lies_in_the_sleep() {
    let said = json(&["--pairs", "8", "sleep 0.05", "sleep 0.02"]);
    let why = &said["comparisons"][0]["why"];
    assert!(why["pairs"].as_u64().unwrap() >= 3, "{why}");
    // Beside others the queue for a CPU may differ by more.
    let own = |state: &&serde_json::Value| state["state"] != "runqueue";
    let largest = why["states"].as_array().unwrap().iter().find(own).unwrap();
    assert_eq!(largest["state"], "sleep", "{why}");
}

#[test]
fn the_same_command_twice_is_a_test_of_the_machine() {
    let output = compare(&["--pairs", "6", "sleep 0.01", "sleep 0.01"]).output().unwrap();
    let page = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(page.contains("is the first command again: their difference is noise"), "{page}");
    let said = json(&["--floor", "--no-why", "--pairs", "6", "sleep 0.01", "sleep 0.02"]);
    assert_eq!(said["commands"].as_array().unwrap().len(), 3);
    assert_eq!(said["commands"][1]["name"], "sleep 0.01 (again)");
}

#[test]
fn one_command_alone_is_measured() {
    let said = json(&["sleep 0.02"]);
    assert_eq!(said["comparisons"].as_array().unwrap().len(), 0);
    let median = said["commands"][0]["figure"]["median"].as_f64().unwrap();
    assert!((20e6..40e6).contains(&median), "{median}");
    assert!(said["commands"][0]["runs"].as_u64().unwrap() >= 10);
}

#[test]
fn parameters_make_commands() {
    let said = json(&[
        "--no-why",
        "--pairs",
        "2",
        "-L",
        "t",
        "0.001,0.002",
        "-P",
        "n",
        "1",
        "2",
        "sh -c 'sleep {t}; : {n}'",
    ]);
    let names: Vec<&str> = said["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "sh -c 'sleep 0.001; : 1'",
            "sh -c 'sleep 0.001; : 2'",
            "sh -c 'sleep 0.002; : 1'",
            "sh -c 'sleep 0.002; : 2'"
        ]
    );
    assert_eq!(said["commands"][2]["parameters"], serde_json::json!([["n", "1"], ["t", "0.002"]]));
}

#[test]
fn the_exit_status_is_the_gates() {
    let gate = |commands: [&str; 2]| {
        let args = [&["-q", "--no-why", "--fail-if-slower", "20%"], &commands[..]].concat();
        compare(&args).output().unwrap().status.code()
    };
    assert_eq!(gate(["sleep 0.01", "sleep 0.03"]), Some(1));
    assert_eq!(gate(["sleep 0.03", "sleep 0.01"]), Some(0));
    let few = compare(&["-q", "--no-why", "--fail-if-slower", "20%", "--pairs", "2", "true", "true"]);
    assert_eq!({ few }.output().unwrap().status.code(), Some(2));
}

#[test]
fn too_few_pairs_are_said() {
    let output = compare(&["--no-why", "--pairs", "3", "sleep 0.01", "sleep 0.03"]).output().unwrap();
    let error = text(&output.stderr);
    assert!(error.contains("3 pairs cannot decide") && error.contains("try: --pairs 6"), "{error}");
    assert!(
        text(&output.stdout).starts_with("B is undecided against A, by 3 pairs"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn what_cannot_run_is_found_before_anything_runs() {
    let place = tempfile::tempdir().unwrap();
    let mark = place.path().join("ran");
    let touch = format!("touch {}", mark.display());
    let plain = place.path().join("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    for (command, status, said) in [
        ("no-such-program-anywhere", 127, "no-such-program-anywhere"),
        (plain.to_str().unwrap(), 126, "chmod +x"),
    ] {
        let (code, error) = fails(&[&touch, command]);
        assert!(code == status && error.contains(said), "{command}: {code} {error}");
        assert!(!mark.exists(), "{command}: something ran");
    }
}

#[test]
fn a_command_that_fails_at_first_shows_its_output() {
    let place = tempfile::tempdir().unwrap();
    let count = place.path().join("count");
    let script = format!("sh -c 'echo run >> {}; echo why it failed >&2; exit 3'", count.display());
    let (code, error) = fails(&[&script]);
    assert_eq!(code, 125, "{error}");
    assert!(error.contains("why it failed") && error.contains("ended with status 3"), "{error}");
    assert!(error.contains("try: -i"), "{error}");
    assert_eq!(fs::read_to_string(&count).unwrap(), "run\n");
    // Unless that is what it should do.
    let said = json(&["-i=3", "--pairs", "2", &script]);
    assert_eq!(said["commands"][0]["runs"], 2);
}

#[test]
fn a_command_that_fails_run_after_run_ends_the_comparison() {
    let place = tempfile::tempdir().unwrap();
    let made = place.path().join("made");
    let (mkdir, file) = (format!("mkdir {}", made.display()), place.path().join("a.json"));
    let begun = Instant::now();
    let args = ["--for", "5m", "--json", file.to_str().unwrap(), "true", &mkdir];
    let output = compare(&args).output().unwrap();
    let (page, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(125), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let failed = "failed in each of its last 7 runs (it ended with exit status 1), and nothing more was run";
    assert!(error.contains(failed) && error.contains("try: --prepare"), "{error}");
    assert!(page.contains("a command failed in run after run and ended the comparison early"), "{page}");
    let said: Value = support::read_json(&file);
    assert_eq!((&said["ended"], &said["commands"][1]["failed"]), (&"failed".into(), &7.into()), "{said}");
    let why = said["comparisons"][0]["why"]["unseen"].as_str().unwrap();
    assert_eq!(why, "a command fails run after run");
    // What the message proposes works.
    let prepare = format!("rmdir {} || true", made.display());
    let said = json(&["--no-why", "--pairs", "8", "--prepare", &prepare, "true", &mkdir]);
    assert_eq!((&said["ended"], &said["commands"][1]["failed"]), (&"pairs-done".into(), &0.into()), "{said}");
}

#[test]
fn other_outputs_are_said() {
    let output = compare(&["--no-why", "--pairs", "2", "echo a", "echo b"]).output().unwrap();
    let page = text(&output.stdout);
    assert!(page.contains("wrote other standard output of the same size"), "{page}");
}

#[test]
fn a_number_that_is_printed_is_compared() {
    let said = json(&["--metric", "took ([0-9.]+)", "--pairs", "8", "echo took 2.5", "echo took 5"]);
    let change = &said["comparisons"][0];
    assert!((change["ratio"]["estimate"].as_f64().unwrap() - 2.0).abs() < 1e-9, "{change}");
    assert_eq!(said["runs"][2]["printed"].as_array().unwrap().len(), 1);
    let (code, error) = fails(&["--metric", "took ([0-9.]+)", "echo nothing"]);
    assert!(code == 125 && error.contains("in its first run"), "{code} {error}");
    let (code, error) = fails(&["--metric", "took (", "echo nothing"]);
    assert!(code == 125 && error.contains("took ("), "{code} {error}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_a_remedy() {
    for (args, said) in [
        (&["echo it's"][..], "the quote ' is not closed"),
        (&["echo a | cat"], "-S"),
        (&["-L", "n", "1,2", "echo {m}"], "{m} is no parameter"),
        (&["-L", "n", "1,2", "-L", "n", "3", "echo {n}"], "given twice"),
        (&["-P", "n", "2", "1", "echo {n}"], "has no values"),
        (&["-p", "a", "-p", "b", "-p", "c", "true", "false"], "--prepare is given 3 times"),
        (&["--json", "/no/such/directory/file", "true"], "/no/such/directory/file"),
        (&["--input", "/no/such/file", "true"], "/no/such/file"),
    ] {
        let (code, error) = fails(args);
        assert!(code == 125 && error.contains(said), "{args:?}: {code} {error}");
        assert!(!error.contains('\x1b'), "{error:?}");
    }
}

#[test]
fn a_failure_to_write_does_not_cost_the_page() {
    let output = compare(&["--no-why", "--pairs", "2", "--json", "/dev/full", "true"]).output().unwrap();
    let error = text(&output.stderr);
    assert!(output.status.code() == Some(125) && error.contains("/dev/full"), "{error}");
    assert!(text(&output.stdout).starts_with("A takes "), "{}", text(&output.stdout));
}

#[test]
fn a_signal_gives_the_result_so_far_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let cleaned = place.path().join("cleaned");
    let cleanup = format!("touch {}", cleaned.display());
    let mut child =
        compare(&["--json", "-", "--for", "5m", "--cleanup", &cleanup, "sleep 0.05", "sleep 0.0501"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    sleep(Duration::from_secs(2));
    let begun = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut said = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["ended"], "signal");
    assert!(said["commands"][0]["runs"].as_u64().unwrap() > 3, "{said}");
    assert!(cleaned.exists());
}

/// Ends with a status of its own after Ctrl-C, as many programs do.
const ORDERLY: &str = "trap 'exit 7' INT; touch there; for i in $(seq 300); do sleep 0.1; done\n";

#[test]
fn ctrl_c_of_a_terminal_in_the_first_run_is_no_failure_of_the_command() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("script"), ORDERLY).unwrap();
    // A process group of its own: a terminal sends Ctrl-C to all of it.
    let mut command = Command::new("env");
    command.args([
        "--default-signal=INT",
        support::dwell(),
        "compare",
        "--no-why",
        "sh script",
        "sh ./script",
    ]);
    command.current_dir(top.path()).process_group(0).stdin(Stdio::null());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let there = top.path().join("there");
    for _ in 0..3_000 {
        if there.exists() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    assert!(there.exists(), "the command does not run");
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
    assert!(!text(&ended.stderr).contains("in its first run"), "{}", text(&ended.stderr));
}

/// Ends at once where it is timed, and ignores signals where it is observed.
const DEAF: &str = "tr '\\0' ' ' < /proc/$PPID/cmdline | grep -q ' run ' || exit 0
trap '' INT TERM; echo $$ > pid.new; mv pid.new pid; exec sleep 100
";

#[test]
fn a_signal_ends_an_observed_run_that_ignores_it() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("script"), DEAF).unwrap();
    let mut command = compare(&["--pairs", "2", "sh script", "true"]);
    command.current_dir(top.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut dwell = command.spawn().unwrap();
    let path = top.path().join("pid");
    for _ in 0..3_000 {
        if path.exists() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    let pid = fs::read_to_string(&path).expect("it is observed").trim().parse().unwrap();
    assert!(Command::new("kill").args(["-TERM", &dwell.id().to_string()]).status().unwrap().success());
    assert_eq!(dwell.wait().unwrap().code(), Some(143));
    assert!(['-', 'Z'].contains(&state(pid)), "{}", state(pid));
}

/// `T` for a stopped process; `-` for one that is gone.
fn state(pid: u32) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('-')
}

#[test]
fn ctrl_z_is_in_no_run_that_counts_and_takes_nothing_of_the_time() {
    // A process group of its own, as a shell makes one for a job.
    let mut child = compare(&["--no-why", "--for", "2s", "--json", "-", "sleep 0.1", "sleep 0.101"])
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let group = format!("-{}", child.id());
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, "--", &group]).status().unwrap().success());
    };
    sleep(Duration::from_secs(1));
    signal("-TSTP");
    let begun = Instant::now();
    while state(child.id()) != 'T' {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not stop: {}", state(child.id()));
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_secs(4));
    signal("-CONT");
    let mut said = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let said: Value = serde_json::from_str(&said).unwrap();
    let runs = said["runs"].as_array().unwrap();
    let long = |run: &&Value| run["wall_ns"].as_u64().unwrap() > 3_900_000_000;
    for run in runs.iter().filter(long) {
        assert_eq!(run["stopped"], true, "{run}");
        assert_eq!(run["excluded"], "it was stopped by a signal for a while");
    }
    assert!(runs.iter().filter(|run| run["stopped"] == true).count() <= 1, "{said}");
    // It went on after a time that is longer than all of --for, and that time is not counted.
    let last = runs.last().unwrap()["began_ns"].as_u64().unwrap();
    assert!(last > 4_000_000_000, "{said}");
    assert!(said["took_ns"].as_u64().unwrap() + 3_000_000_000 < last, "{said}");
    assert!(said["commands"].as_array().unwrap().iter().all(|command| command["failed"] == 0), "{said}");
    let limits = said["limits"].to_string();
    assert!(limits.contains("a signal stopped dwell for "), "{limits}");
}

#[test]
fn what_runs_before_and_after_each_run_does() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let says = |word: &str| format!("echo {word} >> {}", log.display());
    let command = |word: &str| format!("sh -c '{}'", says(word));
    let (setup, prepare, conclude, cleanup) = (says("s"), says("p"), says("C"), says("c"));
    let args =
        ["-q", "--no-why", "--pairs", "1", "-s", &setup, "-p", &prepare, "-C", &conclude, "-c", &cleanup];
    let output = compare(&[&args[..], &[&command("A")]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.split_whitespace().collect::<String>(), "spACpACc");
}

#[test]
fn runs_that_warm_up_are_rows_that_do_not_count() {
    let place = tempfile::tempdir().unwrap();
    let csv = place.path().join("rows.csv");
    let said =
        json(&["--no-why", "-w", "3", "--pairs", "2", "--csv", csv.to_str().unwrap(), "true", "sleep 0.001"]);
    let reasons: Vec<(u64, Option<&str>)> = said["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["block"].as_u64().unwrap(), run["excluded"].as_str()))
        .collect();
    let expected: Vec<(u64, Option<&str>)> =
        (0..5).flat_map(|block| [(block, (block < 3).then_some("it warms up")); 2]).collect();
    assert_eq!(reasons, expected);
    assert_eq!(said["settings"]["warmup"], 3);
    for command in said["commands"].as_array().unwrap() {
        assert_eq!((&command["runs"], &command["failed"]), (&2.into(), &0.into()), "{command}");
    }
    let blocks: Vec<&Value> =
        said["comparisons"][0]["pairs"].as_array().unwrap().iter().map(|pair| &pair["block"]).collect();
    assert_eq!(blocks, [3, 4]);
    let rows = fs::read_to_string(csv).unwrap();
    let counts: String = rows.lines().skip(1).map(|row| row.split(',').nth(4).unwrap()).collect();
    assert_eq!(counts, "0000001111");
}

#[test]
fn every_form_is_written() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (csv, markdown, hyperfine) = (path("a.csv"), path("a.md"), path("a.json"));
    let forms = ["--csv", &csv, "--markdown", &markdown, "--hyperfine", &hyperfine];
    let args = [&["-q", "--no-why", "--pairs", "2"], &forms[..], &["true", "sleep 0.001"]].concat();
    let output = compare(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // The first pair is in the rows, and does not count.
    assert_eq!(fs::read_to_string(csv).unwrap().lines().count(), 1 + 2 * 3);
    assert!(fs::read_to_string(markdown).unwrap().contains("| B | `sleep 0.001` |"));
    let value: Value = support::read_json(hyperfine.as_ref());
    assert_eq!(value["results"][1]["measurements"].as_array().unwrap().len(), 2);
}

#[test]
fn the_environment_and_the_input_are_what_was_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let script: PathBuf = place.path().join("script");
    fs::write(&script, "#!/bin/sh\nread line\necho \"$N $line\" >&2\n[ \"$N $line\" = \"1 in\" ]\n").unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(place.path().join("in"), "in\n").unwrap();
    let input = place.path().join("in");
    let said =
        json(&["--env", "N=1", "--input", input.to_str().unwrap(), "--pairs", "2", script.to_str().unwrap()]);
    assert_eq!(said["commands"][0]["failed"], 0);
}

#[test]
fn percentiles_of_many_printed_numbers_stand_beside_the_median() {
    // 1 to 100; in B the largest ten are twice as large.
    let script = |times: u32| {
        format!("sh -c 'for n in $(seq 90) $(seq {} {times} {}); do echo $n; done'", 91 * times, 100 * times)
    };
    let args = ["--metric", "[0-9]+", "--no-why", "--pairs", "8", &script(1), &script(2)];
    let said = json(&args);
    let change = &said["comparisons"][0];
    assert_eq!((&change["verdict"], &change["ratio"]["estimate"]), (&"same".into(), &1.0.into()), "{change}");
    let [p90, p99] = &change["percentiles"].as_array().unwrap()[..] else { panic!("{change}") };
    assert_eq!((&p90["percent"], &p99["percent"]), (&90.into(), &99.into()));
    for (of, a) in [(p90, 90.1), (p99, 99.01)] {
        let found = &of["found"];
        assert!((found["a"].as_f64().unwrap() - a).abs() < 1e-9, "{found}");
        assert_eq!(found["change"], "more", "{found}");
    }
    assert!((p99["found"]["ratio"]["estimate"].as_f64().unwrap() - 2.0).abs() < 1e-9, "{p99}");
    let page = compare(&args).output().unwrap();
    let page = text(&page.stdout);
    let row = page.lines().find(|line| line.contains("p99")).unwrap_or_default();
    assert!(row.contains("2.00 (2.00–2.00)") && row.ends_with("more"), "{page}");
    // One number of A is none of a distribution.
    let few = json(&["--metric", "[0-9]+", "--no-why", "--pairs", "2", "seq 5", "seq 100"]);
    let why = few["comparisons"][0]["percentiles"][0]["found"]["unseen"].as_str().unwrap();
    assert_eq!(why, "it takes 10 numbers in each run, and a run printed 5");
}
