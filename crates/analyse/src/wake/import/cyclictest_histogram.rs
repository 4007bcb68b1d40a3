//! What `cyclictest -q` prints: a line for each thread, and with `-h` or `--histfile` the histogram with its summary.

use super::{Error, Thread, bin, comparable, whole_microseconds};
use crate::wake::comparable::{interval, setting};
use crate::wake::{counted, merged};
use model::Ns;
use model::compare::wake::{Comparable, Origin};

/// Of figures without `--nsecs`.
const MICROSECOND_NS: Ns = 1_000;

pub(super) fn import(text: &str) -> Result<Comparable, Error> {
    let mut read = Read::default();
    for (at, line) in text.lines().enumerate() {
        read.line(line.trim()).map_err(|why| Error::Line { line: at + 1, why })?;
    }
    read.finish()
}

#[derive(Default)]
struct Read {
    /// With figures as they are printed, in whatever unit that is.
    threads: Vec<Thread>,
    /// What the unit is, as far as it is told.
    unit_ns: Option<Ns>,
    /// The first value that no histogram has, in that unit.
    cap: u64,
    within: bool,
    /// The histogram had a column of all threads together (`--histofall`).
    summed: bool,
    overflows: Vec<u64>,
    intervals: Vec<Ns>,
    priorities: Vec<String>,
}

impl Read {
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
            self.within = true;
            self.threads.clear();
            return Ok(());
        }
        if self.within && line.starts_with(|c: char| c.is_ascii_digit()) {
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
        // Anything else is a remark: what it did to the idle states, warnings, a shell's prompt.
        Ok(())
    }

    /// A line below the histogram with so many figures. Not all of those lines have one for the column of all together.
    fn summarised(&mut self, many: usize) -> Result<(), String> {
        // No value was early enough for the histogram, and rows of zeros are left out.
        if self.within && self.threads.is_empty() {
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
        Err(format!("it has figures of {many} threads, and there are {}", self.threads.len()))
    }

    /// ` 0 ( 1911) P:80 I:1000 C:    800 Min:      9 Act:   29 Avg:   24 Max:      75`
    fn thread(&mut self, line: &str) -> Result<(), String> {
        if self.within {
            return Ok(());
        }
        let figure = |name: &str| {
            let (_, rest) = line.split_once(name).ok_or_else(|| format!("there is no {name:?}"))?;
            let word = rest.split_whitespace().next().unwrap_or_default();
            word.parse::<u64>()
                .map_err(|_| format!("{name:?} is followed by {word:?}, which is no whole number"))
        };
        let index = line.split_whitespace().next().unwrap_or_default();
        let index: usize = index.parse().map_err(|_| format!("{index:?} is no number of a thread"))?;
        // Without -q they are printed again and again: the last ones count.
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
        // One that is narrow tells of all.
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
        if self.within && self.threads.iter().any(|thread| thread.max_ns.is_none()) {
            return Err(Error::Whole("the summary below the histogram is missing: it was cut".to_owned()));
        }
        for (thread, over) in self.threads.iter_mut().zip(&self.overflows) {
            // The total leaves them out.
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
                "latencies are taken to be whole microseconds, rounded down: the text does not tell whether they are"
                    .to_owned(),
            ],
        };
        let origin = Origin {
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

/// What the figures of a thread's line are in, told by nothing but the width of two of them: eight columns with `--nsecs`, five
/// without. Lines that somebody reformatted do not tell.
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
    let number = |word: &str| word.parse().map_err(|_| format!("{word:?} is no whole number"));
    text.split_whitespace().map(number).collect()
}
