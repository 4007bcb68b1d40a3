//! `cargo xtask bench store`: what keeping results costs a run, how long the verbs of the store
//! take with many results in it, and what is left of it when its writers are killed; with `--beside
//! FILE` every second writer is that other dwell, of another version.
//!
//! Results are made by copying a real one within the store; only the newest are real. What is
//! called cold is read after the kernel has forgotten the file.

use super::install;
use super::program::python;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use workshop::machine::{conditions, load};
use workshop::shell::{program as shell_program, run as run_shown};

/// What keeping a result may cost a run, and lists take: milliseconds.
const REACH_RUN_MS: f64 = 10.0;
const REACH_LISTS: &[(u64, f64, f64)] = &[(10_000, 100.0, 300.0), (1_000_000, 1_000.0, 1_000.0)];

/// Times that each verb is measured, and runs with and without the store.
const TIMES: usize = 7;
const RUNS: usize = 100;
/// Writers at once, and writers in all.
const AT_ONCE: usize = 4;
const KILLS: usize = 1_000;
/// Writers are killed within this many times what one takes by itself.
const KILLED_WITHIN: f64 = 3.0;

#[derive(Args)]
pub(super) struct Options {
    /// Measure this dwell, and not what the sources give
    #[arg(long, value_name = "FILE")]
    dwell: Option<PathBuf>,
    /// Every second writer is this dwell, of another version
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,
    /// Writers that are killed
    #[arg(long, value_name = "N", default_value_t = KILLS)]
    kills: usize,
    /// Runs with and without the store
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    runs: usize,
    /// Results in the store; 0: none of these tables
    #[arg(long, value_name = "N", default_values_t = REACH_LISTS.iter().map(|(results, ..)| *results))]
    results: Vec<u64>,
}

/// Measures, prints the tables.
///
/// # Errors
/// When dwell fails, and when a store was harmed.
pub(super) fn run(options: &Options) -> Result<()> {
    let place = install(options.dwell.as_deref())?;
    let before = load();
    if options.runs > 0 {
        println!("{}\n", cost(&place, options.runs)?);
    }
    let results: Vec<u64> = options.results.iter().copied().filter(|results| *results > 0).collect();
    if !results.is_empty() {
        println!("| results | file | verb | median | cold | to be reached |\n|---:|---:|---|---:|---:|---|");
    }
    for results in results {
        println!("{}", verbs(&place, results)?.join("\n"));
    }
    if options.kills > 0 {
        println!("\n{}", kills(&place, options.kills, options.beside.as_deref())?);
    }
    println!("\n{}", conditions(&before));
    Ok(())
}

/// dwell with a store.
fn dwell(place: &Path, store: &Path, words: &[&str]) -> Command {
    this(&place.join("dwell"), store, words)
}

/// The same of this dwell.
fn this(dwell: &Path, store: &Path, words: &[&str]) -> Command {
    let mut command = shell_program(dwell, words);
    command.arg("--store").arg(store).env_remove("DWELL_STORE");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// How long a command takes, in milliseconds. It must succeed.
fn timed(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    let status = command.status().context("cannot start dwell")?;
    let took = begun.elapsed().as_secs_f64() * 1e3;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(took)
}

fn median(values: &[f64]) -> f64 {
    stats::median_of(values.iter().copied()).unwrap_or(f64::NAN)
}

fn fresh(place: &Path) -> Result<PathBuf> {
    let within = place.join("store");
    let _ = fs::remove_dir_all(&within);
    fs::create_dir_all(&within)?;
    Ok(within.join("results.sqlite"))
}

fn reached(value: f64, most: f64) -> &'static str {
    if value <= most { "" } else { " (NOT reached)" }
}

