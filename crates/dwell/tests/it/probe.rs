//! `dwell run --probe`: each probe on a program that has the cause, and what is refused.
//!
//! Needs root, BPF, and a scratch directory on a disk. How much a probe saves is a matter of the
//! machine; that it saves most of what the cause has is not, so that is what is claimed.

use crate::support::quota::Quota;
use crate::support::{self, Claims, Told, dwell, fresh, hold_coarse, kit, utf8, work};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The finding of this cause.
fn finding<'a>(told: &'a Told, cause: &str) -> Option<&'a Value> {
    told.run["findings"].as_array()?.iter().find(|finding| finding["cause"] == cause)
}

/// The probe of this cause took at least this part of the wall clock away, and says so in valid
/// JSON and on the page.
fn saves(told: &Told, claims: &mut Claims, cause: &str, probe: &str, part: f64) {
    let broken = support::errors(&support::schema("dwell.run/1"), &told.run);
    claims.equal("breaks of the schema", broken, Vec::new());
    let Some(finding) = finding(told, cause) else {
        return claims.that(false, format!("no {cause}: {}", told.page));
    };
    let probed = &finding["probed"];
    claims.equal("probe", probed["probe"].as_str(), Some(probe));
    let ns = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let saved = ns(&probed["saving_ns"]["estimate"]);
    claims.that(saved > part * ns(&probed["plain_ns"]), format!("{probed}"));
    if probed["pairs"].as_u64() >= Some(6) {
        claims.that(ns(&probed["saving_ns"]["lo"]) > 0.0, format!("{probed}"));
    } else {
        claims.that(probed["saving_ns"]["lo"].is_null(), format!("{probed}"));
    }
    claims.that(told.page.contains("    probed with "), told.page.clone());
}

/// What an ended dwell left in this file.
fn told(output: &Output, json: &Path) -> Told {
    let page = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = fs::read_to_string(json).unwrap_or_default();
    let _ = fs::remove_file(json);
    let run = serde_json::from_str(&text).unwrap_or_default();
    Told { run, page, out: String::new(), code: output.status.code() }
}

/// Runs `launcher dwell run --probe… -- command` with this standard input.
fn probed(launcher: &[&str], option: &str, command: &[&str], input: Stdio) -> Told {
    let json = fresh("run.json");
    let words = launcher.iter().copied().chain([dwell(), "run", option, "--json", utf8(&json), "--"]);
    let words: Vec<&str> = words.chain(command.iter().copied()).collect();
    let output = Command::new(words[0]).args(&words[1..]).stdin(input).output().expect("it starts");
    told(&output, &json)
}

fn plainly(option: &str, command: &[&str]) -> Told {
    probed(&["timeout", "-k", "5", "120"], option, command, Stdio::null())
}

