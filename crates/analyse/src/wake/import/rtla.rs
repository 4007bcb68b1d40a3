//! The output of `rtla timerlat hist`, `rtla osnoise hist` and `rtla timerlat top`.
//!
//! Of timerlat's latencies the thread latency is taken: from the timer's expiry to the thread,
//! which other tools call latency. Of osnoise it is each single noise, a gap of the busy loop, as
//! the lower end of its bucket.

use super::{Error, Thread, bin, comparable};
use crate::wake::comparable::setting;
use crate::wake::counted;
use model::Ns;
use model::compare::wake::{Comparable, MeasurementOrigin};

/// A column of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    cpu: u32,
    wanted: bool,
}

/// What the lines of a histogram say: a figure for each column.
#[derive(Debug, Default)]
struct Figures {
    columns: Vec<Column>,
    /// Rows of the histogram by their index.
    rows: Vec<(u64, Vec<u64>)>,
    /// Lines below it by their name: `over`, `min`.
    summaries: Vec<(String, Vec<Option<f64>>)>,
    /// What rtla says of events that it missed.
    notes: Vec<String>,
}

impl Figures {
    /// Those of each CPU: what stands behind `ALL:` is of all together, and left out.
    fn read(text: &str) -> Result<Self, Error> {
        let Self { mut columns, mut rows, mut summaries, mut notes } = Self::default();
        // Behind the figures of the CPUs: the sums of all CPUs.
        let mut over = false;
        for (at, line) in text.lines().enumerate() {
            let wrong = |why: String| Error::Line { line: at + 1, why };
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            if first.starts_with('#') || (over && first != "Index") {
                continue;
            }
            if line.contains("events missed") {
                notes.push(format!("rtla: {}", line.trim()));
                continue;
            }
            if first == "ALL:" {
                over = true;
                continue;
            }
            if first == "Index" {
                // Rows above it have the columns of another histogram.
                if !columns.is_empty() {
                    return Err(wrong("a second line begins with Index: a file is of one run".to_owned()));
                }
                columns = words.map(column).collect::<Result<_, _>>().map_err(wrong)?;
                continue;
            }
            let name = first.strip_suffix(':');
            if columns.is_empty() || (name.is_none() && first.parse::<u64>().is_err()) {
                continue;
            }
            let words: Vec<&str> = words.collect();
            if words.len() != columns.len() {
                return Err(wrong(format!("{} figures in {} columns", words.len(), columns.len())));
            }
            match (name, first.parse()) {
                (Some(name), _) => {
                    let values = words.into_iter().map(fraction).collect::<Result<_, _>>().map_err(wrong)?;
                    summaries.push((name.to_owned(), values));
                }
                (None, Ok(index)) => {
                    let values = words.into_iter().map(value).map(|seen| Ok(seen?.unwrap_or_default()));
                    rows.push((index, values.collect::<Result<_, _>>().map_err(wrong)?));
                }
                (None, Err(_)) => {}
            }
        }
        if columns.is_empty() {
            return Err(Error::Whole(
                "no line begins with Index: rtla ran with --no-header or --no-index".to_owned(),
            ));
        }
        Ok(Self { columns, rows, summaries, notes })
    }

    /// A figure of a column by the name of its line.
    fn summary(&self, name: &str, at: usize) -> Option<f64> {
        self.summaries.iter().find(|(one, _)| one == name).and_then(|(_, values)| values[at])
    }
}