/// `dwell run true` with the store and without, by turns.
fn cost(place: &Path, runs: usize) -> Result<String> {
    let store = fresh(place)?;
    let with = || {
        let mut command = shell_program(place.join("dwell"), &["run", "-q", "--store"]);
        command.arg(&store).args(["--", "true"]).env_remove("DWELL_STORE").stdin(Stdio::null());
        timed(&mut command)
    };
    let without = || {
        let mut command = shell_program(place.join("dwell"), &["run", "-q", "--no-store", "--", "true"]);
        timed(command.stdin(Stdio::null()))
    };
    let (mut both, mut differences) = ((Vec::new(), Vec::new()), Vec::new());
    for turn in 0..=runs {
        let (a, b) = if turn % 2 == 0 { (without()?, with()?) } else { (with()?, without()?) };
        let (bare, kept) = if turn % 2 == 0 { (a, b) } else { (b, a) };
        // The first one makes the store.
        if turn > 0 {
            both.0.push(bare);
            both.1.push(kept);
            differences.push(kept - bare);
        }
    }
    let difference = median(&differences);
    Ok(format!(
        "| `dwell run true`, {runs} pairs | median |\n|---|---:|\n| without the store | {:.1} ms |\n| with it | {:.1} ms \
         |\n| difference of a pair | {difference:.2} ms{} |",
        median(&both.0),
        median(&both.1),
        reached(difference, REACH_RUN_MS)
    ))
}

/// A store with this many results, made from one.
fn fill(place: &Path, results: u64) -> Result<PathBuf> {
    let store = fresh(place)?;
    timed(&mut dwell(place, &store, &["load", "cpu", "--for", "1ms", "-q"]))?;
    let script = "
import sqlite3, sys
path, results = sys.argv[1], int(sys.argv[2])
c = sqlite3.connect(path, isolation_level=None)
c.execute('PRAGMA synchronous = OFF')
c.execute('BEGIN')
c.execute('''WITH RECURSIVE n(n) AS (VALUES (2) UNION ALL SELECT n + 1 FROM n WHERE n < ?)
    INSERT INTO results SELECT n.n, printf('%08x', n.n * 2654435761 % 4294967291), at_s - ? + n.n,
    CASE n.n % 10 WHEN 0 THEN 'compare' WHEN 1 THEN 'wake' ELSE 'run' END,
    'make -j' || n.n % 16 || ' target-' || n.n % 1000, host, machine, kernel, n.n * 1000003 % 7000000000, 'CPU-bound',
    'sync-writes', schema, dwell, json_bytes, 0, NULL FROM n, (SELECT * FROM results LIMIT 1) r''', (results, results))
c.execute('INSERT INTO contents SELECT seq, zeroblob(100) FROM results WHERE seq > 1')
c.execute('INSERT INTO tags SELECT seq, \\'weekly\\' FROM results WHERE seq % 1000 = 0')
c.execute('COMMIT')
c.execute('PRAGMA wal_checkpoint(TRUNCATE)')
c.close()
";
    let mut made = shell_program(python(), &["-c", script]);
    run_shown(made.arg(&store).arg(results.to_string()))?;
    // The last ones are real.
    for _ in 0..2 * (TIMES + 2) {
        timed(&mut dwell(place, &store, &["load", "cpu", "--for", "1ms", "-q"]))?;
    }
    Ok(store)
}

/// Makes the kernel forget what it has of a file.
fn forget(store: &Path) -> Result<()> {
    let mut command = shell_program("dd", &["iflag=nocache", "count=0", "status=none"]);
    command.arg(format!("if={}", store.display()));
    command.status().context("cannot start dd")?;
    Ok(())
}

