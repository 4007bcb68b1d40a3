//! Pages of results whose parts are lines and tables: a load, a sheet of wake-ups, a pair of the
//! lab, what a host allows, two results beside each other.

use super::{blocks, escape, svg};
use crate::Look;
use crate::clean::clean;
use crate::compare::{lab, ladder, runs, sittings, timings, wake};
use crate::lab::{Lesson, pair_parts};
use crate::paint::{Ink, Line};
use crate::wake::{sheet_parts, sheet_plots};
use crate::{doctor, load};
use model::compare::lab::LabComparison;
use model::compare::ladder::LadderComparison;
use model::compare::runs::RunComparison;
use model::compare::sittings::Sittings;
use model::compare::timings::TimingsDiff;
use model::compare::wake::WakeComparison;
use model::doctor::Doctor;
use model::lab::LabRun;
use model::wake::load::LoadRun;
use model::wake::sheet::Sheet;

/// The look of all of them.
const LOOK: Look = Look::DOCUMENT;

/// A load.
pub(super) fn of_load(run: &LoadRun, number: usize) -> String {
    let host = &run.host;
    let place = format!("{} on {}: Linux {} {}", run.started_at, host.name, host.kernel, host.arch);
    let place = Line::new(LOOK).add(Ink::Dim, &place);
    article(None, &[load::lines(run, LOOK), vec![place]], "", number)
}

/// What works on a host.
pub(super) fn of_doctor(found: &Doctor, number: usize) -> String {
    article(None, &doctor::parts(found, LOOK, true), "", number)
}

/// A pair of the lab.
pub(super) fn of_pair(run: &LabRun, lesson: &Lesson, number: usize) -> String {
    let shown = !run.change.is_empty() && run.pair.cause.is_some();
    let lines: Vec<String> = run.change.iter().map(|line| escape::markup(&clean(line, true))).collect();
    let change = match shown {
        true => format!("<section>\n<h2>change</h2>\n<pre>{}</pre>\n</section>\n", lines.join("\n")),
        false => String::new(),
    };
    article(None, &pair_parts(run, lesson, LOOK), &change, number)
}

/// Cases of wake-up latency, measured one after another.
pub(super) fn of_sheet(sheet: &Sheet, number: usize) -> String {
    let drawn = match sheet.results.iter().all(|wakeups| wakeups.all.cycles == 0) {
        true => String::new(),
        false => {
            let label = "histograms of latency, latency by percentile, and the maximum over time, one line for each \
                         case; their figures are in the table";
            format!("<section>\n{}</section>\n", svg::picture(&sheet_plots(sheet), label))
        }
    };
    article(None, &sheet_parts(sheet), &drawn, number)
}

/// Two runs.
pub(super) fn of_runs(diff: &RunComparison, number: usize) -> String {
    article(Some("Two runs"), &runs::parts(diff, LOOK), "", number)
}

/// Several comparisons of the same commands.
pub(super) fn of_sittings(found: &Sittings, number: usize) -> String {
    article(Some("Comparisons of the same commands"), &sittings::parts(found, LOOK), "", number)
}

/// Two ladders.
pub(super) fn of_ladders(diff: &LadderComparison, number: usize) -> String {
    article(Some("Two ladders"), &ladder::parts(diff, LOOK), "", number)
}

/// Two measurements of latency.
pub(super) fn of_wakes(diff: &WakeComparison, number: usize) -> String {
    let drawn = match diff.cases.is_empty() {
        true => String::new(),
        false => {
            let label = "latencies of both, case by case; their figures are in the tables";
            format!("<section>\n{}</section>\n", svg::picture(&wake::picture(diff), label))
        }
    };
    article(Some("Two measurements of wake-up latency"), &wake::parts(diff, LOOK), &drawn, number)
}

/// Two scores of the lab, or a pair that was held twice.
pub(super) fn of_labs(diff: &LabComparison, number: usize) -> String {
    article(Some("Two results of the lab"), &lab::parts(diff, LOOK), "", number)
}

/// Commands that another tool timed.
pub(super) fn of_timings(diff: &TimingsDiff, number: usize) -> String {
    article(Some("Two files of timings"), &timings::two_parts(diff, LOOK), "", number)
}

/// A page: the first part is its head, whose first line is the title where there is no other one;
/// each further part is a section, and `second` stands behind the first of them.
fn article(title: Option<&str>, parts: &[Vec<Line>], second: &str, number: usize) -> String {
    let mut parts = parts.iter().filter(|part| !part.is_empty());
    let head = parts.next().map_or(&[][..], |head| head);
    let mut sections: Vec<String> = parts.map(|part| section(part)).collect();
    sections.insert(sections.len().min(1), second.to_owned());
    match title {
        Some(title) => blocks::article(number, title, head, &sections.concat()),
        None => blocks::titled(number, head, &sections.concat()),
    }
}

/// A part; a bold line at its beginning is its heading.
fn section(part: &[Line]) -> String {
    let is_bold = |line: &Line| line.spans().next().is_some_and(|(ink, _)| ink == Ink::Bold);
    let (heading, lines) = match part {
        [first, rest @ ..] if !rest.is_empty() && is_bold(first) => {
            (format!("<h2>{}</h2>\n", blocks::line(first)), rest)
        }
        all => (String::new(), all),
    };
    format!("<section>\n{heading}{}</section>\n", blocks::lines(lines))
}
