//! Results of other tools, so that older measurements can be compared: cyclictest, jitterdebugger
//! and rtla. What a tool does not report is unseen.
//!
//! Each file below reads one tool's output; an error has the line and the reason.

mod cyclictest_histogram;
mod cyclictest_json;
mod cyclictest_verbose;
mod jitterdebugger;
mod rtla;

use super::words::duration;
use super::{counted, figures, merged};
use model::compare::wake::{CaseName, Comparable, ComparableCase, MeasurementOrigin, SettingText};
use model::wake::{Bin, Wakes};
use model::{Ns, Seen};
use serde_json::Value;
use std::borrow::Cow;
use thiserror::Error;

/// How often a text may have been quoted.
const QUOTES: usize = 8;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// None of the known formats.
    #[error("not a result of dwell, cyclictest, jitterdebugger or rtla")]
    Unknown,
    /// A line that does not fit the format.
    #[error("line {line}: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// What does not fit.
        why: String,
    },
    /// The text ends too early, or a part is missing.
    #[error("{0}")]
    Whole(String),
}

/// A text without what a mail adds to it: the marks of quoting (`> `), and what stands around
/// quoted lines or around JSON.
pub fn unquoted(text: &str) -> Cow<'_, str> {
    let quoted = |line: &str| line.trim_start().starts_with('>');
    let mut text = Cow::Borrowed(text);
    for _ in 0..QUOTES {
        if !text.lines().any(quoted) {
            break;
        }
        let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix('>'));
        text = Cow::Owned(
            lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n"),
        );
    }
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.trim_start().starts_with('{'));
    let last = lines.iter().rposition(|line| line.trim_end().ends_with('}'));
    match (first, last) {
        (Some(first), Some(last)) if first <= last => Cow::Owned(lines[first..=last].join("\n")),
        _ => text,
    }
}

/// Reads the output of another tool; which tool, the text shows.
pub fn import(text: &str) -> Result<Comparable, Error> {
    let text = &*unquoted(text);
    if text.trim_start().starts_with('{') {
        let value = json(text)?;
        return match (value.get("thread"), value.get("cpu")) {
            (Some(_), _) => cyclictest_json::import(&value),
            (_, Some(_)) => jitterdebugger::import(&value),
            _ => Err(Error::Unknown),
        };
    }
    let has = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
    if has("# RTLA timerlat histogram") || has("# RTLA osnoise histogram") {
        rtla::histogram(text)
    } else if text.contains("Thread Timer Latency") {
        rtla::top(text)
    } else if text.contains("Operating System Noise") {
        Err(Error::Whole("rtla osnoise top has sums only\ntry: rtla osnoise hist".to_owned()))
    } else if has("# Histogram") || has("T: 0 ") || has("T:0 ") {
        cyclictest_histogram::import(text)
    } else if cyclictest_verbose::is_one(text) {
        cyclictest_verbose::import(text)
    } else {
        Err(Error::Unknown)
    }
}

/// JSON, also as cyclictest 2.4 writes it: with unescaped quotes in its command line.
fn json(text: &str) -> Result<Value, Error> {
    let failed = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let repaired: Vec<String> =
        text.lines().map(|line| quoted(line).unwrap_or_else(|| line.to_owned())).collect();
    serde_json::from_str(&repaired.join("\n"))
        .map_err(|_| Error::Line { line: failed.line(), why: format!("not JSON ({failed})") })
}

/// A line with a command line in it, its value made a JSON string.
fn quoted(line: &str) -> Option<String> {
    let (key, rest) = line.split_once("\": \"")?;
    key.trim_start().starts_with("\"cmdline").then_some(())?;
    let inside = rest.trim_end().strip_suffix("\",")?;
    Some(format!("{key}\": {},", Value::from(inside)))
}

/// A required number.
fn number(value: &Value, key: &str, of: &str) -> Result<u64, Error> {
    let missing = || Error::Whole(format!("{of}: {key:?} is missing or not a whole number"));
    value.get(key).and_then(Value::as_u64).ok_or_else(missing)
}

/// An optional text.
fn text_of<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value.get(key)?.as_str())
}

/// A histogram of the form `{"12": 345}`, in steps of `unit_ns`.
fn object(value: Option<&Value>, unit_ns: Ns, of: &str) -> Result<Vec<Bin>, Error> {
    let Some(object) = value.and_then(Value::as_object) else { return Ok(Vec::new()) };
    let mut bins = Vec::new();
    for (key, count) in object {
        let wrong = || Error::Whole(format!("histogram of {of}: {key:?}: {count} are not whole numbers"));
        let at: u64 = key.parse().map_err(|_| wrong())?;
        bins.extend(bin(at, 1, unit_ns, count.as_u64().ok_or_else(wrong)?));
    }
    bins.sort_unstable_by_key(|bin| bin.from_ns);
    Ok(bins)
}

/// A bin of `width` units from `at` on; none if it is empty.
fn bin(at: u64, width: u64, unit_ns: Ns, count: u64) -> Option<Bin> {
    let ns = |value: u64| value.saturating_mul(unit_ns);
    let (from_ns, to_ns) = (ns(at), ns(at.saturating_add(width)));
    (count > 0).then(|| Bin { from_ns, to_ns: to_ns.max(from_ns.saturating_add(1)), count })
}

