//! The JSON of hyperfine, in both of its versions, and two such files side by side.
//!
//! Version 1 (hyperfine 1) has `results[].times`, in seconds; version 2 says so, and has
//! `results[].measurements[].time_wall_clock` with a unit. Neither says in which order the runs
//! were: all of one command, then all of the next. So nothing is concluded from a difference.

use model::compare::commands::Comparison;
use model::compare::timings::{
    SCHEMA_TIMINGS_DIFF, TimedCommand, Timings, TimingsDiff, TimingsOrigin, TimingsRow,
};
use model::ladder::MedianInterval;
use model::timing::Figure;
use serde::Deserialize;
use serde_json::Value;
use stats::median::median;

const NS_A_SECOND: f64 = 1e9;
/// More than a year is no run of a command.
const SECONDS_MAX: f64 = 4e7;

/// Why a file has no timings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimingsError {
    /// It does not match its version.
    #[error("it does not match the JSON of hyperfine {version}: {said}")]
    Shape {
        /// The version.
        version: u64,
        /// What the reader says; it may quote the file.
        said: String,
    },
    /// The file is of a later version.
    #[error("it is the JSON of hyperfine in version {0}, and this dwell reads 1 and 2")]
    Version(u64),
    /// No command.
    #[error("it has no command")]
    Empty,
    /// A command without runs.
    #[error("it has no run of command {0}: hyperfine writes all of them")]
    NoRuns(usize),
    /// A time that no run takes.
    #[error("a run of command {0} takes a time that is none")]
    Time(usize),
    /// Of another figure.
    #[error("it compares another figure than the wall clock")]
    Figure,
}

/// Whether JSON without a schema is hyperfine's.
pub fn is_hyperfine(value: &Value) -> bool {
    let results = value.get("results").and_then(Value::as_array);
    let of_each = |result: &Value| result.get("times").is_some() || result.get("measurements").is_some();
    let known = results.is_some_and(|results| results.iter().all(of_each));
    known || (results.is_some() && value.get("schema_version").is_some())
}

#[derive(Deserialize)]
struct One {
    results: Vec<OneResult>,
}

#[derive(Deserialize)]
struct OneResult {
    command: String,
    times: Option<Vec<f64>>,
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
}

#[derive(Deserialize)]
struct Two {
    results: Vec<TwoResult>,
}

#[derive(Deserialize)]
struct TwoResult {
    command: String,
    name: Option<String>,
    measurements: Vec<Measurement>,
}

#[derive(Deserialize)]
struct Measurement {
    time_wall_clock: Quantity,
    exit_code: Option<i64>,
}

#[derive(Deserialize)]
struct Quantity {
    value: f64,
    unit: String,
}

/// The timings of a file of hyperfine.
///
/// # Errors
/// It is not what it seems to be.
pub fn hyperfine(value: &Value) -> Result<Timings, TimingsError> {
    let version = value.get("schema_version").map_or(Some(1), Value::as_u64).unwrap_or(0);
    let shape = |error: serde_json::Error| TimingsError::Shape { version, said: error.to_string() };
    let runs: Vec<(String, Vec<f64>, u32)> = match version {
        1 => {
            let of_one = |result: OneResult| {
                let failed = result.exit_codes.iter().filter(|code| **code != Some(0)).count();
                (result.command, result.times.unwrap_or_default(), failed as u32)
            };
            One::deserialize(value).map_err(shape)?.results.into_iter().map(of_one).collect()
        }
        2 => {
            let of_two = |result: TwoResult| {
                let failed = result.measurements.iter().filter(|run| run.exit_code != Some(0)).count();
                let name = result.name.unwrap_or(result.command);
                let seconds = result.measurements.iter().map(|run| seconds(&run.time_wall_clock));
                (name, seconds.collect(), failed as u32)
            };
            Two::deserialize(value).map_err(shape)?.results.into_iter().map(of_two).collect()
        }
        version => return Err(TimingsError::Version(version)),
    };
    if runs.is_empty() {
        return Err(TimingsError::Empty);
    }
    let commands = runs.into_iter().enumerate().map(|(at, (name, seconds, failed))| {
        let mut ns: Vec<f64> = seconds.iter().map(|seconds| seconds * NS_A_SECOND).collect();
        if !seconds.iter().all(|seconds| (0.0..SECONDS_MAX).contains(seconds)) {
            return Err(TimingsError::Time(at + 1));
        }
        ns.sort_unstable_by(f64::total_cmp);
        let found = median(&ns).ok_or(TimingsError::NoRuns(at + 1))?;
        Ok(TimedCommand {
            name,
            runs: ns.len() as u32,
            failed,
            median_ns: MedianInterval { median: found.value, lo: found.lo, hi: found.hi },
            range_ns: (ns[0], ns[ns.len() - 1]),
        })
    });
    let commands = commands.collect::<Result<_, _>>()?;
    Ok(Timings { tool: format!("hyperfine, JSON version {version}"), commands })
}

/// Units that are no time give one that is refused.
fn seconds(of: &Quantity) -> f64 {
    of.value
        * match of.unit.as_str() {
            "second" => 1.0,
            "millisecond" => 1e-3,
            "microsecond" => 1e-6,
            "nanosecond" => 1e-9,
            _ => f64::NAN,
        }
}

