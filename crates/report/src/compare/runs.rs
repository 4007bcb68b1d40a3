//! Two runs beside each other, as a page.

use super::parts::{differences, origin, signed};
use super::why;
use crate::Look;
use crate::page::requests as page;
use crate::page::words;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::table::{Table, figure, text};
use crate::units::{count, duration, duration_range};
use model::compare::runs::{PartChange, QuantileChange, RunComparison, RunOrigin};
use model::recording::Ending;

/// The part of the mean request (1 in N) from which a row is worth its line.
const WORTH: u64 = 100;

/// The page, with a newline after each line.
pub fn terminal(diff: &RunComparison, look: Look) -> String {
    joined(&parts(diff, look))
}

/// The parts of the page.
pub(crate) fn parts(diff: &RunComparison, look: Look) -> Vec<Vec<Line>> {
    let are_windows = [&diff.a, &diff.b].iter().all(|of| matches!(of.exit, Ending::Window(_)));
    let mut top = side("A", &diff.a, look);
    top.extend(side("B", &diff.b, look));
    let mut parts = vec![top, differences(&diff.differences, look)];
    parts.push(requests(diff, look));
    parts.push(request_parts(diff, look));
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

/// What the time of a request is spent at in both.
fn request_parts(diff: &RunComparison, look: Look) -> Vec<Line> {
    let Some(of) = diff.requests.value() else { return Vec::new() };
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

/// `requests  p50 413 us → 401 us, 10 to 15 us less`, and p99.
fn requests(diff: &RunComparison, look: Look) -> Vec<Line> {
    let Some(of) = diff.requests.value() else { return Vec::new() };
    let [a, b] = of.times.map(count);
    let head = Line::new(look)
        .add(Ink::Bold, &format!("{}s", of.unit.name()))
        .add(Ink::Plain, &format!("  {a} in A, {b} in B; the change is within its interval with 95 %"));
    let quantile = |name: &str, of: &QuantileChange| {
        let [a, b] = [of.a_ns, of.b_ns].map(duration);
        let line = Line::new(look).add(Ink::Plain, &format!("  {name}  {a} in A, {b} in B: "));
        let Some([lo, hi]) = of.change_ns else {
            return line.add(Ink::Dim, "too few requests to tell the change").wrap(4);
        };
        let range = |lo: i64, hi: i64| duration_range(lo.unsigned_abs(), hi.unsigned_abs(), look.dash());
        let (ink, change) = match (hi < 0, lo > 0) {
            (true, _) => (Ink::Bold, format!("{} less", range(hi, lo))),
            (_, true) => (Ink::Warn, format!("{} more", range(lo, hi))),
            _ => (Ink::Dim, format!("no difference is seen ({} to {})", signed(lo), signed(hi))),
        };
        line.add(ink, &change).wrap(4)
    };
    [head.wrap(2), quantile("p50", &of.p50), quantile("p99", &of.p99)].concat()
}

fn side(name: &str, of: &RunOrigin, look: Look) -> Vec<Line> {
    origin(
        name,
        &format!("{}, {}, ", of.command.join(" "), of.host),
        &crate::units::to_second(&of.started_at),
        look,
    )
}
