//! `cargo xtask fuzz`: libFuzzer on every decoder of what others can forge (`fuzz/`), guided by
//! coverage, with limits on time and memory.
//!
//! What it finds interesting stays in `target/fuzz/corpus`, so a later run goes on from there; what
//! it finds wrong is in `target/fuzz/found`. Inputs that are kept in the repository are in
//! `fuzz/seeds` and `fuzz/regressions`; the tests run them through the same functions (crate
//! `seeds`).

use crate::bench::memory::duration;
use crate::shell::{cargo, root, run, target};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// For the whole program: its edges counted, and both sides of comparisons recorded. The passes are
/// in every rustc; no flag needs a nightly one.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                     -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// With `--target`, build scripts and macros are built without the flags.
const TRIPLE: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

/// No input may take longer, or more memory.
const LIMITS: [&str; 3] = ["-timeout=5", "-rss_limit_mb=1024", "-malloc_limit_mb=1024"];

/// The time of each target, where none is asked for.
const EACH: Duration = Duration::from_secs(60);

/// Files that are in the repository anyway, to begin with.
const MORE: &[(&str, &[&str])] = &[
    ("show", &["crates/golden/recordings"]),
    ("what_if", &["crates/golden/recordings"]),
    ("imported", &["crates/analyse/tests/data/wake"]),
    ("results", &["crates/report/tests/samples/wakes", "crates/report/tests/samples/ladders"]),
];

/// What a target did.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    inputs: u64,
    seconds: f64,
    edges: u64,
    features: u64,
    found: Vec<String>,
}

/// Builds and runs the targets; prints a row for each.
///
/// # Errors
/// When they cannot be built, for an unknown option or target, and when an input was found that
/// panics, hangs or takes too much memory.
pub(crate) fn fuzz(arguments: &[&str]) -> Result<()> {
    let all = targets()?;
    let (mut each, mut asked, mut rest) = (EACH, Vec::new(), arguments.iter());
    while let Some(word) = rest.next() {
        match *word {
            "--for" => each = duration(rest.next().context("--for wants a time: 60s, 10m, 1h")?)?,
            name if all.iter().any(|target| target == name) => asked.push(name.to_owned()),
            _ => bail!("fuzz knows --for and the targets {}, not {word}", all.join(", ")),
        }
    }
    let asked = if asked.is_empty() { all } else { asked };
    let built = build(&asked)?;
    println!(
        "| target | inputs | seconds | inputs a second | edges | features | found |\n|---|--:|--:|--:|--:|--:|---|"
    );
    let mut found = Vec::new();
    for name in &asked {
        let figures = one(&built, name, each)?;
        println!("{}", row(name, &figures));
        found.extend(figures.found);
    }
    if found.is_empty() { Ok(()) } else { bail!("found: {}", found.join(", ")) }
}

/// The targets by name: a program each.
fn targets() -> Result<Vec<String>> {
    let directory = root().join("fuzz/src/bin");
    let entries = fs::read_dir(&directory).with_context(|| format!("cannot read {directory:?}"))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let names = paths.iter().filter_map(|path| path.file_stem()?.to_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// Builds these, and returns where they are.
fn build(names: &[String]) -> Result<PathBuf> {
    let place = target().join("fuzz");
    let mut command = cargo(&["build", "--release", "--locked", "--manifest-path=fuzz/Cargo.toml"]);
    command.arg(format!("--target={TRIPLE}")).arg("--target-dir").arg(&place);
    command.args(names.iter().map(|name| format!("--bin={name}"))).env("RUSTFLAGS", FLAGS);
    run(&mut command)?;
    Ok(place.join(TRIPLE).join("release"))
}

/// Runs one target for this long; it ends early at what it finds.
fn one(built: &Path, name: &str, length: Duration) -> Result<Figures> {
    let place = target().join("fuzz");
    let (corpus, found) = (place.join("corpus").join(name), place.join("found"));
    for directory in [&corpus, &found] {
        fs::create_dir_all(directory).with_context(|| format!("cannot create {directory:?}"))?;
    }
    let log = fs::File::create(place.join(format!("{name}.log")))?;
    let mut command = Command::new(built.join(name));
    command.args(LIMITS).arg(format!("-max_total_time={}", length.as_secs().max(1)));
    command.args(["-print_final_stats=1", "-use_value_profile=0", "-detect_leaks=0"]);
    command.arg(format!("-artifact_prefix={}/{name}-", found.display())).arg(&corpus);
    let kept = ["seeds", "regressions"].map(|kind| root().join("fuzz").join(kind).join(name));
    let more = MORE.iter().filter(|(of, _)| *of == name).flat_map(|(_, more)| more.iter());
    command.args(kept.into_iter().chain(more.map(|more| root().join(more))).filter(|path| path.is_dir()));
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).status();
    let status = status.with_context(|| format!("cannot start {}", built.join(name).display()))?;
    let seconds = begun.elapsed().as_secs_f64();
    let log = fs::read(place.join(format!("{name}.log")))?;
    let figures = Figures { seconds, ..figures(&String::from_utf8_lossy(&log)) };
    if !status.success() && figures.found.is_empty() {
        bail!("{name} ended with {status}: see {}", place.join(format!("{name}.log")).display());
    }
    Ok(figures)
}

/// Reads what libFuzzer printed.
fn figures(log: &str) -> Figures {
    let mut figures = Figures::default();
    for line in log.lines() {
        let word = |after: &str| {
            let (_, rest) = line.split_once(after)?;
            rest.split_ascii_whitespace().next()
        };
        let number = |after| word(after).and_then(|number| number.parse::<u64>().ok());
        // `#1024  NEW  cov: 300 ft: 900 corp: 40/2Kb ...`
        if line.starts_with('#') {
            let done = line[1..].split_ascii_whitespace().next().and_then(|number| number.parse().ok());
            figures.inputs = done.unwrap_or(figures.inputs);
            figures.edges = number(" cov: ").unwrap_or(figures.edges);
            figures.features = number(" ft: ").unwrap_or(figures.features);
        }
        figures.inputs = number("stat::number_of_executed_units:").unwrap_or(figures.inputs);
        figures.found.extend(word("Test unit written to ").map(str::to_owned));
    }
    figures
}

fn row(name: &str, figures: &Figures) -> String {
    let Figures { inputs, seconds, edges, features, found } = figures;
    let rate = *inputs as f64 / seconds.max(0.001);
    let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
    format!("| {name} | {inputs} | {seconds:.0} | {rate:.0} | {edges} | {features} | {found} |")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_figures_counts() {
        let log = "#2\tINITED cov: 10 ft: 11 corp: 1/1b\n#64\tNEW    cov: 20 ft: 30 corp: 2/9b lim: 4\n\
                   Done 70 runs in 3 second(s)\nstat::number_of_executed_units: 70\n";
        let figures = figures(log);
        assert_eq!((figures.inputs, figures.edges, figures.features), (70, 20, 30));
        assert_eq!(figures.found, Vec::<String>::new());
    }

    #[test]
    fn what_was_found_is_named_and_counted_up_to_there() {
        let log = "#9\tpulse cov: 5 ft: 6\nartifact_prefix='x/'; Test unit written to x/made-crash-1\n";
        let figures = figures(log);
        assert_eq!((figures.inputs, figures.edges), (9, 5));
        assert_eq!(figures.found, ["x/made-crash-1"]);
    }

    #[test]
    fn each_target_has_inputs_to_begin_with() {
        for name in targets().unwrap() {
            let seeds = root().join("fuzz/seeds").join(&name);
            assert!(seeds.is_dir(), "{} is missing", seeds.display());
        }
    }
}