/// A histogram.
pub(super) fn histogram(text: &str) -> Result<Comparable, Error> {
    let noise = text.contains("# RTLA osnoise");
    let unit_ns = unit(text, "# Time unit is nanoseconds");
    let figures = Figures::read(text)?;
    let Figures { columns, rows, .. } = &figures;
    let mut limits = limits(unit_ns);
    limits.extend(figures.notes.iter().cloned());
    // Rows of zeros are left out, so the bucket size is taken as the greatest common divisor of all
    // indices: never too small, perhaps too large.
    let width = rows.iter().fold(0, |width, (index, _)| divisor(width, *index)).max(1);
    let cap = rows.iter().map(|(index, _)| index.saturating_add(width)).max().unwrap_or(0);
    let ns = |name: &str, at: usize| figures.summary(name, at).map(|value| value * unit_ns as f64);
    let mut threads = Vec::new();
    for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.wanted) {
        let bins: Vec<_> =
            rows.iter().filter_map(|(index, values)| bin(*index, width, unit_ns, values[at])).collect();
        threads.push(Thread {
            cpu: Some(column.cpu),
            cycles: counted(&bins).saturating_add(figures.summary("over", at).unwrap_or(0.0) as u64),
            bins,
            min_ns: ns("min", at).map(|ns| ns as Ns),
            avg_ns: ns("avg", at),
            max_ns: ns("max", at).map(|ns| ns as Ns),
        });
    }
    if threads.is_empty() {
        return Err(Error::Whole("no column of threads: rtla ran with --no-thread".to_owned()));
    }
    let (tool, by) = if noise {
        limits.push(
            "each noise is rounded down to the lower end of its bucket, also in mean and maximum".to_owned(),
        );
        ("rtla osnoise", "busy loop, each single noise")
    } else {
        ("rtla timerlat", "kernel timer")
    };
    let origin = origin(tool);
    comparable(
        origin,
        (Vec::new(), vec![setting("measured by", by)]),
        threads,
        cap.saturating_mul(unit_ns),
        limits,
    )
}

/// A table of minimum, mean and maximum; the last one, where it is repeated.
pub(super) fn top(text: &str) -> Result<Comparable, Error> {
    let unit_ns = unit(text, "Thread Timer Latency (ns)");
    let mut threads: Vec<Thread> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let wrong = |why: String| Error::Line { line: at + 1, why };
        let Some((cpu, rest)) = line.split_once('#') else { continue };
        let Ok(cpu) = cpu.trim().parse::<u32>() else { continue };
        let parts: Vec<&str> = rest.split('|').collect();
        let [count, _, thread, ..] = parts[..] else {
            return Err(wrong("the thread's part is missing".to_owned()));
        };
        let cycles = value(count.trim()).map_err(wrong)?.unwrap_or(0);
        let figures = thread.split_whitespace().map(value).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let [_, min, avg, max] = figures[..] else {
            return Err(wrong(format!("the thread has {} figures, expected four", figures.len())));
        };
        let ns = |value: Option<u64>| value.map(|value| value.saturating_mul(unit_ns));
        let thread = Thread {
            cpu: Some(cpu),
            cycles,
            bins: Vec::new(),
            min_ns: ns(min),
            avg_ns: ns(avg).map(|ns| ns as f64),
            max_ns: ns(max),
        };
        match threads.iter_mut().find(|one| one.cpu == thread.cpu) {
            Some(before) => *before = thread,
            None => threads.push(thread),
        }
    }
    let settings = vec![setting("measured by", "kernel timer")];
    comparable(origin("rtla timerlat"), (Vec::new(), settings), threads, 0, limits(unit_ns))
}

fn origin(tool: &str) -> MeasurementOrigin {
    MeasurementOrigin {
        host: String::new(),
        kernel: String::new(),
        started_at: String::new(),
        tool: tool.to_owned(),
    }
}

fn limits(unit_ns: Ns) -> Vec<String> {
    if unit_ns == 1 { Vec::new() } else { vec![super::whole_microseconds()] }
}

fn unit(text: &str, nanoseconds: &str) -> Ns {
    if text.contains(nanoseconds) { 1 } else { 1_000 }
}

/// `Thr-003`, `IRQ-003`, `Usr-003`, `CPU-003`.
fn column(word: &str) -> Result<Column, String> {
    let (kind, cpu) = word.split_once('-').ok_or_else(|| format!("{word:?} is not a column of a CPU"))?;
    let cpu = cpu.parse().map_err(|_| format!("{word:?} has no CPU number"))?;
    Ok(Column { cpu, wanted: matches!(kind, "Thr" | "CPU") })
}

/// A figure; `-` is none.
fn value(word: &str) -> Result<Option<u64>, String> {
    match word {
        "-" => Ok(None),
        _ => word.parse().map(Some).map_err(|_| format!("{word:?} is not a whole number")),
    }
}

/// A figure below a histogram: osnoise has means with two decimals.
fn fraction(word: &str) -> Result<Option<f64>, String> {
    match word {
        "-" => Ok(None),
        _ => match word.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
            _ => Err(format!("{word:?} is not a number")),
        },
    }
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
