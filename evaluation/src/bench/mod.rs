//! `cargo xtask bench`: what being watched costs a program, by dwell and by the tools people use
//! today; how long dwell's own end takes; its memory over a long run (`memory`); how
//! large its results are of programs that do much (`bounds`); and its ladder
//! against other tools on the same operation (`ladder`), its measurement of wake-ups against
//! cyclictest (`wake`), what its loads get done against hackbench and stressapptest (`loads`), one
//! version of dwell against another (`pairs`), how right its comparisons are (`compare`), and what
//! it says of edited recordings (`what-if`), and the store of results (`store`).
//!
//! `dwell compare` runs each tool once a round, in random order, and each ratio is to the bare run
//! of the same round: what drifts on the machine drifts for both. A second bare run shows how much
//! of a ratio is noise.

mod big;
mod bounds;
mod compare;
mod ladder;
mod loads;
pub(crate) mod made;
mod measure;
pub(crate) mod memory;
mod options;
mod pairs;
mod peers;
mod program;
mod rivals;
mod store;
mod table;
mod tool;
mod turns;
mod wake;
mod what_if;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use measure::Outcome;
use options::Options;
pub(crate) use program::python;
use program::{Program, Set};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tool::Tool;
use turns::Way;
pub(crate) use turns::quoted;
use workshop::machine::{conditions, load};
use workshop::shell::{cargo, run as run_shown, target};

/// What is asked: the parts with options of their own, or programs of the sets.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    part: Option<Part>,
    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
enum Part {
    /// The same programs under two versions of dwell, by turns
    Pairs(pairs::Options),
    /// dwell's memory over a long run at 100,000 events a second
    Memory(memory::Options),
    /// Results, memory and ends where programs do very much
    Bounds(bounds::Options),
    /// The ladder's rungs against other tools on the same operation
    Ladder(ladder::Options),
    /// What loads get done, against hackbench and stressapptest
    Loads(loads::Options),
    /// Wake-ups against cyclictest
    Wake(wake::Options),
    /// How right dwell compare is: same, beside, planted, why, hyperfine
    Compare(compare::Options),
    /// What recordings say of edits, against programs without the thing
    WhatIf(what_if::Options),
    /// What keeping results costs, and what is left of a store whose writers are killed
    Store(store::Options),
    #[command(hide = true)]
    Once(turns::Once),
}

/// What was measured of one program.
struct Results {
    program: &'static Program,
    /// By tool, in the order of the rounds; slow tools have fewer.
    turns: BTreeMap<Tool, Vec<Turn>>,
    /// The most memory each tool had, in KiB, from a run of its own, since asking costs time.
    rss_kib: BTreeMap<Tool, u64>,
}

/// A run, and the bare one of the same round.
struct Turn {
    run: Outcome,
    bare: Outcome,
}

impl Results {
    fn of(&self, tool: Tool) -> &[Turn] {
        self.turns.get(&tool).map_or(&[], Vec::as_slice)
    }
}

/// Measures and prints the table.
///
/// # Errors
/// When dwell does not build, or when a program fails bare.
pub(crate) fn run(asked: Bench) -> Result<()> {
    match asked.part {
        Some(Part::Pairs(options)) => pairs::run(&options),
        Some(Part::Memory(options)) => memory::run(&options),
        Some(Part::Bounds(options)) => bounds::run(&options),
        Some(Part::Ladder(options)) => ladder::run(&options),
        Some(Part::Loads(options)) => loads::run(&options),
        Some(Part::Wake(options)) => wake::run(&options),
        Some(Part::Compare(options)) => compare::run(options),
        Some(Part::WhatIf(options)) => what_if::run(&options),
        Some(Part::Store(options)) => store::run(&options),
        Some(Part::Once(options)) => turns::once(&options),
        None => run_sets(&asked.options),
    }
}

