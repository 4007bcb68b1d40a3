//! The table of figures by CPU.

use crate::Look;
use crate::paint::{Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, duration};
use model::wake::verdict::Verdict;
use model::wake::{Wakes, Wakeups};
use model::{CpuList, Ns, Seen};

/// Rows at most; of more CPUs, those with the highest maximum latency.
const MOST: usize = 16;
/// The position of the column of wake-ups later than the deadline less its margin.
const LATE: usize = 3;

pub(crate) fn lines(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    if wakeups.all.cycles == 0 {
        return Vec::new();
    }
    of_threads(&wakeups.all, &wakeups.threads, wakeups.verdict.value(), look)
}

/// The table of some threads and of all of them together.
pub(crate) fn of_threads(all: &Wakes, threads: &[Wakes], verdict: Option<&Verdict>, look: Look) -> Vec<Line> {
    let mut columns = vec![
        text("", 6, 0),
        figure("cycles", 1),
        figure("missed", 2),
        figure("min", 4),
        figure("avg", 6),
        figure("p50", 0),
        figure("p99", 5),
        figure("p99.9", 10),
        figure("p99.99", 0),
        figure("p99.999", 9),
        figure("p99.9999", 8),
        figure("max", 0),
        figure("max at", 7),
    ];
    if verdict.is_some() {
        columns.insert(LATE, figure("late", 3));
    }
    let mut table = Table::new(look, "latency", columns);
    let mut add = |name: String, wakes: &Wakes, ink: Ink| {
        let mut cells = row(name, wakes, ink, look);
        if let Some(verdict) = verdict {
            cells.insert(LATE, late(verdict, wakes.cpu));
        }
        table.row(cells);
    };
    let thread = |wakes: &Wakes| {
        let at = threads.iter().position(|one| one == wakes).filter(|_| threads.len() > 1);
        at.map_or_else(|| "all".to_owned(), |at| format!("thread {at}"))
    };
    let mut shown: Vec<&Wakes> = threads.iter().collect();
    if shown.len() > MOST {
        shown.sort_by_key(|wakes| std::cmp::Reverse(wakes.max_ns.value().copied()));
        shown.truncate(MOST);
        shown.sort_by_key(|wakes| wakes.cpu);
    }
    let max_ns = all.max_ns.value();
    for wakes in &shown {
        let name = wakes.cpu.map_or_else(|| thread(wakes), |cpu| format!("cpu {cpu}"));
        let ink = if wakes.max_ns.value() == max_ns { Ink::Bold } else { Ink::Plain };
        add(name, wakes, ink);
    }
    // With one CPU, its row is the total.
    if threads.len() != 1 {
        let n = threads.len();
        let name = if n > shown.len() { format!("all {n}") } else { "all".to_owned() };
        add(name, all, Ink::Plain);
    }
    table.lines()
}

fn row(name: String, wakes: &Wakes, max_ink: Ink, look: Look) -> Vec<(Ink, String)> {
    let plain = |text: String| (Ink::Plain, text);
    let time = |seen: &Seen<Ns>| plain(shown(seen, look));
    vec![
        plain(name),
        plain(count(wakes.cycles)),
        missed(wakes, look),
        time(&wakes.min_ns),
        time(&wakes.avg_ns),
        time(&wakes.p50_ns),
        time(&wakes.p99_ns),
        time(&wakes.p999_ns),
        time(&wakes.p9999_ns),
        time(&wakes.p99999_ns),
        time(&wakes.p999999_ns),
        (max_ink, shown(&wakes.max_ns, look)),
        time(&wakes.max_at_ns),
    ]
}

/// Wake-ups later than the limit, on one CPU or all.
fn late(verdict: &Verdict, cpu: Option<u32>) -> (Ink, String) {
    let late = match cpu {
        None => Some(verdict.beyond),
        Some(_) => verdict.of_processor.iter().find(|one| one.cpu == cpu).map(|one| one.beyond),
    };
    let ink = if late.is_some_and(|late| late > 0) { Ink::Warn } else { Ink::Plain };
    (ink, late.map_or_else(String::new, count))
}

/// Missed periods; a dash where they were not counted.
pub(crate) fn missed(wakes: &Wakes, look: Look) -> (Ink, String) {
    match wakes.missed.value() {
        None => (Ink::Plain, look.dash().to_owned()),
        Some(0) => (Ink::Plain, count(0)),
        Some(missed) => (Ink::Warn, count(*missed)),
    }
}

/// A time; a dash where there are too few wake-ups for it.
pub(crate) fn shown(seen: &Seen<Ns>, look: Look) -> String {
    seen.value().map_or_else(|| look.dash().to_owned(), |ns| duration(*ns))
}

/// `CPU 3`, `CPUs 0-3,7`.
pub(crate) fn cpus_named(cpus: &[u32]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", CpuList::from(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_in_a_row_are_a_range() {
        let named = [&[4][..], &[4, 5], &[3, 0, 1, 7, 1]].map(cpus_named);
        assert_eq!(named, ["CPU 4", "CPUs 4-5", "CPUs 0-1,3,7"]);
    }
}
