//! The tables: medians with their intervals, by program and tool, as aligned text or as Markdown.

use super::measure::Outcome;
use super::program::{Set, Timed};
use super::tool::Tool;
use super::{Results, Turn};
use std::collections::BTreeSet;
use std::fmt::Write;
use workshop::table::layout;

/// A median and the interval around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Middle {
    pub(super) median: f64,
    pub(super) lo: f64,
    pub(super) hi: f64,
    n: usize,
}

impl Middle {
    /// The interval holds the true median with at least 95 % (order statistics, no assumption on
    /// the shape); with fewer than six values it is the smallest and the largest.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let stats::Median { value: median, lo, hi } = stats::median(&values)?;
        Some(Self { median, lo, hi, n: values.len() })
    }

    /// The centre of ratios of pairs, on their logarithms: the Hodges-Lehmann estimate with the
    /// signed-rank interval; with fewer than six pairs it is the smallest and the largest.
    pub(super) fn of_ratios(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let logs: Vec<f64> = pairs.into_iter().map(|(a, b)| (b / a).ln()).collect();
        let median = stats::paired::hodges_lehmann(&logs)?.exp();
        let (lo, hi) = stats::paired::signed_rank(&logs, 0.05)
            .or_else(|| Self::of(logs.iter().copied()).map(|all| (all.lo, all.hi)))?;
        Some(Self { median, lo: lo.exp(), hi: hi.exp(), n: logs.len() })
    }

    /// As a ratio is shown, with its interval and count.
    pub(super) fn shown(self) -> String {
        let Self { median, lo, hi, n } = self;
        let places = if median < 10.0 { 3 } else { 0 };
        format!("{median:.places$} ({lo:.places$}-{hi:.places$}, {n})")
    }
}

/// The median of values, with the smallest and the largest.
pub(super) fn ranged(values: &[f64]) -> String {
    let places = |value: f64| if value < 10.0 { 2 } else { 0 };
    let Some(median) = stats::median_of(values.iter().copied()) else { return "-".to_owned() };
    let (lo, hi) =
        values.iter().fold((f64::MAX, f64::MIN), |(lo, hi), value| (lo.min(*value), hi.max(*value)));
    format!("{median:.0$} ({lo:.1$}-{hi:.2$})", places(median), places(lo), places(hi))
}

/// Everything that is printed.
pub(crate) fn render(
    set: Set,
    results: &[Results],
    tools: &[Tool],
    notes: &BTreeSet<String>,
    machine: &str,
    markdown: bool,
) -> String {
    let mut text = match set {
        Set::Cost => "What being watched costs".to_owned(),
        Set::Stacks => "What stacks cost, rate by rate".to_owned(),
        Set::Python => "What watching Python costs".to_owned(),
        Set::Ends => "Naming what was seen".to_owned(),
    };
    if set == Set::Ends {
        text.push_str(": from the program's end to dwell's (median, interval, n)\n\n");
        text.push_str(&layout(&ends(results, tools), markdown));
    } else {
        text.push_str(": time as a multiple of the bare run of the same round (centre, interval, n)\n\n");
        text.push_str(&layout(&ratios(results, tools), markdown));
    }
    if set == Set::Stacks {
        text.push_str("\nThe same by CPU time of the program, which other programs disturb less\n\n");
        text.push_str(&layout(&cpu_ratios(results, tools), markdown));
    }
    text.push_str("\nWhat the tool adds around the program (medians)\n\n");
    text.push_str(&layout(&around(results), markdown));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\nIntervals: 95 % from 6 rounds on (of ratios by signed ranks), else smallest and largest. `bare again` is the\n\
         same program once more: what noise alone makes of a ratio. Measured on {machine}."
    );
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn ratios(results: &[Results], tools: &[Tool]) -> Vec<Vec<String>> {
    let others: Vec<Tool> = tools.iter().copied().filter(|tool| *tool != Tool::Bare).collect();
    let mut head = vec!["program".to_owned(), "bare".to_owned()];
    for tool in &others {
        head.push(tool.name().to_owned());
        if has_reach(*tool, results) {
            head.push("reach".to_owned());
        }
    }
    let mut rows = vec![head];
    for result in results {
        let bare: Vec<Outcome> = result.of(Tool::Bare).iter().map(|turn| turn.run.clone()).collect();
        let whole = result.program.timed == Timed::Whole;
        let mut row = vec![result.program.what.to_owned(), absolute(&bare, result.program.timed)];
        for tool in &others {
            let turns = result.of(*tool);
            let of = |run: &Outcome| run.timed_ns;
            let all = || milliseconds(turns.iter().map(|turn| of(&turn.run)));
            row.push(if whole { all() } else { ratio(turns, of) });
            if has_reach(*tool, results) {
                row.push(match result.program.reach(*tool) {
                    Some(reach) if whole => format!("<= {reach:.0} ms"),
                    Some(reach) => format!("<= {reach:.2}"),
                    None => "-".to_owned(),
                });
            }
        }
        rows.push(row);
    }
    rows
}

