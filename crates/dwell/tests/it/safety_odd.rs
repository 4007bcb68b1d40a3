//! Odd surroundings: limits that the host sets, other users' files at the names of results, groups
//! that are frozen. dwell says so, gives the result without that part, and says nothing false.

use crate::support::{Gone, read_json};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const NOBODY: u32 = 65_534;

fn dwell(words: &[&str], directory: &TempDir) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60"]).arg(crate::support::dwell()).args(words);
    command.current_dir(directory.path()).stdin(Stdio::null());
    command.env_remove("SUDO_UID").env_remove("SUDO_GID");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A directory that everybody may write to, as `/tmp` is.
fn common() -> TempDir {
    assert!(rustix::process::geteuid().is_root(), "these tests need root");
    let common = tempfile::tempdir().unwrap();
    fs::set_permissions(common.path(), Permissions::from_mode(0o1777)).unwrap();
    common
}

// ---- other users' files at the names of results

#[test]
fn a_pipe_of_another_user_gets_nothing_of_roots() {
    let common = common();
    let pipe = common.path().join("result.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    lchown(&pipe, Some(NOBODY), Some(NOBODY)).unwrap();
    // Open for both, so that nobody waits.
    let held = File::options().read(true).write(true).open(&pipe).unwrap();
    let output = dwell(&["run", "-q", "--json", "result.json", "true"], &common).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", said(&output));
    assert!(said(&output).contains("a pipe or a device of user 65534"), "{}", said(&output));
    rustix::io::ioctl_fionbio(&held, true).unwrap();
    let got = rustix::io::read(&held, &mut [0; 16]);
    assert_eq!(got, Err(rustix::io::Errno::AGAIN), "nothing was written to it");
}

#[test]
fn the_output_of_compared_commands_follows_no_link_of_another_user() {
    let common = common();
    let closed = tempfile::tempdir().unwrap();
    let victim = closed.path().join("victim");
    fs::write(&victim, "roots own").unwrap();
    symlink(&victim, common.path().join("out")).unwrap();
    lchown(common.path().join("out"), Some(NOBODY), Some(NOBODY)).unwrap();
    let words = ["compare", "-q", "--pairs", "6", "--no-why", "--output", "out", "echo one", "echo two"];
    let output = dwell(&words, &common).output().unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "roots own", "{}", said(&output));
    assert_eq!(output.status.code(), Some(125), "{}", said(&output));
    // Where the kernel protects links in such folders (proc_sys_fs(5)), it refuses first.
    let protects = fs::read_to_string("/proc/sys/fs/protected_symlinks").is_ok_and(|on| on.trim() != "0");
    let why = if protects { "Permission denied" } else { "a link of user 65534" };
    assert!(said(&output).contains(why), "{}", said(&output));
}

// ---- limits

#[test]
fn few_open_files_are_the_reason_that_is_told() {
    let here = tempfile::tempdir().unwrap();
    for most in ["40", "80"] {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={most}")).arg(crate::support::dwell());
        command.args(["run", "-q", "--json", "json", "true"]).current_dir(here.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let run = read_json(&here.path().join("json"));
        let calls = &run["coverage"]["sources"][0];
        let why = calls["why"].as_str().unwrap_or_default();
        assert!(why.contains(&format!("only {most} files may be open")), "{calls}");
        // Who is root raises it again, unless he is root of a container.
        let remedy = calls["remedy"].as_str().unwrap_or_default();
        let of_container = remedy.starts_with("start the container with --ulimit=nofile=1024, or use ");
        assert!(remedy == "ulimit -n 1024" || of_container, "{calls}");
    }
}

/// A control group, gone with this.
struct Group(PathBuf);

impl Group {
    /// Below the first of these that is there.
    fn below(tops: &[&str], file: &str) -> Self {
        let name = format!("dwell-test-{}", std::process::id());
        let made = tops.iter().map(|top| Path::new(top).join(&name));
        let mut made = made.filter(|path| fs::create_dir(path).is_ok());
        let path = made.find(|path| path.join(file).exists() || fs::remove_dir(path).is_err());
        Group(path.expect("a control group with this file"))
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..200 {
            match fs::remove_dir(&self.0) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                _ => return,
            }
        }
    }
}

