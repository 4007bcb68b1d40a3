//! A run over time: the path, what threads did, and what the host did, on one axis. The script
//! zooms it and restricts the rest of the page to a stretch.

use super::blocks::{self, swatch};
use super::svg::{WIDE, along};
use super::{escape, hand_overs};
use crate::axis::{round_step, tick_label};
use crate::page::parts::Parts;
use crate::page::surroundings::MetricRow;
use crate::page::words;
use crate::paint::{Grid, Ink};
use crate::profile::boxes::{Lines, ThreadStrip, lines, strips};
use crate::units::{count, counted, duration, share};
use model::{Ns, Profile, Run, State};
use std::fmt::Write;

const HIGH: f64 = 100.0;
/// Parts of the wall clock of a thread's strip, and threads that have one.
pub(super) const STRIP: usize = 400;
pub(super) const THREADS: usize = 24;
/// A device that is never busier than this has no plot.
const SEEN: f64 = 0.005;
/// Rows of the path as a table.
const ROWS: usize = 20;

/// The section; nothing of a run without time.
pub(super) fn section(run: &Run, parts: &Parts, profile: Option<&Profile>) -> String {
    if run.wall_ns == 0 || run.phases.slices.is_empty() {
        return String::new();
    }
    let path = if run.window.is_some() { "threads that are not idle" } else { "critical path" };
    let mut html = format!(
        "<section class=\"timeline\" data-wall=\"{}\">\n<h2>Over time</h2>\n<div class=\"tools\" hidden></div>\n\
         <div class=\"legend\">{}</div>\n<div class=\"tracks\">\n",
        run.wall_ns,
        parts.states.iter().map(|state| legend(*state)).collect::<String>()
    );
    let label = format!("{path} over time by state; the table below has its figures");
    track(&mut html, "tall", path, "", &stacked(run, &parts.states), &label);
    let (strips, threads) =
        profile.map(|profile| strips(profile, run.wall_ns, STRIP, THREADS)).unwrap_or_default();
    let lines = profile.map(|profile| lines(profile, &strips, hand_overs::LINES)).unwrap_or_default();
    html.push_str(if strips.is_empty() { "" } else { "<div class=\"threads\">\n" });
    for strip in &strips {
        let name = words::thread(&strip.name, strip.tid);
        let label = format!("thread {name} over time by state");
        track(&mut html, "thin", &name, "", &runs_of(strip), &label);
    }
    html.push_str(&hand_overs::drawn(&lines, &strips, run.wall_ns));
    html.push_str(if strips.is_empty() { "" } else { "</div>\n" });
    let busy = |metric: &&MetricRow| metric.spark.iter().any(|share| *share >= SEEN);
    for metric in parts.metrics.iter().filter(busy) {
        let label = format!("{} over time: {}", metric.label, metric.said.join(", "));
        let points = format!("<path class=\"metric\" d=\"{}\"/>", area(&metric.spark, run));
        track(&mut html, "", &metric.label, &metric.said.join(", "), &points, &label);
    }
    html.push_str(&axis(run.wall_ns));
    html.push_str("</div>\n<div class=\"stretch\" aria-live=\"polite\" hidden></div>\n");
    html.push_str(&blocks::lines(&parts.metrics_said));
    let quiet = parts.metrics.len() - parts.metrics.iter().filter(busy).count();
    html.push_str(&notes(threads, profile, quiet, hand_overs_said(&lines, run, profile)));
    let _ = write!(
        html,
        "<details><summary>The {path} over time as a table</summary>\n{}</details>\n",
        blocks::table(&table(run, &parts.states))
    );
    if !lines.drawn.is_empty() {
        let _ = write!(
            html,
            "<details><summary>The hand-overs as a table</summary>\n{}</details>\n",
            blocks::table(&hand_overs::table(&lines, &strips))
        );
    }
    html.push_str("</section>\n");
    html
}

fn legend(state: State) -> String {
    format!("<span>{}{}</span> ", swatch(state), words::state(state))
}

