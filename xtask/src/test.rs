//! `cargo xtask fast` and `cargo xtask test`: the checks as steps, cheapest first, each with its
//! title and time, a summary at the end.
//!
//! Each step has its own file; `lanes.rs` decides which tests run in parallel.

use crate::programs::{self, Build, TESTED};
use crate::shell::{cargo, run};
use crate::{bpf, deny, dist, kernels, lanes, privilege, setup, tidy};
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// One step: its title, its approximate duration, and its function, which returns the tests that it
/// ran.
struct Step {
    title: &'static str,
    /// On two quiet cores, where nothing is built yet.
    about: &'static str,
    run: fn() -> Result<Option<lanes::Outcome>>,
}

/// The steps for each change of a developer.
const FAST: &[Step] =
    &[FORMATTING, LAYERS, Step { title: "tests of the pure crates", about: "40 s", run: pure }];

/// All steps, in an order that fails early and has the tests, which CI reads, at the end.
const WHOLE: &[Step] = &[
    Step {
        title: "install what is missing",
        about: "2 min on a new machine",
        run: || none(setup::run_all()),
    },
    FORMATTING,
    LAYERS,
    Step { title: "committed BPF objects", about: "2 s", run: || none(bpf::check()) },
    Step {
        title: "licences, bans, advisories",
        about: "2 s; 2 min on a new machine",
        run: || none(deny::check()),
    },
    Step { title: "clippy, warnings denied", about: "2 min", run: || none(clippy()) },
    Step {
        title: "static binary for the other architecture",
        about: "90 s",
        run: || none(dist::check_foreign()),
    },
    Step { title: "BPF programs on other kernels", about: "3 min, most of it building", run: on_kernels },
    Step { title: "tests of everything, with static binaries", about: "7 min", run: everything },
];

const FORMATTING: Step = Step { title: "formatting", about: "2 s", run: || none(formatting()) };

const LAYERS: Step = Step { title: "layers, documents, files", about: "1 s", run: || none(tidy::run()) };

/// The workspace's, and that of the fuzz targets.
fn formatting() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&["fmt", "--manifest-path=fuzz/Cargo.toml", "--check"]))
}

fn none(done: Result<()>) -> Result<Option<lanes::Outcome>> {
    done.map(|()| None)
}

fn clippy() -> Result<()> {
    let mut clippy = cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--profile", TESTED]);
    // For the target of the tests: what build scripts compile in C is then compiled once.
    dist::target_static(&mut clippy);
    run(clippy.args(["--", "--deny", "warnings"]))
}

fn pure() -> Result<Option<lanes::Outcome>> {
    let packages: Vec<String> = lanes::PURE.iter().map(|name| format!("--package=dwell-{name}")).collect();
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    lanes::run(&programs::build(&packages, Build::Developer)?).map(Some)
}

/// Builds what the tests build: process 1 of the machines is among it.
fn on_kernels() -> Result<Option<lanes::Outcome>> {
    programs::build(&["--workspace"], Build::Static)?;
    none(kernels::check())
}

fn everything() -> Result<Option<lanes::Outcome>> {
    let programs = programs::build(&["--workspace"], Build::Static)?;
    dist::check_tested()?;
    lanes::run(&programs).map(Some)
}

/// The fast lane.
///
/// # Errors
/// When a step failed.
pub(crate) fn run_fast() -> Result<()> {
    run_steps(FAST, false)
}

/// Every check; `--no-setup` installs nothing, `--keep-going` runs the rest after a failure.
///
/// # Errors
/// When the tests cannot succeed here, a step failed, or for an unknown option.
pub(crate) fn run_whole(options: &[&str]) -> Result<()> {
    if let Some(unknown) = options.iter().find(|option| !["--no-setup", "--keep-going"].contains(option)) {
        bail!("unknown option {unknown}: test knows --no-setup and --keep-going");
    }
    privilege::check()?;
    let skipped = usize::from(options.contains(&"--no-setup"));
    run_steps(&WHOLE[skipped..], options.contains(&"--keep-going"))
}

/// The outcome of a step.
struct Done {
    title: &'static str,
    took: Duration,
    failure: Option<String>,
}

fn run_steps(steps: &[Step], keep_going: bool) -> Result<()> {
    let begun = Instant::now();
    let (mut done, mut passed, mut failed): (Vec<Done>, _, _) = (Vec::new(), 0, 0);
    for (at, step) in steps.iter().enumerate() {
        println!("\n== {} of {}: {} (about {})", at + 1, steps.len(), step.title, step.about);
        let from = Instant::now();
        let outcome = (step.run)();
        let tests = outcome.as_ref().ok().and_then(Option::as_ref);
        passed += tests.map_or(0, |tests| tests.passed);
        failed += tests.map_or(usize::from(outcome.is_err()), |tests| tests.failed.len());
        let failure = failure(&outcome);
        if let Some(failure) = &failure {
            println!("FAILED: {failure}");
        }
        let stop = failure.is_some() && !keep_going;
        done.push(Done { title: step.title, took: from.elapsed(), failure });
        if stop {
            break;
        }
    }
    summarise(&done, &steps[done.len()..], begun.elapsed());
    println!("{passed} passed, {failed} failed");
    let titles: Vec<&str> =
        done.iter().filter(|step| step.failure.is_some()).map(|step| step.title).collect();
    if titles.is_empty() { Ok(()) } else { bail!("failed: {}", titles.join("; ")) }
}

fn failure(outcome: &Result<Option<lanes::Outcome>>) -> Option<String> {
    match outcome {
        Err(error) => Some(format!("{error:#}")),
        Ok(Some(tests)) if !tests.failed.is_empty() => {
            Some(format!("failed each time: {}", tests.failed.join(", ")))
        }
        Ok(_) => None,
    }
}

fn summarise(done: &[Done], left: &[Step], took: Duration) {
    println!("\n== summary");
    for step in done {
        let how = if step.failure.is_some() { "FAILED" } else { "passed" };
        println!("{how}  {:>7.1} s  {}", step.took.as_secs_f64(), step.title);
    }
    for step in left {
        println!("not run            {}", step.title);
    }
    println!("total   {:>7.1} s", took.as_secs_f64());
}