/// The same of a comparison of dwell, to stand beside a file of another tool.
///
/// # Errors
/// It is of another figure, or has no runs.
pub fn of_comparison(comparison: &Comparison) -> Result<Timings, TimingsError> {
    if comparison.settings.on != Figure::Wall {
        return Err(TimingsError::Figure);
    }
    let timed = comparison.commands.iter().filter_map(|command| {
        let median_ns = command.figure?;
        Some(TimedCommand {
            name: command.name.clone(),
            runs: command.runs,
            // Those that failed are not among them.
            failed: 0,
            median_ns,
            range_ns: command.range?,
        })
    });
    let commands: Vec<TimedCommand> = timed.collect();
    if commands.is_empty() {
        return Err(TimingsError::Empty);
    }
    Ok(Timings { tool: "dwell compare".to_owned(), commands })
}

/// Two files side by side, each with its name.
pub fn compare(a: (&str, &Timings), b: (&str, &Timings)) -> TimingsDiff {
    let origin = |(file, timings): (&str, &Timings)| TimingsOrigin {
        file: file.to_owned(),
        tool: timings.tool.clone(),
    };
    let named = |timings: &'_ Timings, name: &str| {
        timings.commands.iter().find(|command| command.name == name).cloned()
    };
    let row = |of_a: &TimedCommand| {
        let of_b = named(b.1, &of_a.name)?;
        let ratio = of_b.median_ns.median / of_a.median_ns.median;
        let ratio = Some(ratio).filter(|ratio| ratio.is_finite());
        Some(TimingsRow { name: of_a.name.clone(), a: of_a.clone(), b: of_b, ratio })
    };
    let only = |one: &Timings, other: &Timings| {
        let missing = one.commands.iter().filter(|command| named(other, &command.name).is_none());
        missing.map(|command| command.name.clone()).collect()
    };
    TimingsDiff {
        schema: SCHEMA_TIMINGS_DIFF.to_owned(),
        a: origin(a),
        b: origin(b),
        rows: a.1.commands.iter().filter_map(row).collect(),
        only_a: only(a.1, b.1),
        only_b: only(b.1, a.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(times: Value) -> Value {
        json!({ "results": [{ "command": "x", "mean": 1.0, "times": times, "exit_codes": [0, 1, null] }] })
    }

    fn two(value: f64, unit: &str) -> Value {
        let run = json!({ "time_wall_clock": { "value": value, "unit": unit }, "exit_code": 0 });
        json!({ "schema_version": 2, "results": [{ "command": "x", "name": "n", "measurements": [run] }] })
    }

    #[test]
    fn both_versions_are_read() {
        let value = one(json!([0.003, 0.001, 0.002]));
        assert!(is_hyperfine(&value));
        let timings = hyperfine(&value).unwrap();
        let command = &timings.commands[0];
        assert_eq!(timings.tool, "hyperfine, JSON version 1");
        assert_eq!((command.name.as_str(), command.runs, command.failed), ("x", 3, 2));
        assert_eq!((command.median_ns.median, command.range_ns), (2e6, (1e6, 3e6)));
        for (value, unit, ns) in [(0.25, "second", 2.5e8), (2.5, "millisecond", 2.5e6)] {
            let timings = hyperfine(&two(value, unit)).unwrap();
            assert_eq!((timings.commands[0].name.as_str(), timings.commands[0].failed), ("n", 0));
            assert_eq!(timings.commands[0].median_ns.median, ns);
        }
    }

    #[test]
    fn what_is_no_timing_is_refused_with_a_reason() {
        let said = |value: &Value| hyperfine(value).unwrap_err().to_string();
        assert_eq!(said(&json!({ "results": [] })), "it has no command");
        assert!(said(&one(json!([]))).contains("no run of command 1"));
        assert!(said(&one(Value::Null)).contains("no run of command 1"));
        for times in [json!([-1.0]), json!([1e300])] {
            assert!(said(&one(times)).contains("a time that is none"));
        }
        assert!(said(&two(1.0, "byte")).contains("a time that is none"));
        assert!(said(&one(json!(["fast"]))).contains("does not match the JSON of hyperfine 1"));
        assert!(said(&json!({ "schema_version": 3, "results": [] })).contains("version 3"));
        for other in [json!({}), json!([]), json!({ "results": [{ "a": 1 }] }), json!({ "results": 7 })] {
            assert!(!is_hyperfine(&other), "{other}");
        }
    }

    #[test]
    fn commands_are_put_together_by_name() {
        let timings = |names: &[(&str, f64)]| Timings {
            tool: "t".to_owned(),
            commands: names
                .iter()
                .map(|(name, ns)| TimedCommand {
                    name: (*name).to_owned(),
                    runs: 1,
                    failed: 0,
                    median_ns: MedianInterval { median: *ns, lo: *ns, hi: *ns },
                    range_ns: (*ns, *ns),
                })
                .collect(),
        };
        let (a, b) =
            (timings(&[("x", 2.0), ("y", 0.0), ("z", 1.0)]), timings(&[("y", 5.0), ("x", 3.0), ("w", 1.0)]));
        let diff = compare(("a", &a), ("b", &b));
        let rows: Vec<_> = diff.rows.iter().map(|row| (row.name.as_str(), row.ratio)).collect();
        assert_eq!(rows, [("x", Some(1.5)), ("y", None)]);
        assert_eq!((diff.only_a, diff.only_b), (vec!["z".to_owned()], vec!["w".to_owned()]));
    }
}
