//! What came out, in a sentence for each command, and whether it is what was predicted.

use super::figures::{amount, difference, letters, range, ratio_interval, times, values};
use super::predicted;
use crate::Look;
use crate::compare::parts::ink;
use crate::paint::{GAP, Ink, Line};
use crate::units;
use model::compare::Change;
use model::compare::commands::{
    CommandChange, CompareEnd, Comparison, EstimateInterval, WORDS, WORDS_OF_AMOUNTS,
};
use model::timing::Figure;

/// The sentences.
pub(super) fn lines(comparison: &Comparison, look: Look) -> Vec<Line> {
    let mut lines = match comparison.comparisons.is_empty() {
        true => alone(comparison, look),
        false => {
            let said =
                |change| [sentence(comparison, change, look), predicted::lines(comparison, change, look)];
            comparison.comparisons.iter().flat_map(said).flatten().collect()
        }
    };
    lines.extend(predicted::nothing(comparison, look));
    let early = match comparison.ended {
        CompareEnd::Signal => "a signal ended the comparison early: this is the result so far",
        CompareEnd::Failed => {
            "a command failed in run after run and ended the comparison early: this is the result so far"
        }
        CompareEnd::Decided | CompareEnd::PairsDone | CompareEnd::TimeUp => return lines,
    };
    lines.extend(Line::new(look).add(Ink::Warn, early).wrap(GAP));
    lines
}

/// One command, compared with nothing.
fn alone(comparison: &Comparison, look: Look) -> Vec<Line> {
    let Some(command) = comparison.commands.first() else { return Vec::new() };
    let line = Line::new(look).add(Ink::Plain, "A ");
    let Some(figure) = command.figure else {
        return line.add(Ink::Warn, "has no run that counts").wrap(GAP);
    };
    let on = comparison.settings.on;
    let line = line.add(Ink::Plain, verb(on)).glued(Ink::Bold, &amount(on, figure.median));
    let line = line.add(Ink::Plain, &format!(" ({})", range(on, figure.lo, figure.hi, look)));
    let runs = units::counted(values(comparison, 0).len() as u64, "run");
    let line = line.add(Ink::Plain, &format!(": the median of {runs} in "));
    line.glued(Ink::Plain, &units::duration(comparison.took_ns)).wrap(GAP)
}

/// `takes `, `has `, `prints `: before a figure.
fn verb(on: Figure) -> &'static str {
    match on {
        Figure::Memory | Figure::Faults => "has ",
        Figure::Printed => "prints ",
        _ => "takes ",
    }
}

/// What the figure is of A: `A's time`.
fn noun(on: Figure) -> &'static str {
    match on {
        Figure::Wall => "time",
        Figure::User => "user time",
        Figure::Kernel => "kernel time",
        Figure::Cpu => "CPU time",
        Figure::Memory => "memory",
        Figure::Faults => "page faults",
        Figure::Printed => "number",
    }
}

fn sentence(comparison: &Comparison, change: &CommandChange, look: Look) -> Vec<Line> {
    let (a, b) = (letters(change.a as usize), letters(change.b as usize));
    let settings = &comparison.settings;
    let line = Line::new(look).add(Ink::Plain, &format!("{b} "));
    if !change.no_verdict.is_empty() {
        let line = line.add(Ink::Warn, "has no verdict: ");
        return line.add(Ink::Plain, &change.no_verdict.join("; ")).wrap(GAP);
    }
    let line = match change.verdict {
        Change::Less | Change::More => headline(line, settings.on, change, &a),
        Change::Same => {
            let margin = units::share_of_one(settings.margin);
            let line = line.add(Ink::Plain, "is the ").add(ink(Change::Same), "same");
            line.add(Ink::Plain, &format!(" as {a} within {margin}"))
        }
        Change::Undecided => {
            line.add(Ink::Plain, "is ").add(Ink::Warn, "undecided").add(Ink::Plain, &format!(" against {a}"))
        }
    };
    let line = match change.ratio {
        Some(found) => figures(line, comparison, change, found, &a, look),
        None => line,
    };
    let pairs = units::counted(change.pairs.len() as u64, "pair");
    let line = line.add(Ink::Plain, &format!(", by {pairs} in "));
    let line = line.glued(Ink::Plain, &units::duration(comparison.took_ns));
    needs(line, change).wrap(GAP)
}

/// `is faster, 1.31 times as fast as A`.
fn headline(line: Line, on: Figure, change: &CommandChange, a: &str) -> Line {
    let words = if on.is_time() { WORDS } else { WORDS_OF_AMOUNTS };
    let word = words.of(change.verdict);
    match (on, change.verdict, change.ratio) {
        (Figure::Memory | Figure::Faults, ..) => line
            .add(Ink::Plain, "has ")
            .add(ink(change.verdict), word)
            .add(Ink::Plain, &format!(" {}", noun(on))),
        (Figure::Printed, ..) => line.add(Ink::Plain, "prints ").add(ink(change.verdict), word),
        (_, Change::Less, Some(found)) if found.estimate > 0.0 => {
            let line = line.add(Ink::Plain, "is ").add(Ink::Bold, word);
            line.add(Ink::Plain, &format!(", {} times as fast as {a}", times(1.0 / found.estimate)))
        }
        _ => {
            line.add(Ink::Plain, "is ").add(ink(change.verdict), word).add(Ink::Plain, &format!(" than {a}"))
        }
    }
}

/// `: it takes 0.763 (0.752–0.775) of A's time, 42.1 ms less (39.8–44.0 ms)`.
fn figures(
    line: Line,
    comparison: &Comparison,
    change: &CommandChange,
    found: EstimateInterval,
    a: &str,
    look: Look,
) -> Line {
    let on = comparison.settings.on;
    let line = line.add(Ink::Plain, &format!(": it {}", verb(on)));
    let line = line.glued(Ink::Bold, &ratio_interval(found, look));
    let of = if found.estimate > 1.0 && change.verdict == Change::More { "times" } else { "of" };
    let line = line.add(Ink::Plain, &format!(" {of} {a}'s {}", noun(on)));
    match change.difference {
        Some(by) => line.add(Ink::Plain, ", ").glued(Ink::Plain, &difference(on, by, look)),
        None => line,
    }
}

/// What an undecided comparison lacks.
fn needs(line: Line, change: &CommandChange) -> Line {
    match change.needs {
        Some(needed) => {
            let time = units::duration(needed.time_ns);
            let pairs = units::counted(u64::from(needed.pairs), "pair");
            line.add(Ink::Plain, &format!("; with this spread it would take about {pairs}, "))
                .glued(Ink::Plain, &time)
        }
        None if change.verdict == Change::Undecided && change.ratio.is_none() => {
            line.add(Ink::Plain, ": too few for an interval")
        }
        None => line,
    }
}
