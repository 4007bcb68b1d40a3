//! Results of other tools, so that the past counts: cyclictest, jitterdebugger and rtla. What a tool does not tell is unseen.
//!
//! Each format is read by what its tool writes; an error says the line and the reason.

mod cyclictest_histogram;
mod cyclictest_json;
mod jitterdebugger;
mod rtla;

use super::words::duration;
use super::{counted, figures, merged};
use model::compare::wake::{ALL, Comparable, ComparableCase, Origin, Setting};
use model::wake::{Bin, Wakes};
use model::{Ns, Seen};
use serde_json::Value;
use thiserror::Error;

/// Why a text is not what it seems to be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// None of the formats that are known.
    #[error("it is no result of dwell, cyclictest, jitterdebugger or rtla")]
    Unknown,
    /// Something in it does not fit.
    #[error("line {line}: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// What does not fit.
        why: String,
    },
    /// It ends too early, or something is not in it.
    #[error("{0}")]
    Whole(String),
}

/// What a text of another tool says, whichever it is.
pub fn import(text: &str) -> Result<Comparable, Error> {
    if text.trim_start().starts_with('{') {
        let value = json(text)?;
        return match (value.get("thread"), value.get("cpu")) {
            (Some(_), _) => cyclictest_json::import(&value),
            (_, Some(_)) => jitterdebugger::import(&value),
            _ => Err(Error::Unknown),
        };
    }
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    if has("# RTLA timerlat histogram") || has("# RTLA osnoise histogram") {
        rtla::histogram(text)
    } else if text.contains("Thread Timer Latency") {
        rtla::top(text)
    } else if text.contains("Operating System Noise") {
        Err(Error::Whole("rtla osnoise top keeps sums, no latencies: rtla osnoise hist does".to_owned()))
    } else if has("# Histogram") || has("T: 0 ") || has("T:0 ") {
        cyclictest_histogram::import(text)
    } else {
        Err(Error::Unknown)
    }
}

/// JSON, also as cyclictest writes it: its command line with the quotes that were in it (seen with version 2.4).
fn json(text: &str) -> Result<Value, Error> {
    let failed = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let repaired: Vec<String> =
        text.lines().map(|line| quoted(line).unwrap_or_else(|| line.to_owned())).collect();
    serde_json::from_str(&repaired.join("\n"))
        .map_err(|_| Error::Line { line: failed.line(), why: format!("it is not JSON ({failed})") })
}

/// A line with a command line in it, whose value is made a JSON string.
fn quoted(line: &str) -> Option<String> {
    let (key, rest) = line.split_once("\": \"")?;
    key.trim_start().starts_with("\"cmdline").then_some(())?;
    let inside = rest.trim_end().strip_suffix("\",")?;
    Some(format!("{key}\": {},", Value::from(inside)))
}

/// A number that must be there.
fn number(value: &Value, key: &str, of: &str) -> Result<u64, Error> {
    let missing = || Error::Whole(format!("{of} has no {key:?}, or it is no whole number"));
    value.get(key).and_then(Value::as_u64).ok_or_else(missing)
}

/// A text that may be there.
fn text_of<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value.get(key)?.as_str())
}

/// A histogram of the form `{"12": 345}`, in steps of `unit_ns`.
fn object(value: Option<&Value>, unit_ns: Ns, of: &str) -> Result<Vec<Bin>, Error> {
    let Some(object) = value.and_then(Value::as_object) else { return Ok(Vec::new()) };
    let mut bins = Vec::new();
    for (key, count) in object {
        let wrong = || {
            Error::Whole(format!("the histogram of {of} has {key:?}: {count}, which are no whole numbers"))
        };
        let at: u64 = key.parse().map_err(|_| wrong())?;
        bins.extend(bin(at, 1, unit_ns, count.as_u64().ok_or_else(wrong)?));
    }
    bins.sort_unstable_by_key(|bin| bin.from_ns);
    Ok(bins)
}

/// Values from `at` on, in units; none where there are none.
fn bin(at: u64, width: u64, unit_ns: Ns, count: u64) -> Option<Bin> {
    let ns = |value: u64| value.saturating_mul(unit_ns);
    let (from_ns, to_ns) = (ns(at), ns(at.saturating_add(width)));
    (count > 0).then(|| Bin { from_ns, to_ns: to_ns.max(from_ns.saturating_add(1)), count })
}

/// What a tool tells of one thread.
#[derive(Debug, Clone, Default)]
struct Thread {
    cpu: Option<u32>,
    /// Of all wake-ups.
    cycles: u64,
    /// In order; empty: none was kept.
    bins: Vec<Bin>,
    min_ns: Option<Ns>,
    avg_ns: Option<f64>,
    max_ns: Option<Ns>,
}

impl Thread {
    /// Its figures. Wake-ups beyond the histogram are in one bin from where it ends to the latest.
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
        let or_untold =
            |ns: Option<Ns>| ns.map_or_else(|| Seen::unseen(format!("{tool} does not tell")), Seen::Value);
        (wakes.min_ns, wakes.max_ns) = (or_untold(self.min_ns), or_untold(self.max_ns));
        wakes.avg_ns = or_untold(self.avg_ns.map(|ns| ns as Ns));
        untold(&mut wakes, tool, (beyond > 0).then_some(cap_ns), without);
        wakes
    }
}

/// What no other tool tells, and percentiles where there is no histogram, or it had ended by then.
fn untold(wakes: &mut Wakes, tool: &str, cap_ns: Option<Ns>, without: bool) {
    wakes.missed = Seen::unseen(format!("{tool} does not count missed periods"));
    wakes.max_at_ns = Seen::unseen(format!("{tool} does not tell"));
    wakes.cpu_per_cycle_ns = Seen::unseen(format!("{tool} does not tell"));
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
            *percentile = Seen::unseen(format!(
                "it is beyond the histogram, which has nothing from {} on",
                duration(cap_ns)
            ));
        }
    }
}

/// All of it together. `cap_ns` is the first value that no histogram has: where they end, or earlier, as most tools leave out
/// rows of zeros.
fn comparable(
    origin: Origin,
    settings: (Vec<Setting>, Vec<Setting>),
    threads: Vec<Thread>,
    cap_ns: Ns,
    limits: Vec<String>,
) -> Result<Comparable, Error> {
    if threads.iter().all(|thread| thread.cycles == 0) {
        return Err(Error::Whole("there is no wake-up in it".to_owned()));
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
            name: ALL.to_owned(),
            settings: settings.1,
            all: together.wakes(&tool, cap_ns),
            threads: threads.into_iter().map(|thread| thread.wakes(&tool, cap_ns)).collect(),
        }],
        limits,
    })
}

/// What holds of tools that write whole microseconds.
fn whole_microseconds() -> String {
    "latencies are whole microseconds, rounded down".to_owned()
}

#[cfg(test)]
mod tests;
