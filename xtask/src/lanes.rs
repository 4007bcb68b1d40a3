//! The tests, in lanes: those that measure run one at a time, the rest side by side.
//!
//! Cargo builds the programs of tests; each program, or each module of `tests/it`, then runs as a
//! separate process (`supervise.rs`) with its output in a file. Failed tests run again alone after
//! the others. Only this file defines which tests measure, and the lanes.

use crate::programs::{self, Program};
use crate::shell::{forget_package, target};
use crate::supervise::TIMED_OUT;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// The packages whose tests need no root, no kernel and no clock: the fast lane.
pub(crate) const PURE: &[&str] =
    &["model", "stats", "analyse", "report", "store", "golden", "schema", "tables", "send"];

/// More packages whose tests measure nothing. Packages in neither list measure.
const UNMEASURED: &[&str] =
    &["seeds", "listing", "python", "code", "timings", "probes", "guest", "evaluation", "workshop", "xtask"];

/// Groups of other packages that measure nothing: names, files, messages, exact counts, shares of a
/// program's own CPU time. The longest first: they begin in this order, so that none is left alone
/// at the end.
const UNMEASURED_GROUPS: &[&str] = &[
    "dwell it compare",
    "dwell it lab",
    "dwell it browser",
    "dwell it downloads",
    "dwell it ladder_kept",
    "dwell it attach_degraded",
    "dwell it hits",
    "sys step",
    "dwell it strace_equal",
    "dwell it code::modules",
    "dwell it load",
    "dwell it cli",
    "dwell it words",
    "dwell it containers",
    "dwell it bounds",
    "dwell it safety",
    "dwell it safety_odd",
    "dwell it code::managed",
    "dwell it sheet",
    "dwell it ladder_places",
    "dwell it code::outputs",
    "dwell it resolver",
    "dwell it results",
    "dwell it kept",
    "dwell it export",
    "dwell it fleet",
    "dwell it push",
    "dwell it code::foreign",
    "dwell it code::hardship",
    "dwell it ladder_memory",
    "dwell it cli_signals",
    "dwell it compare_revisions",
    "dwell it ci",
    "dwell it run_diff",
    "dwell it wake_diff",
    "dwell it timings",
    "sys signals",
    "sys spawn",
    "sys starter",
];

/// How often failed tests run again. A busy machine spoils a test that measures.
const AGAIN: usize = 2;
/// With more failures than this, the machine's load is not the reason.
const AGAIN_MOST: usize = 12;
/// The time limit of a module; the longest takes a tenth of it.
const LIMIT: Duration = Duration::from_secs(900);

/// The tests that run in one process: some tests of one program.
struct Unit {
    /// Package, program, and module if any.
    title: String,
    program: Program,
    tests: Vec<String>,
    measures: bool,
}

/// The outcome of a lane.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    /// Names of tests that failed each time.
    pub(crate) failed: Vec<String>,
}

/// Runs these programs of tests.
///
/// # Errors
/// When there is no test, or one cannot be run.
pub(crate) fn run(built: &[Program]) -> Result<Outcome> {
    let units = units(built)?;
    let count: usize = units.iter().map(|unit| unit.tests.len()).sum();
    if count == 0 {
        bail!("there is no test");
    }
    let (measuring, mut others): (Vec<_>, Vec<_>) = units.into_iter().partition(|unit| unit.measures);
    let place = |unit: &Unit| UNMEASURED_GROUPS.iter().position(|title| *title == unit.title);
    others.sort_by_key(|unit| place(unit).unwrap_or(usize::MAX));
    let workers = available_parallelism().map_or(1, usize::from);
    let progress = Progress { all: measuring.len() + others.len(), begun: AtomicUsize::new(0) };
    println!(
        "{count} tests in {} programs: {} groups side by side, then {} that measure, one at a time",
        built.len(),
        others.len(),
        measuring.len()
    );
    let mut failed = side_by_side(others, workers, &progress);
    failed.extend(side_by_side(measuring, 1, &progress));
    let failed = again(failed);
    Ok(Outcome { passed: count - failed.len(), failed })
}

