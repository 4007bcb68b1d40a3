//! `cargo xtask truth`: real programs, each watched by dwell and by tools that know, in the same
//! run; whether the account and the class agree.
//!
//! A program is an entry of a file in `evaluation/programs`, with the class that is right, judged
//! before any run. The lane prepares it, starts its servers and ends them, watches it (`observe`),
//! compares (`verdict`) and prints a table. A row that does not agree is a fault of dwell to be
//! mended, never a reason to change what is right.

mod account;
mod counts;
mod dwell_result;
mod findings;
mod inputs;
mod kept;
mod needs;
mod observe;
mod program;
mod programs;
pub(crate) mod quota;
mod sched;
mod shares;
mod stage;
mod steal;
mod table;
mod tree;
mod verdict;

use crate::Measuring;
use crate::bench::install;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use dwell_result::DwellResult;
use findings::Findings;
use program::Program;
use programs::Programs;
use rustix::process::geteuid;
use stage::Started;
use std::path::Path;
use std::thread::available_parallelism;
use verdict::{Truth, Verdict};
use workshop::machine::{load, system, tracefs};
use workshop::shell::target;

/// Other programs on each CPU end by themselves after this many seconds, whatever happens here.
const BUSY_SECONDS_MAX: &str = "3600";

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    measuring: Measuring,
    /// Beside a busy loop on each CPU
    #[arg(long)]
    busy: bool,
    /// Only show what was measured before
    #[arg(long)]
    kept: bool,
    /// Only show what was found first in programs of others, of what was measured before
    #[arg(long)]
    findings: bool,
    /// Programs [default: all]
    #[arg(value_name = "PROGRAM")]
    names: Vec<String>,
}

/// Watches the programs and prints the table.
///
/// # Errors
/// For programs that are not there, without root, or when dwell does not build. A program that
/// cannot be run is a row that says so.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (programs, findings) = (Programs::read()?, Findings::read()?);
    let asked = programs.named(&options.names)?;
    let base = target().join("truth");
    if options.findings {
        let row = |busy, name: &str| kept::read(&base, busy, name).and_then(|((_, verdict), _)| verdict.ok());
        print!("{}", findings.table(row));
        return Ok(());
    }
    if options.kept {
        return show(options, &asked, &base);
    }
    ensure!(geteuid().is_root(), "perf traces the whole machine here, which needs root");
    tracefs()?;
    let needed = asked.iter().flat_map(|program| program.needs.iter().copied());
    needs::install(needed.chain(&needs::TOOLS));
    needs::all_present(&needs::TOOLS)?;
    // Programs are run in directories of their own.
    let dwell = options.measuring.dwell.as_deref().map(std::path::absolute).transpose()?;
    let dwell = install(dwell.as_deref())?.join("dwell");
    inputs::make(&base.join("inputs"))?;
    let _busy = options.busy.then(|| busy_loops(&base)).transpose()?;
    for program in &asked {
        let load = load();
        let verdict = needs::all_present(program.needs.iter().copied())
            .and_then(|()| observed(program, &programs, &base, &dwell))
            .map(|(said, truth)| judged(program, &findings, &said, &truth, options.busy))
            .map_err(|error| format!("{error:#}"));
        let row = (program.name.clone(), verdict);
        eprintln!("{}", table::line(&row));
        kept::write(&base, options.busy, &row, &load)?;
    }
    show(options, &asked, &base)
}

/// Prints the table of what was kept of these programs.
fn show(options: &Options, programs: &[&Program], base: &Path) -> Result<()> {
    let kept = programs.iter().filter_map(|program| kept::read(base, options.busy, &program.name));
    let (rows, mut loads): (Vec<_>, Vec<_>) = kept.unzip();
    loads.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (loads.first(), loads.last()) else { bail!("nothing was run yet") };
    let beside =
        if options.busy { "beside a busy loop on each CPU" } else { "without busy loops of its own" };
    let conditions = format!("{}, load {least} to {most} before each program, {beside}", system());
    println!("{}", table::render(&rows, &conditions, options.measuring.markdown));
    Ok(())
}

fn observed(
    program: &Program,
    programs: &Programs,
    base: &Path,
    dwell: &Path,
) -> Result<(DwellResult, Truth)> {
    let observed = || observe::observe(program, programs, base, dwell);
    // perf 6.1 cannot read what it recorded if BPF programs went at the wrong moment: once more.
    observed().or_else(|_| observed())
}

fn judged(program: &Program, findings: &Findings, said: &DwellResult, truth: &Truth, busy: bool) -> Verdict {
    let mut verdict = verdict::judge(program, said, truth);
    let behind_percent = if busy { 100.0 } else { truth.starved.map_or(0.0, |behind| behind.hi) };
    verdict.checks.extend(findings.check(&program.name, said, behind_percent));
    verdict
}

/// A loop for each CPU, ended when these go.
fn busy_loops(base: &Path) -> Result<Vec<Started>> {
    let words = ["timeout", BUSY_SECONDS_MAX, "sh", "-c", "while :; do :; done"].map(str::to_owned);
    let cpus = available_parallelism().context("the number of CPUs is not known")?.get();
    (0..cpus).map(|_| Started::spawn(&words, base, &base.join("busy"))).collect()
}