#[test]
fn where_no_thread_can_be_started_the_program_is_run_all_the_same() {
    let here = tempfile::tempdir().unwrap();
    let group = Group::below(&["/sys/fs/cgroup/pids", "/sys/fs/cgroup"], "pids.max");
    // dwell and the program.
    group.set("pids.max", "2");
    let enter = format!("echo $$ > {}; exec \"$@\"", group.0.join("cgroup.procs").display());
    for words in [["-q", "--json"].as_slice(), &["--names", "-q", "--json"]] {
        let mut command = Command::new("sh");
        command.args(["-c", &enter, "sh"]).arg(crate::support::dwell()).arg("run").args(words);
        command.args(["json", "--", "sh", "-c", "exit 7"]).current_dir(here.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{}", said(&output));
        assert!(!said(&output).contains("panicked"), "{}", said(&output));
        assert!(read_json(&here.path().join("json"))["wall_ns"].as_u64() > Some(0));
        fs::remove_file(here.path().join("json")).unwrap();
    }
}

/// Compiles the program that executes another one with a system call refused.
fn refusing(here: &TempDir) -> PathBuf {
    let program = here.path().join("refuse");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/refuse.c");
    let made = Command::new("cc").args([source, "-o"]).arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()), "cc cannot compile refuse.c");
    program
}

#[test]
fn a_sandbox_without_what_dwell_needs_to_start_is_named() {
    let here = tempfile::tempdir().unwrap();
    let refuse = refusing(&here);
    // Each ended Rust's runtime by a signal before `main`, or panicked later. (Without mmap the C
    // library does not get so far.)
    for call in ["poll", "mprotect", "rt_sigaction", "clock_gettime"] {
        let mut command = Command::new(&refuse);
        let output = command.arg(call).arg(crate::support::dwell()).arg("--version").output().unwrap();
        let sentence = format!("dwell: the system call {call} fails: Operation not permitted\ntry: ");
        assert_eq!(output.status.code(), Some(125), "{call}: {} {}", output.status, said(&output));
        assert!(said(&output).starts_with(&sentence), "{call}: {}", said(&output));
    }
}

#[test]
fn memory_that_runs_out_is_an_error_in_words() {
    let here = tempfile::tempdir().unwrap();
    let mut command = Command::new("prlimit");
    command
        .args(["--data=8388608"])
        .arg(crate::support::dwell())
        .args(["run", "-q", "--json", "json", "true"]);
    let output = command.current_dir(here.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{} {}", output.status, said(&output));
    assert!(said(&output).contains("dwell: there is not enough memory\ntry: "), "{}", said(&output));
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 0);
}

// ---- frozen groups

#[test]
fn a_program_in_a_frozen_group_is_stopped() {
    let here = tempfile::tempdir().unwrap();
    let group = Group::below(&["/sys/fs/cgroup/unified", "/sys/fs/cgroup"], "cgroup.freeze");
    let program = Command::new("sh").args(["-c", "while :; do sleep 0.01; done"]).spawn().unwrap();
    let program = Gone(program);
    group.set("cgroup.procs", &program.0.id().to_string());
    group.set("cgroup.freeze", "1");
    while !fs::read_to_string(group.0.join("cgroup.events")).unwrap().contains("frozen 1") {
        std::thread::yield_now();
    }
    let pid = program.0.id().to_string();
    for source in ["bpf", "proc"] {
        let words = ["attach", "--source", source, "--for", "300ms", "-q", "--json", "json", &pid];
        let output = dwell(&words, &here).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let run = read_json(&here.path().join("json"));
        let account = run["account"].as_array().unwrap();
        let of = |state: &str| {
            let rows = account.iter().filter(|row| row["state"] == state);
            rows.filter_map(|row| row["ns"].as_u64()).sum::<u64>()
        };
        let wall = run["wall_ns"].as_u64().unwrap();
        assert!(of("stopped") > wall / 10 * 9, "{source}: {}", run["account"]);
    }
    group.set("cgroup.freeze", "0");
    drop(program);
}