/// What a tool reports of one thread.
#[derive(Debug, Clone, Default)]
struct Thread {
    cpu: Option<u32>,
    /// All wake-ups, also those beyond the histogram.
    cycles: u64,
    /// In order; empty: the tool kept no histogram.
    bins: Vec<Bin>,
    min_ns: Option<Ns>,
    avg_ns: Option<f64>,
    max_ns: Option<Ns>,
}

impl Thread {
    /// The thread's figures. Wake-ups beyond the histogram are in one bin, from its end to the
    /// maximum.
    fn wakes(mut self, tool: &str, cap_ns: Ns) -> Wakes {
        let kept = counted(&self.bins);
        let without = self.bins.is_empty();
        let beyond = self.cycles.saturating_sub(kept);
        let last_ns = self.bins.last().map_or(0, |bin| bin.to_ns.saturating_sub(1));
        if beyond > 0 && !without {
            let to_ns = self.max_ns.unwrap_or(cap_ns).max(cap_ns).saturating_add(1);
            self.bins.push(Bin { from_ns: cap_ns, to_ns, count: beyond });
        }
        let sum_ns = self.avg_ns.unwrap_or(0.0) * self.cycles as f64;
        let max_ns = self.max_ns.unwrap_or(last_ns);
        let mut wakes =
            figures(self.bins, self.min_ns.unwrap_or(0), max_ns.max(self.min_ns.unwrap_or(0)), sum_ns as Ns);
        wakes.cpu = self.cpu;
        wakes.cycles = self.cycles;
        let or_unreported =
            |ns: Option<Ns>| ns.map_or_else(|| Seen::unseen(format!("not reported by {tool}")), Seen::Value);
        (wakes.min_ns, wakes.max_ns) = (or_unreported(self.min_ns), or_unreported(self.max_ns));
        wakes.avg_ns = or_unreported(self.avg_ns.map(|ns| ns as Ns));
        mark_unreported(&mut wakes, tool, (beyond > 0).then_some(cap_ns), without);
        wakes
    }
}

/// Marks as unseen what no other tool reports, and percentiles that the histogram does not reach.
fn mark_unreported(wakes: &mut Wakes, tool: &str, cap_ns: Option<Ns>, without: bool) {
    wakes.missed = Seen::unseen(format!("{tool} does not count missed periods"));
    wakes.max_at_ns = Seen::unseen(format!("not reported by {tool}"));
    wakes.cpu_per_cycle_ns = Seen::unseen(format!("not reported by {tool}"));
    for percentile in [
        &mut wakes.p50_ns,
        &mut wakes.p99_ns,
        &mut wakes.p999_ns,
        &mut wakes.p9999_ns,
        &mut wakes.p99999_ns,
        &mut wakes.p999999_ns,
    ] {
        if without {
            *percentile = Seen::unseen(format!("{tool} kept no histogram"));
        } else if let (Seen::Value(ns), Some(cap_ns)) = (&*percentile, cap_ns)
            && *ns >= cap_ns
        {
            *percentile = Seen::unseen(format!("beyond the histogram, which ends at {}", duration(cap_ns)));
        }
    }
}

/// The comparable result of all threads. `cap_ns` is the first value that no histogram has: their
/// end, or less, since most tools leave out rows of zeros.
fn comparable(
    origin: MeasurementOrigin,
    settings: (Vec<SettingText>, Vec<SettingText>),
    threads: Vec<Thread>,
    cap_ns: Ns,
    limits: Vec<String>,
) -> Result<Comparable, Error> {
    if threads.iter().all(|thread| thread.cycles == 0) {
        return Err(Error::Whole("no wake-up in it".to_owned()));
    }
    let tool = origin.tool.clone();
    let cycles = threads.iter().fold(0_u64, |sum, thread| sum.saturating_add(thread.cycles));
    let woken = || threads.iter().filter(|thread| thread.cycles > 0);
    let every = |of: fn(&Thread) -> Option<f64>| woken().map(of).collect::<Option<Vec<f64>>>();
    let sums = every(|thread| Some(thread.avg_ns? * thread.cycles as f64));
    let without = woken().any(|thread| thread.bins.is_empty());
    let together = Thread {
        cpu: None,
        cycles,
        bins: if without { Vec::new() } else { merged(woken().map(|thread| &thread.bins[..])) },
        min_ns: every(|thread| thread.min_ns.map(|ns| ns as f64))
            .map(|all| all.into_iter().fold(f64::MAX, f64::min) as Ns),
        avg_ns: sums.map(|sums| sums.iter().sum::<f64>() / cycles as f64),
        max_ns: every(|thread| thread.max_ns.map(|ns| ns as f64))
            .map(|all| all.into_iter().fold(0.0, f64::max) as Ns),
    };
    Ok(Comparable {
        origin,
        settings: settings.0,
        cases: vec![ComparableCase {
            name: CaseName::Plain,
            settings: settings.1,
            loads: None,
            all: together.wakes(&tool, cap_ns),
            threads: threads.into_iter().map(|thread| thread.wakes(&tool, cap_ns)).collect(),
        }],
        limits,
    })
}

/// The caveat of tools that write whole microseconds.
fn whole_microseconds() -> String {
    "latencies are whole microseconds, rounded down".to_owned()
}

#[cfg(test)]
mod tests;
