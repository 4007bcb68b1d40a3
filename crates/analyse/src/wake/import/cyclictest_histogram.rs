//! The output of `cyclictest -q`: a line per thread, and with `-h` or `--histfile` the histogram
//! with its summary.

use super::{Error, Thread, bin, comparable, whole_microseconds};
use crate::wake::comparable::{interval, setting};
use crate::wake::{counted, merged};
use model::Ns;
use model::compare::wake::{Comparable, MeasurementOrigin};

/// The unit without `--nsecs`.
const MICROSECOND_NS: Ns = 1_000;

pub(super) fn import(text: &str) -> Result<Comparable, Error> {
    let mut parser = Parser::default();
    for (at, line) in text.lines().enumerate() {
        parser.line(line.trim()).map_err(|why| Error::Line { line: at + 1, why })?;
    }
    parser.finish()
}

#[derive(Default)]
struct Parser {
    /// Figures in the unit of the text.
    threads: Vec<Thread>,
    /// The unit, where the text shows it.
    unit_ns: Option<Ns>,
    /// The first value that no histogram has, in that unit.
    cap: u64,
    in_histogram: bool,
    /// The histogram had a column of all threads together (`--histofall`).
    summed: bool,
    overflows: Vec<u64>,
    intervals: Vec<Ns>,
    priorities: Vec<String>,
}