/// One plot with its name, and figures below the name.
fn track(html: &mut String, class: &str, name: &str, said: &str, shapes: &str, label: &str) {
    let said = if said.is_empty() { String::new() } else { format!("<small>{}</small>", escape::text(said)) };
    let _ = writeln!(
        html,
        "<div class=\"track {class}\"><div class=\"label\"><span>{}</span>{said}</div><svg class=\"plot\" role=\"img\" \
         aria-label=\"{}\" viewBox=\"0 0 {WIDE} {HIGH}\" preserveAspectRatio=\"none\">{shapes}</svg></div>",
        escape::text(name),
        escape::text(label)
    );
}

/// A height without digits that do not show.
fn height(share: f64) -> f64 {
    (share * HIGH * 10.0).round() / 10.0
}

/// The start of a slice, its end, and its time by state.
type Slice<'a> = (Ns, Ns, &'a Vec<(State, Ns)>);

fn slices(run: &Run) -> impl Iterator<Item = Slice<'_>> {
    let long = run.phases.slice_ns;
    run.phases.slices.iter().enumerate().map(move |(at, slice)| {
        let start = long.saturating_mul(at as Ns).min(run.wall_ns);
        (start, start.saturating_add(long).min(run.wall_ns), slice)
    })
}

/// The slices as columns, stacked by state; a shape for each state.
fn stacked(run: &Run, states: &[State]) -> String {
    let dense = |start: Ns, end: Ns, slice: &[(State, Ns)]| {
        slice.iter().map(|(_, ns)| *ns).sum::<Ns>() as f64 / end.saturating_sub(start).max(1) as f64
    };
    let most = slices(run).map(|(start, end, slice)| dense(start, end, slice)).fold(0.0, f64::max);
    let mut paths = vec![String::new(); states.len()];
    for (start, end, slice) in slices(run).filter(|(start, end, _)| end > start) {
        let (x, wide) = (along(start, run.wall_ns), along(end, run.wall_ns) - along(start, run.wall_ns));
        let mut below = 0.0;
        for (state, path) in states.iter().zip(&mut paths) {
            let ns: Ns = slice.iter().filter(|(of, _)| of == state).map(|(_, ns)| *ns).sum();
            if ns == 0 {
                continue;
            }
            let above = below + ns as f64 / (end - start) as f64 / most.max(f64::MIN_POSITIVE);
            let (top, bottom) = (HIGH - height(above), HIGH - height(below));
            let _ = write!(path, "M{x} {top}h{wide}V{bottom}h-{wide}z");
            below = above;
        }
    }
    let shape =
        |(state, path): (&State, String)| format!("<path class=\"s-{}\" d=\"{path}\"/>", state.name());
    states.iter().zip(paths).map(shape).collect()
}

/// A thread's strip; a shape for each state.
fn runs_of(strip: &ThreadStrip) -> String {
    let mut paths: Vec<(State, String)> = Vec::new();
    let mut at = 0;
    for run in strip.parts.chunk_by(|a, b| a == b) {
        let edge = |at: usize| at as u64 * WIDE / STRIP as u64;
        let (x, wide) = (edge(at), edge(at + run.len()) - edge(at));
        at += run.len();
        let Some(state) = run[0] else { continue };
        let place = paths.iter().position(|(of, _)| *of == state).unwrap_or_else(|| {
            paths.push((state, String::new()));
            paths.len() - 1
        });
        let _ = write!(paths[place].1, "M{x} 0h{wide}v{HIGH}h-{wide}z");
    }
    let shape = |(state, path): (State, String)| format!("<path class=\"s-{}\" d=\"{path}\"/>", state.name());
    paths.into_iter().map(shape).collect()
}

/// Points (0 to 1), one a step, as the outline of an area.
fn area(points: &[f64], run: &Run) -> String {
    let step = run.series.value().map_or(run.wall_ns, |series| series.step_ns);
    let mut path = format!("M0 {HIGH}");
    for (at, point) in points.iter().enumerate() {
        let end = along(step.saturating_mul(at as Ns + 1), run.wall_ns);
        let _ = write!(path, "V{}H{end}", HIGH - height(point.clamp(0.0, 1.0)));
    }
    let _ = write!(path, "V{HIGH}z");
    path
}

