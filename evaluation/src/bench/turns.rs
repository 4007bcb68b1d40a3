//! Runs of one program in several ways, by turns: `dwell compare` runs them, in random order within
//! each round, and each run says all its figures. The first round does not count.
//!
//! A command of the comparison is this program again (`once`), which runs the program with one tool
//! (`measure.rs`) and prints the figures.

use super::measure::{self, Outcome};
use super::program::{PROGRAMS, Program};
use super::tool::Tool;
use crate::one_of;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use model::compare::commands::Comparison;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use workshop::shell::{output, program as shell_program};

/// A figure in the output of `once`.
const FIGURE: &str = "figure ([-+0-9.e]+)";
/// Figures without those of names.
const FIGURES: usize = 5;

/// A way of running a program: a tool, and the directory of its version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) tool: Tool,
    pub(super) place: &'a Path,
}

/// What each way gave, by rounds; a round in which one failed is left out.
///
/// # Errors
/// When a way fails in the first round, or in all others.
pub(super) fn by_turns(
    dwell: &Path,
    program: &Program,
    ways: &[Way<'_>],
    (rounds, quick): (usize, bool),
) -> Result<Vec<Vec<Outcome>>> {
    let mut compare =
        shell_program(dwell, &["compare", "--quiet", "--json", "-", "--no-why", "--metric", FIGURE]);
    compare.args(["--pairs", &rounds.to_string()]);
    let itself = env::current_exe().context("cannot find this program itself")?;
    for way in ways {
        let words = [&*itself.to_string_lossy(), "bench", "once", program.name, &key(way.tool)].map(quoted);
        let place = quoted(&way.place.to_string_lossy());
        compare.arg(format!("{} {place}{}", words.join(" "), if quick { " --quick" } else { "" }));
    }
    eprintln!("{}: {rounds} rounds of {} ways", program.name, ways.len());
    let said = output(&mut compare).with_context(|| format!("{} by turns", program.name))?;
    let said: Comparison = serde_json::from_str(&said).context("dwell compare wrote no JSON")?;
    let mut whole: BTreeMap<u32, Vec<Option<Outcome>>> = BTreeMap::new();
    for run in said.runs.iter().filter(|run| run.excluded.is_none()) {
        let round = whole.entry(run.block).or_insert_with(|| vec![None; ways.len()]);
        let outcome = read(&run.printed).with_context(|| format!("{}: {run:?}", program.name))?;
        *round.get_mut(usize::try_from(run.command)?).context("a run of no command")? = Some(outcome);
    }
    let rounds: Vec<Vec<Outcome>> =
        whole.into_values().filter_map(|round| round.into_iter().collect()).collect();
    ensure!(!rounds.is_empty(), "{}: no round in which none failed", program.name);
    Ok((0..ways.len()).map(|way| rounds.iter().map(|round| round[way].clone()).collect()).collect())
}

/// What the commands of the comparison say.
#[derive(Args)]
pub(super) struct Once {
    #[arg(value_parser = one_of(PROGRAMS, |program| program.name))]
    program: &'static Program,
    tool: String,
    place: PathBuf,
    #[arg(long)]
    quick: bool,
}

/// `bench once`: runs a program with a tool, and prints the figures.
///
/// # Errors
/// When it fails.
pub(super) fn once(Once { program, tool, place, quick }: &Once) -> Result<()> {
    let tool = Tool::ALL.into_iter().find(|known| key(*known) == *tool).context("no such tool")?;
    let outcome = measure::once(program, tool, *quick, place)?;
    let Outcome { timed_ns, cpu_ns, startup_ns, ending_ns, named, lost } = outcome;
    let lost = f64::from(u8::from(lost));
    let named = named.map(|(all, named)| [all as f64, named as f64]);
    let figures = [timed_ns, cpu_ns, startup_ns, ending_ns, lost];
    for figure in figures.into_iter().chain(named.into_iter().flatten()) {
        println!("figure {figure}");
    }
    Ok(())
}

fn read(figures: &[f64]) -> Result<Outcome> {
    let [timed_ns, cpu_ns, startup_ns, ending_ns, lost, ref named @ ..] = *figures else {
        bail!("{} figures, not {FIGURES}", figures.len());
    };
    let named = if let [all, named] = *named { Some((all as u64, named as u64)) } else { None };
    Ok(Outcome { timed_ns, cpu_ns, startup_ns, ending_ns, named, lost: lost > 0.0 })
}

/// How a command line names a tool.
fn key(tool: Tool) -> String {
    format!("{tool:?}")
}

/// A word as `dwell compare` reads it.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_were_printed() {
        let outcome = read(&[1.5, 2.0, 3.0, 4.0, 1.0, 100.0, 90.0]).unwrap();
        assert_eq!((outcome.timed_ns, outcome.named, outcome.lost), (1.5, Some((100, 90)), true));
        assert_eq!(read(&[1.5, 2.0, 3.0, 4.0, 0.0]).unwrap().named, None);
        assert!(read(&[1.0]).is_err());
    }

    #[test]
    fn tools_have_different_names_on_the_command_line() {
        let mut keys = Tool::ALL.map(key).to_vec();
        keys.dedup();
        assert_eq!(keys.len(), Tool::ALL.len());
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