impl Parser {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("T:") {
            return self.thread(rest);
        }
        if line.starts_with("# Histogram Overflow at") || line.starts_with("# Thread") {
            return Ok(());
        }
        type Set = fn(&mut Thread, u64);
        let summaries: [(&str, Set); 4] = [
            ("# Total:", |thread, value| thread.cycles = value),
            ("# Min Latencies:", |thread, value| thread.min_ns = Some(value)),
            ("# Avg Latencies:", |thread, value| thread.avg_ns = Some(value as f64)),
            ("# Max Latencies:", |thread, value| thread.max_ns = Some(value)),
        ];
        for (name, set) in summaries {
            if let Some(rest) = line.strip_prefix(name) {
                let values = numbers(rest)?;
                self.summarised(values.len())?;
                self.threads.iter_mut().zip(values).for_each(|(thread, value)| set(thread, value));
                return Ok(());
            }
        }
        if let Some(rest) = line.strip_prefix("# Histogram Overflows:") {
            self.overflows = numbers(rest)?;
            return self.summarised(self.overflows.len());
        }
        if line == "# Histogram" {
            self.in_histogram = true;
            self.threads.clear();
            return Ok(());
        }
        if self.in_histogram && line.starts_with(|c: char| c.is_ascii_digit()) {
            let values = numbers(line)?;
            let [value, counts @ ..] = &values[..] else { return Ok(()) };
            if self.threads.is_empty() {
                self.threads = vec![Thread::default(); counts.len()];
            }
            self.same_threads(counts.len())?;
            self.cap = self.cap.max(value.saturating_add(1));
            for (thread, count) in self.threads.iter_mut().zip(counts) {
                thread.bins.extend(bin(*value, 1, 1, *count));
            }
        }
        // Any other line is a remark: idle states, warnings, a shell's prompt.
        Ok(())
    }

    /// A line of `many` figures below the histogram. Some of those lines have none for the summed
    /// column.
    fn summarised(&mut self, many: usize) -> Result<(), String> {
        // All values are beyond the histogram, and rows of zeros are left out.
        if self.in_histogram && self.threads.is_empty() {
            self.threads = vec![Thread::default(); many];
        }
        if let [threads @ .., last] = &self.threads[..]
            && threads.len() == many
            && merged(threads.iter().map(|thread| &thread.bins[..])) == last.bins
        {
            self.threads.pop();
            self.summed = true;
        }
        self.same_threads(if self.summed && many == self.threads.len() + 1 { many - 1 } else { many })
    }

    fn same_threads(&self, many: usize) -> Result<(), String> {
        if self.threads.len() == many {
            return Ok(());
        }
        Err(format!("figures of {many} threads, expected {}", self.threads.len()))
    }

    /// ` 0 ( 1911) P:80 I:1000 C:    800 Min:      9 Act:   29 Avg:   24 Max:      75`
    fn thread(&mut self, line: &str) -> Result<(), String> {
        if self.in_histogram {
            return Ok(());
        }
        let figure = |name: &str| {
            let (_, rest) = line.split_once(name).ok_or_else(|| format!("{name:?} is missing"))?;
            let word = rest.split_whitespace().next().unwrap_or_default();
            word.parse::<u64>().map_err(|_| format!("{name:?} is followed by {word:?}, not a whole number"))
        };
        let index = line.split_whitespace().next().unwrap_or_default();
        let index: usize = index.parse().map_err(|_| format!("{index:?} is not a thread number"))?;
        // Without -q the lines are repeated: the last ones count.
        if index > self.threads.len() {
            return Err(format!("thread {index} comes before thread {}", self.threads.len()));
        }
        if index == self.threads.len() {
            self.threads.push(Thread::default());
        }
        self.threads[index] = Thread {
            cycles: figure("C:")?,
            min_ns: Some(figure("Min:")?),
            avg_ns: Some(figure("Avg:")? as f64),
            max_ns: Some(figure("Max:")?),
            ..Thread::default()
        };
        // One narrow line decides for all.
        self.unit_ns = self.unit_ns.max(unit_ns(line));
        let interval_ns = figure("I:")?.saturating_mul(1_000);
        if !self.intervals.contains(&interval_ns) {
            self.intervals.push(interval_ns);
        }
        let priority = figure("P:")?.to_string();
        if !self.priorities.contains(&priority) {
            self.priorities.push(priority);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Comparable, Error> {
        if self.in_histogram && self.threads.iter().any(|thread| thread.max_ns.is_none()) {
            return Err(Error::Whole(
                "the summary below the histogram is missing: the text is cut off".to_owned(),
            ));
        }
        for (thread, over) in self.threads.iter_mut().zip(&self.overflows) {
            // The total excludes overflows.
            thread.cycles = counted(&thread.bins).saturating_add(*over);
        }
        let unit_ns = self.unit_ns.unwrap_or(MICROSECOND_NS);
        for thread in &mut self.threads {
            let Thread { bins, min_ns, avg_ns, max_ns, .. } = thread;
            let ends = bins.iter_mut().flat_map(|bin| [&mut bin.from_ns, &mut bin.to_ns]);
            ends.chain(min_ns).chain(max_ns).for_each(|value| *value = value.saturating_mul(unit_ns));
            *avg_ns = avg_ns.map(|avg| avg * unit_ns as f64);
        }
        let limits = match self.unit_ns {
            Some(1) => Vec::new(),
            Some(_) => vec![whole_microseconds()],
            None => vec![
                "latencies are taken as whole microseconds, rounded down: the text does not show the unit"
                    .to_owned(),
            ],
        };
        let origin = MeasurementOrigin {
            host: String::new(),
            kernel: String::new(),
            started_at: String::new(),
            tool: "cyclictest".to_owned(),
        };
        let mut of_case = Vec::new();
        if let [interval_ns] = self.intervals[..] {
            of_case.push(interval(interval_ns));
        }
        if let [priority] = &self.priorities[..] {
            of_case.push(setting("priority", priority.as_str()));
        }
        comparable(origin, (Vec::new(), of_case), self.threads, self.cap.saturating_mul(unit_ns), limits)
    }
}

/// The unit of a thread's line. Only the width of two columns shows it: eight with `--nsecs`, five
/// without. A reformatted line shows none.
fn unit_ns(line: &str) -> Option<Ns> {
    let width = |from: &str, to: &str| Some(line.split_once(from)?.1.split_once(to)?.0.len());
    match (width("Act:", " Avg:")?, width("Avg:", " Max:")?) {
        (8.., 8..) => Some(1),
        (5.., 5..) => Some(MICROSECOND_NS),
        _ => None,
    }
}

/// Whole numbers with blanks between them.
fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let number = |word: &str| word.parse().map_err(|_| format!("{word:?} is not a whole number"));
    text.split_whitespace().map(number).collect()
}
