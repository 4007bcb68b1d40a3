//! What each kernel's verifier made of each program, and what was kept of it: ceilings of the
//! instructions that it goes through, and refusals that are known, with their reasons.
//!
//! Kept in `verified.txt` beside this file: a table of programs by kernels, then a line for each
//! known refusal. `--bless` writes it anew for the kernels that were booted.

use super::qemu::Said;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A ceiling is this much above what was measured, in percent: so that small changes pass.
const ABOVE_PERCENT: u64 = 15;
/// And one that is this much above what is measured now is made anew by `--bless`.
const LOOSE_PERCENT: u64 = 30;

const LOADS: &str = "loads";
const REFUSED: &str = "refused";
const UNKNOWN: &str = ".";

const HEAD: &str = "\
# The instructions that each kernel's verifier may go through, by program: 15 % above what it did.
# `loads`: that kernel does not count. `refused`: a line below says why. `.`: not there, not tried.
# Made by `cargo xtask kernels --verify --bless`; reasons of refusals are written by hand.
";

/// What became of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Loaded(Option<u64>),
    Refused(String),
}

/// By `object/program`.
pub(crate) type Outcomes = BTreeMap<String, Outcome>;

/// What process 1 said of the programs.
pub(crate) fn outcomes(said: &Said) -> Outcomes {
    let one = |line: &serde_json::Value| {
        let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let outcome = match line["loaded"].as_bool() {
            Some(true) => Outcome::Loaded(line["instructions"].as_u64()),
            _ => Outcome::Refused(word("why")),
        };
        (format!("{}/{}", word("object"), word("program")), outcome)
    };
    said.of("verify").map(one).collect()
}

/// What is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cell {
    Ceiling(u64),
    Loads,
    Refused,
}

/// The kept table.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// In the order of the columns.
    kernels: Vec<String>,
    cells: BTreeMap<String, BTreeMap<String, Cell>>,
    /// Reasons of refusals, with their kernels, by program.
    reasons: BTreeMap<String, Vec<(String, BTreeSet<String>)>>,
}

impl Kept {
    /// Reads the text.
    ///
    /// # Errors
    /// For a line that is not understood.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let mut kept = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            kept.line(line).with_context(|| format!("verified.txt: {line}"))?;
        }
        Ok(kept)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        if let Some(rest) = line.strip_prefix("refused ") {
            let (program, rest) = rest.split_once(": ").context("no program")?;
            let (kernels, why) = rest.split_once(": ").context("no reason")?;
            let kernels = kernels.split(' ').map(str::to_owned).collect();
            self.reasons.entry(program.to_owned()).or_default().push((why.to_owned(), kernels));
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first == "program" {
            self.kernels = words.map(str::to_owned).collect();
            return Ok(());
        }
        for (kernel, word) in self.kernels.iter().zip(words) {
            let cell = match word {
                UNKNOWN => continue,
                LOADS => Cell::Loads,
                REFUSED => Cell::Refused,
                number => Cell::Ceiling(number.parse().context("not a number")?),
            };
            self.cells.entry(first.to_owned()).or_default().insert(kernel.clone(), cell);
        }
        Ok(())
    }

    /// What differs from what is kept, for people.
    pub(crate) fn complaints(&self, kernel: &str, outcomes: &Outcomes) -> Vec<String> {
        let kept = |program: &str| self.cells.get(program).and_then(|row| row.get(kernel));
        let one = |(program, outcome): (&String, &Outcome)| match (outcome, kept(program)) {
            (Outcome::Refused(_), Some(Cell::Refused)) | (Outcome::Loaded(None), Some(Cell::Loads)) => None,
            (Outcome::Refused(why), _) => Some(format!("{program} is refused: {why}")),
            (Outcome::Loaded(_), Some(Cell::Refused)) => {
                Some(format!("{program} loads, and verified.txt says that it is refused"))
            }
            (Outcome::Loaded(Some(count)), Some(Cell::Ceiling(ceiling))) => (count > ceiling)
                .then(|| format!("{program} has {count} instructions to verify, above {ceiling}")),
            (Outcome::Loaded(_), _) => Some(format!("{program} is not in verified.txt")),
        };
        let mut complaints: Vec<String> = outcomes.iter().filter_map(one).collect();
        let gone = self.cells.iter().filter(|(_, row)| row.contains_key(kernel));
        let gone = gone.filter(|(program, _)| !outcomes.contains_key(*program));
        complaints
            .extend(gone.map(|(program, _)| format!("{program} is in verified.txt, and was not tried")));
        complaints
    }

    /// Takes what was measured in as what is allowed.
    pub(crate) fn bless(&mut self, kernel: &str, outcomes: &Outcomes) {
        if !self.kernels.iter().any(|known| known == kernel) {
            self.kernels.push(kernel.to_owned());
        }
        for row in self.cells.values_mut() {
            row.retain(|of, cell| of != kernel || matches!(cell, Cell::Ceiling(_)));
        }
        for (program, outcome) in outcomes {
            let row = self.cells.entry(program.clone()).or_default();
            let cell = match outcome {
                Outcome::Loaded(None) => Cell::Loads,
                Outcome::Loaded(Some(count)) => Cell::Ceiling(ceiling(*count, row.get(kernel))),
                Outcome::Refused(_) => Cell::Refused,
            };
            row.insert(kernel.to_owned(), cell);
        }
        self.cells.retain(|program, row| {
            if !outcomes.contains_key(program) {
                row.remove(kernel);
            }
            !row.is_empty()
        });
        self.explain(kernel, outcomes);
    }

    /// Each refusal has a reason: the kernel's own words where nobody wrote a better one.
    fn explain(&mut self, kernel: &str, outcomes: &Outcomes) {
        for (program, reasons) in &mut self.reasons {
            if !matches!(outcomes.get(program), Some(Outcome::Refused(_))) {
                reasons.iter_mut().for_each(|(_, kernels)| {
                    kernels.remove(kernel);
                });
            }
            reasons.retain(|(_, kernels)| !kernels.is_empty());
        }
        self.reasons.retain(|_, reasons| !reasons.is_empty());
        for (program, outcome) in outcomes {
            let Outcome::Refused(why) = outcome else { continue };
            let reasons = self.reasons.entry(program.clone()).or_default();
            if reasons.iter().any(|(_, kernels)| kernels.contains(kernel)) {
                continue;
            }
            let why = why.lines().next().unwrap_or_default();
            match reasons.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, kernels)) => drop(kernels.insert(kernel.to_owned())),
                None => reasons.push((why.to_owned(), BTreeSet::from([kernel.to_owned()]))),
            }
        }
    }

    /// The text, with the kernels in this order.
    pub(crate) fn text(&self, order: &[&str]) -> String {
        let kernels: Vec<&str> =
            order.iter().copied().filter(|name| self.kernels.iter().any(|k| k == name)).collect();
        let mut rows =
            vec![["program"].into_iter().chain(kernels.iter().copied()).map(str::to_owned).collect()];
        for (program, row) in &self.cells {
            let cell = |kernel: &&str| match row.get(*kernel) {
                None => UNKNOWN.to_owned(),
                Some(Cell::Loads) => LOADS.to_owned(),
                Some(Cell::Refused) => REFUSED.to_owned(),
                Some(Cell::Ceiling(ceiling)) => ceiling.to_string(),
            };
            rows.push(std::iter::once(program.clone()).chain(kernels.iter().map(cell)).collect::<Vec<_>>());
        }
        let mut text = format!("{HEAD}\n");
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..=kernels.len()).map(width).collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
                if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        text.push('\n');
        for (program, reasons) in &self.reasons {
            for (why, of) in reasons {
                let of: Vec<&str> = order.iter().copied().filter(|name| of.contains(*name)).collect();
                let _ = writeln!(text, "refused {program}: {}: {why}", of.join(" "));
            }
        }
        text
    }
}

