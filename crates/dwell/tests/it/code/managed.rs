//! Code that runtimes make while a program runs: named where a map can be had, else one row.

use crate::support::kit::{Code, done, hold_code, source};
use crate::support::window::{self, Alive};
use crate::support::{self, Told, fresh, utf8};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The directory of the compiled `Hot`.
fn hot() -> PathBuf {
    let classes = fresh("classes");
    done(Command::new("javac").args(["-d", utf8(&classes), utf8(&source("Hot.java"))]));
    classes
}

/// The rows of unnamed code: runtime and share.
fn unnamed(run: &Value) -> Vec<(String, f64)> {
    let rows = run["functions"].as_array().into_iter().flatten();
    let of = |row: &Value| {
        let runtime = row["unnamed"]["runtime"].as_str()?;
        Some((runtime.to_owned(), row["share"]["value"].as_f64().unwrap_or(0.0)))
    };
    rows.filter_map(of).collect()
}

/// The share of the functions whose names contain this.
fn named(code: &Code, name: &str) -> f64 {
    code.functions().into_iter().filter(|(full, _)| full.contains(name)).map(|(_, row)| row.share).sum()
}

#[test]
fn node_without_a_map_is_one_row_with_its_whole_share_and_no_line_of_libuv() {
    hold_code(&[], &["node", utf8(&source("hot.js"))], |told, code, claims| {
        let rows = unnamed(&told.run);
        let whole = matches!(&rows[..], [(runtime, share)] if runtime == "node" && *share > 0.5);
        claims.that(whole, format!("unnamed: {rows:?}"));
        let jit = code.functions().into_iter().filter(|(_, row)| row.module == "[jit]").count();
        claims.that(jit == 1, format!("{jit} rows of JIT code"));
        let line = code.lines().into_iter().find(|line| line.4.share > 0.3);
        claims.that(line.is_none(), format!("a line has its time: {:?}", line.map(|line| (line.0, line.1))));
        claims.that(told.page.contains("JIT code, not named (Node.js)"), "the page does not say so");
        claims.that(told.page.contains("for names: node --perf-basic-prof"), "the page has no command");
    });
}

#[test]
fn java_has_its_names_from_the_map_that_it_writes_at_its_end() {
    let classes = hot();
    let options = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+PreserveFramePointer", "-XX:+DumpPerfMapAtExit"];
    let command = [&["java"][..], &options, &["-cp", utf8(&classes), "Hot", "1500"]].concat();
    hold_code(&[], &command, |told, code, claims| {
        let scatter = named(code, "Hot.scatter") + named(code, "Hot.main");
        claims.that(scatter > 0.4, format!("Hot is {scatter:.3}"));
        let rows = unnamed(&told.run);
        claims.that(rows.iter().all(|(_, share)| *share < 0.05), format!("unnamed: {rows:?}"));
    });
    std::fs::remove_dir_all(classes).expect("the directory can be removed");
}

/// What dwell says of a window of 700 ms on this Java.
fn attached(alive: &Alive, more: &[&str]) -> Told {
    let mut command = Command::new(support::dwell());
    let name = alive.name();
    let args = [&[name.as_str(), "--for", "700ms"][..], more].concat();
    window::attach(command.arg("attach"), &fresh("attach.json"), &args, |_| ())
}

#[test]
fn a_java_that_runs_is_asked_for_its_names_only_where_that_is_wanted() {
    let _alone = support::alone();
    let classes = hot();
    let alive = Alive::start("java", &["-XX:+PreserveFramePointer", "-cp", utf8(&classes), "Hot", "0"]);
    let map = PathBuf::from(format!("/tmp/perf-{}.map", alive.pid()));
    // Of an earlier process with this PID.
    let _ = std::fs::remove_file(&map);
    let told = attached(&alive, &[]);
    let rows = unnamed(&told.run);
    assert!(matches!(&rows[..], [(runtime, share)] if runtime == "hotspot" && *share > 0.5), "{rows:?}");
    assert!(!map.exists(), "it was asked although nobody wanted it");
    let row = told.run["functions"].as_array().unwrap().iter().find(|row| !row["unnamed"].is_null()).unwrap();
    assert_eq!(row["unnamed"]["pids"], serde_json::json!([alive.pid()]));
    let told = attached(&alive, &["--jvm-names"]);
    let functions = told.run["functions"].as_array().unwrap();
    let of_hot = functions.iter().filter(|row| row["name"].as_str().unwrap().contains("Hot."));
    let share: f64 = of_hot.map(|row| row["share"]["value"].as_f64().unwrap()).sum();
    assert!(share > 0.5, "{functions:?}");
    // It lives on, and its waits have Java frames.
    assert!(std::fs::read_to_string(format!("/proc/{}/stat", alive.pid())).is_ok());
    std::fs::remove_file(map).unwrap();
    std::fs::remove_dir_all(classes).unwrap();
}

#[test]
fn a_program_that_is_no_java_gets_no_signal() {
    let _alone = support::alone();
    // SIGQUIT would end it.
    let alive = Alive::start(window::lives(), &["spins"]);
    let told = attached(&alive, &["--jvm-names"]);
    assert!(told.run["functions"].as_array().is_some_and(|rows| !rows.is_empty()));
    let state = std::fs::read_to_string(format!("/proc/{}/stat", alive.pid())).unwrap();
    assert!(state.contains(") R "), "{state}");
}
