//! `cargo xtask bench pairs`: the programs of the other tables under two versions of dwell, by
//! turns: whether a change of dwell costs what it observes anything.
//!
//! `dwell compare` runs them, in random order within a pair, and each ratio is within a pair: what
//! drifts on the machine drifts for both.

use super::measure::Outcome;
use super::options::{Programs, named_or_all, programs_named};
use super::program::{Program, Set, Timed, compile_all};
use super::table::Middle;
use super::tool::Tool;
use super::turns::{Way, by_turns};
use super::{big, install_as};
use crate::Measuring;
use anyhow::{Context, Result};
use clap::Args;
use std::path::PathBuf;
use workshop::machine::{conditions, load};
use workshop::table::layout;

const USUAL_PAIRS: usize = 11;

#[derive(Args)]
pub(super) struct Options {
    /// Little programs
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    measuring: Measuring,
    /// Pairs of runs of each program
    #[arg(long = "rounds", value_name = "N", value_parser = crate::some(), default_value_t = USUAL_PAIRS)]
    pairs: usize,
    /// The dwell to compare with
    #[arg(long, value_name = "FILE")]
    before: PathBuf,
    /// Programs, or sets of them [default: all]
    #[arg(value_name = "NAME", value_parser = programs_named)]
    programs: Vec<Programs>,
}

/// The directories of the two versions, each with its own dwell and programs.
struct Places {
    before: PathBuf,
    now: PathBuf,
}

/// Measures and prints one table.
///
/// # Errors
/// When a version of dwell or a program fails.
pub(super) fn run(options: &Options) -> Result<()> {
    let places = Places {
        before: install_as("bench-before", Some(&options.before))?,
        now: install_as("bench", options.measuring.dwell.as_deref())?,
    };
    for place in [&places.before, &places.now] {
        compile_all(place)?;
        if named_or_all(&options.programs).any(|program| program.set == Set::Ends) {
            big::make(place)?;
        }
    }
    let begun = load();
    let mut rows = vec![
        ["program", "dwell", "time", "CPU time", "start-up", "after the end"].map(str::to_owned).to_vec(),
    ];
    for program in named_or_all(&options.programs) {
        for tool in tools(program) {
            let ways = [&places.before, &places.now].map(|place| Way { tool, place });
            let runs = by_turns(&places.now.join("dwell"), program, &ways, (options.pairs, options.quick))
                .with_context(|| tool.name())?;
            rows.push(row(program, tool, &runs));
        }
    }
    println!("Now as a multiple of before, pair by pair (centre, interval, pairs)\n");
    println!("{}", layout(&rows, options.measuring.markdown));
    println!(
        "Intervals: 95 % from 6 pairs on (signed ranks), else smallest and largest. Measured on {}.",
        conditions(&begun)
    );
    Ok(())
}

/// Dwell at the rates of its table; where calls decide, with every call counted too.
fn tools(program: &Program) -> Vec<Tool> {
    let mut tools: Vec<Tool> = program.set.tools().iter().copied().filter(|tool| tool.is_dwell()).collect();
    if program.reach(Tool::DwellExact).is_some() {
        tools.push(Tool::DwellExact);
    }
    tools
}

/// `runs`: those before and those now.
fn row(program: &Program, tool: Tool, runs: &[Vec<Outcome>]) -> Vec<String> {
    let ratio = |of: fn(&Outcome) -> f64| {
        let [before, now] = runs else { return "-".to_owned() };
        let pairs = before.iter().zip(now).map(|(before, now)| (of(before), of(now)));
        Middle::of_ratios(pairs).map_or_else(|| "-".to_owned(), Middle::shown)
    };
    let whole = program.timed == Timed::Whole;
    vec![
        program.what.to_owned(),
        tool.name().to_owned(),
        ratio(|run| run.timed_ns),
        // The time of all of it holds dwell's own, the program's CPU time next to nothing.
        if whole { "-".to_owned() } else { ratio(|run| run.cpu_ns) },
        ratio(|run| run.startup_ns),
        ratio(|run| run.ending_ns),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn the_version_to_compare_with_is_needed_and_names_are_checked() {
        let refused = |words: &[&str]| read::<Options>(words).err().unwrap().to_string();
        assert!(refused(&["--quick"]).contains("--before"));
        assert!(refused(&["--before", "d", "nothing"]).contains("nothing"));
        let given: Options = read(&["--before", "d", "--rounds", "3", "cost"]).unwrap();
        assert!(given.pairs == 3 && named_or_all(&given.programs).all(|program| program.set == Set::Cost));
    }

    #[test]
    fn calls_are_counted_exactly_where_that_has_a_reach() {
        let of = |name: &str| tools(programs_named(name).unwrap()[0]);
        assert_eq!(of("read"), [Tool::Dwell, Tool::DwellExact]);
        assert_eq!(of("python"), [Tool::Dwell]);
    }
}
