//! The comparison of two results: what the pages of all kinds share.

mod ladder;
mod wake;

pub use ladder::terminal as ladders;
pub use wake::{png as wakes_png, svg as wakes_svg, terminal as wakes};

use crate::Look;
use crate::paint::{Ink, Line, paragraphs};
use model::compare::{Change, ChangeWords, Difference, Side};

/// Blanks between columns, and the indent of continued lines.
const GAP: usize = 2;

/// `A  host, kernel`: one of the two results and where it is from.
fn origin(side: &str, known: &str, when: &str, look: Look) -> Vec<Line> {
    let line = Line::new(look).add(Ink::Bold, side).add(Ink::Plain, &format!("  {known}"));
    line.add(Ink::Dim, when).wrap(GAP + 1)
}

/// The other differences.
fn differences(differences: &[Difference], look: Look) -> Vec<Line> {
    let line = |one: &Difference| {
        let lead = Line::new(look).add(Ink::Warn, "differs: ").add(Ink::Plain, &format!("{} ", one.what));
        lead.add(Ink::Plain, &one.a).add(Ink::Dim, " and ").add(Ink::Plain, &one.b).wrap(GAP)
    };
    differences.iter().flat_map(line).collect()
}

fn ink(change: Change) -> Ink {
    match change {
        Change::Less => Ink::Bold,
        Change::More => Ink::Warn,
        Change::Same => Ink::Plain,
        Change::Undecided => Ink::Dim,
    }
}

/// Which side has it.
fn only(side: Option<Side>) -> &'static str {
    match side {
        Some(Side::A) => "only in A: ",
        Some(Side::B) => "only in B: ",
        None => "in neither: ",
    }
}

/// The meaning of the words, and what the intervals do not cover.
fn caveat(words: ChangeWords, margin: &str, others: &str, look: Look) -> Vec<Line> {
    let ChangeWords { less, more } = words;
    let text = format!(
        "same: within {margin}, intervals included; {less}, {more}: the intervals do not overlap and \
         the difference is larger. Each side is one measurement: {others} may change a figure from \
         run to run"
    );
    paragraphs(Line::new(look), &text, GAP)
}
