//! The runs in the JSON of hyperfine 2 (`schema_version` 2), for its scripts. Times are in seconds,
//! memory is in bytes.

use super::figures::counted;
use crate::json::json;
use model::compare::commands::Comparison;
use model::recording::Ending;
use model::timing::{Figure, TimedRun};
use serde::Serialize;
use stats::median::median_of;
use std::collections::BTreeMap;

const SCHEMA_VERSION: u32 = 2;

#[derive(Serialize)]
struct Export<'a> {
    schema_version: u32,
    metadata: Metadata<'a>,
    primary_metric: &'static str,
    results: Vec<Benchmark<'a>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    /// Who wrote it: hyperfine has its version here.
    dwell_version: &'a str,
    start_time: &'a str,
    platform: Platform<'a>,
}

#[derive(Serialize)]
struct Platform<'a> {
    os: &'static str,
    architecture: &'a str,
}

#[derive(Serialize)]
struct Benchmark<'a> {
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    measurements: Vec<Measurement>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, Parameter<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    environment: BTreeMap<&'a str, &'a str>,
    summary: BTreeMap<&'static str, MetricSummary>,
}

#[derive(Serialize)]
struct Parameter<'a> {
    value: &'a str,
}

#[derive(Serialize)]
struct Measurement {
    #[serde(flatten)]
    values: BTreeMap<&'static str, Quantity>,
    exit_code: Option<i32>,
}

#[derive(Serialize)]
struct Quantity {
    value: f64,
    unit: &'static str,
}

#[derive(Serialize)]
struct MetricSummary {
    unit: &'static str,
    count: usize,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    min: f64,
    max: f64,
}

/// A metric of theirs: its name, its unit, and how many of ours are one of it.
struct Metric(Figure, &'static str, &'static str, f64);

const METRICS: [Metric; 5] = [
    Metric(Figure::Wall, "time_wall_clock", "second", 1e9),
    Metric(Figure::Cpu, "time_cpu", "second", 1e9),
    Metric(Figure::User, "time_user", "second", 1e9),
    Metric(Figure::Kernel, "time_system", "second", 1e9),
    Metric(Figure::Memory, "memory_peak_resident", "byte", 1.0),
];

/// The JSON.
pub fn hyperfine(comparison: &Comparison) -> String {
    let primary = METRICS.iter().find(|metric| metric.0 == comparison.settings.on);
    json(&Export {
        schema_version: SCHEMA_VERSION,
        metadata: Metadata {
            dwell_version: &comparison.dwell,
            start_time: &comparison.started_at,
            platform: Platform { os: "Linux", architecture: &comparison.host.arch },
        },
        primary_metric: primary.map_or(METRICS[0].1, |metric| metric.1),
        results: (0..comparison.commands.len()).map(|at| benchmark(comparison, at)).collect(),
    })
}

fn benchmark(comparison: &Comparison, at: usize) -> Benchmark<'_> {
    let command = &comparison.commands[at];
    let line = line(comparison, at);
    let runs: Vec<&TimedRun> = counted(comparison, at).collect();
    Benchmark {
        name: Some(command.name.as_str()).filter(|name| *name != line),
        command: line,
        measurements: runs.iter().map(|run| measurement(run)).collect(),
        parameters: pairs(&command.parameters).map(|(name, value)| (name, Parameter { value })).collect(),
        environment: pairs(&command.env).collect(),
        summary: METRICS.iter().filter_map(|metric| Some((metric.1, summary(metric, &runs)?))).collect(),
    }
}

/// A command as it is typed.
pub(super) fn line(comparison: &Comparison, at: usize) -> String {
    let words = &comparison.commands[at].command;
    match &comparison.settings.shell {
        // The shell's last argument is the command.
        Some(_) => words.last().cloned().unwrap_or_default(),
        None => joined(words),
    }
}

fn pairs(of: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    of.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

fn measurement(run: &TimedRun) -> Measurement {
    let quantity = |Metric(figure, name, unit, scale): &Metric| {
        figure.of(run).map(|value| (*name, Quantity { value: value / scale, unit }))
    };
    Measurement { values: METRICS.iter().filter_map(quantity).collect(), exit_code: exit_code(run) }
}

/// The exit status; after a signal as a shell has it.
pub(super) fn exit_code(run: &TimedRun) -> Option<i32> {
    match run.ending {
        Ending::Code(code) => Some(code),
        Ending::Signal(signal) => Some(128 + signal),
        Ending::Window(_) => None,
    }
}

fn summary(Metric(figure, _, unit, scale): &Metric, runs: &[&TimedRun]) -> Option<MetricSummary> {
    let values: Vec<f64> = runs.iter().filter_map(|run| Some(figure.of(run)? / scale)).collect();
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count.max(1) as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(MetricSummary {
        unit,
        count,
        mean,
        stddev: (count > 1).then(|| (squares / (count as f64 - 1.0)).sqrt()),
        median: median_of(values.iter().copied())?,
        min: values.iter().copied().reduce(f64::min)?,
        max: values.iter().copied().reduce(f64::max)?,
    })
}

/// The words of a command as a line for a shell.
fn joined(words: &[String]) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-+=./,:@%^".contains(char);
    let word = |word: &String| match word {
        word if !word.is_empty() && word.chars().all(plain) => word.clone(),
        word => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn a_line_has_the_words_it_came_from() {
        let words = ["grep", "-e", "it's", "", "a b"].map(str::to_owned);
        assert_eq!(joined(&words), r"grep -e 'it'\''s' '' 'a b'");
    }
}
