//! Every program does what it prints, and ends: only then can it be a truth for other tests.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

const MS: u64 = 1_000_000;

fn work() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dwell-work"))
}

/// The line that `program` printed.
fn line(done: &Output, program: &str) -> Value {
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{program}: {}: {}", done.status, String::from_utf8_lossy(&done.stderr));
    let mut lines = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let line = lines.find(|line| line["program"] == program);
    line.unwrap_or_else(|| panic!("{program} printed no line of its own, but {out:?}"))
}

fn tells(args: &[&str]) -> Value {
    line(&work().args(args).output().expect("dwell-work starts"), args[0])
}

/// Each lasts at least as long as requested, by its own clock.
#[test]
fn durations_are_at_least_those_asked_for() {
    let cases: &[(&[&str], &str, u64)] = &[
        (&["sleep", "20"], "slept", 20),
        (&["spin", "20"], "spun_cpu", 20),
        // Who waits may come late, on a busy machine.
        (&["lock-sleep", "20"], "held", 20),
        (&["lock-spin", "20"], "held_cpu", 20),
        (&["flock-sleep", "20"], "held", 20),
        (&["pipe-sleep", "20"], "passed", 20),
        (&["pipe-spin", "20"], "passed_cpu", 20),
        (&["pipeline-1", "3", "10"], "first_cpu", 30),
        (&["pipeline-2", "3", "10"], "second_cpu", 30),
        (&["pipeline-3", "3", "10"], "third_cpu", 30),
        (&["child-sleep", "20"], "passed", 20),
        (&["child-spin", "20"], "passed_cpu", 20),
        (&["vfork-exec", "20"], "waited", 20),
        (&["orphan", "20"], "passed_cpu", 20),
        (&["outlive", "20", "40"], "slept", 20),
        (&["overlap", "10", "20"], "both", 20),
        (&["fork-join-spin", "10", "20"], "both", 20),
        (&["fork-join-sleep", "10", "20"], "both", 20),
        (&["tcp-thread-sleep", "3", "10"], "waited", 30),
        (&["tcp-thread-spin", "3", "10"], "served_cpu", 30),
        (&["tcp-process-sleep", "3", "10"], "waited", 30),
        (&["tcp-process-spin", "3", "10"], "served_cpu", 30),
        (&["unix-thread-sleep", "3", "10"], "waited", 30),
        (&["unix-thread-spin", "3", "10"], "served_cpu", 30),
        (&["unix-process-sleep", "3", "10"], "waited", 30),
        (&["unix-process-spin", "3", "10"], "served_cpu", 30),
        (&["epoll-server", "3", "10"], "served", 30),
        (&["epoll-timeout", "20"], "waited", 19),
        (&["poll-timeout", "20"], "waited", 19),
        (&["poll-pipe", "20"], "passed", 20),
        (&["stopped", "30"], "gap", 25),
        (&["stoppable", "20"], "spun_cpu", 20),
        (&["crowd", "10"], "spun_3_cpu", 10),
        (&["yield", "10"], "spun_cpu", 10),
    ];
    for (args, what, at_least_ms) in cases {
        let line = tells(args);
        let ns =
            line["ns"][*what].as_u64().unwrap_or_else(|| panic!("{args:?} does not tell {what}: {line}"));
        assert!(ns >= at_least_ms * MS, "{args:?}: {what} is {ns} ns: {line}");
    }
}

#[test]
fn counts_are_those_asked_for() {
    let dir = env!("CARGO_TARGET_TMPDIR");
    let cases: &[(&[&str], &str, u64)] = &[
        (&["fault", "8"], "pages", 8 * 256),
        (&["forks", "20"], "children", 20),
        (&["spawns", "5"], "children", 5),
        (&["threads", "100"], "threads", 100),
        (&["one-byte-reads", "1000"], "reads", 1000),
        (&["ping-pong", "100"], "trips", 100),
        (&["disk-read", dir, "1"], "reads", 16),
    ];
    for (args, what, count) in cases {
        let line = tells(args);
        assert_eq!(line["counts"][*what], *count, "{args:?}: {line}");
    }
    tells(&["disk-write", dir, "1"]);
    assert_eq!(tells(&["tree", "sh", "-c", "exit 3"])["counts"]["status"], 3 << 8);
}

#[test]
fn a_thread_that_executes_leaves_another_programs_line() {
    line(&work().args(["exec-thread", "5"]).output().expect("dwell-work starts"), "spin");
}

#[test]
fn a_client_is_answered_by_a_server() {
    let mut server = work().args(["serve", "5"]).stdout(Stdio::piped()).spawn().expect("dwell-work starts");
    let mut port = String::new();
    // Kept to the end: the server prints its own line last.
    let mut out = BufReader::new(server.stdout.take().expect("a pipe was asked for"));
    out.read_line(&mut port).expect("the server prints its port");
    assert!(tells(&["client", port.trim(), "3"])["ns"]["waited"].as_u64() >= Some(15 * MS));
    assert!(server.wait().expect("the server was started").success());
}

#[test]
fn a_named_pipe_is_read_when_it_is_fed() {
    for program in ["fifo-read", "fifo-open"] {
        let path = format!("{}/{program}-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo starts").success());
        let reader = work().args([program, &path]).stdout(Stdio::piped()).spawn().expect("dwell-work starts");
        let mut writer = std::fs::OpenOptions::new().write(true).open(&path).expect("the pipe opens");
        writer.write_all(b"x").expect("the pipe takes a byte");
        line(&reader.wait_with_output().expect("the reader was started"), program);
        std::fs::remove_file(path).expect("the pipe can be removed");
    }
}

#[test]
fn a_thread_may_have_a_hostile_name() {
    assert!(tells(&["hostile", "1"])["ids"]["thread"].is_u64());
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_32_bit_table_is_there() {
    assert_eq!(tells(&["calls-32", "10"])["counts"]["close"], 5);
}

#[test]
fn an_unknown_program_is_an_error_and_none_is_the_list() {
    let unknown = work().arg("nosuch").output().expect("dwell-work starts");
    assert!(!unknown.status.success() && unknown.stdout.is_empty());
    let list = work().output().expect("dwell-work starts");
    assert!(String::from_utf8_lossy(&list.stdout).lines().any(|line| line.starts_with("sleep\t")));
}

#[test]
fn a_series_is_the_programs_one_after_another() {
    let done = work().args(["series", "sleep,10", "spin,10"]).output().expect("dwell-work starts");
    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    let (sleep, spin) = (out.find(r#""program":"sleep""#), out.find(r#""program":"spin""#));
    assert!(done.status.success() && sleep.is_some() && sleep < spin, "{out}");
    assert!(!work().args(["series", "sleep,10", "no-such"]).status().expect("it starts").success());
}
