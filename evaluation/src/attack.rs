//! `cargo xtask attack`: dwell ended at random moments, and in odd surroundings.
//!
//! Each verb is ended by SIGKILL and by seven signals (`ends.rs`), and runs under limits
//! (`limits.rs`) and in restricted environments (`environments.rs`): what is left, what hangs,
//! which programs come to harm, what is not said. This process is the parent of orphans, so nothing
//! that is left can hide. Everything lies in a directory of its own, which is also dwell's `TMPDIR`
//! and cache.

mod ends;
mod environments;
mod limits;
mod place;
mod restricted_env;
mod verbs;

use crate::bench::install;
use anyhow::{Context, Result, bail, ensure};
use environments::ENVIRONMENTS;
use limits::LIMITS;
use place::Workplace;
use restricted_env::Case;
use rustix::process::{geteuid, getpid, set_child_subreaper};
use stats::Random;
use std::path::PathBuf;
use verbs::{VERBS, Verb};
use workshop::machine::{load, system};
use workshop::table::layout;

/// SIGKILLs of each verb.
const KILLS: usize = 30;

struct Options {
    kills: usize,
    seed: u64,
    markdown: bool,
    dwell: Option<PathBuf>,
    verbs: Vec<&'static Verb>,
    tables: Vec<&'static Table>,
}

/// Cases of a kind.
struct Table {
    /// Also on the command line.
    name: &'static str,
    cases: &'static [Case],
}

static TABLES: [Table; 2] =
    [Table { name: "limits", cases: LIMITS }, Table { name: "environments", cases: ENVIRONMENTS }];

/// Attacks and prints the tables.
///
/// # Errors
/// For options that are not understood, without root, when dwell does not build, or when anything
/// did not hold.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = options(arguments)?;
    ensure!(geteuid().is_root(), "dwell's BPF programs are part of what could be left: this needs root");
    set_child_subreaper(Some(getpid())).context("cannot become the parent of orphans")?;
    let dwell = install(options.dwell.as_deref())?.join("dwell");
    let place = Workplace::new(&dwell)?;
    verbs::prepare(&place)?;
    let before = load();
    let mut failed = Vec::new();
    if !options.verbs.is_empty() {
        failed.extend(end_verbs(&place, &options)?);
    }
    for table in &options.tables {
        restricted_env::prepare(&place)?;
        failed.extend(try_cases(&place, table, options.markdown)?);
    }
    println!("{}; load {before} before and {} after.", system(), load());
    if !failed.is_empty() {
        bail!("{} did not hold:\n{}", failed.len(), failed.join("\n"));
    }
    Ok(())
}

/// Without names of verbs or tables all are meant.
fn options(arguments: &[&str]) -> Result<Options> {
    let mut options = Options {
        kills: KILLS,
        seed: u64::from(std::process::id()),
        markdown: false,
        dwell: None,
        verbs: Vec::new(),
        tables: Vec::new(),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--kills" => options.kills = words.next().context("--kills N")?.parse().context("--kills N")?,
            "--seed" => options.seed = words.next().context("--seed N")?.parse().context("--seed N")?,
            "--dwell" => options.dwell = Some(words.next().context("--dwell FILE")?.into()),
            "--markdown" => options.markdown = true,
            "verbs" => options.verbs = VERBS.iter().collect(),
            name => {
                let table = TABLES.iter().find(|table| table.name == name);
                let verb = VERBS.iter().find(|verb| verb.name == name);
                match (table, verb) {
                    (Some(table), _) => options.tables.push(table),
                    (_, Some(verb)) => options.verbs.push(verb),
                    _ => bail!("{name:?} is no verb to attack, nor verbs, limits, environments"),
                }
            }
        }
    }
    if options.verbs.is_empty() && options.tables.is_empty() {
        options.verbs = VERBS.iter().collect();
        options.tables = TABLES.iter().collect();
    }
    Ok(options)
}

/// Ends each verb, and prints the table and what was drawn. Returns what did not hold.
fn end_verbs(place: &Workplace, options: &Options) -> Result<Vec<String>> {
    let mut random = Random::new(options.seed);
    let mut failed = Vec::new();
    let mut rows = vec![ends::HEADER.map(str::to_owned).to_vec()];
    let mut drawn = Vec::new();
    for verb in &options.verbs {
        eprintln!("{}", verb.name);
        match ends::attack(place, verb, options.kills, &mut random) {
            Ok(row) => {
                failed.extend(row.faults(verb.name));
                drawn.push(row.drawn(verb.name));
                // All of it takes half an hour: what there is so far is shown.
                eprintln!("  {}", row.cells(verb.name).join("  "));
                rows.push(row.cells(verb.name));
            }
            // It cannot be run here at all: no Python with exact counts, no right.
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    println!("Ended at random moments, seed {}\n\n{}", options.seed, layout(&rows, options.markdown));
    println!("SIGKILL after, in ms\n\n{}\n", drawn.join("\n"));
    Ok(failed)
}

/// Tries the cases of a table, and prints it. Returns what did not hold.
fn try_cases(place: &Workplace, table: &Table, markdown: bool) -> Result<Vec<String>> {
    let mut failed = Vec::new();
    let mut head = vec![table.name.to_owned()];
    head.extend(verbs::CASES.iter().map(|verb| verb.name.to_owned()));
    head.push("what dwell says".to_owned());
    let mut rows = vec![head];
    for case in table.cases {
        eprintln!("{}", case.name);
        let outcome = restricted_env::attempt(place, case)?;
        failed.extend(outcome.wrong.iter().map(|wrong| format!("{}: {wrong}", outcome.name)));
        let mut cells = vec![outcome.name.to_owned()];
        cells.extend(outcome.cells);
        cells.push(outcome.said);
        rows.push(cells);
    }
    println!("{} {}\n\n{}", table.cases.len(), table.name, layout(&rows, markdown));
    Ok(failed)
}
