//! `cargo xtask bench`: what being watched costs a program, by dwell and by the tools people use today.
//!
//! Every round runs each tool once, in an order that turns from round to round, and each ratio is to the bare run of the
//! same round: what drifts on the machine drifts for both. A second bare run shows how much of a ratio is noise.

mod measure;
mod program;
mod table;
mod tool;

use crate::shell::{cargo, output, program as shell_program, run as run_shown, target};
use anyhow::{Context, Result, bail};
use measure::Outcome;
use program::{PROGRAMS, Program};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use tool::{TOOLS, Tool};

/// What was measured of one program.
struct Results {
    program: &'static Program,
    /// By tool, in the order of the rounds; a tool that is left out of later rounds has fewer.
    runs: BTreeMap<Tool, Vec<Outcome>>,
    /// The most memory dwell had, in KiB, from a run of its own, since asking costs time.
    dwell_rss_kib: Option<u64>,
}

struct Options {
    quick: bool,
    markdown: bool,
    rounds: usize,
    /// strace and perf trace are slow and far off: a few rounds say enough.
    slow_rounds: usize,
    programs: Vec<&'static Program>,
    /// Measured instead of what the sources give.
    dwell: Option<PathBuf>,
}

/// Measures and prints the table.
///
/// # Errors
/// For options that are not understood, when dwell does not build, or when a program fails bare.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = options(arguments)?;
    let place = target().join("bench");
    fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
    if options.dwell.is_none() {
        run_shown(&mut cargo(&["build", "--release", "--package", "dwell"]))?;
    }
    // A copy, so that building meanwhile does not change what is measured.
    let dwell = options.dwell.clone().unwrap_or_else(|| target().join("release/dwell"));
    fs::copy(&dwell, place.join("dwell")).with_context(|| format!("cannot copy {}", dwell.display()))?;
    program::compile_all(&place)?;
    let mut notes = BTreeSet::new();
    let tools: Vec<Tool> = TOOLS.iter().copied().filter(|tool| available(*tool, &mut notes)).collect();
    let mut results = Vec::new();
    for program in &options.programs {
        results.push(measure_program(program, &tools, &options, &place, &mut notes)?);
    }
    print!("{}", table::render(&results, &tools, &notes, &machine(), options.markdown));
    Ok(())
}

fn options(arguments: &[&str]) -> Result<Options> {
    let has = |flag| arguments.contains(&flag);
    let quick = has("--quick");
    let mut options = Options {
        quick,
        markdown: has("--markdown"),
        rounds: if quick { 3 } else { 11 },
        slow_rounds: if quick { 1 } else { 3 },
        programs: Vec::new(),
        dwell: None,
    };
    let mut rest = arguments.iter().filter(|word| !["--quick", "--markdown"].contains(word));
    while let Some(&word) = rest.next() {
        if word == "--rounds" {
            let given = rest.next().context("--rounds wants a number")?;
            options.rounds = given.parse().with_context(|| format!("--rounds {given} is not a number"))?;
            continue;
        }
        if word == "--dwell" {
            options.dwell = Some(rest.next().context("--dwell wants the path of a binary")?.into());
            continue;
        }
        let names = || PROGRAMS.iter().map(|program| program.name).collect::<Vec<_>>().join(", ");
        let known = PROGRAMS.iter().find(|program| program.name == word);
        options.programs.push(known.with_context(|| format!("no program {word}; there are {}", names()))?);
    }
    if options.rounds == 0 {
        bail!("--rounds 0 measures nothing");
    }
    if options.programs.is_empty() {
        options.programs.extend(PROGRAMS);
    }
    Ok(options)
}

fn available(tool: Tool, notes: &mut BTreeSet<String>) -> bool {
    let missing = tool.missing();
    if let Some(package) = missing {
        notes.insert(format!("{} is not installed; try: apt-get install {package}", tool.name()));
    }
    missing.is_none()
}

fn measure_program(
    program: &'static Program,
    tools: &[Tool],
    options: &Options,
    place: &Path,
    notes: &mut BTreeSet<String>,
) -> Result<Results> {
    let mut runs: BTreeMap<Tool, Vec<Outcome>> = BTreeMap::new();
    let mut refused: BTreeSet<Tool> = BTreeSet::new();
    // Once unmeasured: the files it reads are then in memory for all.
    measure::once(program, Tool::Bare, options.quick, place)
        .context("a program of the benchmark fails by itself")?;
    for round in 0..options.rounds {
        eprint!("\r{:<12} round {} of {}   ", program.name, round + 1, options.rounds);
        for at in 0..tools.len() {
            let tool = tools[(round + at) % tools.len()];
            if refused.contains(&tool) || tool.is_slow() && round >= options.slow_rounds {
                continue;
            }
            match measure::once(program, tool, options.quick, place) {
                Ok(outcome) => {
                    notes.extend(outcome.note.clone());
                    runs.entry(tool).or_default().push(outcome);
                }
                Err(error) => {
                    notes.insert(format!("{}, {}: {error:#}", program.name, tool.name()));
                    refused.insert(tool);
                    // What it had is dropped: pairs are by round, and a tool that fails sometimes is not compared.
                    runs.remove(&tool);
                }
            }
        }
    }
    eprintln!();
    let watched = || measure::dwell_rss_kib(program, options.quick, place).ok();
    let dwell_rss_kib = runs.contains_key(&Tool::Dwell).then(watched).flatten();
    Ok(Results { program, runs, dwell_rss_kib })
}

/// One line on where this was measured.
fn machine() -> String {
    let ask = |name: &str, arguments: &[&str]| {
        output(&mut shell_program(name, arguments))
            .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
    };
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    format!("{}, {} CPUs, load at the end {load}", ask("uname", &["-srm"]), ask("nproc", &[]))
}
