//! `dwell compare` beside hyperfine: who is right about a known difference, after how long, and
//! what each adds to a run. By turns, with the settings that each has by itself.
//!
//! hyperfine has no verdict. Two readings of its result are taken: what its last lines say, where a
//! difference counts that is larger than the deviation behind the ±; and Welch's test of its times,
//! at 5 %, which its documentation recommends and a script of it does.

use super::{Bench, progress, sitting};
use crate::bench::table::ranged;
use anyhow::{Context, Result};
use model::compare::Change;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use workshop::shell::{cargo, output, program, run, target};
use workshop::table::layout;

const VERSION: &str = "^2";
/// Length of the program, which is long enough that neither tool's floor matters.
const MS: f64 = 50.0;
const DIFFERENCES: [f64; 4] = [0.0, 0.02, 0.05, 0.30];
const TOOLS: [&str; 3] = ["dwell compare", "hyperfine, its ±", "hyperfine, Welch"];
/// Runs of each command when asking what a run costs.
const RUNS: u32 = 300;

/// What was said of a difference, right or wrong, and after how long.
#[derive(Default)]
struct Answers {
    right: usize,
    wrong: usize,
    seconds: Vec<f64>,
}

/// Asks both.
///
/// # Errors
/// When hyperfine cannot be installed, or one of them fails.
pub(super) fn table(bench: &Bench) -> Result<String> {
    let hyperfine = install()?;
    let sittings = bench.sittings(10);
    let head = ["difference", "asked", "right", "wrong", "undecided", "seconds (median, smallest-largest)"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for difference in DIFFERENCES {
        let mut answers = [(); 3].map(|()| Answers::default());
        for at in 0..sittings {
            progress(&format!("{:.0} %", difference * 100.0), at, sittings);
            let (a, b) = (bench.spin(MS), bench.spin(MS * (1.0 + difference)));
            let dwell = |answers: &mut [Answers; 3]| -> Result<()> {
                let (said, took) = sitting(&bench.place, &["--no-why", &a, &b])?;
                let verdict = said.comparisons.first().context("no comparison")?.verdict;
                let expected = if difference == 0.0 { Change::Same } else { Change::More };
                answers[0].add((verdict != Change::Undecided).then_some(verdict == expected), took);
                Ok(())
            };
            let rival = |answers: &mut [Answers; 3]| -> Result<()> {
                let (times, took) = timed(&hyperfine, &bench.place, &[&a, &b])?;
                for (answers, differs) in answers[1..].iter_mut().zip([spread(&times), welch(&times)]) {
                    // Without a verdict, what it does not say cannot be told from "no difference".
                    let right = differs == (difference > 0.0);
                    answers.add((right || differs).then_some(right), took);
                }
                Ok(())
            };
            if at % 2 == 0 {
                dwell(&mut answers)?;
                rival(&mut answers)?;
            } else {
                rival(&mut answers)?;
                dwell(&mut answers)?;
            }
        }
        for (tool, answers) in TOOLS.iter().zip(&answers) {
            rows.push(vec![
                format!("{:.0} %", difference * 100.0),
                (*tool).to_owned(),
                answers.right.to_string(),
                answers.wrong.to_string(),
                (sittings - answers.right - answers.wrong).to_string(),
                ranged(&answers.seconds),
            ]);
        }
    }
    let text = layout(&rows, bench.options.measuring.markdown);
    let costs = layout(&costs(bench, &hyperfine)?, bench.options.measuring.markdown);
    Ok(format!(
        "A known difference, of a program of {MS:.0} ms\n\n{text}\nWhat each adds to a run of a program that does nothing ({RUNS} runs of each of two)\n\n{costs}"
    ))
}

impl Answers {
    fn add(&mut self, right: Option<bool>, took: f64) {
        match right {
            Some(true) => self.right += 1,
            Some(false) => self.wrong += 1,
            None => {}
        }
        self.seconds.push(took);
    }
}

/// hyperfine of this major version, from crates.io.
fn install() -> Result<PathBuf> {
    let root = target().join("tools");
    let path = root.join("bin/hyperfine");
    if !path.is_file() {
        let mut install = cargo(&["install", "hyperfine", "--locked", "--quiet", "--version", VERSION]);
        // It asks for a newer Rust than it needs.
        install.arg("--ignore-rust-version");
        run(install.arg("--root").arg(&root).arg("--target-dir").arg(&root))?;
    }
    Ok(path)
}

/// The times of two commands, in seconds, and how long it took.
fn timed(hyperfine: &Path, place: &Path, arguments: &[&str]) -> Result<([Vec<f64>; 2], f64)> {
    let json = place.join("hyperfine.json");
    let begun = Instant::now();
    let mut command = program(hyperfine, &["--style", "none", "-N", "--export-json"]);
    output(command.arg(&json).args(arguments))?;
    let took = begun.elapsed().as_secs_f64();
    let said: Value = serde_json::from_str(&fs::read_to_string(&json)?).context("hyperfine's JSON")?;
    let times = |at: usize| -> Result<Vec<f64>> {
        let result = &said["results"][at];
        let runs = result["measurements"].as_array().context("hyperfine wrote no measurements")?;
        let time = |run: &Value| run["time_wall_clock"]["value"].as_f64().context("a run without its time");
        runs.iter().map(time).collect()
    };
    Ok(([times(0)?, times(1)?], took))
}

fn mean_and_variance(times: &[f64]) -> (f64, f64) {
    let mean = stats::mean(times);
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    (mean, squares / (times.len() as f64 - 1.0))
}

/// Whether 1 lies outside of the ratio ± its deviation, as hyperfine prints it: from the standard
/// deviations of the runs.
fn spread([a, b]: &[Vec<f64>; 2]) -> bool {
    let ((a, a_variance), (b, b_variance)) = (mean_and_variance(a), mean_and_variance(b));
    let ratio = b / a;
    (ratio - 1.0).abs() > ratio * (a_variance / a.powi(2) + b_variance / b.powi(2)).sqrt()
}

/// Whether Welch's test at 5 % finds a difference.
fn welch([a, b]: &[Vec<f64>; 2]) -> bool {
    let of = |times: &[f64]| {
        let (mean, variance) = mean_and_variance(times);
        (mean, variance / times.len() as f64, times.len() as f64 - 1.0)
    };
    let ((a, a_error, a_df), (b, b_error, b_df)) = (of(a), of(b));
    let df = (a_error + b_error).powi(2) / (a_error.powi(2) / a_df + b_error.powi(2) / b_df);
    (a - b).abs() > stats::student(df) * (a_error + b_error).sqrt()
}

/// Of each tool: what it says a program takes that does nothing, and the whole by runs.
fn costs(bench: &Bench, hyperfine: &Path) -> Result<Vec<Vec<String>>> {
    let nothing = "true";
    let ms = |value: f64| format!("{value:.3}");
    let whole = |seconds: f64| ms(seconds * 1e3 / f64::from(2 * RUNS));
    let runs = &RUNS.to_string();
    let mut rows =
        vec![["tool", "says a run takes, ms", "all of it, by runs, ms"].map(str::to_owned).to_vec()];
    let (said, took) = sitting(&bench.place, &["--no-why", "--pairs", runs, nothing, nothing])?;
    let median = said.commands.first().and_then(|command| command.figure).context("no median")?.median;
    rows.push(vec!["dwell compare".to_owned(), ms(median / 1e6), whole(took)]);
    let (times, took) = timed(hyperfine, &bench.place, &["--runs", runs, nothing, nothing])?;
    let median = stats::median_of(times[0].iter().copied()).context("no times")?;
    rows.push(vec!["hyperfine -N".to_owned(), ms(median * 1e3), whole(took)]);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_readings_differ_in_what_they_take_for_noise() {
        // 2 % apart, with a deviation of 3 % of single runs: of many runs the means differ.
        let around = |mean: f64| (0..100).map(|n| mean * (1.0 + 0.03 * f64::from(n % 3 - 1))).collect();
        let times = [around(1.0), around(1.02)];
        assert!(!spread(&times) && welch(&times));
        let alike = [around(1.0), around(1.0)];
        assert!(!spread(&alike) && !welch(&alike));
        assert!(spread(&[around(1.0), around(1.3)]));
    }
}
