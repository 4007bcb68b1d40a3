//! Causes of CPU time and memory: each found first in a program that has it, not found in the same
//! program without it, found beside a busy loop on each CPU, and without privileges found or
//! honestly not available. The programs are those of `programs/cpu.c`, and shells.

use crate::support::quota::Quota;
use crate::support::{Claims, Told, fresh, hold_coarse, kit, utf8};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Starts a program as somebody who may not do what BPF needs.
const AS_NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// What others do to any program.
const BESIDE_OTHERS: &str = "cpu-contention";

/// Copies that an ordinary user can execute: of dwell, and of the program.
fn place() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("dwell-causes-cpu-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a directory for the programs");
        let program = kit::c("cpu");
        for (from, to) in [(Path::new(crate::support::dwell()), "dwell"), (&program, "cpu")] {
            fs::copy(from, dir.join(to)).expect("a copy");
            fs::set_permissions(dir.join(to), fs::Permissions::from_mode(0o755)).expect("its mode");
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).expect("its mode");
        dir
    })
}

/// Runs a command under dwell, in the directory of the programs.
fn run(launcher: &[&str], command: &[&str]) -> Told {
    let dir = place();
    let json = dir.join(fresh("run.json").file_name().expect("a name"));
    let dwell = dir.join("dwell");
    let words = launcher.iter().copied().chain([utf8(&dwell), "run", "-v", "--json", utf8(&json), "--"]);
    let words: Vec<&str> = words.chain(command.iter().copied()).collect();
    let output = Command::new(words[0]).args(&words[1..]).current_dir(dir).stdin(Stdio::null()).output();
    let output = output.expect("the launcher starts");
    let page = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}\n{page}"));
    fs::remove_file(&json).expect("it was made");
    Told {
        run: serde_json::from_str(&text).expect("it is JSON"),
        page,
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        code: output.status.code(),
    }
}

/// A busy loop on each CPU, gone with the test.
struct Hogs(Vec<Child>);

impl Hogs {
    fn new() -> Self {
        let cpus = std::thread::available_parallelism().expect("there are CPUs").get();
        let hog = |cpu: usize| {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).spawn().expect("taskset starts")
        };
        Self((0..cpus).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

fn causes(told: &Told, of: &str) -> Vec<String> {
    let rows = told.run[of].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().filter_map(|row| row["cause"].as_str()).map(str::to_owned).collect()
}

fn finding<'a>(told: &'a Told, cause: &str) -> Option<&'a Value> {
    told.run["findings"].as_array()?.iter().find(|row| row["cause"] == cause)
}

/// What was looked for, with why it is or is not there.
fn said(told: &Told) -> String {
    let of = |part: &str| told.run[part].to_string();
    format!(
        "found {}\n    not found {}\n    not seen {}",
        of("findings"),
        of("ruled_out"),
        of("not_looked_for")
    )
}

/// The cause is found first; behind what others do where they had the CPUs as well.
fn is_first(told: &Told, claims: &mut Claims, cause: &str) {
    let found = causes(told, "findings");
    // How much faster hot code gets is assumed; a list may save less, where others use the CPUs.
    let before = |found: &str| found == BESIDE_OTHERS || found == "hot-code" && cause == "single-thread";
    let first = found.iter().find(|found| *found == cause || !before(found.as_ref()));
    claims.that(first.is_some_and(|first| first == cause), format!("{cause} is not first: {}", said(told)));
}

/// All four: a program with a cause, and the same without it.
fn is_told(cause: &str, with: &[&str], without: &[&str]) {
    is_told_of(cause, with, without, &AS_NOBODY);
}

/// Asserts what is told of a cause where it takes more to start the program without privileges.
fn is_told_of(cause: &str, with: &[&str], without: &[&str], as_nobody: &[&str]) {
    hold_coarse(
        || run(&["env"], without),
        |told, claims| {
            claims.that(finding(told, cause).is_none(), format!("{cause} is not there: {}", said(told)));
        },
    );
    hold_coarse(|| run(&["env"], with), |told, claims| is_first(told, claims, cause));
    hold_coarse(
        || {
            let _hogs = Hogs::new();
            run(&["env"], with)
        },
        |told, claims| claims.that(finding(told, cause).is_some(), said(told)),
    );
    hold_coarse(|| run(as_nobody, with), |told, claims| is_found_or_open(told, claims, cause));
}

