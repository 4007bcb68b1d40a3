//! Two runs beside each other, as a page.

use super::parts::{differences, origin};
use super::why;
use crate::Look;
use crate::paint::{GAP, Line, joined, paragraphs};
use model::compare::runs::{RunComparison, RunOrigin};

/// The page, with a newline after each line.
pub fn terminal(diff: &RunComparison, look: Look) -> String {
    joined(&parts(diff, look))
}

/// The parts of the page.
pub(crate) fn parts(diff: &RunComparison, look: Look) -> Vec<Vec<Line>> {
    let mut top = side("A", &diff.a, look);
    top.extend(side("B", &diff.b, look));
    let mut parts = vec![top, differences(&diff.differences, look)];
    parts.extend(why::parts(&diff.why, look));
    let verdict = "No verdict: one run of each cannot tell a difference from chance. dwell compare measures \
                   in alternation and can";
    parts.push(paragraphs(Line::new(look), verdict, GAP));
    parts
}

fn side(name: &str, of: &RunOrigin, look: Look) -> Vec<Line> {
    origin(
        name,
        &format!("{}, {}, ", of.command.join(" "), of.host),
        &crate::units::to_second(&of.started_at),
        look,
    )
}
