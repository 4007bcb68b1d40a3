//! What programs may do that is hard to observe: trace others, change their user, close everything,
//! reuse numbers, step the clock, die in the middle of a call. dwell's account is right, or says
//! what it lost, and the program does what it does without dwell.
//!
//! The programs stand in `programs/luck.c` and say what their own clock saw.

use crate::support::{
    BLOCKED, CPU, Claims, Gone, MS, Told, dwell, fresh, hold, hold_coarse, hold_with, luck, redirect, run,
    run_as, scratch, utf8,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

fn rows<'a>(told: &'a Told, of: &str) -> &'a [Value] {
    told.run[of].as_array().map_or(&[], Vec::as_slice)
}

/// Blocked time and times of the rows of waits that are as asked.
fn waits(told: &Told, asked: impl Fn(&Value) -> bool) -> (u64, u64) {
    let number = |row: &Value, field: &str| row[field].as_u64().unwrap_or(0);
    let asked = rows(told, "waits").iter().filter(|row| asked(row));
    asked.fold((0, 0), |sum, row| (sum.0 + number(row, "total_ns"), sum.1 + number(row, "calls")))
}

fn threads_named<'a>(told: &'a Told, name: &str) -> Vec<&'a Value> {
    rows(told, "threads").iter().filter(|row| row["name"] == name).collect()
}

fn states(thread: &Value, of: &[&str]) -> u64 {
    of.iter().map(|state| thread["states"][*state].as_u64().unwrap_or(0)).sum()
}

// ---- programs that trace
// -----------------------------------------------------------------------------------------

#[test]
fn a_tracee_is_stopped_for_as_long_as_its_tracer_keeps_it() {
    hold(&[luck(), "steps"], |told, claims| {
        let truth = told.truth("steps");
        let (tracer, child) = (truth.id("tracer"), truth.id("child"));
        let (held, rest) = (truth.ns("held"), truth.ns("rest"));
        claims.equal("exit status", told.code, Some(0));
        claims.equal("steps", told.calls("ptrace").0, truth.count("steps") + 2);
        // Each step adds the moment between the stop and the tracer's clock, and the tracer may
        // wait for a CPU.
        let slack = truth.count("steps") * MS / 4 + told.thread(tracer, &["runqueue"]);
        claims.between("the child stopped", told.thread(child, &["stopped"]), held, held + slack);
        claims.waited(
            "the child asleep",
            told.thread(child, &["sleep"]),
            rest,
            told.thread(child, &["runqueue"]) + MS,
        );
        claims.waited(
            "the tracer asleep",
            told.thread(tracer, &["sleep"]),
            held,
            told.thread(tracer, &["runqueue"]),
        );
        claims.little("the tracer stopped", told.thread(tracer, &["stopped"]));
        // While it is kept stopped nothing else is on the path: it is not the tracer's sleep that
        // it waits for.
        let on_path = told.path(Some(child), &["stopped"]) + told.path(Some(tracer), &["sleep"]);
        claims.between("either on the path", on_path, held, held + slack);
    });
}

