//! What `cyclictest -q` prints: a line for each thread, and with `-h` or `--histfile` the histogram with its summary.

use super::{Error, Thread, bin, comparable, whole_microseconds};
use crate::wake::comparable::{interval, setting};
use model::Ns;
use model::wake::diff::{Comparable, Origin};

/// Without `--nsecs`, which the text does not tell.
const UNIT_NS: Ns = 1_000;

pub(super) fn import(text: &str) -> Result<Comparable, Error> {
    let mut read = Read::default();
    for (at, line) in text.lines().enumerate() {
        read.line(line.trim()).map_err(|why| Error::Line { line: at + 1, why })?;
    }
    read.finish()
}

#[derive(Default)]
struct Read {
    threads: Vec<Thread>,
    /// The first value that a histogram does not have, in microseconds.
    cap: u64,
    within: bool,
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
            ("# Min Latencies:", |thread, value| thread.min_ns = Some(value.saturating_mul(UNIT_NS))),
            ("# Avg Latencies:", |thread, value| {
                thread.avg_ns = Some((value.saturating_mul(UNIT_NS)) as f64)
            }),
            ("# Max Latencies:", |thread, value| thread.max_ns = Some(value.saturating_mul(UNIT_NS))),
        ];
        for (name, set) in summaries {
            if let Some(rest) = line.strip_prefix(name) {
                let values = numbers(rest)?;
                self.same_threads(values.len())?;
                self.threads.iter_mut().zip(values).for_each(|(thread, value)| set(thread, value));
                return Ok(());
            }
        }
        if let Some(rest) = line.strip_prefix("# Histogram Overflows:") {
            self.overflows = numbers(rest)?;
            return self.same_threads(self.overflows.len());
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
                thread.bins.extend(bin(*value, 1, UNIT_NS, *count));
            }
        }
        // Anything else is a remark: what it did to the idle states, warnings, a shell's prompt.
        Ok(())
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
            min_ns: Some(figure("Min:")?.saturating_mul(UNIT_NS)),
            avg_ns: Some((figure("Avg:")?.saturating_mul(UNIT_NS)) as f64),
            max_ns: Some(figure("Max:")?.saturating_mul(UNIT_NS)),
            ..Thread::default()
        };
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
            thread.cycles = thread.bins.iter().map(|bin| bin.count).sum::<u64>() + over;
        }
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
        comparable(
            origin,
            (Vec::new(), of_case),
            self.threads,
            self.cap.saturating_mul(UNIT_NS),
            vec![whole_microseconds()],
        )
    }
}

/// Whole numbers with blanks between them.
fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let number = |word: &str| word.parse().map_err(|_| format!("{word:?} is no whole number"));
    text.split_whitespace().map(number).collect()
}
