//! The runs in the JSON that hyperfine wrote before version 2, which most scripts read. Times are
//! in seconds, memory is in bytes.

use super::figures::counted;
use super::hyperfine::{exit_code, line};
use crate::json::json;
use model::compare::commands::Comparison;
use model::timing::{Figure, TimedRun};
use serde::Serialize;
use stats::median::median_of;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Export<'a> {
    results: Vec<Benchmark<'a>>,
}

#[derive(Serialize)]
struct Benchmark<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
}

/// The JSON, and how many commands have no run that counts and are therefore not in it.
pub fn hyperfine_1(comparison: &Comparison) -> (String, usize) {
    let lines: Vec<String> = (0..comparison.commands.len()).map(|at| line(comparison, at)).collect();
    let results: Vec<Benchmark<'_>> =
        lines.iter().enumerate().filter_map(|(at, line)| benchmark(comparison, at, line)).collect();
    let missing = lines.len() - results.len();
    (json(&Export { results }), missing)
}

fn benchmark<'a>(comparison: &'a Comparison, at: usize, line: &'a str) -> Option<Benchmark<'a>> {
    let command = &comparison.commands[at];
    let runs: Vec<&TimedRun> = counted(comparison, at).collect();
    let seconds =
        |figure: Figure| -> Vec<f64> { runs.iter().filter_map(|run| Some(figure.of(run)? / 1e9)).collect() };
    let times = seconds(Figure::Wall);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let of_all = mean(&times);
    let squares: f64 = times.iter().map(|time| (time - of_all).powi(2)).sum();
    Some(Benchmark {
        // A name stands where the command would, as hyperfine has it.
        command: if command.name.is_empty() { line } else { &command.name },
        mean: of_all,
        stddev: (times.len() > 1).then(|| (squares / (times.len() as f64 - 1.0)).sqrt()),
        median: median_of(times.iter().copied())?,
        user: mean(&seconds(Figure::User)),
        system: mean(&seconds(Figure::Kernel)),
        min: times.iter().copied().reduce(f64::min)?,
        max: times.iter().copied().reduce(f64::max)?,
        memory_usage_byte: runs.iter().map(|run| run.memory_bytes).collect(),
        exit_codes: runs.iter().map(|run| exit_code(run)).collect(),
        parameters: command.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        times,
    })
}
