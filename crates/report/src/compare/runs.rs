//! Two runs beside each other, as a page.

use super::parts::{differences, origin, signed};
use super::why;
use crate::Look;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::units::{count, duration, duration_range};
use model::compare::runs::{QuantileChange, RunComparison, RunOrigin};

/// The page, with a newline after each line.
pub fn terminal(diff: &RunComparison, look: Look) -> String {
    joined(&parts(diff, look))
}

/// The parts of the page.
pub(crate) fn parts(diff: &RunComparison, look: Look) -> Vec<Vec<Line>> {
    let mut top = side("A", &diff.a, look);
    top.extend(side("B", &diff.b, look));
    let mut parts = vec![top, differences(&diff.differences, look)];
    parts.push(requests(diff, look));
    parts.extend(why::parts(&diff.why, look));
    let verdict = "No verdict: one run of each cannot tell a difference from chance. dwell compare measures \
                   in alternation and can";
    parts.push(paragraphs(Line::new(look), verdict, GAP));
    parts
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
