//! The time of the whole job, extrapolated from this run's part of it.

use super::words;
use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{count, duration, share};
use model::{Run, Seen};
use std::cmp::Reverse;

/// States that are named.
const STATES: usize = 4;

pub(super) fn lines(run: &Run, look: Look) -> Vec<Line> {
    let Some(whole) = &run.extrapolation else { return Vec::new() };
    let unit =
        if whole.unit.is_empty() { String::new() } else { format!(" {}", clean(&whole.unit, look.unicode)) };
    let head = format!("  {}", duration(whole.wall_ns));
    let of = format!("  for {}{unit} (this run: {}):", count(whole.of), count(whole.done));
    let mut line = Line::new(look).add(Ink::Bold, "whole job").add(Ink::Bold, &head).add(Ink::Plain, &of);
    let mut states = whole.states.clone();
    states.sort_by_key(|(_, ns)| Reverse(*ns));
    for (at, (state, ns)) in states.iter().take(STATES).filter(|(_, ns)| *ns > 0).enumerate() {
        line =
            line.add(Ink::Plain, if at == 0 { " " } else { ", " }).add(Ink::Of(*state), words::state(*state));
        line = line.add(Ink::Plain, &format!(" {} ({})", duration(*ns), share(*ns, whole.wall_ns)));
    }
    let mut lines = line.wrap(2);
    let mut taken = whole.assumptions.join("; ");
    if let Seen::Unseen(why) = &whole.spread {
        taken = format!("{taken}; {why}");
    }
    lines.extend(Line::new(look).add(Ink::Dim, &format!("  {}", clean(&taken, look.unicode))).wrap(4));
    lines
}
