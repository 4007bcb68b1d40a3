//! `dwell load` from outside: every load does real work, ends at its time, and leaves nothing
//! behind however it ends.

use crate::support::{self, json, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Small ones of each kind: the machine is used by others.
const SMALL: [&str; 9] = [
    "sched:groups=2,pairs=3",
    "sched:groups=2,pairs=3,transport=pipes,message=4000",
    "sched:groups=2,pairs=3,workers=threads",
    "sched:groups=1,pairs=2,workers=threads,transport=pipes",
    "memory:threads=2,size=16MiB",
    "disk:threads=2,size=2MiB",
    "network:threads=2",
    "cpu:threads=1",
    "irq:threads=3,rate=500",
];

fn load(args: &[&str]) -> Command {
    let mut command = Command::new(support::dwell());
    command.arg("load").args(args).stdin(Stdio::null());
    command
}

/// Processes of this group that run, with their numbers.
fn in_group(group: u32) -> BTreeSet<u32> {
    let running = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let rest: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        (rest[0] != "Z" && rest[2] == group.to_string()).then_some(pid)
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| running(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn within(what: &str, holds: &dyn Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        sleep(Duration::from_millis(20));
    }
}

/// A load that its standard input asks to stop, at work.
fn supervised(spec: &str) -> Child {
    supervised_for("5m", spec)
}

fn supervised_for(time: &str, spec: &str) -> Child {
    use std::os::unix::process::CommandExt;
    let mut command = load(&["--supervised", "--for", time, "--json", "-", spec]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{spec}");
    child
}

#[test]
fn each_load_works_for_its_time_and_says_what_the_schema_promises() {
    let schema = support::schema("dwell.load/1");
    for spec in SMALL {
        let begun = Instant::now();
        let output = load(&["--for", "300ms", "--json", "-", spec]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{spec}: {}", text(&output.stderr));
        let said = json(&output);
        let errors = support::errors(&schema, &said);
        assert!(errors.is_empty(), "{spec}: {errors:#?}");
        let result = &said["result"];
        let ran_ns = result["ran_ns"].as_u64().unwrap();
        assert!(ran_ns >= 300_000_000 && Duration::from_nanos(ran_ns) <= begun.elapsed(), "{spec}: {ran_ns}");
        assert!(result["done"].as_u64().unwrap() > 0 && result["cpu_ns"].as_u64().unwrap() > 0, "{result}");
        assert_eq!(result["mismatches_total"], 0, "{result}");
        assert_eq!(said["interrupted"], false);
        // What is done is what was said: another load of the same text has the same sizes.
        assert_eq!(result["load"]["kind"].as_str(), spec.split(':').next());
    }
}

#[test]
fn a_load_that_is_told_to_stop_says_what_it_did_and_all_its_workers_are_gone() {
    for spec in SMALL {
        let mut child = supervised(spec);
        let group = child.id();
        sleep(Duration::from_millis(100));
        drop(child.stdin.take());
        let output = child.wait_with_output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(said["result"]["done"].as_u64().unwrap() > 0, "{spec}: {said}");
        assert_eq!(in_group(group), BTreeSet::new(), "{spec}");
    }
}

#[test]
fn a_load_that_is_killed_takes_its_workers_with_it() {
    for spec in SMALL {
        let mut child = supervised(spec);
        let group = child.id();
        assert!(in_group(group).contains(&group), "{spec}");
        if spec == SMALL[0] {
            // Two groups of three senders and three receivers.
            assert_eq!(in_group(group).len(), 13);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        within(&format!("workers of {spec} end"), &|| in_group(group).is_empty());
    }
}

fn signal(name: &str, target: &str) {
    assert!(Command::new("kill").args([name, "--", target]).status().unwrap().success());
}

#[test]
fn what_the_terminal_stops_stops_with_all_its_workers() {
    use std::os::unix::process::CommandExt;
    let mut command = load(&["sched:groups=1,pairs=2", "--for", "5m", "--json", "-"]);
    // As a shell does it.
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    let group = child.id();
    within("workers are there", &|| in_group(group).len() == 5);
    let stopped = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    };
    signal("-TSTP", &format!("-{group}"));
    within("all stop", &|| in_group(group).iter().all(stopped));
    signal("-CONT", &format!("-{group}"));
    signal("-INT", &format!("-{group}"));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(in_group(group), BTreeSet::new());
}

#[test]
fn workers_end_after_their_time_when_nobody_can_tell_them() {
    let mut child = supervised_for("2s", "sched:groups=2,pairs=2");
    let group = child.id();
    signal("-STOP", &group.to_string());
    within("workers end", &|| in_group(group).iter().all(|pid| *pid == group));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn files_have_no_name_while_they_are_used_and_no_room_afterwards() {
    let dir = support::fresh("disk");
    fs::create_dir(&dir).unwrap();
    let mut child = supervised(&format!("disk:threads=2,size=4MiB,dir={}", dir.display()));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().flatten();
    let links: Vec<_> = open.filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
    let ours = links.iter().filter(|path| path.starts_with(&dir)).count();
    assert_eq!(ours, 2, "{links:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    fs::remove_dir(&dir).unwrap();
}

#[test]
fn loads_of_a_wake_run_that_is_killed_end_with_it() {
    let mut wake = Command::new(support::dwell());
    wake.args(["wake", "--quiet", "--json", "-", "--for", "5m", "--policy", "other", "--no-spikes"]);
    wake.args(["--load", SMALL[0], "--load", SMALL[4]]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut wake = wake.spawn().unwrap();
    let children = |pid: u32| {
        let path = format!("/proc/{pid}/task/{pid}/children");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()
    };
    within("both loads are at work", &|| {
        let loads = children(wake.id());
        loads.len() == 2 && loads.iter().any(|load| children(*load).len() == 12)
    });
    let loads = children(wake.id());
    let mut all = loads.clone();
    all.extend(loads.iter().flat_map(|load| children(*load)));
    wake.kill().unwrap();
    wake.wait().unwrap();
    let ended = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.is_empty() || status.contains("State:\tZ")
    };
    within("loads and their workers end", &|| all.iter().all(ended));
}

#[test]
fn a_wake_run_says_what_its_loads_did() {
    let mut wake = Command::new(support::dwell());
    wake.args(["wake", "--quiet", "--json", "-", "--for", "500ms", "--policy", "other", "--no-spikes"]);
    let output = wake.args(["--load", SMALL[0], "--load", "cpu:threads=1"]).output().unwrap();
    let said = json(&output);
    let kinds: Vec<_> =
        said["loads"].as_array().unwrap().iter().map(|done| done["load"]["kind"].clone()).collect();
    assert_eq!(kinds, ["sched", "cpu"], "{}", text(&output.stderr));
    for done in said["loads"].as_array().unwrap() {
        assert!(done["done"].as_u64().unwrap() > 0, "{done}");
        assert!(done["ran_ns"].as_u64().unwrap() >= 500_000_000, "{done}");
    }
}

#[test]
fn a_signal_ends_it_early_with_what_there_is() {
    for spec in [SMALL[0], SMALL[4]] {
        let mut child = load(&["--for", "5m", "--json", "-", spec]).stdout(Stdio::piped()).spawn().unwrap();
        let workers = || {
            let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).map_or(0, Iterator::count);
            let path = format!("/proc/{0}/task/{0}/children", child.id());
            tasks - 1 + fs::read_to_string(path).unwrap_or_default().split_whitespace().count()
        };
        within("workers are there", &|| workers() == if spec == SMALL[0] { 12 } else { 2 });
        sleep(Duration::from_millis(300));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let mut said = String::new();
        std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{spec}");
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["interrupted"], true);
        assert!(said["result"]["done"].as_u64().unwrap() > 0, "{said}");
    }
}

#[test]
fn a_worker_that_ends_early_is_a_failure_with_what_was_done() {
    let mut child = supervised("sched:groups=1,pairs=2,transport=pipes");
    let group = child.id();
    let worker = in_group(group).into_iter().find(|pid| *pid != group).unwrap();
    signal("-KILL", &worker.to_string());
    let mut said = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let said: Value = serde_json::from_str(&said).unwrap();
    let errors = support::errors(&support::schema("dwell.load/1"), &said);
    assert!(errors.is_empty(), "{errors:#?}");
    let failures = said["result"]["failures"].as_array().unwrap();
    assert!(failures.len() == 1 && failures[0].as_str().unwrap().contains("4 workers ended early"), "{said}");
    assert!(text(&output.stderr).contains("workers ended early"), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_written_does_not_cost_the_page() {
    let output = load(&["cpu:threads=1", "--for", "100ms", "--json", "/dev/full"]).output().unwrap();
    let error = text(&output.stderr);
    assert!(output.status.code() == Some(125) && error.contains("/dev/full"), "{error}");
    assert!(text(&output.stdout).contains("loops/s"), "{}", text(&output.stdout));
}

#[test]
fn a_low_limit_of_open_files_is_raised_and_a_hard_one_is_said() {
    let with = |limit: &str, spec: &str| {
        let script = format!("ulimit {limit} && exec {} load {spec} --for 100ms --json -", support::dwell());
        Command::new("sh").args(["-c", &script]).output().unwrap()
    };
    for spec in ["network:threads=30", "irq:threads=60,rate=1", "disk:threads=10,size=1MiB,dir=/dev/shm"] {
        let output = with("-S -n 64", spec);
        assert_eq!(output.status.code(), Some(0), "{spec}: {}", text(&output.stderr));
        let output = with("-n 64", spec);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(125) && error.contains("64 are allowed"), "{spec}: {error}");
        assert!(error.contains("try: fewer threads"), "{spec}: {error}");
    }
}

#[test]
fn memory_stays_within_what_the_control_group_leaves() {
    const LIMIT_BYTES: u64 = 96 << 20;
    let group = Path::new("/sys/fs/cgroup").join(format!("dwell-load-{}", std::process::id()));
    let v1 = Path::new("/sys/fs/cgroup/memory").join(format!("dwell-load-{}", std::process::id()));
    let (group, limit) = if fs::create_dir(&group).is_ok() && group.join("memory.max").exists() {
        (group, "memory.max")
    } else {
        let _ = fs::remove_dir(&group);
        fs::create_dir(&v1).expect("a control group can be made");
        (v1, "memory.limit_in_bytes")
    };
    fs::write(group.join(limit), LIMIT_BYTES.to_string()).unwrap();
    let limited = |spec: &str| {
        let (group, dwell) = (group.display(), support::dwell());
        let script =
            format!("echo $$ > {group}/cgroup.procs && exec {dwell} load {spec} --for 200ms --json -");
        Command::new("sh").args(["-c", &script]).output().unwrap()
    };
    let output = limited("memory:threads=1,size=1GiB");
    let others = ["sched:groups=1,pairs=64,message=1MiB", "network:threads=64,message=1MiB"];
    let refused: Vec<_> = others.into_iter().map(limited).collect();
    fs::remove_dir(&group).unwrap();
    for refused in refused {
        let error = text(&refused.stderr);
        assert!(refused.status.code() == Some(125) && error.contains("of what is free"), "{error}");
        assert!(error.contains("or smaller messages"), "{error}");
    }
    let said = json(&output);
    let result = &said["result"];
    let bytes = result["load"]["bytes"].as_u64().unwrap();
    assert!(bytes < LIMIT_BYTES && bytes > LIMIT_BYTES / 2, "{result}");
    assert!(result["limits"][0].as_str().unwrap().contains("have no more free"), "{result}");
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    for (args, said) in [
        (["disk:dir=/no/such/dir", "--for=1s"], "/no/such/dir"),
        (["disk:threads=1000,size=1000GiB", "--for=1s"], "MiB free, but"),
        (["memory:threads=2,size=1M", "--for=1s"], "size=8MiB"),
        (["sched:groups=0", "--for=1s"], "1 to 1024"),
        (["coffee", "--for=1s"], "one of sched"),
        (["cpu", "--for=0s"], "out of range for a duration"),
    ] {
        let output = load(&args).output().unwrap();
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(125) && error.contains(said), "{args:?}: {error}");
        assert!(output.stdout.is_empty() && !error.contains('\x1b'), "{error:?}");
    }
}

#[test]
fn the_page_has_the_rate() {
    let output = load(&["cpu:threads=1", "--for", "200ms"]).output().unwrap();
    let page = text(&output.stdout);
    assert!(page.contains("cpu") && page.contains("loops/s"), "{page}");
    assert!(output.stderr.is_empty() && !page.contains('\x1b'));
}
