//! How often each call is made, against `strace -c`: equal to the last one, whatever windows
//! trace of their time.

use crate::strace_equal::{Counts, parse};
use crate::support::{self, fresh};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Addresses do not move: the number of `brk` and `mmap` may depend on them.
const STILL: [&str; 2] = ["setarch", "-R"];

fn in_silence(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("it starts").success(), "{command:?}");
}

fn by_strace(program: &[&str], dir: &Path) -> Counts {
    let table = dir.join("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-U", "name,calls,errors", "-o"]).arg(&table).args(STILL).args(program);
    in_silence(strace.current_dir(dir));
    parse(&std::fs::read_to_string(&table).expect("strace wrote it"))
}

/// The same by dwell, and how many of all calls were timed.
fn by_dwell(options: &[&str], program: &[&str], dir: &Path) -> (Counts, u64) {
    let json = dir.join("json");
    let mut dwell = Command::new(support::dwell());
    dwell.args(["run", "-q"]).args(options).arg("--json").arg(&json).arg("--").args(STILL).args(program);
    in_silence(dwell.current_dir(dir));
    let text = std::fs::read(&json).expect("there is a report");
    let run: Value = serde_json::from_slice(&text).expect("it is JSON");
    let rows = run["syscalls"].as_array().expect("there is a table");
    let number = |row: &Value, field: &str| row[field].as_u64().expect("it is a number");
    let timed = rows.iter().map(|row| row["timed"]["calls"].as_u64().unwrap_or(number(row, "calls"))).sum();
    let count = |row: &Value| {
        assert_eq!(row["estimate"], Value::Null);
        (row["name"].as_str().expect("a name").to_owned(), (number(row, "calls"), number(row, "errors")))
    };
    (rows.iter().map(count).collect(), timed)
}

fn dir() -> PathBuf {
    let dir = fresh("counts");
    std::fs::create_dir(&dir).expect("it is new");
    let lines: String = (0..20_000).map(|line| format!("{}\n", line * 7919 % 100_003)).collect();
    std::fs::write(dir.join("lines"), lines).expect("it can be written");
    std::fs::write(dir.join("c.c"), "#include <stdio.h>\nint main(void) { return puts(\"\"); }\n")
        .expect("it can be written");
    dir
}

/// Each makes the same calls in each run but the first, whose files are then there.
const PROGRAMS: [&[&str]; 20] = [
    &["ls", "-lR", "/usr/include"],
    &["find", "/usr/include", "-name", "*.h"],
    &["find", "/usr/include", "-size", "+1k"],
    &["du", "-s", "/usr/include"],
    &["tar", "cf", "a.tar", "/usr/include/linux"],
    &["grep", "-rc", "foo", "/usr/include/linux"],
    &["sort", "--parallel=1", "lines"],
    &["wc", "lines"],
    &["cp", "-rT", "/usr/include/linux", "copy"],
    &["sh", "-c", "md5sum /usr/include/*.h"],
    &["cat", "lines"],
    &["gzip", "-kfc", "lines"],
    &["awk", "{s+=$1} END{print s}", "lines"],
    &["dd", "if=/dev/zero", "of=bytes", "bs=1", "count=100000"],
    &["bash", "-c", "for i in {1..100}; do /bin/true; done"],
    &["bash", "-c", "trap : USR1; for i in {1..50}; do kill -USR1 $$; done"],
    &["/usr/bin/python3", "-IS", "-c", "import os\nfor _ in range(50000): os.stat('/etc/passwd')"],
    &["/usr/bin/python3", "-IS", "-c", "f = open('lines', 'rb', buffering=0)\nwhile f.read(7): pass"],
    &["perl", "-e", "open F, 'lines'; while (<F>) { stat \"/nope$_\" }"],
    &["cc", "-O2", "-c", "-o", "o.o", "c.c"],
];

#[test]
fn they_are_those_of_strace_to_the_last_call() {
    let dir = dir();
    let mut windows = 0;
    for program in PROGRAMS {
        in_silence(Command::new(program[0]).args(&program[1..]).current_dir(&dir));
        let theirs = by_strace(program, &dir);
        let (ours, timed) = by_dwell(&[], program, &dir);
        assert_eq!(ours, theirs, "{program:?}");
        windows += u32::from(timed < ours.values().map(|(calls, _)| calls).sum());
    }
    assert!(windows > 2, "where calls are many they were not all timed: {windows}");
    std::fs::remove_dir_all(dir).expect("it can be removed");
}

#[test]
fn a_bound_of_all_has_them_too_while_it_allows() {
    let dir = dir();
    // Half a million a second: to time them takes more than a tenth, and to count them does not.
    let program: &[&str] =
        &["/usr/bin/python3", "-IS", "-c", "import os\nfor _ in range(200000): os.stat('/etc/passwd')"];
    let theirs = by_strace(program, &dir);
    let (ours, timed) = by_dwell(&["--max-overhead", "10%"], program, &dir);
    assert_eq!(ours, theirs);
    assert!(timed < 150_000, "{timed}");
    std::fs::remove_dir_all(dir).expect("it can be removed");
}
