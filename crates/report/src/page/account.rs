//! The account as one bar of the page's width, and its legend.

use super::{apportion, words};
use crate::Look;
use crate::clean::width;
use crate::paint::{Ink, Line, mark};
use crate::table::{Table, figure, text};
use crate::units::{duration, share, share_range};
use model::account::{AccountPart, Basis};
use model::{Run, State};

pub(super) fn lines(run: &Run, order: &[State], look: Look) -> Vec<Line> {
    let parts: Vec<&AccountPart> =
        order.iter().filter_map(|state| run.account.iter().find(|part| part.state == *state)).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![bar(&parts, run, look)];
    lines.extend(legend(&parts, run, look, LEAST).wrap(0));
    lines
}

/// The same with fewer of the small parts named.
pub(super) fn short(run: &Run, order: &[State], look: Look) -> Vec<Line> {
    let parts: Vec<&AccountPart> =
        order.iter().filter_map(|state| run.account.iter().find(|part| part.state == *state)).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![bar(&parts, run, look)];
    // The first that fits has the most figures; none is cut.
    let legends = SHORT_LEAST.map(|least| legend(&parts, run, look, least).wrap(0));
    let fits = legends.iter().position(|lines| lines.len() <= 2).unwrap_or(legends.len() - 1);
    lines.extend(legends[fits].iter().cloned());
    lines
}

/// Parts of the whole (1 in N) below which the legend has no figures.
const LEAST: u128 = 200;
const SHORT_LEAST: [u128; 3] = [50, 20, 10];

/// Each state as wide as its share, with its name and share inside where they fit.
fn bar(parts: &[&AccountPart], run: &Run, look: Look) -> Line {
    let weights: Vec<_> = parts.iter().map(|part| part.ns).collect();
    let mut line = Line::new(look);
    for (part, cells) in parts.iter().zip(apportion(&weights, look.columns())) {
        let label = format!(" {} {} ", words::state(part.state), share(part.ns, run.whole_ns()));
        let label = if width(&label) <= cells { label } else { String::new() };
        // Coloured blanks would be lost where lines are trimmed.
        let (on, fill) = match (look.colour, look.unicode) {
            (true, true) => (Ink::Of(part.state), "█"),
            _ => (Ink::On(part.state), mark(part.state).1),
        };
        let filled = cells - width(&label);
        let before = filled.min(if on == Ink::Of(part.state) { 0 } else { 2 });
        line = line.add(on, &fill.repeat(before)).add(Ink::On(part.state), &label);
        line = line.add(on, &fill.repeat(filled - before));
    }
    line
}

/// The parts as a table, longest first.
pub(super) fn table(run: &Run, order: &[State], look: Look) -> Vec<Line> {
    let columns =
        vec![text("", 8, 0), figure("share", 0), figure("time", 0), text(look.head("interval"), 8, 0)];
    let mut table = Table::new(look, "state", columns);
    for part in order.iter().filter_map(|state| run.account.iter().find(|part| part.state == *state)) {
        let interval = share_range(part.lo_ns, part.hi_ns, run.whole_ns(), look.dash());
        let known = match part.basis {
            Basis::Sampled => format!("{interval}, sampled"),
            Basis::Measured => "measured".to_owned(),
            Basis::Derived => "derived".to_owned(),
        };
        table.row(vec![
            (Ink::Of(part.state), words::state(part.state).to_owned()),
            (Ink::Plain, share(part.ns, run.whole_ns())),
            (Ink::Plain, duration(part.ns)),
            (Ink::Dim, known),
        ]);
    }
    table.lines()
}

/// `K kernel 1.61 s 69 %`; sampled figures have their interval. Parts below 0.5 % are only named.
fn legend(parts: &[&AccountPart], run: &Run, look: Look, least: u128) -> Line {
    let small = |part: &AccountPart| {
        u128::from(part.ns) * least < u128::from(run.whole_ns()) && part.state != State::Unexplained
    };
    let folded: Vec<&&AccountPart> = parts.iter().filter(|part| small(part)).collect();
    let fold = folded.len() > 1;
    let mut line = Line::new(look);
    for part in parts.iter().filter(|part| !fold || !small(part)) {
        line = separate(line);
        let ink = Ink::Of(part.state);
        line = match (look.colour, look.unicode) {
            (true, true) => line.glued(ink, "■ "),
            _ => line.glued(ink, mark(part.state).1).glued(ink, " "),
        };
        let figures = format!(" {} {}", duration(part.ns), share(part.ns, run.whole_ns()));
        line = line.glued(Ink::Plain, words::state(part.state)).glued(Ink::Plain, &figures);
        let interval = share_range(part.lo_ns, part.hi_ns, run.whole_ns(), look.dash());
        if part.basis == Basis::Sampled && interval != share(part.ns, run.whole_ns()) {
            line = line.glued(Ink::Dim, &format!(" ({interval})"));
        }
    }
    if fold {
        line = separate(line);
        let names: Vec<_> = folded.iter().map(|part| words::state(part.state)).collect();
        let below = format!(" <{} %", 100_u128.div_ceil(least));
        line = line.add(Ink::Dim, &names.join(", ")).glued(Ink::Dim, &below);
        line = line.add(Ink::Dim, if names.len() > 1 { " each" } else { "" });
    }
    line
}

fn separate(line: Line) -> Line {
    if line.is_empty() { line } else { line.add(Ink::Plain, "   ") }
}
