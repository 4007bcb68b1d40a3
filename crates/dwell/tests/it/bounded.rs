//! What tracing calls may cost: exact below the bound, windows above it, and said so. On
//! programs that do little but call.

use crate::support;
use crate::support::fresh;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Compiles a program of the benchmark.
fn compiled(name: &str) -> PathBuf {
    let program = fresh(name);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/");
    let made =
        Command::new("cc").arg("-O2").arg(format!("{source}{name}.c")).arg("-o").arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()), "cc cannot compile {name}.c");
    program
}

/// Runs it and gives what dwell says.
fn run(options: &[&str], program: &PathBuf, count: u64) -> Value {
    let json = fresh("bounded.json");
    let mut command = Command::new(support::dwell());
    command.args(["run", "-q"]).args(options).arg("--json").arg(&json).arg("--").arg(program);
    let status =
        command.arg(count.to_string()).env("BENCH_RESULT", "/dev/null").status().expect("dwell starts");
    assert!(status.success(), "{status}");
    let text = std::fs::read(&json).expect("there is a report");
    std::fs::remove_file(json).expect("it can be removed");
    serde_json::from_slice(&text).expect("it is JSON")
}

fn call<'a>(run: &'a Value, name: &str) -> &'a Value {
    let calls = run["syscalls"].as_array().expect("there is a table of calls");
    calls.iter().find(|call| call["name"] == name).unwrap_or_else(|| panic!("no {name} in {calls:?}"))
}

fn source<'a>(run: &'a Value, name: &str) -> &'a Value {
    let sources = run["coverage"]["sources"].as_array().expect("there are sources");
    sources.iter().find(|source| source["name"] == name).expect("it is among them")
}

fn closes(run: &Value) {
    let account = run["account"].as_array().expect("there is an account");
    let sum: u64 = account.iter().filter_map(|part| part["ns"].as_u64()).sum();
    assert_eq!(Some(sum), run["wall_ns"].as_u64());
}

/// The steps of the path that are in a call.
fn named_calls(run: &Value) -> Vec<&str> {
    let path = run["path"].as_array().expect("there is a path");
    let kernel = path.iter().filter(|step| step["state"] == "kernel");
    kernel.filter_map(|step| step["reason"].as_str()).collect()
}

#[test]
fn many_calls_are_counted_and_the_time_of_few_is_traced() {
    const READS: u64 = 5_000_000;
    let program = compiled("read_byte");
    let told = run(&[], &program, READS);
    closes(&told);
    let read = call(&told, "read");
    // One more is of the loader.
    assert_eq!((&read["calls"], &read["estimate"]), (&Value::from(READS + 1), &Value::Null));
    assert_eq!(read["results"]["bytes"].as_u64().map(|bytes| bytes >= READS), Some(true));
    let [timed, lo, hi] = ["calls", "lo_ns", "hi_ns"].map(|field| read["timed"][field].as_u64().unwrap());
    assert!(timed < READS / 2, "{timed} of {READS} were timed");
    let cpu_ns = read["cpu_ns"].as_u64().expect("it is a number");
    assert!(lo <= cpu_ns && cpu_ns <= hi, "{lo} {cpu_ns} {hi}");
    assert_eq!(source(&told, "calls")["seen"], "partial");
    let named = named_calls(&told);
    assert!(named.contains(&"read") && !named.contains(&"calls, sampled"), "{named:?}");

    let few = run(&[], &program, 5000);
    assert_eq!((&call(&few, "read")["timed"], &call(&few, "read")["estimate"]), (&Value::Null, &Value::Null));
    assert_eq!(source(&few, "calls")["seen"], "full");
    std::fs::remove_file(program).expect("the program can be removed");
}

#[test]
fn within_a_bound_of_all_many_calls_are_estimated_from_slices() {
    const READS: u64 = 25_000_000;
    let program = compiled("read_byte");
    // An interval of 95 % may miss; on a machine that does other work windows are few, and then
    // there is none.
    let held = (0..4).any(|_| {
        let told = run(&["--max-overhead", "2%"], &program, READS);
        closes(&told);
        assert_eq!(source(&told, "calls")["seen"], "partial");
        let remedy = source(&told, "calls")["remedy"].as_str().expect("it is text");
        assert!(remedy.contains("--max-overhead none"), "{remedy}");
        let estimate = &call(&told, "read")["estimate"];
        let [seen, lo] = ["seen", "lo"].map(|end| estimate[end].as_u64().expect("it is a number"));
        assert!(seen < READS / 2, "{seen} of {READS} were traced");
        lo <= READS + 1 && estimate["hi"].as_u64().is_some_and(|hi| READS < hi)
    });
    assert!(held, "no interval of four holds what there was");
    std::fs::remove_file(program).expect("the program can be removed");
}

#[test]
fn without_a_bound_every_call_is_counted() {
    const READS: u64 = 1_000_000;
    let program = compiled("read_byte");
    let told = run(&["--max-overhead", "none"], &program, READS);
    // One more is of the loader.
    assert_eq!(call(&told, "read")["calls"], READS + 1);
    assert_eq!(call(&told, "read")["estimate"], Value::Null);
    closes(&told);
    std::fs::remove_file(program).expect("the program can be removed");
}

/// Runs a program and writes how often it left its CPU by itself, as the kernel counts it.
const COUNTED: &str = "
import resource, subprocess, sys
subprocess.run(sys.argv[2:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw, file=open(sys.argv[1], 'w'))
";

#[test]
fn every_switch_is_kept_while_calls_are_in_slices() {
    // So few that the buffer of a CPU holds all their records, however late a reader under test is.
    const TRIPS: &str = "30000";
    let (program, json, counted) = (compiled("ping_pong"), fresh("bounded.json"), fresh("counted"));
    let mut command = Command::new(support::dwell());
    command
        .args(["run", "-q", "--max-overhead", "2%", "--json"])
        .arg(&json)
        .args(["--", "python3", "-c", COUNTED]);
    let status = command.arg(&counted).arg(&program).arg(TRIPS).env("BENCH_RESULT", "/dev/null").status();
    assert!(status.is_ok_and(|status| status.success()));
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("it was written");
    let told: Value = serde_json::from_str(&read(&json)).expect("it is JSON");
    let theirs: u64 = read(&counted).trim().parse().expect("it is a number");
    closes(&told);
    assert_eq!(source(&told, "calls")["seen"], "partial");
    assert_eq!(told["coverage"]["lost_events"], 0);
    let waits = told["waits"].as_array().expect("there are waits");
    let pipes = waits.iter().filter(|wait| wait["reason"] == "pipe");
    // The call is known by the thread's registers where it is not traced.
    assert!(pipes.clone().all(|wait| wait["call"] == "read" || wait["call"] == "write"));
    let ours: u64 = pipes.filter_map(|wait| wait["calls"].as_u64()).sum();
    assert!(ours.abs_diff(theirs) <= theirs / 50, "{ours} waits, {theirs} switches by the kernel's count");
    for file in [program, json, counted] {
        std::fs::remove_file(file).expect("it can be removed");
    }
}