/// The old ceiling where that is neither too low nor loose.
fn ceiling(count: u64, old: Option<&Cell>) -> u64 {
    match old {
        Some(Cell::Ceiling(old)) if count <= *old && *old <= count + count * LOOSE_PERCENT / 100 + 1 => *old,
        _ => count + (count * ABOVE_PERCENT).div_ceil(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(count: u64) -> Outcome {
        Outcome::Loaded(Some(count))
    }

    fn outcomes(of: &[(&str, Outcome)]) -> Outcomes {
        of.iter().map(|(program, outcome)| ((*program).to_owned(), outcome.clone())).collect()
    }

    #[test]
    fn what_is_kept_is_allowed_and_nothing_else() {
        let mut kept = Kept::default();
        let refused = Outcome::Refused("not found\nmore".to_owned());
        let first = outcomes(&[("dwell/a", loaded(100)), ("dwell/b", refused.clone())]);
        assert_eq!(kept.complaints("6.1", &first).len(), 2);
        kept.bless("6.1", &first);
        let text = kept.text(&["6.1", "7.2"]);
        assert!(text.contains("dwell/a      115\n"), "{text}");
        assert!(text.ends_with("\nrefused dwell/b: 6.1: not found\n"), "{text}");
        let mut kept = Kept::read(&text).unwrap();
        assert_eq!(kept.complaints("6.1", &first), Vec::<String>::new());
        let worse = outcomes(&[("dwell/a", loaded(116)), ("dwell/b", loaded(1)), ("dwell/c", refused)]);
        assert_eq!(
            kept.complaints("6.1", &worse),
            [
                "dwell/a has 116 instructions to verify, above 115",
                "dwell/b loads, and verified.txt says that it is refused",
                "dwell/c is refused: not found\nmore",
            ]
        );
        assert_eq!(kept.complaints("6.1", &outcomes(&[("dwell/a", loaded(1))])).len(), 1);
        kept.bless("6.1", &worse);
        assert_eq!(kept.complaints("6.1", &worse), Vec::<String>::new());
        assert!(!kept.text(&["6.1"]).contains("refused dwell/b"));
    }

    #[test]
    fn a_ceiling_stays_while_it_is_neither_low_nor_loose() {
        assert_eq!(ceiling(100, None), 115);
        assert_eq!(ceiling(110, Some(&Cell::Ceiling(115))), 115);
        assert_eq!(ceiling(80, Some(&Cell::Ceiling(115))), 92);
        assert_eq!(ceiling(120, Some(&Cell::Ceiling(115))), 138);
    }

    #[test]
    fn reasons_written_by_hand_stay() {
        let text = "program 5.10 6.1\na/b refused refused\n\nrefused a/b: 5.10 6.1: younger\n";
        let mut kept = Kept::read(text).unwrap();
        kept.bless("6.1", &outcomes(&[("a/b", Outcome::Refused("os error 22".to_owned()))]));
        assert!(kept.text(&["5.10", "6.1"]).contains("refused a/b: 5.10 6.1: younger"));
    }
}
