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

use crate::Measuring;
use crate::bench::install;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use environments::ENVIRONMENTS;
use limits::LIMITS;
use place::Workplace;
use restricted_env::Case;
use rustix::process::{geteuid, getpid, set_child_subreaper};
use stats::Random;
use verbs::{VERBS, Verb};
use workshop::machine::{load, system};
use workshop::table::layout;

/// SIGKILLs of each verb.
const KILLS: usize = 30;

#[derive(Args)]
pub(crate) struct Options {
    /// SIGKILLs of each verb
    #[arg(long, value_name = "N", default_value_t = KILLS)]
    kills: usize,
    /// Seed of the random moments [default: another one each time]
    #[arg(long, value_name = "N", default_value_t = u64::from(std::process::id()), hide_default_value = true)]
    seed: u64,
    #[command(flatten)]
    measuring: Measuring,
    /// A verb of dwell, `verbs` for all of them, `limits`, `environments` [default: all]
    #[arg(value_name = "WHAT", value_parser = PossibleValuesParser::new(names()))]
    names: Vec<String>,
}

/// What can be asked for.
fn names() -> impl Iterator<Item = &'static str> {
    let tables = TABLES.iter().map(|table| table.name);
    ["verbs"].into_iter().chain(tables).chain(VERBS.iter().map(|verb| verb.name))
}

impl Options {
    fn asks(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|asked| asked == name)
    }

    fn verbs(&self) -> impl Iterator<Item = &'static Verb> {
        VERBS.iter().filter(|verb| self.asks(verb.name) || self.asks("verbs"))
    }
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
/// Without root, when dwell does not build, or when anything
/// did not hold.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(geteuid().is_root(), "dwell's BPF programs are part of what could be left: this needs root");
    set_child_subreaper(Some(getpid())).context("cannot become the parent of orphans")?;
    let dwell = install(options.measuring.dwell.as_deref())?.join("dwell");
    let place = Workplace::new(&dwell)?;
    verbs::prepare(&place)?;
    let before = load();
    let mut failed = Vec::new();
    if options.verbs().next().is_some() {
        failed.extend(end_verbs(&place, options)?);
    }
    for table in TABLES.iter().filter(|table| options.asks(table.name)) {
        restricted_env::prepare(&place)?;
        failed.extend(try_cases(&place, table, options.measuring.markdown)?);
    }
    println!("{}; load {before} before and {} after.", system(), load());
    if !failed.is_empty() {
        bail!("{} did not hold:\n{}", failed.len(), failed.join("\n"));
    }
    Ok(())
}

/// Ends each verb, and prints the table and what was drawn. Returns what did not hold.
fn end_verbs(place: &Workplace, options: &Options) -> Result<Vec<String>> {
    let mut random = Random::new(options.seed);
    let mut failed = Vec::new();
    let mut rows = vec![ends::HEADER.map(str::to_owned).to_vec()];
    let mut drawn = Vec::new();
    for verb in options.verbs() {
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
    println!(
        "Ended at random moments, seed {}\n\n{}",
        options.seed,
        layout(&rows, options.measuring.markdown)
    );
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