/// One row for each verb.
fn verbs(place: &Path, results: u64) -> Result<Vec<String>> {
    const VERBS: &[&[&str]] = &[
        &["list"],
        &["list", "--all"],
        &["list", "--tag", "weekly"],
        &["list", "--verb", "wake"],
        &["list", "--host", "elsewhere"],
        &["list", "--since", "5s"],
        &["list", "--command", "target-77 "],
        &["list", "--command", "of no result"],
        &["show", "last"],
        &["load", "cpu", "--for", "1ms", "-q"],
        &["rm", "last"],
        &["store"],
    ];
    eprintln!("{results} results");
    let store = fill(place, results)?;
    let mib = fs::metadata(&store)?.len() >> 20;
    let mut rows = Vec::new();
    for words in VERBS {
        let mut took = Vec::new();
        // A line for each of a million is a matter of the reader.
        let all = words.contains(&"--all");
        for _ in 0..if all { 1 } else { TIMES } {
            took.push(timed(&mut dwell(place, &store, words))?);
        }
        forget(&store)?;
        let cold = if all { f64::NAN } else { timed(&mut dwell(place, &store, words))? };
        let listed = words[0] == "list" && !all;
        let reach = REACH_LISTS.iter().find(|(of, ..)| *of == results && listed);
        let said = reach.map_or_else(String::new, |(_, warm, cold_most)| {
            let missed = [reached(median(&took), *warm), reached(cold, *cold_most)].concat();
            format!("{warm:.0} ms, cold {cold_most:.0} ms{missed}")
        });
        rows.push(format!(
            "| {results} | {mib} MiB | `{}` | {:.1} ms | {} | {said} |",
            words.join(" "),
            median(&took),
            if all { String::new() } else { format!("{cold:.1} ms") }
        ));
    }
    let half = (fs::metadata(&store)?.len() / 2).to_string();
    let took = timed(&mut dwell(place, &store, &["store", "--limit", &half]))?;
    rows.push(format!("| {results} | {mib} MiB | `store --limit` half of it | {took:.0} ms | | |"));
    fs::remove_dir_all(place.join("store"))?;
    Ok(rows)
}

/// Kills writers at random moments: what was kept before is whole, what ended well is there, and
/// nothing is there twice.
fn kills(place: &Path, kills: usize, beside: Option<&Path>) -> Result<String> {
    let store = fresh(place)?;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut chance = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    let (mut killed, mut ended, mut round) = (0, 0_u64, 0);
    let words: &[&str] = &["load", "cpu", "--for", "1ms", "-q"];
    let one_ms = median(&[0; TIMES].map(|_| timed(&mut dwell(place, &store, words)).unwrap_or(f64::NAN)));
    ended += TIMES as u64;
    let step_ns = (one_ms * 1e6 * KILLED_WITHIN / AT_ONCE as f64) as u64 + 1;
    while killed < kills {
        round += 1;
        let mut writers: Vec<Child> = Vec::new();
        for number in 0..AT_ONCE {
            let mut writer = match beside.filter(|_| number % 2 == 1) {
                Some(beside) => this(beside, &store, words),
                None => dwell(place, &store, words),
            };
            writers.push(writer.spawn().context("cannot start dwell")?);
        }
        for writer in &mut writers {
            sleep(Duration::from_nanos(chance(step_ns)));
            let _ = writer.kill();
        }
        for mut writer in writers {
            let status = writer.wait()?;
            killed += usize::from(!status.success());
            ended += u64::from(status.success());
        }
        if round % 50 == 0 {
            check(place, &store, ended, killed)?;
        }
    }
    let there = check(place, &store, ended, killed)?;
    let which = beside.map_or_else(String::new, |of| format!(", every second one {}", of.display()));
    Ok(format!(
        "{killed} writers killed at random moments, {AT_ONCE} at once{which}: {ended} ended well, {there} results are there, \
         all whole"
    ))
}

/// Checks a store; how many results it has: at least those of writers that ended well, at most one
/// of each writer.
fn check(place: &Path, store: &Path, ended: u64, killed: usize) -> Result<u64> {
    timed(&mut dwell(place, store, &["store", "--check"]))?;
    let listed = dwell(place, store, &["list", "--all"]).stdout(Stdio::piped()).output()?;
    let lines = String::from_utf8_lossy(&listed.stdout).lines().count() as u64;
    let there = lines.saturating_sub(1);
    if there < ended || there > ended + killed as u64 {
        bail!("{ended} writers ended well, {killed} were killed, and {there} results are there");
    }
    Ok(there)
}