/// Ticks at round times. The script makes others of a part.
fn axis(wall_ns: Ns) -> String {
    let step = round_step(wall_ns, 6);
    let ticks = std::iter::successors(Some(0), |at: &Ns| at.checked_add(step)).take_while(|at| *at < wall_ns);
    let text = |at: Ns| {
        let x = at as f64 / wall_ns as f64 * 100.0;
        let label = if at == 0 { "0".to_owned() } else { tick_label(at, step) };
        format!(
            "<svg x=\"{x:.2}%\" overflow=\"visible\"><path d=\"M0 0v5\"/><text x=\"2\" y=\"17\">{label}</text></svg>"
        )
    };
    format!(
        "<div class=\"track axis\" aria-hidden=\"true\"><div class=\"label\"></div><svg class=\"ticks\" height=\"22\">{}\
         </svg></div>\n",
        ticks.map(text).collect::<String>()
    )
}

/// Which hand-overs are in the picture. They need stacks, as threads do.
fn hand_overs_said(lines: &Lines, run: &Run, profile: Option<&Profile>) -> Option<String> {
    match profile.filter(|profile| !profile.moments.is_empty()) {
        Some(_) => hand_overs::said(lines, run),
        None => Some("hand-overs are counted by pair of threads, not over time: see their table".to_owned()),
    }
}

/// What is not in the picture.
fn notes(threads: usize, profile: Option<&Profile>, quiet: usize, hand_overs: Option<String>) -> String {
    let mut said = Vec::new();
    match profile.filter(|profile| !profile.moments.is_empty()) {
        None => said
            .push("threads over time are made from stacks, which a --json result does not have".to_owned()),
        Some(profile) => {
            let every = match profile.thinned {
                0 | 1 => String::new(),
                thinned => format!(", every {}th of them", count(u64::from(thinned))),
            };
            said.push(format!(
                "threads are drawn from samples and from waits with stacks{every}; blank parts have neither"
            ));
        }
    }
    if threads > THREADS {
        said.push(format!("{} more threads are in the table only", count((threads - THREADS) as u64)));
    }
    if quiet > 0 {
        said.push(format!("{} with next to no activity left out", counted(quiet as u64, "device")));
    }
    said.extend(hand_overs);
    blocks::paragraph("dim", &said.join("; "))
}

/// When each row of the table of the path begins and ends.
pub(super) fn row_times(run: &Run) -> Vec<(Ns, Ns)> {
    rows(run).iter().map(|slices| (slices[0].0, slices[slices.len() - 1].1)).collect()
}

/// The slices of each row of the table of the path.
fn rows(run: &Run) -> Vec<Vec<Slice<'_>>> {
    let all: Vec<_> = slices(run).filter(|(start, end, _)| end > start).collect();
    all.chunks(all.len().div_ceil(ROWS).max(1)).map(<[_]>::to_vec).collect()
}

/// The path in a few steps, with each state's time.
fn table(run: &Run, states: &[State]) -> Grid {
    let mut heads = vec![(String::new(), false)];
    heads.extend(states.iter().map(|state| (words::state(*state).to_owned(), true)));
    let rows = rows(run).into_iter().map(|slices| {
        let [first, last] = [slices[0], slices[slices.len() - 1]];
        let mut cells = vec![(Ink::Plain, format!("{} to {}", duration(first.0), duration(last.1)))];
        let sum = |which: &dyn Fn(State) -> bool| -> Ns {
            let all = slices.iter().flat_map(|(.., slice)| slice.iter());
            all.filter(|(state, _)| which(*state)).map(|(_, ns)| *ns).sum()
        };
        let whole = sum(&|_| true);
        cells.extend(states.iter().map(|state| match sum(&|of| of == *state) {
            0 => (Ink::Dim, "0 %".to_owned()),
            ns => (Ink::Plain, share(ns, whole)),
        }));
        (cells, false)
    });
    Grid { title: "from start".to_owned(), heads, rows: rows.collect() }
}
