//! With less access the account is coarser, still closes, and says what is missing: as an ordinary
//! user, with BPF refused, and with each lower source asked for. On real programs, by really being
//! refused.

use crate::support;
use crate::support::{BLOCKED, CPU, MS, Told};
use std::path::PathBuf;
use std::process::Command;

/// A copy of dwell, and a place for its output, that an ordinary user can reach.
struct Nobody {
    dir: PathBuf,
}

const ID: &str = "65534";

impl Nobody {
    fn new(name: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let dir = std::env::temp_dir().join(format!("dwell-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::copy(support::dwell(), dir.join("dwell")).unwrap();
        for path in [&dir, &dir.join("dwell")] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        Nobody { dir }
    }

    fn run(&self, options: &[&str], command: &[&str]) -> Told {
        let mut launcher = Command::new("setpriv");
        launcher.args(["--reuid", ID, "--regid", ID, "--clear-groups"]);
        self.told(&mut launcher, options, command)
    }

    fn told(&self, launcher: &mut Command, options: &[&str], command: &[&str]) -> Told {
        let json = self.dir.join("run.json");
        launcher
            .arg(self.dir.join("dwell"))
            .args(["run", "-v", "--json"])
            .arg(&json)
            .args(options)
            .arg("--")
            .args(command);
        let output = launcher.current_dir("/").output().expect("setpriv starts");
        let page = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}\n{page}"));
        std::fs::remove_file(&json).unwrap();
        Told {
            run: serde_json::from_str(&text).unwrap(),
            page,
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            code: output.status.code(),
        }
    }
}

impl Drop for Nobody {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn closes(told: &Told) {
    for ledger in ["account", "path"] {
        let rows = told.run[ledger].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| row["ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, told.wall(), "{ledger}\n{}", told.account());
    }
}

/// Nine tenths of the blocked time are sleep, and 300 ms of it are within the interval.
fn sleeps(told: &Told) {
    closes(told);
    let (lo, hi) = told.interval("sleep");
    // The scheduler's count of run queue has what came before the program began.
    let hi = hi + told.parts(&["runqueue"]);
    assert!(told.parts(&["sleep"]) * 10 >= told.parts(BLOCKED) * 9, "{}", told.account());
    assert!(lo <= 310 * MS && hi >= 280 * MS, "{}", told.account());
    assert!(["idle", "io"].contains(&told.class()), "{}", told.account());
}

/// A tenth of the wall is blocked at most, and there is more of the one than of the other.
fn is_busy(told: &Told, more: &str, less: &str) {
    closes(told);
    assert!(told.parts(BLOCKED) * 10 <= told.wall(), "{}", told.account());
    assert!(told.parts(&[more]) > told.parts(&[less]), "{}", told.account());
    assert!(told.parts(CPU) > 0, "{}", told.account());
}

/// What is missing is named, with something to do about it.
fn admits(told: &Told, source: &str) {
    let sources = told.run["coverage"]["sources"].as_array().unwrap();
    let row = sources.iter().find(|row| row["name"] == source).unwrap_or_else(|| panic!("{sources:#?}"));
    assert_ne!(row["seen"], "full", "{row}");
    assert!(!row["why"].as_str().unwrap().is_empty() && !row["remedy"].as_str().unwrap().is_empty(), "{row}");
    assert!(told.page.contains("try: "), "{}", told.page);
    assert!(told.run["syscalls"]["unseen"].is_string(), "calls are not counted, and not shown as none");
}

const SPINS: &[&str] = &["timeout", "0.3", "sh", "-c", "while :; do :; done"];
const COPIES: &[&str] = &["dd", "if=/dev/zero", "of=/dev/null", "bs=16M", "count=200", "status=none"];

fn known_truth(run: impl Fn(&[&str]) -> Told) {
    sleeps(&run(&["sleep", "0.3"]));
    sleeps(&run(&["sh", "-c", "sleep 0.3 | cat"]));
    is_busy(&run(SPINS), "user", "kernel");
    is_busy(&run(COPIES), "kernel", "user");
}

#[test]
fn an_ordinary_user_gets_an_account_and_is_told_what_is_missing() {
    let _alone = support::alone();
    let nobody = Nobody::new("user");
    known_truth(|command| {
        let told = nobody.run(&[], command);
        admits(&told, "calls and wake-ups");
        told
    });
}

#[test]
fn an_ordinary_user_gets_one_from_looks_alone() {
    let _alone = support::alone();
    let nobody = Nobody::new("proc");
    known_truth(|command| {
        let told = nobody.run(&["--source", "proc"], command);
        admits(&told, "switches");
        told
    });
}

#[test]
fn root_gets_one_from_perf_events_and_from_looks() {
    let _alone = support::alone();
    let root = Nobody::new("root");
    for source in ["perf", "proc"] {
        known_truth(|command| root.told(&mut Command::new("env"), &["--source", source], command));
    }
}

/// Waits 200 times for a disk and works after each, then sleeps for 0.3 s and says how long that
/// was.
const SYNCS_AND_SLEEPS: &str = "
import os, sys, time
os.chdir(sys.argv[1])
with open('scratch', 'w') as file:
    for _ in range(200):
        file.write('x' * 1000)
        file.flush()
        os.fsync(file.fileno())
        sorted(range(1000), key=lambda n: -n)
begun = time.monotonic()
time.sleep(0.3)
print(int((time.monotonic() - begun) * 1e9), file=open('slept', 'w'))
";

#[test]
fn a_sleep_keeps_its_time_where_others_have_the_cpus() {
    let _alone = support::alone();
    let root = Nobody::new("busy");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let hog = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let mut hogs: Vec<_> = (0..2 * cpus).map(|_| hog()).collect();
    let told = root.told(
        &mut Command::new("env"),
        &["--source", "perf"],
        &["/usr/bin/python3", "-S", "-c", SYNCS_AND_SLEEPS, root.dir.to_str().unwrap()],
    );
    hogs.iter_mut().for_each(|hog| {
        let _ = (hog.kill(), hog.wait());
    });
    let slept = std::fs::read_to_string(root.dir.join("slept")).unwrap();
    let slept: u64 = slept.trim().parse().unwrap();
    let (lo, hi) = told.interval("sleep");
    assert!(lo <= slept + 5 * MS && hi + 5 * MS >= 300 * MS, "{lo} to {hi}, not {slept}\n{}", told.account());
    assert!(told.parts(&["sleep"]) + 10 * MS >= 300 * MS, "it slept for {slept}\n{}", told.account());
}

#[test]
fn root_without_the_capabilities_for_bpf_is_treated_like_a_container() {
    let _alone = support::alone();
    let root = Nobody::new("caps");
    let mut launcher = Command::new("setpriv");
    launcher.args(["--bounding-set", "-bpf,-sys_admin,-perfmon", "--inh-caps", "-all"]);
    let told = root.told(&mut launcher, &[], &["sleep", "0.3"]);
    sleeps(&told);
    admits(&told, "calls and wake-ups");
}

#[test]
fn a_source_that_was_asked_for_and_is_refused_starts_nothing() {
    let nobody = Nobody::new("refused");
    let mark = nobody.dir.join("mark");
    let mut launcher = Command::new("setpriv");
    launcher.args(["--reuid", ID, "--regid", ID, "--clear-groups"]).arg(nobody.dir.join("dwell"));
    let output = launcher.args(["run", "--source", "bpf", "--", "touch"]).arg(&mark).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("cannot record from bpf") && said.contains("try: "), "{said}");
    assert!(!mark.exists(), "the program must not have run");
}
