//! The flame graph: callers above, boxes as wide as their time, running and waiting. The script
//! searches it, zooms, and draws it anew for a stretch of time.

use super::blocks;
use super::escape::markup;
use crate::Look;
use crate::page::words;
use crate::paint::{Grid, Ink};
use crate::profile::boxes::{Boxes, FlameBox, Kind, boxes};
use crate::units::{count, counted, duration, share};
use model::{Ns, Profile, Run};
use std::fmt::Write;

/// Pixels of a row.
const ROW: usize = 19;
/// Rows of the table: those with most time.
const ROWS: usize = 100;

/// The section; a sentence where there are no stacks.
pub(super) fn section(run: &Run, profile: Option<&Profile>, number: usize) -> String {
    let boxes = profile.map(|profile| boxes(profile, run.wall_ns)).unwrap_or_default();
    let mut html = "<section class=\"flame\">\n<h2>Running and waiting code</h2>\n".to_owned();
    if boxes.boxes.is_empty() {
        let why = match profile {
            Some(_) => "no stacks were taken: there is no flame graph",
            None => "a result of --json has no stacks: there is no flame graph; a recording (--keep) has one",
        };
        html.push_str(&blocks::paragraph("dim", why));
        html.push_str("</section>\n");
        return html;
    }
    let rows = boxes.boxes.iter().map(|one| one.depth + 1).max().unwrap_or(1);
    let idle = match boxes.idle {
        0 => String::new(),
        idle => format!("; {} left out", counted(idle as u64, "idle thread")),
    };
    let _ = write!(
        html,
        "<p>{} of all threads with stacks, callers above{idle}. \
         <span class=\"key own\">the program\u{2019}s own code</span> <span class=\"key other\">other code</span> \
         <span class=\"key kernel\">kernel</span> <span class=\"key wait\">waiting, in the colour of its state</span></p>\n\
         <div class=\"tools\" hidden></div>\n<div class=\"flames\" role=\"group\" aria-label=\"flame graph\" \
         tabindex=\"0\">\
         <svg role=\"img\" aria-label=\"flame graph; the table below has its boxes\" width=\"100%\" height=\"{}\">\n",
        duration(boxes.total),
        rows * ROW
    );
    for one in &boxes.boxes {
        draw(&mut html, one, boxes.total);
    }
    html.push_str("</svg></div>\n");
    let _ = write!(
        html,
        "<details><summary>The flame graph as a table</summary>\n{}</details>\n",
        blocks::table(&table(&boxes))
    );
    html.push_str(&data(&boxes, number));
    html.push_str("</section>\n");
    html
}

fn draw(html: &mut String, one: &FlameBox, total: Ns) {
    let percent = |ns: Ns| ns as f64 / total.max(1) as f64 * 100.0;
    let class = match one.kind {
        Kind::Waiting(state) => format!("s-{} wait", state.name()),
        Kind::Function { kernel: true, .. } => "kernel".to_owned(),
        Kind::Function { own: true, .. } => "own".to_owned(),
        Kind::Function { own: false, .. } => "other".to_owned(),
    };
    let name = markup(&one.name);
    let _ = writeln!(
        html,
        "<svg x=\"{:.3}%\" y=\"{}\" width=\"{:.3}%\" height=\"{}\"><title>{name}: {}, {}</title>\
         <rect class=\"{class}\" width=\"100%\" height=\"{}\"/><text x=\"4\" y=\"13\">{name}</text></svg>",
        percent(one.start),
        one.depth * ROW,
        percent(one.total),
        ROW,
        duration(one.total),
        markup(&share(one.total, total)),
        ROW - 1,
    );
}

/// The boxes with most time; what each has below it is in it.
fn table(boxes: &Boxes) -> Grid {
    let mut own: Vec<Ns> = boxes.boxes.iter().map(|one| one.total).collect();
    for one in &boxes.boxes {
        if let Some(parent) = one.parent {
            own[parent] = own[parent].saturating_sub(one.total);
        }
    }
    let caller = |one: &FlameBox| one.parent.map(|at| boxes.boxes[at].name.clone()).unwrap_or_default();
    let row = |at: usize| {
        let one = &boxes.boxes[at];
        let ink = match one.kind {
            Kind::Waiting(state) => Ink::Of(state),
            Kind::Function { own: true, .. } => Ink::Bold,
            Kind::Function { .. } => Ink::Plain,
        };
        let name = match one.kind {
            Kind::Waiting(state) => format!("waiting: {}", words::state(state)),
            Kind::Function { .. } => one.name.clone(),
        };
        let cells = vec![
            (ink, name),
            (Ink::Dim, caller(one)),
            (Ink::Plain, share(one.total, boxes.total)),
            (Ink::Plain, duration(one.total)),
            (Ink::Plain, duration(own[at])),
        ];
        (cells, false)
    };
    let order = order(boxes);
    let rest = order.len().saturating_sub(ROWS);
    let mut rows: Vec<(Vec<(Ink, String)>, bool)> = order.into_iter().take(ROWS).map(row).collect();
    if rest > 0 {
        let mut cells = vec![(Ink::Dim, format!("{} {} more", Look::DOCUMENT.rest(), count(rest as u64)))];
        cells.resize(5, (Ink::Dim, String::new()));
        rows.push((cells, true));
    }
    let heads = [("", false), ("called by", false), ("share", true), ("total", true), ("self", true)];
    let heads = heads.map(|(head, figures)| (head.to_owned(), figures)).to_vec();
    Grid { title: "function".to_owned(), heads, rows }
}

/// The boxes as the table has them.
fn order(boxes: &Boxes) -> Vec<usize> {
    let mut order: Vec<usize> = (0..boxes.boxes.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(boxes.boxes[*at].total), *at));
    order
}

/// For the script: the caller of each box, what of its own time was when, and the box of each row
/// of the table.
fn data(boxes: &Boxes, number: usize) -> String {
    let parents: Vec<i64> = boxes.boxes.iter().map(|one| one.parent.map_or(-1, |at| at as i64)).collect();
    let bins: Vec<Vec<u64>> =
        boxes.bins.iter().map(|bin| bin.iter().flat_map(|(at, ns)| [*at as u64, *ns]).collect()).collect();
    let json =
        super::document::embedded(&(parents, bins, order(boxes).into_iter().take(ROWS).collect::<Vec<_>>()));
    format!("<script type=\"application/json\" class=\"boxes\" data-of=\"{number}\">{json}</script>\n")
}
