//! What programs may do that is hard on whoever watches: trace others, be somebody else, close everything, use numbers
//! again, step the clock, die in the middle of a call. dwell's account is right, or says what it lost, and the program
//! does what it does without dwell.
//!
//! The programs stand in `programs/luck.c` and say what their own clock saw.

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use support::{CPU, Claims, MS, Told, alone, dwell, fresh, hold, hold_with, redirect, run, run_as, scratch};

/// `programs/luck.c`, built once.
fn luck() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/luck.c");
        let program = scratch().join(format!("luck-{}", std::process::id()));
        let status = Command::new("cc").args(["-O1", "-pthread", source, "-o"]).arg(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "cc cannot compile luck.c");
        program
    });
    path.to_str().expect("plain characters")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("plain characters")
}

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

// ---- programs that trace -----------------------------------------------------------------------------------------

#[test]
fn a_tracee_is_stopped_for_as_long_as_its_tracer_keeps_it() {
    hold(&[luck(), "steps"], |told, claims| {
        let truth = told.truth("steps");
        let (tracer, child) = (truth.id("tracer"), truth.id("child"));
        let (held, rest) = (truth.ns("held"), truth.ns("rest"));
        claims.equal("exit status", told.code, Some(0));
        claims.equal("steps", told.calls("ptrace").0, truth.count("steps") + 2);
        // Each step adds the moment between the stop and the tracer's clock.
        let slack = truth.count("steps") * MS / 4;
        claims.between("the child stopped", told.thread(child, &["stopped"]), held, held + slack);
        claims.waited("the child asleep", told.thread(child, &["sleep"]), rest, told.thread(child, &["runqueue"]) + MS);
        claims.waited("the tracer asleep", told.thread(tracer, &["sleep"]), held, told.thread(tracer, &["runqueue"]));
        claims.little("the tracer stopped", told.thread(tracer, &["stopped"]));
        // While it is kept stopped nothing else is on the path: it is not the tracer's sleep that it waits for.
        let on_path = told.path(Some(child), &["stopped"]) + told.path(Some(tracer), &["sleep"]);
        claims.between("either on the path", on_path, held, held + slack);
    });
}

#[test]
fn strace_traces_as_without_dwell() {
    let dir = scratch().join(format!("traced-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("within")).expect("a directory in the scratch directory");
    let list = ["strace", "-f", "-o", "/dev/null", "ls", "-la", text(&dir)];
    let alone = Command::new("ls").args(["-la", text(&dir)]).output().expect("ls starts");
    hold(&list, |told, claims| {
        claims.equal("what ls says", told.out.as_bytes(), &alone.stdout);
        claims.equal("exit status", told.code, Some(0));
        let [tracee] = threads_named(told, "ls")[..] else { return claims.that(false, "there is not one ls") };
        // Two stops a call, and no wait for anything else but what it reads.
        claims.that(states(tracee, &["stopped"]) > 0, "the tracee was never stopped");
        claims.little("the tracee's other waits", states(tracee, &["other-wait", "sleep", "lock", "pipe", "network"]));
        let [tracer] = threads_named(told, "strace")[..] else { return claims.that(false, "there is not one strace") };
        claims.little("the tracer stopped", states(tracer, &["stopped"]));
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

// ---- programs that are somebody else -----------------------------------------------------------------------------

const ID: &str = "65534";

/// `luck` with root's rights for everybody, and dwell, where an ordinary user can reach both.
struct Entrusted(PathBuf);

impl Entrusted {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("dwell-entrusted-{}", fresh("").file_name().unwrap().display()));
        std::fs::create_dir_all(&dir).unwrap();
        for (from, to, mode) in [(dwell(), "dwell", 0o755), (luck(), "luck", 0o4755)] {
            std::fs::copy(from, dir.join(to)).unwrap();
            std::fs::set_permissions(dir.join(to), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        Entrusted(dir)
    }

    fn luck(&self) -> String {
        text(&self.0.join("luck")).to_owned()
    }

    /// Runs it under dwell, both as an ordinary user, or dwell as root and the program as that user.
    fn run(&self, dwell_too: bool, options: &[&str]) -> Told {
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
        let status = redirect(launcher.args(["--", &self.luck(), "who"]), &out, &page).status().expect("setpriv starts");
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
        || entrusted.run(false, &[]),
        |told, claims| {
            is_entrusted(told, claims);
            let truth = told.truth("who");
            claims.near("asleep", told.parts(&["sleep"]), truth.ns("slept"));
            claims.between("at work", told.parts(CPU), truth.ns("worked"), truth.ns("worked") + 20 * MS);
        },
    );
}

#[test]
fn a_setuid_program_keeps_its_rights_and_dwell_says_what_it_may_not_see() {
    let _alone = alone();
    let entrusted = Entrusted::new();
    for source in ["auto", "perf", "proc"] {
        let options: &[&str] = if source == "auto" { &[] } else { &["--source", source] };
        let told = entrusted.run(true, options);
        let mut claims = Claims::default();
        is_entrusted(&told, &mut claims);
        claims.check(&told, source);
        for ledger in ["account", "path"] {
            let sum: u64 = rows(&told, ledger).iter().filter_map(|row| row["ns"].as_u64()).sum();
            assert_eq!(sum, told.wall(), "{source}: {ledger}\n{}", told.account());
        }
        println!("{source}\n{}", told.page);
    }
}
