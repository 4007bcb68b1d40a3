//! A result as a page of HTML: one file that opens from a disk without a network, with the words
//! and figures of the page for a terminal, pictures, and the JSON, which can be taken out again.
//!
//! [`document`] is the skeleton with its content policy; [`blocks`] makes HTML of the lines and
//! tables of the pages for a terminal; one file a kind of result. All text of programs goes
//! through [`escape`].

mod blocks;
mod compare;
mod document;
mod escape;
mod flame;
mod hand_overs;
mod lab;
mod ladder;
mod plain;
mod requests;
mod run;
mod sections;
mod svg;
mod timeline;
mod times;
mod wake;

use crate::lab::Lesson;
use document::{Document, page};
pub use document::{is_page, results};
use model::compare::commands::Comparison;
use model::compare::lab::LabComparison;
use model::compare::ladder::LadderComparison;
use model::compare::runs::RunComparison;
use model::compare::sittings::Sittings;
use model::compare::timings::TimingsDiff;
use model::compare::wake::WakeComparison;
use model::doctor::Doctor;
use model::lab::{LabRun, LabScore};
use model::ladder::beside::Reference;
use model::wake::Wakeups;
use model::wake::load::LoadRun;
use model::wake::sheet::Sheet;
use model::{Ladder, RunResult};
use serde::Serialize;

/// Runs, or windows, side by side.
pub fn runs(runs: &[&RunResult]) -> String {
    page(&Document {
        kind: "run",
        title: run::title(runs),
        articles: runs.iter().enumerate().map(|(at, run)| run::article(run, at)).collect(),
        results: runs.iter().map(|run| document::embedded_json(&crate::result::whole(run))).collect(),
    })
}

/// `wake-up latency: imx8, board-2`: of which hosts, or of what, each once.
fn titled<'a>(what: &str, of: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in of.map(|name| crate::clean(name, true)) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    crate::clean::fit(&format!("{what}: {}", names.join(", ")), 120, true)
}

/// The two sides of comparisons.
fn sides<'a>(what: &str, of: impl Iterator<Item = [&'a str; 2]>) -> String {
    let sides: Vec<String> = of.map(|[a, b]| format!("{a} and {b}")).collect();
    titled(what, sides.iter().map(String::as_str))
}

/// A page of results of one kind.
fn all<T: Serialize>(
    kind: &'static str,
    title: &str,
    results: &[&T],
    article: impl Fn(&T, usize) -> String,
) -> String {
    page(&Document {
        kind,
        title: format!("{title} - dwell"),
        articles: results.iter().enumerate().map(|(at, result)| article(result, at)).collect(),
        results: results.iter().map(document::embedded).collect(),
    })
}

/// Comparisons of commands, side by side.
pub fn comparisons(comparisons: &[&Comparison]) -> String {
    let titles: Vec<String> = comparisons.iter().map(|one| compare::title(one)).collect();
    let title = crate::clean::fit(&crate::clean(&titles.join("; "), true), 120, true);
    all("compare", &title, comparisons, compare::article)
}

/// Measurements of wake-up latency, side by side.
pub fn wakes(wakes: &[&Wakeups]) -> String {
    let title = titled("wake-up latency", wakes.iter().map(|one| &*one.host.name));
    all("wake", &title, wakes, wake::article)
}

/// Sheets of wake-ups, side by side.
pub fn sheets(sheets: &[&Sheet]) -> String {
    let title = titled("wake-up latency", sheets.iter().map(|one| &*one.name));
    all("sheet", &title, sheets, sections::of_sheet)
}

/// Ladders, side by side, each with its own references.
pub fn ladders(ladders: &[(&Ladder, &Vec<Reference>)]) -> String {
    page(&Document {
        kind: "ladder",
        title: titled("latency ladder", ladders.iter().map(|(of, _)| &*of.host.name)) + " - dwell",
        articles: ladders
            .iter()
            .enumerate()
            .map(|(at, (of, others))| ladder::article(of, others, at))
            .collect(),
        results: ladders.iter().map(|(ladder, _)| document::embedded(ladder)).collect(),
    })
}

/// Scores of the lab, side by side.
pub fn scores(scores: &[&LabScore]) -> String {
    all("lab", "score of the lab", scores, lab::article)
}

/// Loads, side by side.
pub fn loads(loads: &[&LoadRun]) -> String {
    let title = titled("stress load", loads.iter().map(|one| &*one.host.name));
    all("load", &title, loads, sections::of_load)
}

/// What works on hosts, side by side.
pub fn doctors(doctors: &[&Doctor]) -> String {
    let title = titled("what dwell can observe", doctors.iter().map(|one| &*one.host.name));
    all("doctor", &title, doctors, sections::of_doctor)
}

/// Pairs of the lab with what there is to learn from each, side by side.
pub fn pairs(runs: &[(&LabRun, Lesson)]) -> String {
    page(&Document {
        kind: "lab",
        title: titled("lab", runs.iter().map(|(run, _)| &*run.pair.name)) + " - dwell",
        articles: runs
            .iter()
            .enumerate()
            .map(|(at, (run, lesson))| sections::of_pair(run, lesson, at))
            .collect(),
        results: runs.iter().map(|(run, _)| document::embedded(run)).collect(),
    })
}

/// Pairs of runs beside each other.
pub fn run_diffs(diffs: &[&RunComparison]) -> String {
    let commands: Vec<_> =
        diffs.iter().map(|diff| [&diff.a, &diff.b].map(|of| of.command.join(" "))).collect();
    let title = sides("diff", commands.iter().map(|[a, b]| [&**a, &**b]));
    all("diff", &title, diffs, sections::of_runs)
}

/// Comparisons of the same commands.
pub fn sittings(sittings: &[&Sittings]) -> String {
    all("diff", "comparisons of the same commands", sittings, sections::of_sittings)
}

/// Pairs of ladders.
pub fn ladder_diffs(diffs: &[&LadderComparison]) -> String {
    all("diff", "two ladders", diffs, sections::of_ladders)
}

/// Pairs of measurements of latency.
pub fn wake_diffs(diffs: &[&WakeComparison]) -> String {
    let title =
        sides("diff of wake-up latency", diffs.iter().map(|diff| diff.names.each_ref().map(|name| &**name)));
    all("diff", &title, diffs, sections::of_wakes)
}

/// Pairs of results of the lab.
pub fn lab_diffs(diffs: &[&LabComparison]) -> String {
    all("diff", "two results of the lab", diffs, sections::of_labs)
}

/// Pairs of files of another tool.
pub fn timings_diffs(diffs: &[&TimingsDiff]) -> String {
    all("diff", "two files of timings", diffs, sections::of_timings)
}

/// Any other result: its text for a terminal, without colours.
pub fn plain<T: Serialize>(kind: &'static str, title: &str, text: &str, result: &T) -> String {
    plain_with(kind, title, text, &crate::json(result))
}

/// The same of a result as JSON.
pub fn plain_with(kind: &'static str, title: &str, text: &str, json: &str) -> String {
    page(&Document {
        kind,
        title: format!("{title} - dwell"),
        articles: vec![plain::article(title, text, 0)],
        results: vec![document::embedded_json(json)],
    })
}
