//! `dwell ladder` where it touches something: the directory of the file rungs, and loopback.

use crate::support::{dwell, fresh};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const FILES: [&str; 14] = [
    "open",
    "stat",
    "create-unlink",
    "read-cached",
    "write",
    "fsync",
    "direct-read",
    "direct-read-32",
    "sequential-read",
    "sequential-write",
    "large-file-write",
    "small-file-write",
    "large-file-read",
    "small-file-read",
];
const NETWORK: [&str; 5] =
    ["udp-round-trip", "tcp-round-trip", "tcp-connect", "tls-handshake", "http-request"];

fn directory() -> PathBuf {
    let dir = fresh("ladder");
    fs::create_dir(&dir).expect("a directory in the scratch directory");
    dir
}

/// What is left in a directory.
fn left(dir: &PathBuf) -> Vec<PathBuf> {
    fs::read_dir(dir).expect("it is still there").map(|entry| entry.expect("it can be read").path()).collect()
}

fn ladder(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn rung<'a>(ladder: &'a Value, id: &str) -> &'a Value {
    let rungs = ladder["rungs"].as_array().expect("a ladder has rungs");
    rungs.iter().find(|rung| rung["id"] == id).unwrap_or_else(|| panic!("no {id}"))
}

fn median(ladder: &Value, id: &str) -> f64 {
    let rung = rung(ladder, id);
    rung["ns"]["median"].as_f64().unwrap_or_else(|| panic!("{id} has no figure: {rung}"))
}

/// Why a rung has no figure.
fn why(ladder: &Value, id: &str) -> String {
    let rung = rung(ladder, id);
    rung["ns"]["unseen"].as_str().unwrap_or_else(|| panic!("{id} was measured: {rung}")).to_owned()
}

#[test]
fn files_and_loopback_have_figures_and_nothing_stays() {
    let dir = directory();
    let mut command = Command::new(dwell());
    command.args(["ladder", "--quick", "--only", "files,network", "--json", "-", "--dir"]).arg(&dir);
    let ladder = ladder(&command.output().expect("dwell starts"));
    for id in FILES.iter().chain(&NETWORK) {
        let ns = median(&ladder, id);
        assert!((50.0..5e9).contains(&ns), "{id}: {ns} ns");
    }
    assert!(median(&ladder, "direct-read") > median(&ladder, "read-cached"), "a disk is slower than memory");
    assert_eq!(left(&dir), Vec::<PathBuf>::new());
}

#[test]
fn nothing_stays_when_it_is_interrupted() {
    for signal in ["-INT", "-TERM"] {
        let dir = directory();
        let mut command = Command::new(dwell());
        command.args(["ladder", "-q", "--only", "files", "--dir"]).arg(&dir);
        let mut child = command.stdin(Stdio::null()).spawn().expect("dwell starts");
        let until = Instant::now() + Duration::from_secs(60);
        while left(&dir).is_empty() {
            assert!(Instant::now() < until, "nothing was made");
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill starts").success());
        let ended = child.wait().expect("it was started");
        assert_eq!(left(&dir), Vec::<PathBuf>::new(), "{signal}: {ended}");
    }
}

#[test]
fn nothing_outside_the_directory_is_written() {
    let (dir, trace) = (directory(), fresh("trace"));
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-y", "-s", "4096", "-e", "trace=%file", "-o"]).arg(&trace).arg(dwell());
    command.args([
        "ladder",
        "--quick",
        "-q",
        "--only",
        "open,create-unlink,direct-read,small-file-write",
        "--dir",
    ]);
    assert!(command.arg(&dir).status().expect("strace starts").success());
    let text = fs::read_to_string(&trace).expect("strace wrote it");
    let ours = dir.to_str().expect("a path of plain characters");
    let changes =
        ["O_WRONLY", "O_RDWR", "O_CREAT", "unlink", "mkdir", "rmdir", "rename", "truncate", "link("];
    let mut writes = 0;
    for line in text.lines().filter(|line| changes.iter().any(|change| line.contains(change))) {
        assert!(line.contains(ours) || line.contains("readlink"), "{line}");
        writes += 1;
    }
    assert!(writes > 10, "strace saw only {writes} changes");
}

/// In mounts of its own: a tmpfs of 4 MiB, after `before` was done to it (`DIR` stands for it); it
/// is named by these arguments, or the current directory.
fn on_a_small_tmpfs(before: &str, named: &str) -> Value {
    let dir = directory();
    let script = format!(
        "mount -t tmpfs -o size=4m none {dir} && {before} && cd {dir} && {dwell} ladder --quick --only files --json - {named}; \
         ls -A {dir} >&2",
        before = before.replace("DIR", &dir.to_string_lossy()),
        named = named.replace("DIR", &dir.to_string_lossy()),
        dir = dir.display(),
        dwell = dwell()
    );
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).current_dir(&dir).output();
    let output = output.expect("unshare starts");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("dwell-ladder"), "something stays: {output:?}");
    ladder(&output)
}

#[test]
fn a_small_tmpfs_is_memory_and_has_no_room() {
    let ladder = on_a_small_tmpfs("true", "--dir DIR");
    assert!(median(&ladder, "read-cached") > 0.0);
    let limits = rung(&ladder, "open")["limits"].to_string();
    assert!(limits.contains("which is memory"), "{limits}");
    assert!(why(&ladder, "direct-read").contains("not on a disk"));
    assert!(why(&ladder, "large-file-write").contains("4096 KiB free"));
}

#[test]
fn where_nothing_can_be_written_every_rung_says_why() {
    let ladder = on_a_small_tmpfs("mount -o remount,ro DIR", "");
    for id in FILES {
        let why = why(&ladder, id);
        assert!(why.contains("read-only") && why.contains("\ntry: "), "{id}: {why}");
    }
}

#[test]
fn a_directory_that_refuses_is_refused_before_anything_is_measured() {
    let mut command = Command::new(dwell());
    // A whole ladder, which would take half a minute and be kept.
    let output = command.args(["ladder", "--json", "-", "--dir", "/no/such"]).output().expect("dwell starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("no such directory\ntry: dwell ladder --dir DIR"), "{error}");
    assert!(output.status.code() == Some(125) && output.stdout.is_empty(), "{output:?}");
}

#[test]
fn a_ladder_without_a_single_figure_is_no_success() {
    let mut command = Command::new(dwell());
    command.args(["ladder", "--quick", "--only", "open,stat", "--json", "-"]);
    let output = command.current_dir("/proc").output().expect("dwell starts");
    assert!(why(&ladder(&output), "open").contains("try: "), "the reasons are written all the same");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(125) && error.contains("none of the requested rungs"), "{error}");
}

#[test]
fn without_loopback_the_rungs_say_so() {
    let mut command = Command::new("unshare");
    command.args(["--net", dwell(), "ladder", "--quick", "--only", "network", "--json", "-"]);
    let ladder = ladder(&command.output().expect("unshare starts"));
    for id in NETWORK {
        let why = why(&ladder, id);
        assert!(why.contains("loopback interface") && why.contains("ip link set lo up"), "{id}: {why}");
    }
}