fn cpu_ratios(results: &[Results], tools: &[Tool]) -> Vec<Vec<String>> {
    let others: Vec<Tool> = tools.iter().copied().filter(|tool| *tool != Tool::Bare).collect();
    let head = ["program"].into_iter().chain(others.iter().map(|tool| tool.name()));
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    for result in results {
        let cells = others.iter().map(|tool| ratio(result.of(*tool), |run| run.cpu_ns));
        rows.push([result.program.what.to_owned()].into_iter().chain(cells).collect());
    }
    rows
}

/// By pairs of one round.
fn ratio(turns: &[Turn], of: fn(&Outcome) -> f64) -> String {
    let pairs = turns.iter().map(|turn| (of(&turn.bare), of(&turn.run)));
    Middle::of_ratios(pairs).map_or_else(|| "-".to_owned(), Middle::shown)
}

fn milliseconds(ns: impl IntoIterator<Item = f64>) -> String {
    let Some(Middle { median, lo, hi, n }) = Middle::of(ns.into_iter().map(|ns| ns / 1e6)) else {
        return "-".to_owned();
    };
    format!("{median:.0} ms ({lo:.0}-{hi:.0}, {n})")
}

fn absolute(runs: &[Outcome], timed: Timed) -> String {
    let Some(middle) = Middle::of(runs.iter().map(|run| run.timed_ns)) else { return "-".to_owned() };
    match (timed, middle.median) {
        (Timed::Itself, ns) if ns < 10_000.0 => format!("{ns:.0} ns each"),
        (Timed::Itself, ns) => format!("{:.1} us each", ns / 1e3),
        (_, ns) if ns < 1e8 => format!("{:.1} ms", ns / 1e6),
        (_, ns) => format!("{:.2} s", ns / 1e9),
    }
}

fn has_reach(tool: Tool, results: &[Results]) -> bool {
    results.iter().any(|result| result.program.reach(tool).is_some())
}

/// One line a program and rate: how much there was to name, and how long that took.
fn ends(results: &[Results], tools: &[Tool]) -> Vec<Vec<String>> {
    let head = ["program", "rate", "runs for", "samples", "named", "the end takes", "reach"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for result in results {
        for tool in tools {
            let runs: Vec<Outcome> = result.of(*tool).iter().map(|turn| turn.run.clone()).collect();
            let Some(reach) = result.program.reach(*tool) else { continue };
            let named = |part: fn((u64, u64)) -> f64| {
                Middle::of(runs.iter().filter_map(|run| run.named).map(part)).map(|middle| middle.median)
            };
            let samples = named(|(all, _)| all as f64);
            let share = named(|(all, named)| 100.0 * named as f64 / all.max(1) as f64);
            rows.push(vec![
                result.program.what.to_owned(),
                tool.name().to_owned(),
                absolute(&runs, result.program.timed),
                samples.map_or_else(|| "-".to_owned(), |samples| format!("{samples:.0}")),
                share.map_or_else(|| "-".to_owned(), |share| format!("{share:.1} %")),
                milliseconds(runs.iter().map(|run| run.ending_ns)),
                format!("<= {reach:.0} ms"),
            ]);
        }
    }
    rows
}

fn around(results: &[Results]) -> Vec<Vec<String>> {
    let head = ["program", "tool", "start-up", "after the end", "peak memory"].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    for result in results {
        for (tool, kib) in &result.rss_kib {
            // The bare run has its share of starting `timed`: what is left is the tool's.
            let beyond = |which: fn(&Outcome) -> f64| {
                let pairs = result.of(*tool).iter().map(|turn| (which(&turn.run) - which(&turn.bare)) / 1e6);
                Middle::of(pairs).map_or_else(|| "-".to_owned(), |middle| format!("{:.1} ms", middle.median))
            };
            rows.push(vec![
                result.program.what.to_owned(),
                tool.name().to_owned(),
                beyond(|run| run.startup_ns),
                beyond(|run| run.ending_ns),
                format!("{:.1} MiB", *kib as f64 / 1024.0),
            ]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_two() {
        let middle = Middle::of([4.0, 1.0, 2.0, 3.0]);
        assert_eq!(middle, Some(Middle { median: 2.5, lo: 1.0, hi: 4.0, n: 4 }));
        assert_eq!(Middle::of([]), None);
    }
}
