//! What the processor's counters say of all code, in a line or two; and by function, in columns of
//! the table of functions.

use crate::Look;
use crate::paint::{Ink, Line};
use crate::units::{share_of_one, three_digits};
use model::counters::{Counted, CountedCode, CountedFunction, Counter, CounterTable, Ratio};
use model::run::FunctionRow;
use model::{Run, Seen};

/// Nothing where they were not sampled: the coverage has why.
pub(super) fn lines(run: &Run, look: Look) -> Vec<Line> {
    run.tables.counters.value().map(|table| of_table(table, look)).unwrap_or_default()
}

fn of_table(table: &CounterTable, look: Look) -> Vec<Line> {
    let head = |of: &str| Line::new(look).add(Ink::Bold, "counters").add(Ink::Dim, of);
    // Of one thread both are the same.
    let path = table.path.value().filter(|path| path.samples < table.all.samples);
    let mut lines: Vec<Line> = path.map(|path| said(head("  of the path"), path)).into_iter().collect();
    let mut line = said(head(if path.is_some() { "  of all threads" } else { "" }), &table.all);
    if let Some((counter, part)) = turns(table) {
        let text = format!("  (multiplexed: {} counted {} of the time)", counter.name(), share_of_one(part));
        line = line.add(Ink::Dim, &text);
    }
    lines.push(line);
    lines.into_iter().flat_map(|line| line.wrap(2)).collect()
}

fn said(mut line: Line, code: &CountedCode) -> Line {
    let modes = [("user", Some(&code.user)), ("kernel", code.kernel.value())];
    for (mode, counted) in modes {
        if let Some(figures) = counted.and_then(figures) {
            line = line.add(Ink::Plain, &format!("  {mode}: {figures}"));
        }
    }
    match code.clock_hz {
        Seen::Value(clock) => line.add(Ink::Plain, &format!("  clock: {} GHz", three_digits(clock / 1e9))),
        _ => line,
    }
}

/// The one that counted for the least part of the time, where they took turns.
fn turns(table: &CounterTable) -> Option<(Counter, f64)> {
    /// A little is left out where counters are set anew.
    const ALL: f64 = 0.98;
    let parts = table.parts.iter().filter_map(|one| Some((one.counter, *one.part.value()?)));
    parts.filter(|(_, part)| *part < ALL).min_by(|a, b| a.1.total_cmp(&b.1))
}

fn value(ratio: &Seen<Ratio>) -> Option<f64> {
    ratio.value().map(|ratio| ratio.value)
}

/// None where not even instructions were counted.
fn figures(counted: &Counted) -> Option<String> {
    let mut said =
        vec![format!("{} instructions per cycle", three_digits(value(&counted.instructions_per_cycle)?))];
    let misses = [
        (&counted.last_level_misses_per_1000, "last-level misses"),
        (&counted.branch_misses_per_1000, "branch misses"),
    ];
    let misses: Vec<String> = misses
        .into_iter()
        .filter_map(|(ratio, name)| Some(format!("{} {name}", three_digits(value(ratio)?))))
        .collect();
    if !misses.is_empty() {
        said.push(format!("{} per 1,000 instructions", misses.join(" and ")));
    }
    let stalls = [(&counted.back_end_stalled, "back end"), (&counted.front_end_stalled, "front end")];
    let stalls: Vec<String> = stalls
        .into_iter()
        .filter_map(|(ratio, name)| Some(format!("{} by the {name}", share_of_one(value(ratio)?))))
        .collect();
    if !stalls.is_empty() {
        said.push(format!("slots stalled {}", stalls.join(", ")));
    }
    Some(said.join(", "))
}

/// Cells of a row of the functions: instructions per cycle, and misses of the last level for 1,000.
pub(super) fn cells(table: &CounterTable, function: &FunctionRow) -> [String; 2] {
    let is_it = |row: &&CountedFunction| {
        row.function == function.name && row.module == function.module && row.mode == function.mode
    };
    let Some(row) = table.all.functions.iter().find(is_it) else { return Default::default() };
    let ratios = [&row.counted.instructions_per_cycle, &row.counted.last_level_misses_per_1000];
    ratios.map(|ratio| value(ratio).map(three_digits).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::counters::CounterPart;

    fn counted() -> Counted {
        let known = |value: f64| Seen::Value(Ratio { value, lo: value, hi: value });
        Counted {
            counts: Vec::new(),
            instructions_per_cycle: known(0.312),
            branch_misses_per_1000: Seen::unseen("not here"),
            last_level_misses_per_1000: known(12.04),
            front_end_stalled: known(0.02),
            back_end_stalled: known(0.71),
        }
    }

    fn code(samples: u64) -> CountedCode {
        CountedCode {
            user: counted(),
            kernel: Seen::Absent,
            clock_hz: Seen::unseen("few"),
            samples,
            functions: Vec::new(),
        }
    }

    #[test]
    fn the_path_is_told_where_other_threads_computed_beside_it() {
        let shown = |path: Seen<CountedCode>| {
            let table = CounterTable { all: code(100), path, parts: Vec::new(), precise: false };
            of_table(&table, Look::PLAIN).iter().map(Line::render).collect::<Vec<_>>()
        };
        assert_eq!(shown(Seen::Value(code(100))), shown(Seen::Absent));
        let two = shown(Seen::Value(code(40))).join("\n");
        assert!(two.starts_with("counters  of the path  user: 0.31"), "{two}");
        assert!(two.contains("\ncounters  of all threads  user: 0.31"), "{two}");
    }

    #[test]
    fn what_is_not_known_is_left_out_and_never_zero() {
        let all = "0.31 instructions per cycle, 12.0 last-level misses per 1,000 instructions, \
                   slots stalled 71 % by the back end, 2 % by the front end";
        assert_eq!(figures(&counted()).as_deref(), Some(all));
        let unseen = || Seen::unseen("not here");
        let bare = Counted {
            last_level_misses_per_1000: unseen(),
            front_end_stalled: unseen(),
            back_end_stalled: unseen(),
            ..counted()
        };
        assert_eq!(figures(&bare).as_deref(), Some("0.31 instructions per cycle"));
        assert_eq!(figures(&Counted { instructions_per_cycle: unseen(), ..counted() }), None);
    }

    #[test]
    fn turns_are_said_of_the_one_that_counted_least() {
        let part = |counter, part| CounterPart { counter, part: Seen::Value(part) };
        let table = |last: f64| CounterTable {
            all: code(100),
            path: Seen::Absent,
            parts: vec![
                part(Counter::Cycles, 1.0),
                part(Counter::Slots, last),
                CounterPart { counter: Counter::BackEndSlots, part: Seen::unseen("it never counted") },
            ],
            precise: false,
        };
        assert_eq!(turns(&table(0.5)), Some((Counter::Slots, 0.5)));
        assert_eq!(turns(&table(0.99)), None);
    }
}
