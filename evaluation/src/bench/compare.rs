//! `cargo xtask bench compare`: how right `dwell compare` is about real programs whose difference
//! is known, and how soon: the same program twice, quiet and beside another one; a program with 2 %
//! more to do; one from which a known thing was taken; and the same questions to hyperfine.
//!
//! Every figure is of many sittings, as a user would have them. The programs are `bench/spin.c` and
//! `bench/known.c`.

mod known;
mod rival;
mod verdicts;

use super::install;
use super::program::compile;
use crate::Measuring;
use anyhow::{Context, Result};
use clap::Args;
use model::compare::commands::Comparison;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Instant;
use workshop::machine::{conditions, load};
use workshop::shell::{output, program};

/// What is asked, in the order of the page.
const QUESTIONS: [&str; 5] = ["same", "beside", "planted", "why", "hyperfine"];

#[derive(Args)]
pub(super) struct Options {
    #[command(flatten)]
    measuring: Measuring,
    /// Sittings of each question [default: each has its own number]
    #[arg(long, value_name = "N", value_parser = crate::some())]
    sittings: Option<usize>,
    /// What is asked
    #[arg(value_name = "QUESTION", value_parser = QUESTIONS, default_values = QUESTIONS)]
    questions: Vec<String>,
}

/// Where it is measured, and how fast this machine is.
struct Bench {
    place: PathBuf,
    /// Rounds of `spin` in a millisecond.
    rounds_per_ms: f64,
    options: Options,
}

/// Measures and prints the tables.
///
/// # Errors
/// When dwell or a program fails.
pub(super) fn run(options: Options) -> Result<()> {
    let place = install(options.measuring.dwell.as_deref())?;
    compile(&place, "spin")?;
    compile(&place, "known")?;
    let rounds_per_ms = rounds_per_ms(&place)?;
    let bench = Bench { place, rounds_per_ms, options };
    let begun = load();
    for question in &bench.options.questions {
        let text = match question.as_str() {
            "same" => verdicts::same(&bench)?,
            "beside" => verdicts::beside(&bench)?,
            "planted" => verdicts::planted(&bench)?,
            "why" => known::table(&bench)?,
            _ => rival::table(&bench)?,
        };
        println!("{text}");
    }
    println!("Measured on {}.", conditions(&begun));
    Ok(())
}

impl Bench {
    /// The command of a program that takes this long, give or take its start.
    fn spin(&self, ms: f64) -> String {
        format!("{} {:.0}", self.place.join("spin").display(), ms * self.rounds_per_ms)
    }

    fn sittings(&self, usual: usize) -> usize {
        self.options.sittings.unwrap_or(usual)
    }

    /// A program that takes a CPU for half of the time, until it is dropped.
    fn half_a_cpu(&self) -> Result<Beside> {
        let mut spin = program(self.place.join("spin"), &["half", "7200"]);
        Ok(Beside(spin.stdout(Stdio::null()).spawn().context("cannot start spin")?))
    }
}

/// A program that runs beside what is measured.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One sitting of `dwell compare`: its result, and how long it took.
fn sitting(place: &Path, arguments: &[&str]) -> Result<(Comparison, f64)> {
    let begun = Instant::now();
    let mut compare = program(place.join("dwell"), &["compare", "--quiet", "--json", "-"]);
    let said = output(compare.args(arguments))?;
    let took = begun.elapsed().as_secs_f64();
    Ok((serde_json::from_str(&said).context("dwell compare wrote no JSON")?, took))
}

/// By the fastest of a few runs of about 100 ms.
fn rounds_per_ms(place: &Path) -> Result<f64> {
    let once = |rounds: f64| -> Result<f64> {
        let begun = Instant::now();
        output(&mut program(place.join("spin"), &[&format!("{rounds:.0}")]))?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    };
    let mut rounds = 1e7;
    let mut ms = once(rounds)?;
    for _ in 0..8 {
        rounds *= 100.0 / ms;
        ms = once(rounds)?;
    }
    let fastest = (0..5).map(|_| once(rounds)).try_fold(ms, |least, ms| ms.map(|ms| least.min(ms)))?;
    Ok(rounds / fastest)
}

fn progress(what: &str, at: usize, of: usize) {
    eprint!("\r{what}: {} of {of}   ", at + 1);
    if at + 1 == of {
        eprintln!();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn questions_are_by_name_and_all_of_them_if_none_is_named() {
        assert_eq!(read::<Options>(&[]).unwrap().questions, QUESTIONS);
        let given: Options = read(&["why", "--sittings", "3"]).unwrap();
        assert_eq!((given.questions[0].as_str(), given.questions.len(), given.sittings), ("why", 1, Some(3)));
        assert!(read::<Options>(&["whence"]).err().unwrap().to_string().contains("whence"));
        assert!(read::<Options>(&["--sittings", "0"]).is_err());
    }
}
