//! `cargo xtask fuzz`: libFuzzer on every decoder of what others can forge (`fuzz/`), guided by
//! coverage, with limits on time and memory.
//!
//! It needs no nightly compiler and no cargo-fuzz: what that adds over Cargo is a sanitizer, which
//! only nightly has and which finds little in code without `unsafe`, and the flags below, which
//! stable takes. libFuzzer itself is compiled from the sources in the crate `libfuzzer-sys`.
//!
//! Each run is added to what earlier ones did, in `target/fuzz/runs`; `--kept` prints the sums.
//!
//! What it finds interesting stays in `target/fuzz/corpus`, so a later run goes on from there; what
//! it finds wrong is in `target/fuzz/found`. Inputs that are kept in the repository are in
//! `fuzz/seeds` and `fuzz/regressions`; the tests run them through the same functions (crate
//! `seeds`).

use crate::setup;
use crate::shell::{cargo, root, run, target};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use workshop::machine::{duration, load, system};

/// For the whole program: its edges counted, and both sides of comparisons recorded. The passes are
/// in every rustc; no flag needs a nightly one.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                     -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// With `--target`, build scripts and macros are built without the flags.
const TRIPLE: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

/// No input may take longer, in seconds, or more memory, in MB: of the whole process.
const LIMITS: [&str; 2] = ["-timeout=5", "-rss_limit_mb=1024"];

/// The time of each target, where none is asked for.
const EACH: Duration = Duration::from_secs(60);

/// Files that are in the repository anyway, to begin with.
const MORE: &[(&str, &[&str])] = &[
    ("show", &["crates/golden/recordings"]),
    ("what_if", &["crates/golden/recordings"]),
    ("imported", &["crates/analyse/tests/data/wake"]),
    ("results", &["crates/report/tests/samples/wakes", "crates/report/tests/samples/ladders"]),
    ("store", &["crates/store/tests/data"]),
    ("export_recordings", &["crates/golden/recordings", "fuzz/seeds/show"]),
    (
        "export_results",
        &["crates/report/tests/samples/wakes", "crates/report/tests/samples/ladders", "fuzz/seeds/results"],
    ),
];

/// What a target did in a run.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    inputs: u64,
    seconds: f64,
    /// Edges of the program that any input of the corpus went over.
    edges: u64,
    /// Edges told apart by how often, and by what was compared.
    features: u64,
    found: Vec<String>,
}

/// What it did in all runs so far: the edges are those of the last, which has the corpus of all.
#[derive(Debug, Default, Clone, PartialEq)]
struct Sums {
    inputs: u64,
    seconds: f64,
    edges: u64,
    features: u64,
    /// Runs that ended at an input that panicked, hung or took too much memory.
    ended: u64,
}

/// Builds and runs the targets; prints a row for each. With `--kept` it only prints the sums of all
/// runs; `--markdown` gives either as a table with its conditions.
///
/// # Errors
/// When they cannot be built, for an unknown option or target, and when an input was found that
/// panics, hangs or takes too much memory.
pub(crate) fn fuzz(arguments: &[&str]) -> Result<()> {
    let all = targets()?;
    let (mut each, mut kept, mut markdown) = (EACH, false, false);
    let mut in_all = None;
    let (mut asked, mut rest) = (Vec::new(), arguments.iter());
    while let Some(word) = rest.next() {
        match *word {
            "--for" => each = duration(rest.next().context("--for wants a time: 60s, 10m, 1h")?)?,
            "--in-all" => {
                let length = duration(rest.next().context("--in-all wants a time: 60s, 10m, 1h")?)?;
                in_all = Some(length);
            }
            "--kept" => kept = true,
            "--markdown" => markdown = true,
            name if all.iter().any(|target| target == name) => asked.push(name.to_owned()),
            _ => bail!(
                "fuzz knows --for, --in-all, --kept, --markdown and the targets {}, not {word}",
                all.join(", ")
            ),
        }
    }
    let asked = if asked.is_empty() { all } else { asked };
    if let Some(length) = in_all {
        each = length / asked.len() as u32;
    }
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    let built = if kept { None } else { Some(build(&asked)?) };
    for name in &asked {
        let path = target().join("fuzz/runs").join(format!("{name}.json"));
        let mut sums = read_sums(&path);
        if let Some(built) = &built {
            let figures = one(built, name, each)?;
            println!("{}", said(name, &figures));
            write_sums(&path, &sums.with(&figures))?;
            sums = Sums::default().with(&figures);
            found.extend(figures.found);
        }
        rows.push((name.clone(), sums));
    }
    if kept || markdown {
        print!("{}", table(&rows, markdown));
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
    setup::run_for_fuzzing()?;
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
        if let Some(rest) = line.strip_prefix('#') {
            let done = rest.split_ascii_whitespace().next().and_then(|number| number.parse().ok());
            figures.inputs = done.unwrap_or(figures.inputs);
            figures.edges = number(" cov: ").unwrap_or(figures.edges);
            figures.features = number(" ft: ").unwrap_or(figures.features);
        }
        figures.inputs = number("stat::number_of_executed_units:").unwrap_or(figures.inputs);
        figures.found.extend(word("Test unit written to ").map(str::to_owned));
    }
    figures
}

