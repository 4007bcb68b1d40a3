//! `cargo xtask test`: everything CI does, cheapest first, each step with its title and time, a summary at the end.

use crate::shell::{cargo, run};
use crate::{bpf, deny, dist, setup, tidy};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

type Step = (&'static str, fn() -> Result<()>);

/// In an order that fails early and leaves the tests, which CI reads, for the end.
const STEPS: &[Step] = &[
    ("install what is missing", setup::run_all),
    ("formatting", || run(&mut cargo(&["fmt", "--all", "--check"]))),
    ("layers, documents, files", tidy::run),
    ("committed BPF objects", bpf::check),
    ("licences, bans, advisories", deny::check),
    ("clippy, warnings denied", || {
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"]))
    }),
    ("build", || run(&mut cargo(&["build", "--release", "--locked"]))),
    ("static binary, x86_64", || dist::build("x86_64").map(drop)),
    ("static binary, aarch64", || dist::build("aarch64").map(drop)),
    ("tests of the pure crates, overflow checked", || {
        let pure =
            ["model", "stats", "analyse", "report", "store"].map(|name| format!("--package=dwell-{name}"));
        tests(&pure.each_ref().map(String::as_str))
    }),
    // An unoptimised reader of events would lose some under the loads of these tests.
    ("tests of everything, optimised", || tests(&["--workspace", "--profile=tested"])),
];

/// Runs the steps; `--no-setup` leaves the machine as it is, `--keep-going` runs the rest after a failure.
///
/// # Errors
/// When a step failed, or for an unknown option.
pub(crate) fn run_checks(options: &[&str]) -> Result<()> {
    if let Some(unknown) = options.iter().find(|option| !["--no-setup", "--keep-going"].contains(option)) {
        bail!("unknown option {unknown}: test knows --no-setup and --keep-going");
    }
    let skipped = usize::from(options.contains(&"--no-setup"));
    let begun = Instant::now();
    let mut summary: Vec<(&str, Duration, Option<String>)> = Vec::new();
    for (title, step) in &STEPS[skipped..] {
        println!("\n== {title}");
        let from = Instant::now();
        let failure = step().err().map(|error| format!("{error:#}"));
        if let Some(failure) = &failure {
            println!("FAILED: {failure}");
        }
        let failed = failure.is_some();
        summary.push((title, from.elapsed(), failure));
        if failed && !options.contains(&"--keep-going") {
            break;
        }
    }
    println!("\n== summary");
    for (title, took, failure) in &summary {
        let how = if failure.is_some() { "FAILED" } else { "passed" };
        println!("{how}  {:>7.1} s  {title}", took.as_secs_f64());
    }
    for (title, _) in STEPS[skipped..].iter().skip(summary.len()) {
        println!("not run            {title}");
    }
    println!("total   {:>7.1} s", begun.elapsed().as_secs_f64());
    let failed: Vec<_> =
        summary.iter().filter(|(_, _, failure)| failure.is_some()).map(|(title, ..)| *title).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join("; "));
    }
    Ok(())
}

/// What came of a run of tests.
struct Outcome {
    passed: u64,
    failed: u64,
    /// Names of those that failed.
    names: Vec<String>,
    /// Programs of tests that did not come to their end.
    broken: i64,
    status: ExitStatus,
}

/// The tests of the given packages. What fails is run again, by itself, once all the others are through: they measure, on a
/// machine that others use too, whose busy minutes spoil a few. It is said which these were, and what fails three times
/// has failed.
fn tests(which: &[&str]) -> Result<()> {
    let mut outcome = cargo_test(which, &[])?;
    if outcome.passed == 0 {
        bail!("cargo test ran no test");
    }
    for _ in 0..AGAIN {
        let Outcome { failed, names, broken, status, .. } = &outcome;
        if status.success() {
            return Ok(());
        }
        if *broken != 0 || names.is_empty() || names.len() > AGAIN_MOST {
            bail!(
                "{failed} tests failed, {broken} programs of tests broke off; cargo test ended with {status}"
            );
        }
        println!("\n== again, by themselves: {}", names.join(", "));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let again = cargo_test(which, &[&["--exact", "--test-threads=1"], &names[..]].concat())?;
        if again.passed + again.failed < outcome.failed {
            bail!("not all of these could be run by themselves");
        }
        outcome = again;
    }
    if outcome.status.success() { Ok(()) } else { bail!("failed each time: {}", outcome.names.join(", ")) }
}

/// How often what failed is run again.
const AGAIN: usize = 2;
/// More failures than this are no bad minute.
const AGAIN_MOST: usize = 12;

/// `cargo test` with the given choice of packages and profile, and `of_harness` for what runs the tests; its output
/// passed on as it comes.
fn cargo_test(which: &[&str], of_harness: &[&str]) -> Result<Outcome> {
    let mut command = cargo(&["test", "--locked", "--no-fail-fast"]);
    command.args(which).arg("--").args(of_harness).stdout(Stdio::piped());
    eprintln!("$ cargo test {} -- {}", which.join(" "), of_harness.join(" "));
    let mut child = command.spawn().context("cannot start cargo test")?;
    let (mut counts, mut names, mut broken) = ([0_u64; 2], Vec::new(), 0);
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.context("cannot read what cargo test says")?;
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(&line)?;
            stdout.write_all(b"\n")?;
            let text = String::from_utf8_lossy(&line);
            if text.starts_with("test result:") {
                counts[0] += count(&text, "passed");
                counts[1] += count(&text, "failed");
            }
            names.extend(failed(&text).map(str::to_owned));
            broken += i64::from(begins(&text)) - i64::from(text.starts_with("test result:"));
        }
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    println!("{} tests passed, {} failed", counts[0], counts[1]);
    Ok(Outcome { passed: counts[0], failed: counts[1], names, broken, status })
}

/// Whether a program of tests begins with this line.
fn begins(line: &str) -> bool {
    let mut words = line.split(' ');
    words.next() == Some("running")
        && words.next().is_some_and(|count| count.parse::<u64>().is_ok())
        && words.next().is_some_and(|tests| tests == "test" || tests == "tests")
        && words.next().is_none()
}

/// The name of a test of which this line of the harness says that it failed.
fn failed(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// The number before `word` in a closing line of the test harness.
fn count(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod counting {
    #[test]
    fn a_closing_line_gives_its_counts() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 1 filtered out";
        assert_eq!((super::count(line, "passed"), super::count(line, "failed")), (12, 3));
    }

    #[test]
    fn a_program_of_tests_begins_with_a_count() {
        assert!(super::begins("running 12 tests") && super::begins("running 1 test"));
        assert!(!super::begins("running for 12 tests") && !super::begins("running 12 tests now"));
    }

    #[test]
    fn a_line_names_the_test_that_failed() {
        assert_eq!(super::failed("test a::b ... FAILED"), Some("a::b"));
        assert_eq!(super::failed("test a::b ... ok"), None);
        assert_eq!(super::failed("test result: FAILED. 1 passed; 1 failed"), None);
    }
}
