//! Two results beside each other: what the pages of all comparisons share.

mod ladder;
mod wake;

pub use ladder::terminal as ladders;
pub use wake::{png as wakes_png, svg as wakes_svg, terminal as wakes};

use crate::Look;
use crate::paint::{Ink, Line, paragraphs};
use model::compare::{Change, Difference, Side, Words};

/// Blanks between columns, and before lines that go on.
const GAP: usize = 2;

/// `A  host, kernel`: one of the two, with what is known of it.
fn origin(side: &str, known: &str, when: &str, look: Look) -> Vec<Line> {
    let line = Line::new(look).add(Ink::Bold, side).add(Ink::Plain, &format!("  {known}"));
    line.add(Ink::Dim, when).wrap(GAP + 1)
}

/// What else is not the same in both.
fn differences(differences: &[Difference], look: Look) -> Vec<Line> {
    let line = |one: &Difference| {
        let lead =
            Line::new(look).add(Ink::Warn, "not the same ").add(Ink::Plain, &format!("{}: ", one.what));
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

/// What the words mean, and what the intervals do not cover.
fn caveat(words: Words, margin: &str, others: &str, look: Look) -> Vec<Line> {
    let Words { less, more } = words;
    let text = format!(
        "same: within {margin}, intervals included; {less}, {more}: intervals do not overlap, and the difference \
         is larger than that. Each side is one measurement: {others} may change a figure from run to run"
    );
    paragraphs(Line::new(look), &text, GAP)
}
