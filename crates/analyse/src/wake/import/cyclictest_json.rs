//! `cyclictest --json`. Its keys `cmdline:` and `rt_test_version:` end with a colon (seen with
//! version 2.4); both forms are read.

use super::{Error, Thread, comparable, number, object, text_of, whole_microseconds};
use crate::wake::comparable::{interval, setting};
use jiff::fmt::rfc2822;
use model::Ns;
use model::compare::wake::{Comparable, MeasurementOrigin};
use serde_json::Value;

pub(super) fn import(value: &Value) -> Result<Comparable, Error> {
    let none = || Error::Whole("\"thread\" is not an object".to_owned());
    let of_threads = value.get("thread").and_then(Value::as_object).ok_or_else(none)?;
    // With --nsecs all figures are nanoseconds.
    let unit_ns = if value.get("resolution_in_ns").and_then(Value::as_u64) == Some(1) { 1 } else { 1_000 };
    let mut threads = Vec::new();
    for (key, of) in of_threads {
        let name = format!("thread {key}");
        let avg = of.get("avg").and_then(Value::as_f64);
        threads.push(Thread {
            cpu: of.get("cpu").and_then(Value::as_u64).and_then(|cpu| u32::try_from(cpu).ok()),
            cycles: number(of, "cycles", &name)?,
            bins: object(of.get("histogram"), unit_ns, &name)?,
            min_ns: Some(number(of, "min", &name)?.saturating_mul(unit_ns)),
            avg_ns: avg.map(|avg| avg * unit_ns as f64),
            max_ns: Some(number(of, "max", &name)?.saturating_mul(unit_ns)),
        });
    }
    threads.sort_by_key(|thread| thread.cpu);
    // The end of the histograms is not in the file: it is their largest value, or more.
    let cap_ns =
        threads.iter().filter_map(|thread| thread.bins.last()).map(|bin| bin.to_ns).max().unwrap_or(0);
    let sysinfo = value.get("sysinfo").unwrap_or(&Value::Null);
    let text = |key: &str| text_of(sysinfo, &[key]).unwrap_or_default().to_owned();
    let origin = MeasurementOrigin {
        host: text("nodename"),
        kernel: text("release"),
        started_at: text_of(value, &["start_time"]).and_then(utc).unwrap_or_default(),
        tool: "cyclictest".to_owned(),
    };
    let mut of_machine = Vec::new();
    for (what, value) in
        [("host", &origin.host), ("kernel", &origin.kernel), ("architecture", &text("machine"))]
    {
        if !value.is_empty() {
            of_machine.push(setting(what, value.as_str()));
        }
    }
    if sysinfo.get("realtime").and_then(Value::as_u64) == Some(1) {
        of_machine.push(setting("preemption", "rt"));
    }
    let command = text_of(value, &["cmdline:", "cmdline"]);
    let of_case = command.and_then(interval_of).map(interval).into_iter().collect();
    let mut limits = if unit_ns == 1 { Vec::new() } else { vec![whole_microseconds()] };
    limits.extend(command.map(|command| format!("measured by {command}")));
    comparable(origin, (of_machine, of_case), threads, cap_ns, limits)
}

/// `Sat, 21 Nov 2026 23:17:46 +0000` as RFC 3339.
fn utc(text: &str) -> Option<String> {
    let zoned = rfc2822::DateTimeParser::new().parse_zoned(text).ok()?;
    Some(zoned.timestamp().to_string())
}

/// The interval of the first thread: `-i200`, `-i 200`, `--interval=200`; none if the default was
/// used.
fn interval_of(command: &str) -> Option<Ns> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        let text = match word {
            "-i" | "--interval" => words.next()?,
            _ => match word.strip_prefix("-i").or_else(|| word.strip_prefix("--interval=")) {
                Some(text) => text,
                None => continue,
            },
        };
        return text.parse::<u64>().ok().map(|us| us.saturating_mul(1_000));
    }
    None
}