/// Runs the programs of the sets, and prints a table of each.
fn run_sets(options: &Options) -> Result<()> {
    let place = install(options.measuring.dwell.as_deref())?;
    program::compile_all(&place)?;
    for set in Set::ALL {
        let programs: Vec<_> = options.programs().filter(|program| program.set == set).collect();
        if programs.is_empty() {
            continue;
        }
        let mut notes = BTreeSet::new();
        prepare(set, &place, &mut notes)?;
        let asked = set.tools().iter().copied().filter(|tool| options.asks(*tool, &mut notes));
        let tools: Vec<Tool> = asked.collect();
        let tools: Vec<Tool> =
            tools.into_iter().filter(|tool| available(*tool, &place, &mut notes)).collect();
        let mut results = Vec::new();
        let begun = load();
        for program in programs {
            results.push(measure_program(program, &tools, options, &place, &mut notes)?);
        }
        println!(
            "{}",
            table::render(set, &results, &tools, &notes, &conditions(&begun), options.measuring.markdown)
        );
    }
    Ok(())
}

/// The directory to measure in, with a copy of dwell: building meanwhile does not change what is
/// measured.
pub(crate) fn install(dwell: Option<&Path>) -> Result<PathBuf> {
    install_as("bench", dwell)
}

/// The same in a directory of this name.
fn install_as(name: &str, dwell: Option<&Path>) -> Result<PathBuf> {
    let place = target().join(name);
    fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
    if dwell.is_none() {
        run_shown(&mut cargo(&["build", "--profile", "packaged", "--package", "dwell"]))?;
    }
    let dwell = dwell.map_or_else(|| target().join("packaged/dwell"), Path::to_owned);
    fs::copy(&dwell, place.join("dwell")).with_context(|| format!("cannot copy {}", dwell.display()))?;
    Ok(place)
}

/// What one set needs beyond the others.
fn prepare(set: Set, place: &Path, notes: &mut BTreeSet<String>) -> Result<()> {
    match set {
        Set::Python => notes.extend(peers::install(place, program::python()).err()),
        Set::Ends => {
            let begun = Instant::now();
            let made = big::make(place)?;
            let mib = big::debug_bytes(&made)? >> 20;
            notes.insert(format!(
                "the big binary has {mib} MiB of debug information, there after {:.0} s",
                begun.elapsed().as_secs_f64()
            ));
        }
        Set::Cost | Set::Stacks => {}
    }
    Ok(())
}

fn available(tool: Tool, place: &Path, notes: &mut BTreeSet<String>) -> bool {
    let missing = tool.missing(place);
    if let Some(remedy) = &missing {
        notes.insert(format!("{} is not installed; try: {remedy}", tool.name()));
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
    // Once unmeasured: a tool that cannot run it is left out.
    let mut able = Vec::new();
    for &tool in tools {
        match measure::once(program, tool, options.quick, place) {
            Ok(_) => able.push(tool),
            Err(error) if tool == Tool::Bare => {
                return Err(error.context("a program of the benchmark fails by itself"));
            }
            Err(error) => {
                notes.insert(format!("{}, {}: {error:#}", program.name, tool.name()));
            }
        }
    }
    let (slow, usual): (Vec<Tool>, Vec<Tool>) = able.iter().partition(|tool| tool.is_slow());
    let mut turns: BTreeMap<Tool, Vec<Turn>> = BTreeMap::new();
    for (tools, rounds) in [(usual, options.rounds()), (slow, options.slow_rounds())] {
        let others = tools.into_iter().filter(|tool| *tool != Tool::Bare);
        let ways: Vec<Way<'_>> =
            std::iter::once(Tool::Bare).chain(others).map(|tool| Way { tool, place }).collect();
        if ways.len() < 2 {
            continue;
        }
        let runs = turns::by_turns(&place.join("dwell"), program, &ways, (rounds, options.quick))?;
        let bare = runs[0].clone();
        for (way, runs) in ways.iter().zip(runs) {
            if runs.iter().any(|run| run.lost) {
                notes.insert(format!("{}: {} lost events", program.name, way.tool.name()));
            }
            let of_tool = runs.into_iter().zip(&bare).map(|(run, bare)| Turn { run, bare: bare.clone() });
            turns.entry(way.tool).or_insert_with(|| of_tool.collect());
        }
    }
    let mut rss_kib = BTreeMap::new();
    for &tool in turns.keys().filter(|tool| tool.is_dwell() || **tool == Tool::PerfRecord) {
        rss_kib.extend(measure::rss_kib(program, tool, options.quick, place).ok().map(|kib| (tool, kib)));
    }
    Ok(Results { program, turns, rss_kib })
}
