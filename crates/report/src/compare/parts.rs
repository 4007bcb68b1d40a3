//! What the pages of all comparisons share: where the two results are from, what else differs, and
//! the meaning of the words.

use crate::Look;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::units::{duration, three_digits};
use model::compare::{Change, ChangeWords, Difference, Side};

/// `A  host, kernel`: one of the two results and where it is from.
pub(super) fn origin(side: &str, known: &str, when: &str, look: Look) -> Vec<Line> {
    let line = Line::new(look).add(Ink::Bold, side).add(Ink::Plain, &format!("  {known}"));
    line.add(Ink::Dim, when).wrap(GAP + 1)
}

/// The other differences.
pub(super) fn differences(differences: &[Difference], look: Look) -> Vec<Line> {
    let line = |one: &Difference| {
        let lead = Line::new(look).add(Ink::Warn, "differs: ").add(Ink::Plain, &format!("{} ", one.what));
        lead.add(Ink::Plain, &one.a).add(Ink::Dim, " and ").add(Ink::Plain, &one.b).wrap(GAP)
    };
    differences.iter().flat_map(line).collect()
}

/// A difference: `+12.3 us`, `-400 ns`.
pub(super) fn signed(ns: i64) -> String {
    let sign = match ns {
        0 => "",
        ..0 => "-",
        _ => "+",
    };
    format!("{sign}{}", duration(ns.unsigned_abs()))
}

/// A ratio with as many digits as say something.
pub(super) fn figure(ratio: f64) -> String {
    match ratio {
        0.1..10.0 => format!("{ratio:.2}"),
        ..0.1 => format!("{ratio:.4}"),
        _ => three_digits(ratio),
    }
}

pub(super) fn ink(change: Change) -> Ink {
    match change {
        Change::Less => Ink::Bold,
        Change::More => Ink::Warn,
        Change::Same => Ink::Plain,
        Change::Undecided => Ink::Dim,
    }
}

/// Which side has it.
pub(super) fn only(side: Option<Side>) -> &'static str {
    match side {
        Some(Side::A) => "only in A: ",
        Some(Side::B) => "only in B: ",
        None => "in neither: ",
    }
}

/// The meaning of the words, and what the intervals do not cover.
pub(super) fn caveat(words: ChangeWords, margin: &str, others: &str, look: Look) -> Vec<Line> {
    let ChangeWords { less, more } = words;
    let text = format!(
        "same: within {margin}, intervals included; {less}, {more}: the intervals do not overlap and \
         the difference is larger. Each side is one measurement: {others} may change a figure from \
         run to run"
    );
    paragraphs(Line::new(look), &text, GAP)
}