/// The tests of all programs, grouped by module where a program has several independent ones.
fn units(built: &[Program]) -> Result<Vec<Unit>> {
    let mut units = Vec::new();
    for program in built {
        let tests = programs::tests(program)?;
        if program.name != "it" {
            units.extend(unit(program, "", tests));
            continue;
        }
        let module = |test: &str| module(&program.package, test).to_owned();
        let modules: BTreeSet<String> = tests.iter().map(|test| module(test)).collect();
        for name in modules {
            let of_it = tests.iter().filter(|test| module(test) == name).cloned().collect();
            units.extend(unit(program, &name, of_it));
        }
    }
    Ok(units)
}

fn unit(program: &Program, module: &str, tests: Vec<String>) -> Option<Unit> {
    let title = title(&program.package, &program.name, module);
    let measures = measures(&program.package, &title);
    (!tests.is_empty()).then(|| Unit { title, program: program.clone(), tests, measures })
}

fn title(package: &str, program: &str, module: &str) -> String {
    [package, program, module].join(" ").trim().to_owned()
}

/// The module of a test of a package's `it`; a module within it where only that measures nothing.
fn module<'a>(package: &str, test: &'a str) -> &'a str {
    let mut ends = test.match_indices("::").map(|(at, _)| &test[..at]);
    let outer = ends.next().unwrap_or(test);
    let inner = ends.next().filter(|inner| UNMEASURED_GROUPS.contains(&title(package, "it", inner).as_str()));
    inner.unwrap_or(outer)
}

fn measures(package: &str, title: &str) -> bool {
    let of_package = PURE.contains(&package) || UNMEASURED.contains(&package);
    !of_package && !UNMEASURED_GROUPS.contains(&title)
}

/// Progress of the lanes, for the lines of output.
struct Progress {
    all: usize,
    begun: AtomicUsize,
}

