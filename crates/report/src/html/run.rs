//! The page of a run, or of a window of `dwell attach`.

use super::svg::{self, BarPart};
use super::{blocks, escape, flame, requests, timeline, times};
use crate::page::findings::FindingText;
use crate::page::parts::{Parts, parts};
use crate::page::words;
use crate::units::{counted, duration, share};
use model::{Run, RunResult};
use std::fmt::Write;

/// The first words of the commands.
pub(super) fn title(runs: &[&RunResult]) -> String {
    let name = |result: &&RunResult| match &result.run.window {
        Some(window) => window.target.clone(),
        None => result.run.command.join(" "),
    };
    let names: Vec<String> =
        runs.iter().map(|page| crate::clean::fit(&crate::clean(&name(page), true), 60, true)).collect();
    format!("{} - dwell", names.join(", "))
}

/// The run.
pub(super) fn article(result: &RunResult, number: usize) -> String {
    let RunResult { run, diagnosis, profile, .. } = result;
    let profile = profile.value();
    let parts = parts(run, diagnosis);
    let mut html = requests::section(run, &parts.requests);
    html.push_str(&findings(&parts, run));
    html.push_str(&account(&parts, run));
    html.push_str(&timeline::section(run, &parts, profile));
    html.push_str(&flame::section(run, profile, number));
    html.push_str("<section class=\"tables\">\n<h2>Tables</h2>\n");
    html.push_str(&blocks::lines(&parts.places));
    for (_, lines) in &parts.tables {
        html.push_str(&blocks::lines(lines));
    }
    html.push_str(&times::data(result, &parts.states, number));
    html.push_str("</section>\n<section class=\"coverage\">\n<h2>What was observed</h2>\n");
    html.push_str(&blocks::lines(&parts.coverage));
    html.push_str("</section>\n");
    blocks::titled(number, &parts.head, &html)
}

fn findings(parts: &Parts, run: &Run) -> String {
    let mut html = "<section class=\"findings\">\n<h2>What to change</h2>\n".to_owned();
    html.push_str(&blocks::lines(&parts.nothing));
    if parts.findings.is_empty() && parts.nothing.is_empty() {
        html.push_str(&blocks::paragraph("", "nothing: dwell looked for no cause, or the program is idle"));
    }
    if !parts.findings.is_empty() {
        html.push_str("<ol>\n");
        html.extend(parts.findings.iter().map(|found| finding(found, run)));
        html.push_str("</ol>\n");
    }
    html.push_str(&blocks::lines(&parts.explained));
    for (head, causes) in &parts.other_causes {
        if causes.is_empty() {
            continue;
        }
        let rows: String = causes
            .iter()
            .map(|(cause, why)| format!("<dt>{}</dt><dd>{}</dd>\n", escape::text(cause), escape::text(why)))
            .collect();
        let _ = write!(
            html,
            "<details><summary>{} {head}</summary>\n<dl class=\"causes\">\n{rows}</dl></details>\n",
            counted(causes.len() as u64, "cause")
        );
    }
    html.push_str("</section>\n");
    html
}

fn finding(found: &FindingText, run: &Run) -> String {
    let explains = match &found.explains[..] {
        [] => String::new(),
        ids => format!(", which explains {}", ids.join(", ")),
    };
    let mut html = format!(
        "<li><h3>{}</h3>\n<p>{}</p>\n{}<p class=\"saves\"><b>{}</b> <span class=\"dim\">{}{explains}</span></p>\n",
        escape::text(&found.what),
        escape::text(&found.change),
        found.part.map(|part| gauge(part, run)).unwrap_or_default(),
        escape::text(&found.saves),
        found.cause,
    );
    html.push_str(&blocks::lines(&found.probed));
    html.push_str("<details><summary>What this rests on</summary>\n<dl>\n");
    let mut last = "";
    for (head, text) in &found.rests_on {
        if *head != last {
            let _ = write!(html, "<dt>{head}</dt>");
            last = head;
        }
        let _ = writeln!(html, "<dd>{}</dd>", escape::text(text));
    }
    html.push_str("</dl></details>\n</li>\n");
    html
}

/// The saving as a part of the whole: what goes at least, and at most.
fn gauge((lo, hi): (f64, f64), run: &Run) -> String {
    let percent = |part: f64| part.clamp(0.0, 1.0) * 100.0;
    let (lo, hi) = (percent(lo), percent(hi).max(0.4));
    format!(
        "<svg class=\"gauge\" role=\"img\" aria-label=\"saves {lo:.0} to {hi:.0} percent of {}\" width=\"100%\" \
         height=\"8\"><rect class=\"whole\" width=\"100%\" height=\"8\" rx=\"4\"/><rect class=\"most\" width=\"{hi:.2}%\" \
         height=\"8\" rx=\"4\"/><rect class=\"least\" width=\"{lo:.2}%\" height=\"8\" rx=\"4\"/></svg>\n",
        duration(run.whole_ns())
    )
}

fn account(parts: &Parts, run: &Run) -> String {
    let of = |state: &model::State| run.account.iter().find(|part| part.state == *state);
    let whole = run.whole_ns();
    let bars: Vec<BarPart> = parts
        .states
        .iter()
        .filter_map(of)
        .map(|part| BarPart {
            share: part.ns as f64 / whole.max(1) as f64,
            class: format!("s-{}", part.state.name()),
            text: format!("{} {}", words::state(part.state), share(part.ns, whole)),
        })
        .collect();
    let label: Vec<&str> = bars.iter().map(|bar| bar.text.as_str()).collect();
    format!(
        "<section class=\"account\">\n<h2>Where the time went</h2>\n{}{}{}</section>\n",
        svg::bar(&bars, &format!("account: {}", label.join(", "))),
        blocks::lines(&parts.account),
        blocks::lines(&parts.account_notes),
    )
}
