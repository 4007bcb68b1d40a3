//! Hand-overs of a run over time: lines between the rows of the threads, from the one that ended a
//! wait to the one that had waited; and the same as a table.

use super::svg::{WIDE, along};
use crate::clean::clean;
use crate::page::words;
use crate::paint::{Grid, Ink};
use crate::profile::boxes::{HandedOver, Lines, ThreadStrip};
use crate::units::{count, counted, duration, duration_precise};
use model::{Ns, Run};
use std::fmt::Write;

/// Lines at most.
pub(super) const LINES: usize = 300;
/// Height of a thread's row, of any unit: the lines are stretched to the rows.
const ROW: usize = 100;

/// The lines above rows of equal height, one for each strip. A line is where the woken thread goes
/// on, with a dot on its row.
pub(super) fn drawn(lines: &Lines, strips: &[ThreadStrip], wall_ns: Ns) -> String {
    if lines.drawn.is_empty() {
        return String::new();
    }
    let (mut between, mut ends) = (String::new(), String::new());
    for HandedOver { from, to, at_ns, .. } in &lines.drawn {
        let [from, to] = [from, to].map(|row| row * ROW + ROW / 2);
        let x = along(*at_ns, wall_ns);
        // Writing to a string cannot fail.
        let _ = write!(between, "M{x} {from}V{to}");
        let _ = write!(ends, "M{x} {to}h0");
    }
    let label = counted(lines.drawn.len() as u64, "hand-over");
    format!(
        "<svg class=\"links\" role=\"img\" aria-label=\"{label} between threads; a table below has them\" \
         viewBox=\"0 0 {WIDE} {}\" preserveAspectRatio=\"none\"><path d=\"{between}\"/><path class=\"end\" \
         d=\"{ends}\"/></svg>\n",
        strips.len() * ROW
    )
}

/// How many are drawn of how many; nothing of a run without any.
pub(super) fn said(lines: &Lines, run: &Run) -> Option<String> {
    let drawn = lines.drawn.len() as u64;
    // Not each wait has a stack, and moments may be thinned: the run has counted all.
    let counted = run.tables.hand_overs.value().map_or(0, |all| all.times());
    let all = counted.max(lines.all as u64);
    if all == 0 {
        return None;
    }
    let which = match drawn {
        0 => format!("none of {} hand-overs has a line", count(all)),
        _ if drawn < all => format!("{} of {} hand-overs have a line", count(drawn), count(all)),
        1 => "the hand-over has a line".to_owned(),
        _ => format!("all {} hand-overs have a line", count(drawn)),
    };
    let how = match drawn {
        0 => "",
        _ => ", from the thread that ended a wait to the one that goes on (dot)",
    };
    let rule = match drawn < all {
        true => format!(": the {LINES} longest waits with stacks between threads that are drawn"),
        false => String::new(),
    };
    Some(format!("{which}{how}{rule}"))
}

/// What is drawn, in order of time.
pub(super) fn table(lines: &Lines, strips: &[ThreadStrip]) -> Grid {
    let name = |row: usize| {
        let strip = &strips[row];
        clean(&words::thread(&strip.name, strip.tid), true)
    };
    let rows = lines.drawn.iter().map(|one| {
        let cells = vec![
            (Ink::Plain, duration_precise(one.at_ns)),
            (Ink::Plain, name(one.to)),
            (Ink::Of(one.waited_for), words::state(one.waited_for).to_owned()),
            (Ink::Plain, duration(one.ns)),
            (Ink::Plain, name(one.from)),
        ];
        (cells, false)
    });
    let heads =
        [("", true), ("thread", false), ("waited for", false), ("how long", true), ("ended by", false)];
    Grid {
        title: "hand-overs over time".to_owned(),
        heads: heads.map(|(head, figures)| (head.to_owned(), figures)).to_vec(),
        rows: rows.collect(),
    }
}