/// The cause is found, or could not be looked for; and no other one is claimed.
fn is_found_or_open(told: &Told, claims: &mut Claims, cause: &str) {
    let found = causes(told, "findings");
    let open = causes(told, "not_looked_for").iter().any(|name| name == cause);
    let so = open || found.iter().any(|name| name == cause);
    claims.that(so, format!("{cause} is neither found nor open: {}", said(told)));
    // Threads that poll on one CPU are too many for it, whatever they do.
    let also = if cause == "busy-wait" { "oversubscription" } else { cause };
    let wrong = found.iter().find(|name| ![cause, also, BESIDE_OTHERS, "hot-code"].contains(&name.as_str()));
    claims.that(wrong.is_none(), format!("{wrong:?} is claimed: {}", said(told)));
}

#[test]
fn a_function_that_looks_at_each_key_is_hot() {
    // Halving takes 10 ms of the usual amount on a slow host: as many samples as a finding needs.
    let keys = "25000";
    is_told("hot-code", &["./cpu", "scan", keys], &["./cpu", "halve", keys]);
}

#[test]
fn blocks_that_are_made_and_freed_for_each_item() {
    is_told("allocation", &["./cpu", "blocks"], &["./cpu", "blocks-kept"]);
}

#[test]
fn memory_that_is_given_back_and_touched_again() {
    is_told("page-faults", &["./cpu", "pages", "1000"], &["./cpu", "pages-kept", "1000"]);
}

#[test]
fn threads_that_look_on_the_cpu_that_another_one_needs() {
    let bound = |what: &'static str| ["taskset", "-c", "0", "./cpu", what];
    is_told("busy-wait", &bound("polls"), &bound("sleeps"));
}

#[test]
fn links_that_lead_all_over_the_memory() {
    let amount = "6000000";
    is_told("memory-latency", &["./cpu", "chase", amount], &["./cpu", "chase-in-order", amount]);
}

#[test]
fn places_of_a_table_that_no_cache_holds() {
    is_told("memory-latency", &["./cpu", "table", "70"], &["./cpu", "table-in-order", "70"]);
}

#[test]
fn memory_that_a_cache_holds_or_that_is_read_in_order_is_not_waited_for() {
    for program in [
        ["./cpu", "chase-near", "500000000"],
        ["./cpu", "chase-in-order", "300000000"],
        ["./cpu", "stream", "50"],
    ] {
        hold_coarse(
            || run(&["env"], &program),
            |told, claims| {
                let found = causes(told, "findings").iter().any(|name| name == "memory-latency");
                claims.that(!found, format!("{program:?}: {}", said(told)));
                let rows = told.run["loads"]["functions"].as_array().map_or(0, Vec::len);
                claims.that(rows > 0, format!("no loads were seen: {}", told.run["loads"]));
            },
        );
    }
}

#[test]
fn a_process_for_each_item_of_a_shell() {
    let script = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done";
    is_told("process-spawning", &["sh", "-c", script], &["sh", "-c", &script.replace("/bin/true", ":")]);
}

#[test]
fn a_byte_to_another_process_and_back_for_each_item() {
    is_told("context-switching", &["./cpu", "turns"], &["./cpu", "turns-together"]);
}

#[test]
fn a_list_that_is_worked_off_one_by_one() {
    let list = |at_a_time: &str| format!("seq 8 | xargs -n1 -P{at_a_time} ./cpu compute 60");
    is_told("single-thread", &["sh", "-c", &list("1")], &["sh", "-c", &list("2")]);
}

#[test]
fn two_busy_loops_have_the_cpus() {
    let beside = |launcher: &[&str]| {
        let _hogs = Hogs::new();
        run(launcher, &["./cpu", "compute"])
    };
    hold_coarse(|| beside(&["env"]), |told, claims| is_first(told, claims, BESIDE_OTHERS));
    hold_coarse(
        || run(&["env"], &["./cpu", "compute"]),
        |told, claims| claims.that(finding(told, BESIDE_OTHERS).is_none(), said(told)),
    );
    hold_coarse(|| beside(&AS_NOBODY), |told, claims| is_found_or_open(told, claims, BESIDE_OTHERS));
}

#[test]
fn a_group_that_may_use_a_fifth_of_a_cpu() {
    let quota = Quota::new();
    let entry = quota.entry();
    // Nobody may not enter it; who starts the program so is in it.
    let enters = format!("[ -w {entry} ] && echo $$ > {entry}; exec \"$@\"");
    let within = ["sh", "-c", &enters, "sh"];
    let with = [&within[..], &["./cpu", "compute", "60"]].concat();
    let as_nobody = [&within[..], &AS_NOBODY].concat();
    is_told_of("cpu-throttling", &with, &["./cpu", "compute", "60"], &as_nobody);
}
