//! Results of bounded size: of programs that do much, the JSON stays below a megabyte, its sums
//! are exact, and what was put together is counted and said.

use crate::support::{self, fresh};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a result may have.
const BYTES_MAX: usize = 1_000_000;
/// Compiles the program that does much of one thing.
fn many() -> PathBuf {
    let program = fresh("many");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/many.c");
    let made = Command::new("cc").args(["-O2", "-pthread", source, "-o"]).arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()), "cc cannot compile many.c");
    program
}

/// A result as it is written.
struct Told {
    text: String,
    json: Value,
}

/// Runs the program; what dwell says of it live and of the recording is the same.
fn told(program: &Path, arguments: &[&str]) -> Told {
    let (place, kept, json) = (fresh("place"), fresh("kept"), fresh("json"));
    fs::create_dir(&place).expect("there is room for a directory");
    let mut command = Command::new(support::dwell());
    command.args(["run", "-q", "--keep"]).arg(&kept).arg("--json").arg(&json).arg("--").arg(program);
    let status = command.args(arguments).current_dir(&place).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
    let live = fs::read_to_string(&json).expect("there is a result");
    let again = Command::new(support::dwell()).arg("show").arg(&kept).args(["--json", "-"]).output();
    let again = String::from_utf8(again.expect("dwell starts").stdout).expect("it is text");
    assert!(again == live, "{arguments:?}: show gives other JSON than the run did");
    for file in [kept, json] {
        fs::remove_file(file).expect("it can be removed");
    }
    fs::remove_dir_all(place).expect("it can be removed");
    Told { json: serde_json::from_str(&live).expect("it is JSON"), text: live }
}

fn rows<'a>(run: &'a Value, table: &str) -> &'a Vec<Value> {
    run[table].as_array().unwrap_or_else(|| panic!("there is no table of {table}"))
}

fn sum(rows: &[Value], of: impl Fn(&Value) -> u64) -> u64 {
    rows.iter().map(of).sum()
}

fn ns(row: &Value) -> u64 {
    row["ns"].as_u64().expect("it has a time")
}

/// What holds for every result.
fn is_bounded_and_closes(told: &Told, what: &str) {
    assert!(told.text.len() <= BYTES_MAX, "{what}: {} bytes", told.text.len());
    let run = &told.json;
    let wall_ns = run["wall_ns"].as_u64().expect("it has a wall clock");
    assert_eq!(sum(rows(run, "account"), ns), wall_ns, "{what}");
    assert_eq!(sum(rows(run, "path"), ns), wall_ns, "{what}");
    for thread in rows(run, "threads") {
        let states = thread["states"].as_object().expect("it has states");
        let all: u64 = states.values().filter_map(Value::as_u64).sum();
        assert_eq!(Some(all), thread["life_ns"].as_u64(), "{what}: {thread}");
    }
    let broken = support::errors(&support::schema("dwell.run/1"), run);
    assert_eq!(broken, Vec::<String>::new(), "{what}");
}

/// What of a table was put together: rows, and the rows that stand for them.
fn folded(run: &Value, table: &str) -> (u64, u64) {
    let all = run["folded"].as_array().map_or(&[][..], Vec::as_slice);
    let one = all.iter().find(|one| one["table"] == table);
    one.map_or((0, 0), |one| (one["rows"].as_u64().unwrap_or(0), one["into"].as_u64().unwrap_or(0)))
}

#[test]
fn of_thousands_of_children_the_small_ones_are_put_together_and_counted() {
    const CHILDREN: u64 = 3000;
    let program = many();
    let told = told(&program, &["children", &CHILDREN.to_string()]);
    is_bounded_and_closes(&told, "children");
    let run = &told.json;
    let threads = rows(run, "threads");
    assert!(threads.len() <= 2000, "{}", threads.len());
    let of_row = |thread: &Value| thread["together"]["threads"].as_u64().unwrap_or(1);
    assert_eq!(sum(threads, of_row), CHILDREN + 1);
    let (gone, into) = folded(run, "threads");
    assert_eq!(gone + threads.len() as u64 - into, CHILDREN + 1);
    let notes = run["coverage"]["notes"].to_string();
    assert!(notes.contains(&format!("{gone} rows of threads are put together")), "{notes}");
    fs::remove_file(program).expect("it can be removed");
}

#[test]
fn connections_keep_their_number_and_their_bytes() {
    const CONNECTIONS: u64 = 3000;
    let program = many();
    let told = told(&program, &["connections", &CONNECTIONS.to_string()]);
    is_bounded_and_closes(&told, "connections");
    let opened = rows(&told.json, "connections").iter().filter(|row| row["began"] == "opened");
    let opened: Vec<Value> = opened.cloned().collect();
    let of = |figure: &str| sum(&opened, |row| row[figure].as_u64().expect("it is a number"));
    // What the kernel half lost is counted, and no connection.
    if told.json["coverage"]["lost_events"] == 0 {
        assert_eq!((of("times"), of("sent_bytes")), (CONNECTIONS, CONNECTIONS));
    }
    assert!(folded(&told.json, "connections").0 > 0);
    fs::remove_file(program).expect("it can be removed");
}

#[test]
fn a_long_argument_many_files_and_many_programs_are_small() {
    let program = many();
    for arguments in [["argument", "100000"], ["files", "5000"], ["execs", "200"]] {
        is_bounded_and_closes(&told(&program, &arguments), arguments[0]);
    }
    fs::remove_file(program).expect("it can be removed");
}
