//! Two runs beside each other, as a page.

use super::parts::{differences, origin, signed};
use super::why;
use crate::Look;
use crate::page::requests as page;
use crate::page::words;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration, duration_range};
use model::compare::Difference;
use model::compare::runs::{KindChange, PartChange, QuantileChange, RequestsDiff, RunComparison, RunOrigin};
use model::recording::Ending;
use model::{Ns, Seen};

/// The part of the mean request (1 in N) from which a row is worth its line.
const WORTH: u64 = 100;
/// Kinds of requests on a page.
const KINDS: usize = 8;
/// What a difference is called that is one of what was observed.
const SOURCE: &str = "source ";
/// What a difference of the commands is called.
const COMMAND: &str = "command";

/// The page, with a newline after each line.
pub fn terminal(diff: &RunComparison, look: Look) -> String {
    joined(&parts(diff, look))
}

/// The parts of the page.
pub(crate) fn parts(diff: &RunComparison, look: Look) -> Vec<Vec<Line>> {
    let are_windows = [&diff.a, &diff.b].iter().all(|of| matches!(of.exit, Ending::Window(_)));
    let mut top = side("A", &diff.a, look);
    top.extend(side("B", &diff.b, look));
    // Of requests there is much to say below, and both commands are above.
    let (observed, others): (Vec<_>, Vec<_>) = diff
        .differences
        .iter()
        .filter(|of| diff.requests.value().is_none() || of.what != COMMAND)
        .cloned()
        .partition(|of| of.what.starts_with(SOURCE));
    let mut differ = differences(&others, look);
    differ.extend(observed.iter().flat_map(|of| sources(of, look)));
    let mut parts = vec![top, differ];
    if let Some(of) = diff.requests.value() {
        parts.push(requests(diff, of, look));
        parts.push(request_kinds(of, look));
        parts.push(request_parts(of, look));
    }
    let verdict = match (are_windows, diff.requests.value().is_some()) {
        (false, _) => {
            parts.extend(why::parts(&diff.why, look));
            "No verdict: one run of each cannot tell a difference from chance. dwell compare measures in \
             alternation and can"
        }
        (true, true) => {
            "No verdict: that another load, or another hour, did not make the difference is not known"
        }
        (true, false) => {
            parts.extend(why::parts_of_windows(&diff.why, look));
            "No verdict: windows differ by what the program had to do then"
        }
    };
    parts.push(paragraphs(Line::new(look), verdict, GAP));
    parts
}

/// `differs: the source tasks saw nothing in A and a part in B`.
fn sources(of: &Difference, look: Look) -> Vec<Line> {
    let saw = |extent: &str| match extent {
        "complete" => "all",
        "partial" => "a part",
        _ => "nothing",
    };
    let name = of.what.strip_prefix(SOURCE).unwrap_or(&of.what);
    let text = format!("the source {name} saw {} in A and {} in B", saw(&of.a), saw(&of.b));
    Line::new(look).add(Ink::Warn, "differs: ").add(Ink::Plain, &text).wrap(GAP)
}

/// What the time of a request is spent at in both.
fn request_parts(of: &RequestsDiff, look: Look) -> Vec<Line> {
    let change_ns = |part: &PartChange| part.b_ns as i64 - part.a_ns as i64;
    let worth = |part: &&PartChange| (part.a_ns.max(part.b_ns)).saturating_mul(WORTH) >= of.mean_ns();
    let columns = vec![
        text("", 12, 0),
        text("", 14, 0),
        text("", 10, 1),
        figure("in A", 0),
        figure("in B", 0),
        figure("change", 0),
    ];
    let mut table = Table::new(look, &format!("the mean {}", of.unit.name()), columns);
    for part in of.parts.iter().filter(worth) {
        table.row(vec![
            (Ink::Plain, part.place.value().map(words::located).unwrap_or_default()),
            (page::ink(part.at), page::at(part.at, of.unit).to_owned()),
            (Ink::Plain, page::reason(&part.call, &part.on, part.at, part.place.value().is_some())),
            (Ink::Plain, duration(part.a_ns)),
            (Ink::Plain, duration(part.b_ns)),
            (Ink::Plain, signed(change_ns(part))),
        ]);
    }
    table.lines()
}

