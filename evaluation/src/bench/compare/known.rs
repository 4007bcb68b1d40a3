//! Where `dwell compare` finds a difference whose place is known: a sleep, a wait for a lock, a
//! flush, a function was taken from a program. The program says itself how long it took in the runs
//! that were observed.

use super::{Bench, progress, sitting};
use crate::bench::table::ranged;
use anyhow::{Context, Result, ensure};
use model::compare::why::{TimeDifference, Why};
use model::wait::SyscallName;
use std::fs;
use workshop::table::layout;

/// A thing that is taken away, and its row. A wait by its call, from entry to exit, which is what
/// the program's clock has.
struct Thing {
    name: &'static str,
    row: Row,
}

#[derive(Debug)]
enum Row {
    Call(&'static str),
    Function(&'static str),
}

const THINGS: [Thing; 4] = [
    Thing { name: "sleep", row: Row::Call("clock_nanosleep") },
    Thing { name: "lock", row: Row::Call("futex") },
    Thing { name: "flush", row: Row::Call("fsync") },
    Thing { name: "function", row: Row::Function("needless_work") },
];

impl Row {
    /// Its place in its table, and its time.
    fn find(&self, why: &Why) -> Option<(usize, TimeDifference)> {
        match self {
            Self::Call(name) => {
                let name = SyscallName::from(*name);
                let mut rows = why.calls.value()?.iter().enumerate();
                rows.find(|(_, row)| row.name == name).map(|(at, row)| (at, row.time))
            }
            Self::Function(name) => {
                let mut rows = why.functions.value()?.iter().enumerate();
                rows.find(|(_, row)| row.name == *name).map(|(at, row)| (at, row.time))
            }
        }
    }
}

/// The program's clock also has what observing a wait costs after its end: a stack is taken.
const OBSERVING_NS: f64 = 1e5;

/// What one sitting said of a thing.
struct Said {
    taken_ns: f64,
    found_ns: f64,
    lo_ns: f64,
    hi_ns: f64,
    is_largest: bool,
    pairs: u32,
}

impl Said {
    /// Whether its interval holds what was taken, or ends this far from it.
    fn holds(&self, within_ns: f64) -> bool {
        (self.lo_ns - within_ns..=self.hi_ns + within_ns).contains(&self.taken_ns)
    }
}

/// Takes each away some times.
///
/// # Errors
/// When a comparison fails or has no such row.
pub(super) fn table(bench: &Bench) -> Result<String> {
    let sittings = bench.sittings(5);
    let head = [
        "taken away",
        "sittings",
        "largest row",
        "interval holds it",
        "to 0.1 ms",
        "off by, %",
        "took, ms",
        "found, ms",
        "pairs",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for thing in &THINGS {
        let mut all = Vec::new();
        for at in 0..sittings {
            progress(thing.name, at, sittings);
            all.push(one(bench, thing)?);
        }
        let off: Vec<f64> =
            all.iter().map(|said| 100.0 * (said.found_ns / said.taken_ns - 1.0).abs()).collect();
        let count = |is: fn(&Said) -> bool| all.iter().filter(|said| is(said)).count().to_string();
        let last = all.last().context("no sitting")?;
        let ms = |ns: f64| format!("{:.2}", ns / 1e6);
        rows.push(vec![
            thing.name.to_owned(),
            sittings.to_string(),
            count(|said| said.is_largest),
            count(|said| said.holds(0.0)),
            count(|said| said.holds(OBSERVING_NS)),
            ranged(&off),
            ms(last.taken_ns),
            format!("{} ({} to {})", ms(last.found_ns), ms(last.lo_ns), ms(last.hi_ns)),
            last.pairs.to_string(),
        ]);
    }
    let text = layout(&rows, bench.options.measuring.markdown);
    Ok(format!(
        "Where the difference lies, when a known thing is taken away (times of the last sitting)\n\n{text}"
    ))
}

fn one(bench: &Bench, thing: &Thing) -> Result<Said> {
    let known = bench.place.join("known").to_string_lossy().into_owned();
    let results = ["with", "without"].map(|name| bench.place.join(name).to_string_lossy().into_owned());
    for path in &results {
        // Absent at first.
        let _ = fs::remove_file(path);
    }
    let (with, without) =
        (format!("{known} {} {}", results[0], thing.name), format!("{known} {}", results[1]));
    let (said, _) = sitting(&bench.place, &["--pairs", "8", &with, &without])?;
    let why = &said.comparisons.first().context("there is no comparison")?.why;
    let why = why.value().with_context(|| format!("nothing was observed: {why:?}"))?;
    let (at, time) = thing.row.find(why).with_context(|| format!("no row of {:?}", thing.row))?;
    let interval = time.interval.context("one pair has no interval")?;
    Ok(Said {
        taken_ns: last_mean(&results[0], usize::try_from(why.pairs)?)?,
        found_ns: -(time.ns as f64),
        lo_ns: -(interval.hi as f64),
        hi_ns: -(interval.lo as f64),
        is_largest: at == 0,
        pairs: why.pairs,
    })
}

/// The mean of the last numbers of a file: the observed runs come last.
fn last_mean(path: &str, count: usize) -> Result<f64> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let numbers: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let last = &numbers[numbers.len().saturating_sub(count)..];
    ensure!(!last.is_empty(), "{path} has no times");
    Ok(stats::mean(last))
}