/// A line for who waits.
fn said(name: &str, figures: &Figures) -> String {
    let Figures { inputs, seconds, edges, found, .. } = figures;
    let found = if found.is_empty() { "nothing found".to_owned() } else { found.join(", ") };
    format!("{name}: {inputs} inputs in {seconds:.0} s, {edges} edges, {found}")
}

impl Sums {
    /// With one run more.
    fn with(&self, run: &Figures) -> Self {
        Self {
            inputs: self.inputs + run.inputs,
            seconds: self.seconds + run.seconds,
            edges: run.edges,
            features: run.features,
            ended: self.ended + u64::from(!run.found.is_empty()),
        }
    }
}

/// The sums of earlier runs; none where there were none.
fn read_sums(path: &Path) -> Sums {
    let sums = fs::read(path).ok().and_then(|bytes| from_json(&serde_json::from_slice(&bytes).ok()?));
    sums.unwrap_or_default()
}

fn write_sums(path: &Path, sums: &Sums) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    fs::write(path, to_json(sums).to_string()).with_context(|| format!("cannot write {}", path.display()))
}

fn to_json(sums: &Sums) -> Value {
    let Sums { inputs, seconds, edges, features, ended } = sums;
    json!({"inputs": inputs, "seconds": seconds, "edges": edges, "features": features, "ended": ended})
}

fn from_json(sums: &Value) -> Option<Sums> {
    Some(Sums {
        inputs: sums["inputs"].as_u64()?,
        seconds: sums["seconds"].as_f64()?,
        edges: sums["edges"].as_u64()?,
        features: sums["features"].as_u64()?,
        ended: sums["ended"].as_u64()?,
    })
}

/// A row for each target and one for all; for a page also the conditions.
fn table(rows: &[(String, Sums)], markdown: bool) -> String {
    let mut text = String::new();
    if markdown {
        text += &format!("{}, load {}.\n\n", system(), load());
        text += "| target | inputs | seconds | inputs a second | edges | features | found | kept |\n";
        text += "|---|--:|--:|--:|--:|--:|--:|--:|\n";
    } else {
        text += "target, inputs, seconds, inputs a second, edges, features, found, kept\n";
    }
    let mut all = (Sums::default(), 0);
    for (name, sums) in rows {
        let kept = regressions(name);
        text += &row(name, sums, kept, markdown);
        all.0.inputs += sums.inputs;
        all.0.seconds += sums.seconds;
        all.0.ended += sums.ended;
        all.1 += kept;
    }
    // Targets share code: their edges have no sum.
    text += &row("all", &all.0, all.1, markdown);
    text
}

fn row(name: &str, sums: &Sums, kept: usize, markdown: bool) -> String {
    let Sums { inputs, seconds, edges, features, ended } = sums;
    let rate = *inputs as f64 / seconds.max(0.001);
    let of_one = |count: &u64| if *count == 0 { "–".to_owned() } else { count.to_string() };
    let cells = [
        name.to_owned(),
        inputs.to_string(),
        format!("{seconds:.0}"),
        format!("{rate:.0}"),
        of_one(edges),
        of_one(features),
        ended.to_string(),
        kept.to_string(),
    ];
    if markdown { format!("| {} |\n", cells.join(" | ")) } else { format!("{}\n", cells.join(", ")) }
}

/// How many inputs that once went wrong are in the repository.
fn regressions(name: &str) -> usize {
    fs::read_dir(root().join("fuzz/regressions").join(name)).map_or(0, Iterator::count)
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
    fn runs_are_added_up_and_come_back_as_they_were_kept() {
        let run = |inputs, edges, found: &[&str]| Figures {
            inputs,
            edges,
            seconds: 0.5,
            found: found.iter().map(|name| (*name).to_owned()).collect(),
            ..Figures::default()
        };
        let sums = Sums::default().with(&run(70, 20, &["x/show-crash-1"])).with(&run(5, 21, &[]));
        assert_eq!((sums.inputs, sums.edges, sums.ended), (75, 21, 1));
        assert_eq!(sums.seconds, 1.0);
        assert_eq!(from_json(&to_json(&sums)), Some(sums.clone()));
        let page = table(&[("a".to_owned(), sums.clone()), ("b".to_owned(), sums)], true);
        assert!(page.contains("| a | 75 | 1 | 75 | 21 | – | 1 | 0 |\n"), "{page}");
        assert!(page.ends_with("| all | 150 | 2 | 75 | – | – | 2 | 0 |\n"), "{page}");
    }

    #[test]
    fn each_target_has_inputs_to_begin_with() {
        for name in targets().unwrap() {
            let seeds = root().join("fuzz/seeds").join(&name);
            assert!(seeds.is_dir(), "{} is missing", seeds.display());
        }
    }
}
