//! Time on a CPU, split as perf splits it: programs of many short calls, with softirqs in them.

use crate::support::{self, fresh};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Samples a second: so many that a program of two seconds has enough.
const RATE: &str = "1999";

fn compiled(name: &str) -> PathBuf {
    let program = fresh(name);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/");
    let made =
        Command::new("cc").arg("-O2").arg(format!("{source}{name}.c")).arg("-o").arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()), "cc cannot compile {name}.c");
    program
}

fn told(options: &[&str], program: &Path, rounds: &str) -> Value {
    let json = fresh("split.json");
    let mut command = Command::new(support::dwell());
    command.args(["run", "-q", "--rate", RATE]).args(options);
    command.arg("--json").arg(&json).arg("--").arg(program).arg(rounds);
    command.env("BENCH_RESULT", "/dev/null");
    assert!(command.status().expect("dwell starts").success());
    let text = std::fs::read(&json).expect("there is a report");
    std::fs::remove_file(json).expect("it can be removed");
    serde_json::from_slice(&text).expect("it is JSON")
}

/// The share of samples in user mode, and how many there are, by perf with the same clock.
fn of_perf(program: &Path, rounds: &str) -> (f64, f64) {
    let data = fresh("split.perf");
    let mut record = Command::new("perf");
    record.args(["record", "--quiet", "-e", "cpu-clock", "-F", RATE, "-o"]).arg(&data).arg("--");
    record.env("BENCH_RESULT", "/dev/null");
    assert!(record.arg(program).arg(rounds).status().expect("perf starts").success());
    let mut report = Command::new("perf");
    report.args(["report", "--stdio", "--no-children", "-F", "sample,sym", "-t", "|", "-i"]).arg(&data);
    let output = report.output().expect("perf starts");
    std::fs::remove_file(data).expect("it can be removed");
    let (mut user, mut all) = (0.0, 0.0);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((count, symbol)) = line.split_once('|') else { continue };
        let Ok(count) = count.trim().parse::<f64>() else { continue };
        all += count;
        user += if symbol.trim().starts_with("[.]") { count } else { 0.0 };
    }
    assert!(all > 300.0, "perf has {all} samples: {}", String::from_utf8_lossy(&output.stderr));
    (user / all, all)
}

/// The user code's share of the time on a CPU by the account, with its interval.
fn of_account(run: &Value) -> [f64; 3] {
    let parts = run["account"].as_array().expect("there is an account");
    let on_cpu =
        parts.iter().filter(|part| part["state"].as_str().is_some_and(|state| support::CPU.contains(&state)));
    let all: f64 = on_cpu.filter_map(|part| part["ns"].as_f64()).sum();
    let user = parts.iter().find(|part| part["state"] == "user").expect("it has code of its own");
    ["lo_ns", "ns", "hi_ns"].map(|figure| user[figure].as_f64().expect("it is a number") / all)
}

fn of_functions(run: &Value) -> f64 {
    let rows = run["functions"].as_array().expect("there are functions");
    let user = rows.iter().filter(|row| row["mode"] == "user");
    user.filter_map(|row| row["share"]["value"].as_f64()).sum()
}

/// What tracing added to the time on a CPU at most, which perf's run does not have, as a share.
fn traced(run: &Value) -> f64 {
    let threads = run["threads"].as_array().expect("there are threads");
    let states = threads.iter().filter_map(|thread| thread["states"].as_object()).flatten();
    let on_cpu = states.filter(|(state, _)| support::CPU.contains(&state.as_str()));
    let all: f64 = on_cpu.filter_map(|(_, ns)| ns.as_f64()).sum();
    (run["coverage"]["overhead_ns"]["hi"].as_f64().unwrap_or(0.0) / all).min(1.0)
}

/// Whether the account's interval holds what perf has, and what the table of functions has.
fn agree(run: &Value, (theirs, samples): (f64, f64)) -> Result<(), String> {
    let margin = 0.02 + 1.96 * (theirs * (1.0 - theirs) / samples).sqrt();
    let ([lo, user, hi], table, traced) = (of_account(run), of_functions(run), traced(run));
    let holds = |share: f64| (lo - margin..=hi + margin).contains(&share);
    let perf = holds(theirs) || holds(theirs * (1.0 - traced));
    (perf && holds(table)).then_some(()).ok_or_else(|| {
        format!("user {lo:.3} {user:.3} {hi:.3}, functions {table:.3}, perf {theirs:.3}, tracing {traced:.3}")
    })
}

#[test]
fn user_code_has_the_share_that_perf_sees_whether_calls_are_traced_or_not() {
    for (name, rounds) in [("self_send", "150000"), ("read_byte", "3000000")] {
        let program = compiled(name);
        // Other programs of the machine may disturb one of the runs.
        let mut said = Vec::new();
        let held = (0..3).any(|_| {
            let theirs = of_perf(&program, rounds);
            [&[][..], &["--max-overhead", "none"]].iter().all(|options| {
                let agreed = agree(&told(options, &program, rounds), theirs);
                agreed.map_err(|why| said.push(format!("{options:?}: {why}"))).is_ok()
            })
        });
        assert!(held, "{name}: {said:#?}");
        std::fs::remove_file(program).expect("the program can be removed");
    }
}
