//! `dwell wake` from outside: what it counts, what it refuses, what it says of the settings in
//! force, and for which users it works.

use crate::support::{self, json, text};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const MS: u64 = 1_000_000;
const TRIES: usize = 8;

fn wake(args: &[&str]) -> Command {
    let mut command = Command::new(support::dwell());
    command.arg("wake").args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    wake(&[args, &["--quiet", "--json", "-"]].concat()).output().unwrap()
}

/// The last CPU: it has the fewest of the machine's interrupts.
fn cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().to_owned()
}

/// Starts it and waits until its measuring thread is there; gives the thread.
fn begun(args: &[&str]) -> (Child, u32) {
    let mut command = wake(&[args, &["--quiet", "--json", "-"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let Some(thread) = measuring(child.id()) else {
        let _ = child.kill();
        panic!("no measuring thread: {:?}", child.wait());
    };
    // It prepares; that takes a few milliseconds.
    sleep(Duration::from_millis(200));
    (child, thread)
}

/// The first of the process's measuring threads, when it is there.
fn measuring(pid: u32) -> Option<u32> {
    let given_up = Instant::now() + Duration::from_secs(20);
    while Instant::now() < given_up {
        for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            if name.starts_with("wake/") {
                return task.file_name().to_str()?.parse().ok();
            }
        }
        sleep(Duration::from_millis(2));
    }
    None
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

fn ns(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

#[test]
fn periods_of_a_stop_are_counted_as_missed_and_its_length_is_the_maximum() {
    let _alone = support::alone();
    let mut failed = String::new();
    for _ in 0..TRIES {
        let (child, _) = begun(&["--cpus", &cpu(), "--interval", "1ms", "--for", "1200ms", "--no-spikes"]);
        let stopped = Instant::now();
        signal("-STOP", child.id());
        let surely_stopped = Instant::now();
        sleep(Duration::from_millis(200).saturating_sub(stopped.elapsed()));
        let least_ns = surely_stopped.elapsed().as_nanos() as u64;
        signal("-CONT", child.id());
        let most_ns = stopped.elapsed().as_nanos() as u64;
        let said = json(&child.wait_with_output().unwrap());
        let (all, max_ns, missed) = (&said["all"], ns(&said["all"]["max_ns"]), ns(&said["all"]["missed"]));
        // Whatever else made it late: each wake-up missed as many periods as it was late by, and
        // nothing is counted twice.
        let periods = |end: usize| {
            let of_bin = |bin: &Value| ns(&bin[2]) * ((ns(&bin[end]) - end as u64).min(max_ns) / MS);
            all["histogram"].as_array().unwrap().iter().map(of_bin).sum::<u64>()
        };
        assert!(
            (periods(0)..=periods(1)).contains(&missed),
            "{missed}, not {} to {}",
            periods(0),
            periods(1)
        );
        let cycles = ns(&all["cycles"]);
        assert!((1199..=1201).contains(&(cycles + missed)), "{cycles} {missed}");
        // It falls somewhere between two wake-ups, so a stop of 200 ms is a wake-up that is late by
        // 199 to 200 ms.
        if max_ns + MS >= least_ns && max_ns <= most_ns + MS / 2 {
            return;
        }
        failed += &format!("max {max_ns} ns, missed {missed}, stopped for {least_ns} to {most_ns} ns\n");
    }
    panic!("{failed}");
}

#[test]
fn what_is_impossible_is_refused_before_anything_is_measured() {
    for (args, why) in [
        (&["--cpus", "8000"][..], "CPU 8000 cannot be used"),
        (&["--cpus", "isolated"], "no CPU is isolated"),
        (&["--interval", "0us"], "out of range for a duration"),
        (&["--interval", "1us"], "try: 10 us or more"),
        (&["--rate", "1MHz"], "try: 10 us or more"),
        (&["--policy", "fifo:100"], "try: 1 to 99"),
        (&["--policy", "rr:0"], "try: 1 to 99"),
        (&["--policy", "deadline:2ms/1ms"], "runtime <= deadline"),
        (&["--deadline", "1ns"], "too coarse for a deadline"),
        (&["--for", "1us"], "a --for longer than"),
        (&["--json", "/no/such/directory/file"], "cannot write"),
        (&["--junit", "/dev/null"], "--junit needs a deadline: it writes the verdict\ntry: --deadline TIME"),
        (&["--deadline", "1s", "--junit", "-", "--json", "-"], "two outputs are the same file"),
    ] {
        if args.contains(&"isolated") && !isolated().is_empty() {
            continue;
        }
        // What would not be refused would take an hour.
        let all: Vec<&str> =
            if args.contains(&"--for") { args.to_vec() } else { [&["--for", "1h"], args].concat() };
        let output = wake(&all).output().unwrap();
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(125) && said.contains(why),
            "{args:?} {}: {said}",
            output.status
        );
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

fn isolated() -> String {
    fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default().trim().to_owned()
}

#[test]
fn what_is_said_is_what_the_schema_says() {
    let validator = support::schema("dwell.wake/1");
    for args in [
        &["--for", "200ms"][..],
        &["--for", "100ms", "--policy", "other", "--sleeper", "timerfd", "--idle-states"],
        &["--for", "100ms", "--policy", "deadline:200us/1ms", "--sleeper", "posix-timer", "--cpus", &cpu()],
        &["--for", "100ms", "--mode", "gap"],
    ] {
        let _alone = support::alone();
        let output = run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        let said = json(&output);
        let errors: Vec<String> =
            validator.iter_errors(&said).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{args:?}: {errors:#?}");
        assert!(ns(&said["all"]["cycles"]) > 0, "{args:?}: {said:#}");
    }
}

#[test]
fn what_is_in_force_is_what_other_tools_see() {
    let (child, thread) = begun(&["--cpus", &cpu(), "--policy", "rr:17", "--for", "1500ms", "--no-spikes"]);
    let ask = |tool: &str, flags: &str| {
        text(&Command::new(tool).args([flags, &thread.to_string()]).output().unwrap().stdout)
    };
    let (policy, on) = (ask("chrt", "-p"), ask("taskset", "-cp"));
    let said = json(&child.wait_with_output().unwrap());
    let in_force = &said["settings"]["in_force"][0];
    assert!(on.trim().ends_with(&format!(": {}", cpu())), "{on}");
    assert_eq!(in_force["cpus"].to_string(), format!("[{}]", cpu()));
    if in_force["policy"]["rr"] == 17 {
        assert!(policy.contains("SCHED_RR") && policy.contains("priority: 17"), "{policy}");
    } else {
        assert!(
            policy.contains("SCHED_OTHER") && in_force["refused"].to_string().contains("try:"),
            "{in_force}"
        );
    }
}

#[test]
fn ordinary_users_get_the_best_that_they_may_and_are_told() {
    let _alone = support::alone();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
    command.arg(support::dwell()).args(["wake", "--quiet", "--json", "-", "--for", "300ms"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = json(&output);
    assert_eq!(said["settings"]["asked"]["policy"]["fifo"], 80);
    for in_force in said["settings"]["in_force"].as_array().unwrap() {
        // With the least slack that there is.
        assert_eq!(in_force["policy"]["other"], 1, "{in_force}");
        let refused = in_force["refused"].to_string();
        assert!(
            refused.contains("SCHED_FIFO") && refused.contains("rtprio 80 in /etc/security/limits.conf"),
            "{refused}"
        );
    }
    assert!(said["environment"]["dma_latency_us"]["unseen"].as_str().unwrap().contains("try:"));
    assert!(ns(&said["all"]["cycles"]) > 100, "{said:#}");
}

#[test]
fn an_ordinary_user_with_the_capability_is_as_good_as_root() {
    let _alone = support::alone();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "+sys_nice"]);
    command.args(["--ambient-caps", "+sys_nice", "--", support::dwell(), "wake", "--quiet", "--json", "-"]);
    let said = json(&command.args(["--for", "200ms"]).stdin(Stdio::null()).output().unwrap());
    assert_eq!(said["settings"]["in_force"][0]["policy"]["fifo"], 80, "{:#}", said["settings"]);
    assert_eq!(said["environment"]["rt_priority_max"], 99);
}

/// The remedies that they are given do help.
#[test]
fn ordinary_users_with_limits_have_what_the_limits_allow() {
    let _alone = support::alone();
    let with = |rtprio: &str| {
        let mut command = Command::new("prlimit");
        command.args([&format!("--rtprio={rtprio}"), "--memlock=unlimited", "setpriv", "--reuid", "65534"]);
        command.args(["--regid", "65534", "--clear-groups", "--", support::dwell(), "wake", "--quiet"]);
        command.args(["--json", "-", "--for", "200ms"]);
        json(&command.stdin(Stdio::null()).output().unwrap())["settings"]["in_force"][0].clone()
    };
    let may =
        Command::new("prlimit").args(["--rtprio=80:80", "--memlock=unlimited", "true"]).output().unwrap();
    if !may.status.success() {
        // Root of a container without CAP_SYS_RESOURCE cannot give what it has not.
        return;
    }
    let all = with("0:80");
    assert_eq!((&all["policy"]["fifo"], all["refused"].to_string()), (&80.into(), "[]".into()));
    assert!(ns(&all["locked_bytes"]) > 1 << 20, "{all}");
    let some = with("30:30");
    assert_eq!(some["policy"]["fifo"], 30);
    assert!(some["refused"].to_string().contains("priority 30, the highest"), "{some}");
}

#[test]
fn a_measurement_that_is_ended_early_shows_what_there_is() {
    for (name, status) in [("-INT", 130), ("-TERM", 143)] {
        let (child, _) = begun(&["--for", "1h", "--no-spikes"]);
        sleep(Duration::from_millis(300));
        signal(name, child.id());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        let said = json(&output);
        assert!(said["interrupted"] == true && ns(&said["all"]["cycles"]) > 0, "{said:#}");
        assert!(ns(&said["took_ns"]) < 3_600_000 * MS);
    }
}

#[test]
fn the_line_that_says_how_far_it_is_fits_the_terminal_that_it_is_on() {
    let (mut pty, pts) = pty_process::blocking::open().unwrap();
    pty.resize(pty_process::Size::new(24, 40)).unwrap();
    let args = ["wake", "--for", "1s", "--policy", "other", "--no-spikes", "--width", "200"];
    let mut child = pty_process::blocking::Command::new(support::dwell())
        .args(args)
        .stdout(Stdio::null())
        .spawn(pts)
        .unwrap();
    let mut shown = Vec::new();
    // It ends with an error when nobody writes any more.
    let _ = pty.read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    let shown = text(&shown);
    let lines: Vec<&str> = shown.split("\r\x1b[K").collect();
    assert!(lines.len() > 2 && shown.contains("left: "), "{shown:?}");
    assert!(lines.iter().all(|line| line.chars().count() < 40), "{lines:?}");
}

#[test]
fn a_deadline_decides_the_exit_status() {
    let _alone = support::alone();
    let with = |args: &[&str]| {
        let output = run(&[&["--for", "300ms", "--no-spikes"], args].concat());
        (output.status.code(), json(&output)["verdict"]["answer"].clone())
    };
    assert_eq!(with(&["--deadline", "100ns"]), (Some(1), "fail".into()));
    assert_eq!(with(&["--deadline", "1h", "--one-in", "1ms"]), (Some(0), "pass".into()));
    assert_eq!(with(&["--deadline", "1h", "--one-in", "1h"]), (Some(2), "undecided".into()));
}
