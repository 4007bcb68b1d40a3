//! `cargo xtask test`: everything CI does, cheapest first, each step with its title and time, a summary at the end.

use crate::shell::{cargo, run};
use crate::{bpf, deny, dist, setup, tidy};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
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
    // As users run it: an unoptimised reader of events would lose some under the loads of these tests.
    ("tests of everything, as released", || tests(&["--workspace", "--release"])),
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

/// `cargo test` with the given choice of packages and profile, its output passed on as it comes.
fn tests(which: &[&str]) -> Result<()> {
    let mut command = cargo(&["test", "--locked", "--no-fail-fast"]);
    command.args(which).stdout(Stdio::piped());
    eprintln!("$ cargo test {}", which.join(" "));
    let mut child = command.spawn().context("cannot start cargo test")?;
    let mut counts = [0_u64; 2];
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
        }
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    println!("{} tests passed, {} failed", counts[0], counts[1]);
    if !status.success() {
        bail!("cargo test ended with {status}");
    }
    if counts[0] == 0 {
        bail!("cargo test ran no test");
    }
    Ok(())
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
}