/// Runs the units, `workers` at a time, and returns each test that failed with its unit.
fn side_by_side(units: Vec<Unit>, workers: usize, progress: &Progress) -> Vec<Unit> {
    let queue = Mutex::new(VecDeque::from(units));
    let failed = Mutex::new(Vec::new());
    let take = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(unit) = take() {
                    let at = progress.begun.fetch_add(1, Relaxed) + 1;
                    let spoilt = run_unit(&unit, &format!("{at:>3} of {}", progress.all));
                    if let Ok(mut failed) = failed.lock() {
                        failed.extend(spoilt.into_iter().map(|test| unit.only(test)));
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_default()
}

impl Unit {
    /// The same with one test.
    fn only(&self, test: String) -> Self {
        let title = format!("{} {}: {test}", self.program.package, self.program.name);
        Self { title, program: self.program.clone(), tests: vec![test], measures: self.measures }
    }
}

/// Runs failed tests alone, until they pass or have failed each time; returns the names of the
/// latter.
fn again(mut failed: Vec<Unit>) -> Vec<String> {
    for round in 1..=AGAIN {
        if failed.is_empty() || failed.len() > AGAIN_MOST {
            break;
        }
        println!("\n{} failed and run again alone, {round} of {AGAIN} times", failed.len());
        let progress = Progress { all: failed.len(), begun: AtomicUsize::new(0) };
        failed = side_by_side(failed, 1, &progress);
    }
    failed.into_iter().map(|unit| unit.title).collect()
}

/// Runs the tests of one unit, prints the outcome, and returns the names of failed tests.
fn run_unit(unit: &Unit, at: &str) -> Vec<String> {
    let begun = Instant::now();
    let (failed, how) = match execute(unit) {
        Ok(said) => said,
        Err(error) => (unit.tests.clone(), format!("{error:#}\n")),
    };
    let seconds = begun.elapsed().as_secs_f64();
    let passed = unit.tests.len() - failed.len();
    let failures = if failed.is_empty() { String::new() } else { format!(", {} FAILED", failed.len()) };
    let how = if how.is_empty() { how } else { format!("\n{}", how.trim_end()) };
    println!("{at}  {seconds:>6.1} s  {}: {passed} passed{failures}{how}", unit.title);
    failed
}

/// The tests that failed, and the output if one failed, else nothing.
fn execute(unit: &Unit) -> Result<(Vec<String>, String)> {
    let (out, errors) = (log(unit, "out")?, log(unit, "err")?);
    // Cargo may have replaced the file of this xtask in the meantime; this is the running one.
    let mut command = Command::new("/proc/self/exe");
    command.arg("supervise").arg(LIMIT.as_secs().to_string()).arg(&unit.program.path);
    command.args(["--test-threads=1", "--exact"]).args(&unit.tests);
    command.envs(programs::environment(&unit.program)).current_dir(&unit.program.directory);
    forget_package(&mut command);
    // The supervisor ends everything when this pipe closes, which happens when this process ends.
    command.stdin(Stdio::piped()).stdout(File::create(&out)?).stderr(File::create(&errors)?);
    let mut child = command.spawn().context("cannot start xtask itself")?;
    let held = child.stdin.take();
    let status = child.wait().context("cannot wait for the tests")?;
    drop(held);
    let (said, complained) = (read(&out), read(&errors));
    let left: String = complained.lines().filter(|line| line.starts_with("xtask: ")).collect();
    if status.success() {
        return Ok((Vec::new(), left));
    }
    let mut how = format!("{said}{complained}");
    if status.code() == Some(i32::from(TIMED_OUT)) {
        how.push_str(&format!("killed after {} s\n", LIMIT.as_secs()));
    }
    Ok((failed(&unit.tests, &said), how))
}

/// The tests that did not pass, from the output of the harness.
fn failed(tests: &[String], said: &str) -> Vec<String> {
    // Output of a test's programs may be in the line of its result; the list at the end is clean.
    let listed: BTreeSet<&str> =
        said.rsplit_once("\nfailures:\n").map_or("", |(_, list)| list).lines().map(str::trim).collect();
    let ended = said.contains("\ntest result: ");
    let passed = |test: &str| {
        if ended { !listed.contains(test) } else { said.contains(&format!("test {test} ... ok")) }
    };
    let failed: Vec<String> = tests.iter().filter(|test| !passed(test)).cloned().collect();
    // It did not succeed: when no test is listed, all failed.
    if failed.is_empty() { tests.to_vec() } else { failed }
}

/// The file for the output of a unit.
fn log(unit: &Unit, kind: &str) -> Result<PathBuf> {
    let directory = target().join("lanes");
    fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let name: String = unit.title.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    Ok(directory.join(format!("{}.{kind}", name.chars().take(120).collect::<String>())))
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_failure_is_named_by_the_list_at_the_end() {
        let said = "running 2 tests\ntest a ... noise ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nx\n\n\
                    failures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n";
        assert_eq!(failed(&names(&["a", "b"]), said), ["b"]);
    }

    #[test]
    fn what_a_broken_program_did_not_say_has_failed() {
        let said = "running 3 tests\ntest a ... ok\ntest b ... ";
        assert_eq!(failed(&names(&["a", "b", "c"]), said), ["b", "c"]);
        assert_eq!(failed(&names(&["a"]), "test a ... ok"), ["a"]);
    }

    #[test]
    fn what_is_not_known_measures() {
        assert!(measures("wakes", "wakes measure") && measures("dwell", "dwell it truth"));
        assert!(measures("a-new-one", "a-new-one it cli"));
        assert!(!measures("report", "report it page") && !measures("dwell", "dwell it cli"));
    }

    #[test]
    fn a_module_within_another_is_a_group_where_only_that_measures_nothing() {
        assert_eq!(module("dwell", "code::modules::a_name"), "code::modules");
        assert_eq!(module("dwell", "code::peer::a_share"), "code");
        assert_eq!(module("analyse", "code::modules::a_name"), "code");
        assert_eq!(module("dwell", "hits::a_count"), "hits");
        assert_eq!(module("dwell", "a_count"), "a_count");
    }
}