#[test]
fn strace_traces_as_without_dwell() {
    let dir = scratch().join(format!("traced-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("within")).expect("a directory in the scratch directory");
    let list = ["strace", "-f", "-o", "/dev/null", "ls", "-la", utf8(&dir)];
    let alone = Command::new("ls").args(["-la", utf8(&dir)]).output().expect("ls starts");
    hold(&list, |told, claims| {
        claims.equal("what ls says", told.out.as_bytes(), &alone.stdout);
        claims.equal("exit status", told.code, Some(0));
        let [tracee] = threads_named(told, "ls")[..] else {
            return claims.that(false, "there is not one ls");
        };
        // Two stops a call, and no wait for anything else but what it reads.
        claims.that(states(tracee, &["stopped"]) > 0, "the tracee was never stopped");
        claims.little(
            "the tracee's other waits",
            states(tracee, &["other-wait", "sleep", "lock", "pipe", "network"]),
        );
        // It tries first what tracing can do here, on children of its own.
        let tracer = threads_named(told, "strace").into_iter().max_by_key(|row| row["life_ns"].as_u64());
        claims.equal("the tracer stopped", tracer.map(|row| states(row, &["stopped"])), Some(0));
    });
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn a_debugger_runs_its_program_to_the_end() {
    let debug = ["gdb", "-nx", "-batch", "-ex", "run", "-ex", "quit", "--args", "/bin/sleep", "0.3"];
    hold(&debug, |told, claims| {
        claims.equal("exit status", told.code, Some(0));
        claims.that(told.out.contains("exited normally"), format!("gdb said {:?}", told.out));
        let asleep = waits(told, |row| row["reason"] == "sleep" && row["call"] == "clock_nanosleep");
        claims.between("the program asleep", asleep.0, 299 * MS, 310 * MS);
    });
}

// ---- programs that change their user
// -----------------------------------------------------------------------------

const ID: &str = "65534";

/// `luck` with root's rights for everybody, and dwell, where an ordinary user can reach both.
struct Entrusted(PathBuf);

impl Entrusted {
    fn new() -> Self {
        let dir = std::env::temp_dir()
            .join(format!("dwell-entrusted-{}", fresh("").file_name().unwrap().display()));
        std::fs::create_dir_all(&dir).unwrap();
        for (from, to, mode) in [(dwell(), "dwell", 0o755), (luck(), "luck", 0o4755)] {
            std::fs::copy(from, dir.join(to)).unwrap();
            std::fs::set_permissions(dir.join(to), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        Entrusted(dir)
    }

    fn luck(&self) -> String {
        utf8(&self.0.join("luck")).to_owned()
    }

    /// Runs it under dwell, both as an ordinary user, or dwell as root and the program as that
    /// user.
    fn run(&self, dwell_too: bool, options: &[&str], command: &[String]) -> Told {
        let mut launcher = Command::new("setpriv");
        let (json, page) = (self.0.join("run.json"), fresh("page.txt"));
        let _ = std::fs::remove_file(&json);
        if dwell_too {
            launcher.args(["--reuid", ID, "--regid", ID, "--clear-groups"]);
        }
        launcher.arg(self.0.join("dwell")).args(["run", "--json"]).arg(&json).args(options);
        if !dwell_too {
            launcher.args(["--user", ID]);
        }
        let out = fresh("out.txt");
        let status =
            redirect(launcher.arg("--").args(command), &out, &page).status().expect("setpriv starts");
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let page = read(&page);
        let run = serde_json::from_str(&read(&json)).unwrap_or_else(|error| panic!("{error}\n{page}"));
        Told { run, page, out: read(&out), code: status.code() }
    }
}

impl Drop for Entrusted {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// It has root's rights, by a user's hand.
fn is_entrusted(told: &Told, claims: &mut Claims) {
    let truth = told.truth("who");
    claims.equal("exit status", told.code, Some(0));
    claims.equal("who it is", (truth.id("real").to_string().as_str(), truth.id("effective")), (ID, 0));
}

#[test]
fn a_setuid_program_keeps_its_rights_and_its_account_under_root() {
    let entrusted = Entrusted::new();
    hold_with(
        || entrusted.run(false, &[], &[entrusted.luck(), "who".into()]),
        |told, claims| {
            is_entrusted(told, claims);
            let truth = told.truth("who");
            claims.waited("asleep", told.parts(&["sleep"]), truth.ns("slept"), told.parts(&["runqueue"]));
            claims.between("at work", told.parts(CPU), truth.ns("worked"), truth.ns("worked") + 20 * MS);
        },
    );
}

/// What has to hold where only the account closes.
fn adds_up(told: &Told, claims: &mut Claims) {
    for ledger in ["account", "path"] {
        let sum = rows(told, ledger).iter().filter_map(|row| row["ns"].as_u64()).sum();
        claims.equal(ledger, sum, told.wall());
    }
}

/// Both as an ordinary user, who may see little of such a program.
fn seen_by_a_user(entrusted: &Entrusted, options: &[&str], command: &[String], says: &str) {
    let run = || entrusted.run(true, options, command);
    hold_coarse(run, |told, claims| {
        is_entrusted(told, claims);
        adds_up(told, claims);
        let truth = told.truth("who");
        // As far as looks can tell.
        for (what, ns, truth) in [
            ("blocked", told.parts(BLOCKED), truth.ns("slept")),
            ("on a CPU", told.parts(CPU), truth.ns("worked")),
        ] {
            claims.that(
                ns + truth / 5 >= truth && ns <= truth + truth / 2,
                format!("{what} for {ns} ns, not {truth}"),
            );
        }
        let sources = &told.run["coverage"]["sources"];
        claims.that(sources.to_string().contains(says), format!("{says:?} is not said: {sources}"));
    });
}

#[test]
fn a_setuid_program_keeps_its_rights_and_a_user_is_told_what_is_not_seen() {
    let entrusted = Entrusted::new();
    let command = [entrusted.luck(), "who".to_owned()];
    seen_by_a_user(&entrusted, &[], &command, "gains privileges");
    seen_by_a_user(&entrusted, &["--source", "proc"], &command, "/proc/PID/syscall: Permission denied");
    // In the middle of a run the kernel ends what perf events tell, and that is no end of the
    // program.
    let command = ["sh".to_owned(), "-c".to_owned(), format!("{} who; true", entrusted.luck())];
    seen_by_a_user(
        &entrusted,
        &["--source", "perf"],
        &command,
        "one thread executed a file with its owner's rights",
    );
}

#[test]
fn perf_events_that_cannot_follow_a_program_are_refused_when_asked_for() {
    let entrusted = Entrusted::new();
    let mut launcher = Command::new("setpriv");
    launcher.args(["--reuid", ID, "--regid", ID, "--clear-groups"]).arg(entrusted.0.join("dwell"));
    let said = launcher
        .args(["run", "--source", "perf", "--", &entrusted.luck(), "who"])
        .output()
        .expect("setpriv starts");
    assert_eq!((said.status.code(), said.stdout), (Some(125), Vec::new()), "nothing of it ran");
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(text.contains("set-user-ID") && text.contains("/dwell run --user"), "{text}");
}

// ---- descriptors
// -----------------------------------------------------------------------------------------------

#[test]
fn a_program_that_closes_every_descriptor_goes_on_and_is_followed() {
    let said = fresh("closes.txt");
    let run = || {
        let mut told = run(&[luck(), "closes", utf8(&said)]);
        told.out = std::fs::read_to_string(&said).unwrap_or_default();
        told
    };
    hold_with(run, |told, claims| {
        let truth = told.truth("closes");
        claims.equal("exit status", told.code, Some(7));
        // It sleeps, then waits for a child that sleeps.
        let asleep = told.parts(&["sleep"]);
        // What it says holds its waits for a CPU, too.
        let (least, most) = (truth.ns("slept") + 50 * MS, truth.ns("slept") + truth.ns("read"));
        claims.between("asleep", asleep, least.saturating_sub(told.parts(&["runqueue"])), most);
        let read = waits(told, |row| row["call"] == "read" && row["on"]["kind"] == "pipe");
        claims.waited("the read of a pipe that is number 0", read.0, truth.ns("read"), 2 * MS);
    });
    let _ = std::fs::remove_file(said);
}

#[test]
fn a_number_that_is_used_again_is_what_it_is_now() {
    let files = [fresh("one.data"), fresh("other.data")];
    for file in &files {
        std::fs::write(file, vec![7; 1 << 20]).expect("a file in the scratch directory");
    }
    hold(&[luck(), "numbers", utf8(&files[0]), utf8(&files[1])], |told, claims| {
        let truth = told.truth("numbers");
        let rounds = truth.count("rounds");
        for (kind, what) in [("pipe", "pipe"), ("unix", "socket")] {
            let (ns, times) = waits(told, |row| row["call"] == "read" && row["on"]["kind"] == kind);
            claims.equal(&format!("reads of a {what}"), times, rounds);
            // Between the end of a wait and the program's clock there is a wait for a CPU, each
            // time.
            claims.between(
                &format!("blocked on a {what}"),
                ns,
                truth.ns(what) - truth.ns(what) / 10,
                truth.ns(what),
            );
        }
        for (index, file) in files.iter().enumerate() {
            let asked = |row: &Value| row["call"] == "read" && row["on"]["kind"] == "file";
            let (ns, times) = waits(told, |row| asked(row) && row["on"]["name"] == utf8(file));
            let all = truth.ns(&format!("file_{index}"));
            claims.that(
                times >= rounds / 2,
                format!("{times} waits on {}, of {rounds} rounds", file.display()),
            );
            claims.that(ns <= all && ns * 4 >= all, format!("{ns} ns on {}, of {all}", file.display()));
        }
        let odd = waits(told, |row| row["call"] == "read" && !["pipe", "unix", "file"].contains(&kind(row)));
        claims.equal("reads of anything else", odd, (0, 0));
    });
    for file in files {
        let _ = std::fs::remove_file(file);
    }
}

fn kind(row: &Value) -> &str {
    row["on"]["kind"].as_str().unwrap_or_default()
}

// ---- clocks
// -----------------------------------------------------------------------------------------------

/// Puts the clock right should the program have died between its two steps.
struct RightAgain(Instant, SystemTime);

impl Drop for RightAgain {
    fn drop(&mut self) {
        let should = self.1 + self.0.elapsed();
        let off = should.duration_since(SystemTime::now()).unwrap_or_default();
        if off.as_secs() > 60 {
            let right = should.duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
            let _ = Command::new("date").args(["--set", &format!("@{right}")]).status();
        }
    }
}

#[test]
fn a_stepped_clock_changes_no_time() {
    let _right = RightAgain(Instant::now(), SystemTime::now());
    hold(&[luck(), "clock"], |told, claims| {
        let truth = told.truth("clock");
        claims.equal("exit status", told.code, Some(0));
        claims.waited("asleep", told.parts(&["sleep"]), truth.ns("slept"), told.parts(&["runqueue"]));
        claims.between("at work", told.parts(CPU), truth.ns("worked"), truth.ns("worked") + 20 * MS);
        let started = told.run["started_at"].as_str().unwrap_or_default();
        let seconds = Command::new("date").args(["+%s", "--date", started]).output().expect("date starts");
        let started = String::from_utf8_lossy(&seconds.stdout).trim().parse::<i64>().unwrap_or(0);
        let before_end = truth.count("unix_s") as i64 - started;
        claims.that(
            (0..=5).contains(&before_end),
            format!("it started {before_end} s before it read its clock"),
        );
    });
}

// ---- numbers of processes
// ----------------------------------------------------------------------------------------

/// Runs it with dwell in a PID namespace of their own.
fn run_inside(command: &[&str]) -> Told {
    let mut launcher = Command::new("timeout");
    launcher.args(["-k", "5", "150", "unshare", "--pid", "--fork", "--mount-proc", "--"]);
    run_as(&mut launcher, command, Stdio::null(), |_| ())
}

#[test]
fn two_processes_with_one_number_are_two() {
    hold_with(
        || run_inside(&[luck(), "twins"]),
        |told, claims| {
            let truth = told.truth("twins");
            let of_both: Vec<_> =
                rows(told, "threads").iter().filter(|row| row["tid"] == truth.id("both")).collect();
            claims.equal("threads of that number", of_both.len(), 2);
            let named =
                |name: &str| of_both.iter().find(|row| row["name"] == name).copied().unwrap_or(&Value::Null);
            let (sleeper, worker) = (named("sleeper"), named("worker"));
            claims.between("the first asleep", states(sleeper, &["sleep"]), 120 * MS, truth.ns("slept"));
            claims.little("the first at work", states(sleeper, &["user"]));
            claims.between(
                "the second at work",
                states(worker, CPU),
                truth.ns("worked"),
                truth.ns("worked") + 5 * MS,
            );
            claims.little("the second asleep", states(worker, &["sleep"]));
            claims.between("asleep on the path", told.parts(&["sleep"]), 120 * MS, truth.ns("slept"));
        },
    );
}

#[test]
fn inside_of_a_pid_namespace_numbers_are_those_of_the_inside() {
    hold_with(
        || run_inside(&[luck(), "steps"]),
        |told, claims| {
            let truth = told.truth("steps");
            let (tracer, child) = (truth.id("tracer"), truth.id("child"));
            claims.that(
                tracer < 100 && child < 100,
                format!("{tracer} and {child} are not of a new namespace"),
            );
            let held = truth.ns("held");
            let late = 15 * MS + told.thread(tracer, &["runqueue"]);
            claims.between("the child stopped", told.thread(child, &["stopped"]), held, held + late);
            claims.waited(
                "the tracer asleep",
                told.thread(tracer, &["sleep"]),
                held,
                told.thread(tracer, &["runqueue"]),
            );
        },
    );
}

#[test]
fn who_runs_instead_is_named_also_from_outside_of_the_namespace() {
    let spins = scratch().join(format!("spins-{}", std::process::id()));
    let _ = std::fs::remove_file(&spins);
    std::os::unix::fs::symlink("/bin/sh", &spins).expect("a link in the scratch directory");
    let run = || {
        let mut spinner = Command::new("taskset");
        let spinner = spinner.args(["-c", "0", utf8(&spins), "-c", "while :; do :; done"]).spawn();
        let _gone = Gone(spinner.expect("taskset starts"));
        run_inside(&["taskset", "-c", "0", luck(), "who"])
    };
    hold_with(run, |told, claims| {
        // Who had the CPU last, the spinner or another program outside; in the namespace only the
        // thread itself runs.
        let ours = |step: &Value| {
            step["state"] == "runqueue"
                && step["reason"].as_str().is_some_and(|reason| reason.ends_with(" ran"))
        };
        // They share the CPU while it works for 100 ms.
        let ns = told.steps(ours);
        claims.that(ns >= 30 * MS, format!("others ran for {ns} ns instead"));
    });
    let _ = std::fs::remove_file(spins);
}

#[test]
fn inside_of_a_pid_namespace_what_already_runs_is_found() {
    let json = fresh("attach.json");
    let script =
        format!("{} pauses & {} attach $! --for 300ms -q --json {}", luck(), dwell(), json.display());
    let attach = || {
        let mut shell = Command::new("unshare");
        let said = shell
            .args(["--pid", "--fork", "--mount-proc", "sh", "-c", &script])
            .output()
            .expect("unshare starts");
        let page = String::from_utf8_lossy(&said.stderr).into_owned();
        let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}\n{page}"));
        let run = serde_json::from_str(&text).expect("JSON");
        Told { run, page, out: String::from_utf8_lossy(&said.stdout).into_owned(), code: said.status.code() }
    };
    hold_coarse(attach, |told, claims| {
        let [thread] = rows(told, "threads") else { return claims.that(false, "there is not one thread") };
        claims.equal("its number", thread["tid"].as_u64(), Some(2));
        let asleep = states(thread, &["sleep"]);
        claims.that(asleep * 10 >= told.wall() * 8, format!("asleep for {asleep} ns"));
        let pauses = told.calls("clock_nanosleep").0;
        let most = told.wall() / (10 * MS) + 2;
        claims.that((10..=most).contains(&pauses), format!("{pauses} pauses of 10 ms, {most} at most"));
    });
    let _ = std::fs::remove_file(json);
}

#[test]
fn from_outside_of_a_pid_namespace_numbers_are_those_of_the_outside() {
    let command = ["unshare", "--pid", "--fork", "--mount-proc", luck(), "steps"];
    hold(&command, |told, claims| {
        let truth = told.truth("steps");
        let tids: BTreeSet<_> = rows(told, "threads").iter().filter_map(|row| row["tid"].as_u64()).collect();
        claims.equal("threads", tids.len(), 3);
        claims.that(!tids.contains(&truth.id("tracer")), "numbers of the inside");
        let held = truth.ns("held");
        let in_all = |state: &str| rows(told, "threads").iter().map(|row| states(row, &[state])).sum::<u64>();
        let late = 15 * MS + in_all("runqueue");
        claims.between("the child stopped", in_all("stopped"), held, held + late);
    });
}

#[test]
fn where_proc_shows_other_numbers_nothing_starts_and_it_is_said_what_helps() {
    let mark = fresh("mark");
    let script = format!("{} run -- touch {}", dwell(), mark.display());
    let inside = |script: &str| {
        let said = Command::new("unshare").args(["--pid", "--fork", "--mount", "sh", "-c", script]).output();
        said.expect("unshare starts")
    };
    let said = inside(&script);
    let text = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(125), "{text}");
    assert!(!mark.exists() && text.contains("another PID namespace"), "{text}");
    // What it says helps, does.
    let remedy = text.lines().find_map(|line| line.strip_prefix("try: ")).expect("a remedy");
    let remedy = remedy.split(" (").next().unwrap_or_default();
    let said = inside(&format!("{remedy} && {script}"));
    assert!(said.status.success() && mark.exists(), "{}", String::from_utf8_lossy(&said.stderr));
    let _ = std::fs::remove_file(mark);
}

// ---- crowds, names and deaths
// ------------------------------------------------------------------------------------

#[test]
fn three_hundred_processes_at_one_time_are_all_there() {
    hold(&[luck(), "crowd", "300"], |told, claims| {
        claims.equal("exit status", told.code, Some(0));
        let living = rows(told, "threads").len();
        claims.equal("threads", living, 301);
        let (_, times) = waits(told, |row| row["call"] == "read" && kind(row) == "pipe");
        // Who came to its read when the gate was open has not waited; who was woken as it came to
        // the queue waits again.
        claims.that((250..=310).contains(&times), format!("{times} waits at the gate"));
        // Children that have no CPU yet are under way during the first one's sleep: it is its own,
        // and not the path's.
        let asleep = rows(told, "threads").iter().any(|row| states(row, &["sleep"]) >= 29 * MS);
        claims.that(asleep, "the gate opened at once");
    });
}

#[test]
fn a_program_with_a_long_name_is_called_by_it() {
    let long = scratch().join("n".repeat(200));
    std::fs::copy(luck(), &long).expect("a copy in the scratch directory");
    hold(&[utf8(&long), "after"], |told, claims| {
        let truth = told.truth("after");
        claims.equal("command", told.run["command"][0].as_str(), Some(utf8(&long)));
        claims.waited("asleep", told.parts(&["sleep"]), truth.ns("slept"), told.parts(&["runqueue"]));
        // The kernel keeps 15 characters.
        claims.equal("threads of that name", threads_named(told, &"n".repeat(15)).len(), 1);
    });
    let _ = std::fs::remove_file(long);
}

#[test]
fn of_threads_that_all_execute_at_one_time_one_goes_on() {
    hold(&[luck(), "race"], |told, claims| {
        let truth = told.truth("after");
        claims.equal("exit status", told.code, Some(0));
        let root = truth.id("self");
        claims.equal("threads", rows(told, "threads").len(), 5);
        claims.waited("asleep", told.parts(&["sleep"]), truth.ns("slept"), told.parts(&["runqueue"]));
        claims.waited(
            "by the one",
            told.path(Some(root), &["sleep"]),
            truth.ns("slept"),
            told.parts(&["runqueue"]),
        );
    });
}

#[test]
fn a_program_killed_in_the_middle_of_a_call_has_its_wait() {
    hold(&[luck(), "killed"], |told, claims| {
        let root = told.truth("killed").id("self");
        claims.equal("exit status", told.code, Some(137));
        claims.equal("signal", &told.run["exit"]["signal"], &Value::from(9));
        // The wait's thread slept in its place.
        claims.between("asleep", told.parts(&["sleep"]), 150 * MS, 155 * MS);
        let blocked = told.thread(root, BLOCKED);
        claims.between("in the read", blocked, 150 * MS, 155 * MS + told.parts(&["runqueue"]));
        claims.equal("reads of the pipe that returned", told.calls("pause").0, 0);
    });
}