/// A file in the scratch directory, gone with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: usize) -> Self {
        let path = fresh(name);
        fs::write(&path, vec![7; bytes]).expect("the disk has room");
        // Pages that are not on their disk yet cannot be dropped.
        File::open(&path).and_then(|file| file.sync_all()).expect("the disk takes it");
        Self(path)
    }

    fn path(&self) -> &str {
        utf8(&self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes a line to a file and syncs it, some times over.
const SYNCS: &str = "import os, sys\n\
                     fd = os.open(sys.argv[1], os.O_WRONLY)\n\
                     for i in range(400): os.write(fd, b'x' * 100); os.fsync(fd)\n";

#[test]
fn flushes_are_skipped_by_name_only_and_with_their_risk() {
    let file = Scratch::new("synced", 0);
    let command = [support::python(), "-IS", "-c", SYNCS, file.path()];
    hold_coarse(
        || plainly("--probe=skip-flushes", &command),
        |told, claims| {
            saves(told, claims, "sync-writes", "skip-flushes", 0.2);
            let (risk, page) = (told.page.find("risk: "), told.page.find("\nwall "));
            claims.that(risk.is_some() && risk < page, told.page.clone());
        },
    );
    // Beside a finding that needs none, so the name is told and nothing is run again.
    hold_coarse(
        || plainly("--probe", &command),
        |told, claims| {
            let unprobed = finding(told, "sync-writes").is_some_and(|found| found.get("probed").is_none());
            claims.that(unprobed, told.page.clone());
            claims.that(told.page.contains("sync-writes (--probe=skip-flushes)"), told.page.clone());
            claims.that(!told.page.contains("runs the command again"), told.page.clone());
        },
    );
}

/// Reads single bytes of a file that is not in memory, far from each other.
const SCATTERED: &str = "import os, sys\n\
                         fd = os.open(sys.argv[1], os.O_RDONLY)\n\
                         os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)\n\
                         for i in range(2000): os.pread(fd, 1, i * 7919 * 4096 % (32 << 20))\n";

#[test]
fn files_are_warm_with_the_probe_and_cold_beside_it() {
    let file = Scratch::new("scattered", 32 << 20);
    let command = [support::python(), "-IS", "-c", SCATTERED, file.path()];
    let cold = || {
        let file = File::open(&file.0).expect("it was made");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("it is a file");
        plainly("--probe", &command)
    };
    hold_coarse(cold, |told, claims| saves(told, claims, "disk-latency", "warm-files", 0.2));
}

/// Two busy loops for each CPU, gone with the test, and a while after it where it is killed.
struct Hogs(Vec<Child>);

impl Hogs {
    fn new() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let hog = |_| {
            let mut hog = Command::new("timeout");
            hog.args(["60", "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
            hog.spawn().expect("timeout starts")
        };
        Self((0..2 * cpus).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // timeout passes it on to the loop.
            let _ = Command::new("kill").arg(hog.id().to_string()).status();
            let _ = hog.wait();
        }
    }
}

#[test]
fn a_program_goes_before_others() {
    // It may have to be built.
    let program = work();
    let _hogs = Hogs::new();
    hold_coarse(
        || plainly("--probe", &[program, "spin", "150"]),
        |told, claims| saves(told, claims, "cpu-contention", "raise-priority", 0.2),
    );
}

/// Blocks that are larger than any that glibc's malloc would keep by itself.
const BLOCKS: &str = "n = 40 << 20\nfor i in range(10): b'x' * n\n";

#[test]
fn an_allocator_keeps_its_memory() {
    hold_coarse(
        || plainly("--probe", &[support::python(), "-IS", "-c", BLOCKS]),
        |told, claims| saves(told, claims, "page-faults", "keep-memory", 0.2),
    );
    // What it maps by itself no allocator keeps: that is measured, and said.
    let program = kit::c("cpu");
    hold_coarse(
        || plainly("--probe", &[utf8(&program), "pages", "500"]),
        |told, claims| {
            let held = finding(told, "page-faults").map(|finding| finding["probed"]["held"].clone());
            claims.equal("held", held, Some("less".into()));
            claims.that(told.page.contains("glibc's malloc"), told.page.clone());
        },
    );
}

#[test]
fn small_writes_are_sent_at_once() {
    const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/causes_net.py");
    let json = fresh("run.json");
    let around = format!(
        "cd $(mktemp -d); ip link set lo up; ip addr add 192.0.2.1/32 dev lo\n\
         {python} {SERVER} serve 0 & server=$!\n\
         for try in $(seq 500); do [ -e ready ] && break; sleep 0.01; done\n\
         {dwell} run --probe --json {json} -- {python} {SERVER} pairs 16 2; kill $server",
        python = support::python(),
        dwell = dwell(),
        json = json.display(),
    );
    let run = || {
        let mut launcher = Command::new("timeout");
        launcher.args(["-k", "5", "100", "unshare", "--net", "sh", "-c", &around]).stdin(Stdio::null());
        let output = launcher.output().expect("unshare starts");
        told(&output, &json)
    };
    hold_coarse(run, |told, claims| saves(told, claims, "delayed-ack", "no-delay", 0.3));
}

/// Groups that a probe would have left beside this one.
fn left_beside(quota: &Quota) -> usize {
    let beside = quota.path().parent().and_then(|above| fs::read_dir(above).ok()).into_iter().flatten();
    beside.flatten().filter(|entry| entry.file_name().to_string_lossy().contains("dwell-probe-")).count()
}

#[test]
fn a_program_runs_beside_its_quota_by_name_only() {
    let quota = Quota::new();
    let script = format!("echo $$ > {}; exec \"$@\"", quota.entry());
    let launcher = ["timeout", "-k", "5", "120", "sh", "-c", &script, "sh"];
    let run = |option| probed(&launcher, option, &[work(), "spin", "60"], Stdio::null());
    hold_coarse(
        || run("--probe=lift-quota"),
        |told, claims| {
            saves(told, claims, "cpu-throttling", "lift-quota", 0.2);
            claims.that(told.page.contains("risk: "), told.page.clone());
            claims.equal("groups that are left", left_beside(&quota), 0);
        },
    );
    let plain = run("--probe");
    assert!(!plain.page.contains("probe lift-quota of"), "{}", plain.page);
}

#[test]
fn what_the_first_run_reads_must_be_there_again() {
    let mut cat = Command::new(dwell());
    cat.args(["run", "--probe", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = cat.stderr(Stdio::piped()).spawn().expect("dwell starts");
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("dwell ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("its standard input is a pipe") && said.contains("try: "), "{said}");
    assert!(output.stdout.is_empty(), "nothing ran");
}

/// A file is read from where the first run began, by each run.
#[test]
fn a_file_is_read_from_the_same_place_again() {
    let (input, output) = (Scratch::new("input", 0), Scratch::new("output", 0));
    fs::write(&input.0, "first\nsecond\n").expect("the disk has room");
    let program = kit::c("cpu");
    let reads = "read line; echo $line >> \"$1\"; exec \"$2\" pages 500";
    let run = || {
        let file = File::open(&input.0).expect("it was made");
        probed(
            &["timeout", "-k", "5", "120"],
            "--probe",
            &["sh", "-c", reads, "sh", output.path(), utf8(&program)],
            file.into(),
        )
    };
    hold_coarse(run, |told, claims| {
        let lines = fs::read_to_string(&output.0).unwrap_or_default();
        let probed = finding(told, "page-faults").is_some_and(|finding| finding["probed"]["pairs"].is_u64());
        claims.that(probed, told.page.clone());
        claims.that(lines.lines().count() >= 3 && lines.lines().all(|line| line == "first"), lines.clone());
    });
}

#[test]
fn a_name_that_no_probe_has_lists_them() {
    let told = plainly("--probe=magic", &["true"]);
    assert_eq!(told.code, Some(125));
    for name in ["no-delay", "warm-files", "raise-priority", "keep-memory", "skip-flushes", "lift-quota"] {
        assert!(told.page.contains(name), "{}", told.page);
    }
}

#[test]
fn without_a_finding_nothing_is_run_again_and_the_status_is_the_programs() {
    let marks = Scratch::new("marks", 0);
    let told = plainly("--probe", &["sh", "-c", "echo x >> \"$1\"; exit 3", "sh", marks.path()]);
    assert_eq!(told.code, Some(3), "{}", told.page);
    assert_eq!(fs::read_to_string(&marks.0).unwrap_or_default(), "x\n");
    assert!(
        told.page.contains("no probe: there is no finding") || told.page.contains("found: "),
        "{}",
        told.page
    );
    let named = plainly("--probe=no-delay", &["sh", "-c", "exit 3"]);
    assert_eq!(named.code, Some(3));
    let said = "no finding has the probe no-delay, which is for delayed-ack";
    assert!(
        named.page.contains("no probe: there is no finding") || named.page.contains(said),
        "{}",
        named.page
    );
}

/// Nobody may not raise a priority, and sees who has the CPUs all the same.
#[test]
fn what_needs_privileges_is_said_where_there_are_none() {
    let place = tempfile::tempdir().expect("a directory");
    let all = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o777)).expect("it is ours");
    all(place.path());
    for (from, name) in [(dwell(), "dwell"), (work(), "work")] {
        fs::copy(from, place.path().join(name)).expect("a copy");
        all(&place.path().join(name));
    }
    let _hogs = Hogs::new();
    let run = || {
        let json = place.path().join("run.json");
        let mut launcher = Command::new("setpriv");
        launcher.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "./dwell", "run"]);
        launcher.args(["--probe=raise-priority", "--json", "run.json", "--", "./work", "spin", "300"]);
        let output =
            launcher.current_dir(place.path()).stdin(Stdio::null()).output().expect("setpriv starts");
        told(&output, &json)
    };
    hold_coarse(run, |told, claims| {
        let why = finding(told, "cpu-contention").map(|finding| finding["probed"]["unseen"].to_string());
        let said =
            why.as_ref().is_some_and(|why| why.contains("cannot raise a priority") && why.contains("sudo"));
        claims.that(said, format!("{why:?}\n{}", told.page));
        claims.equal("status", told.code, Some(0));
    });
}

/// Ctrl-C in a later run: no pair is whole, the page of the first run is written all the same, with
/// its status.
#[test]
fn writes_that_are_durable_by_themselves_have_no_probe_and_the_finding_says_why() {
    let file = Scratch::new("durable", 0);
    let program = "import os, sys\n\
                   fd = os.open(sys.argv[1], os.O_WRONLY | os.O_DSYNC)\n\
                   for i in range(400): os.write(fd, b'x' * 100)\n";
    let command = [support::python(), "-IS", "-c", program, file.path()];
    hold_coarse(
        || plainly("--probe=skip-flushes", &command),
        |told, claims| {
            let broken = support::errors(&support::schema("dwell.run/1"), &told.run);
            claims.equal("breaks of the schema", broken, Vec::new());
            let why = finding(told, "sync-writes").map(|found| found["probed"]["unseen"].clone());
            let why = why.as_ref().and_then(Value::as_str).unwrap_or_default();
            claims.that(why.contains("have no probe: the flag belongs to the open file"), told.page.clone());
            claims.that(!told.page.contains("runs the command again"), told.page.clone());
        },
    );
}

#[test]
fn after_ctrl_c_in_the_first_run_nothing_is_run_again() {
    let (marks, program) = (Scratch::new("marks", 0), kit::c("cpu"));
    // A shell's children in the background ignore SIGINT.
    let script = "trap 'kill $!; exit 0' INT; \"$2\" pages; echo x >> \"$1\"; sleep 60 & wait";
    let (json, errors) = (fresh("run.json"), fresh("page.txt"));
    let mut command = Command::new(dwell());
    command.args(["run", "--probe", "--json", utf8(&json), "--", "sh", "-c", script, "sh"]);
    command.args([marks.path(), utf8(&program)]).stdin(Stdio::null()).process_group(0);
    command.stderr(File::create(&errors).expect("a file in the scratch directory"));
    let mut child = command.spawn().expect("dwell starts");
    let (runs, until) =
        (|| fs::read_to_string(&marks.0).unwrap_or_default(), Instant::now() + Duration::from_secs(60));
    while runs().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = Command::new("kill").args(["-INT", "--", &format!("-{}", child.id())]).status();
    let status = child.wait().expect("dwell was started");
    let stderr = fs::read(&errors).unwrap_or_default();
    let _ = fs::remove_file(&errors);
    let told = told(&Output { status, stdout: Vec::new(), stderr }, &json);
    assert_eq!((told.code, runs().lines().count()), (Some(0), 1), "{}", told.page);
    assert!(told.page.contains("no probe: a signal asked the program to end"), "{}", told.page);
    assert!(told.page.contains("wall "), "{}", told.page);
}

#[test]
fn ctrl_c_ends_the_repeats_and_not_the_report() {
    let marks = Scratch::new("marks", 0);
    let program = kit::c("cpu");
    // From the second run on it stays until a signal ends it.
    let script = "echo x >> \"$1\"; [ $(wc -l < \"$1\") -gt 1 ] && exec sleep 60; exec \"$2\" pages 500";
    let json = fresh("run.json");
    let run = || {
        fs::write(&marks.0, "").expect("the disk has room");
        let errors = fresh("page.txt");
        let mut command = Command::new(dwell());
        command.args(["run", "--probe", "--json", utf8(&json), "--", "sh", "-c", script, "sh"]);
        command.args([marks.path(), utf8(&program)]).stdin(Stdio::null()).process_group(0);
        command.stderr(File::create(&errors).expect("a file in the scratch directory"));
        let mut child = command.spawn().expect("dwell starts");
        let until = Instant::now() + Duration::from_secs(30);
        let runs = || fs::read_to_string(&marks.0).unwrap_or_default().lines().count();
        let mut ended = None;
        while runs() < 2 && ended.is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            ended = child.try_wait().expect("it is ours");
        }
        std::thread::sleep(Duration::from_millis(100));
        // As a terminal does: to the whole group.
        let _ = Command::new("kill").args(["-INT", "--", &format!("-{}", child.id())]).status();
        let status = child.wait().expect("dwell was started");
        let stderr = fs::read(&errors).unwrap_or_default();
        let _ = fs::remove_file(&errors);
        told(&Output { status, stdout: Vec::new(), stderr }, &json)
    };
    hold_coarse(run, |told, claims| {
        claims.equal("status", told.code, Some(0));
        let unseen = finding(told, "page-faults").map(|finding| finding["probed"]["unseen"].clone());
        claims.that(
            unseen.as_ref().and_then(Value::as_str).is_some_and(|why| why.contains("a signal ended it")),
            format!("{unseen:?}\n{}", told.page),
        );
        claims.that(told.page.contains("wall "), told.page.clone());
    });
}