/// How long requests of each kind take in both: those that changed most.
fn request_kinds(of: &RequestsDiff, look: Look) -> Vec<Line> {
    if of.kinds.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        text("", 16, 0),
        figure("in A", 2),
        figure("in B", 2),
        figure("p50 in A", 0),
        figure("in B", 0),
        figure("p99 in A", 0),
        figure("in B", 0),
    ];
    let (of_all, by) = page::by(of.unit);
    let mut table = Table::new(look, &format!("{of_all} by {by}"), columns);
    for kind in of.kinds.iter().take(KINDS) {
        let [a, b] = kind.times;
        let time = |times: u64, ns: Ns| if times == 0 { String::new() } else { duration(ns) };
        table.row(vec![
            (Ink::Plain, page::kind_name(&kind.kind)),
            (Ink::Plain, count(a)),
            (Ink::Plain, count(b)),
            (Ink::Plain, time(a, kind.p50.a_ns)),
            (change_ink(&kind.p50), time(b, kind.p50.b_ns)),
            (Ink::Plain, time(a, kind.p99.a_ns)),
            (change_ink(&kind.p99), time(b, kind.p99.b_ns)),
        ]);
    }
    let rest = of.kinds.get(KINDS..).unwrap_or_default();
    if !rest.is_empty() {
        let times = |side: usize| count(rest.iter().map(|kind: &KindChange| kind.times[side]).sum());
        let mut cells = vec![String::new(); 7];
        cells[0] = format!("{} {}", look.rest(), counted(rest.len() as u64, &format!("more {by}")));
        (cells[1], cells[2]) = (times(0), times(1));
        table.rest(cells.into_iter().map(|cell| (Ink::Dim, cell)).collect());
    }
    table.lines()
}

fn change_ink(of: &QuantileChange) -> Ink {
    match of.change_ns {
        Some([_, hi]) if hi < 0 => Ink::Bold,
        Some([lo, _]) if lo > 0 => Ink::Warn,
        _ => Ink::Plain,
    }
}

/// `8,591 requests in A, 8,618 in B`, and how much longer they take in B.
fn requests(diff: &RunComparison, of: &RequestsDiff, look: Look) -> Vec<Line> {
    let [a, b] = of.times;
    let all = [Some(&of.p50), of.p90.value(), Some(&of.p99)];
    let meaning = match all.into_iter().flatten().any(|quantile| quantile.change_ns.is_some()) {
        true => "; with 95 % the change is in the range given",
        false => "",
    };
    let head = Line::new(look)
        .add(Ink::Bold, &counted(a, of.unit.name()))
        .add(Ink::Plain, &format!(" in A, {} in B{meaning}", count(b)));
    let mut lines = head.wrap(GAP);
    for (name, of_run) in [("A", &diff.a), ("B", &diff.b)] {
        if let Seen::Value(lost @ 1..) = of_run.lost_events {
            let text = format!(
                "{name} lost {}: its {}s seem longer, and some may be missing",
                counted(lost, "event"),
                of.unit.name()
            );
            lines.extend(Line::new(look).add(Ink::Warn, "! ").add(Ink::Plain, &text).wrap(GAP));
        }
    }
    let quantile = |name: &str, of: &QuantileChange| {
        let [a, b] = [of.a_ns, of.b_ns].map(duration);
        let line = Line::new(look).add(Ink::Plain, &format!("  {name}  {a} in A, {b} in B: "));
        let Some([lo, hi]) = of.change_ns else {
            return line.add(Ink::Dim, "too few requests to tell the change").wrap(4);
        };
        let range = |lo: i64, hi: i64| duration_range(lo.unsigned_abs(), hi.unsigned_abs(), look.dash());
        let change = match (hi < 0, lo > 0) {
            (true, _) => format!("{} less", range(hi, lo)),
            (_, true) => format!("{} more", range(lo, hi)),
            _ => format!("no difference is seen ({} to {})", signed(lo), signed(hi)),
        };
        let ink = if lo <= 0 && hi >= 0 { Ink::Dim } else { change_ink(of) };
        line.add(ink, &change).wrap(4)
    };
    lines.extend(quantile("p50", &of.p50));
    lines.extend(of.p90.value().map(|p90| quantile("p90", p90)).unwrap_or_default());
    lines.extend(quantile("p99", &of.p99));
    if let Some([a, b]) = of.max_ns.map(|both| both.map(duration)) {
        lines.extend(Line::new(look).add(Ink::Plain, &format!("  max  {a} in A, {b} in B")).wrap(4));
    }
    lines
}

fn side(name: &str, of: &RunOrigin, look: Look) -> Vec<Line> {
    let id = of.id.as_ref().map(|id| format!("{id}  ")).unwrap_or_default();
    origin(
        name,
        &format!("{id}{}, {}, ", of.command.join(" "), of.host),
        &crate::units::to_second(&of.started_at),
        look,
    )
}
