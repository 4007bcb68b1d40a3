//! The table of kernels by checks, and what is wrong or missing in it, as text or markdown.

use super::checks::{Tier, Verdict, judge};
use super::plans::{BOOTED_WITH, LATE, MANY, VARIATIONS, VERBS};
use super::qemu::Said;
use super::verified::{Outcome, outcomes};
use std::fmt::Write;
use workshop::table::layout;

/// A kernel, and what its machine said.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) kernel: &'static str,
    pub(crate) said: Result<Said, String>,
}

const HEAD: [&str; 6] = ["kernel", "Linux", "programs", "root", "capabilities", "user"];

/// The runs that each kernel has, by the names of their steps.
const RUNS: [&str; 3] = ["root", "capable", "user"];

/// Whether BPF is meant to be there: not where the kernel refuses the whole object, which
/// `--verify` holds against what is kept.
fn wants_bpf(said: &Said, run: &str) -> bool {
    let refuses_all = outcomes(said).contains_key("dwell/*");
    !refuses_all && ["root", "capable", BOOTED_WITH, MANY, LATE].contains(&run)
}

/// The verdict of a run, which is wrong also where its tier is too low.
pub(crate) fn verdict(said: &Said, run: &str) -> Option<Verdict> {
    let mut verdict = judge(said, run)?;
    if wants_bpf(said, run) && verdict.tier.is_some_and(|tier| tier != Tier::Bpf) {
        let why = verdict.missing.iter().find(|line| line.starts_with("calls and wake-ups"));
        verdict.wrong.push(format!("without BPF ({})", why.map_or("no reason", String::as_str)));
    }
    if run == "capable" {
        let root = judge(said, "root").map(|root| root.missing).unwrap_or_default();
        let has = |line: &&String| !root.iter().any(|of| subject(of) == subject(line));
        // What the host did is read where others can read it.
        let promised = |line: &&String| subject(line) != "surroundings";
        let more = verdict.missing.iter().filter(has).filter(promised).map(|line| format!("lacks {line}"));
        let more: Vec<String> = more.collect();
        verdict.wrong.extend(more);
    }
    Some(verdict)
}

/// The source that a line of what is missing is about.
fn subject(line: &str) -> &str {
    line.split(':').next().unwrap_or(line)
}

/// Everything that is wrong, by run.
pub(crate) fn wrong(row: &Row) -> Vec<String> {
    let said = match &row.said {
        Ok(said) => said,
        Err(why) => return vec![why.clone()],
    };
    let runs = RUNS.iter().chain(VARIATIONS).chain([&BOOTED_WITH, &MANY, &LATE]);
    let of_run = |run: &&str| {
        let all = verdict(said, run).map(|verdict| verdict.wrong).unwrap_or_default();
        all.into_iter().map(|what| format!("{run}: {what}")).collect::<Vec<_>>()
    };
    let steps = said.lines.iter().filter(|line| line["error"].is_string() && line["result"].is_null());
    let refused = steps.map(|line| format!("{}: {}", line["step"], line["error"]));
    runs.flat_map(of_run).chain(refused).chain(VERBS.iter().filter_map(|verb| unwell(said, verb))).collect()
}

/// What is wrong with a verb that was tried: it did not end well, or does not name the function
/// that had the CPU.
fn unwell(said: &Said, verb: &str) -> Option<String> {
    let line = said.of(verb).next()?;
    let text = line["said"].as_str().unwrap_or_default();
    if line["status"] != 0 {
        return Some(format!("{verb}: {}: {text}", line["ended"].as_str().unwrap_or_default()));
    }
    let names = ["unwinding", "flame", "annotate"].contains(&verb);
    (names && !text.contains("spin")).then(|| format!("{verb}: it does not name spin: {text}"))
}

/// The tables.
pub(crate) fn render(rows: &[Row], markdown: bool) -> String {
    let cells = |row: &Row| {
        let Ok(said) = &row.said else {
            return [row.kernel, "not run", "", "", "", ""].map(str::to_owned).to_vec();
        };
        let all = outcomes(said);
        let loaded = all.values().filter(|outcome| matches!(outcome, Outcome::Loaded(_))).count();
        let cell = |run: &&str| verdict(said, run).map_or("-".to_owned(), |verdict| verdict.cell());
        let first = [row.kernel.to_owned(), said.release().to_owned(), format!("{loaded} of {}", all.len())];
        first.into_iter().chain(RUNS.iter().map(cell)).collect::<Vec<_>>()
    };
    let mut text = laid_out(&HEAD, rows.iter().map(cells), markdown);
    let varied = rows.iter().filter_map(|row| Some((row.kernel, row.said.as_ref().ok()?)));
    let varied = varied.flat_map(|(kernel, said)| {
        VARIATIONS.iter().chain([&BOOTED_WITH, &MANY, &LATE]).filter_map(move |variation| {
            let verdict = verdict(said, variation)?;
            let missing = verdict.missing.first().cloned().unwrap_or_default();
            Some(vec![kernel.to_owned(), (*variation).to_owned(), verdict.cell(), missing])
        })
    });
    let varied: Vec<Vec<String>> = varied.collect();
    if !varied.is_empty() {
        text.push('\n');
        text += &laid_out(&["kernel", "with", "run", "missing first"], varied.into_iter(), markdown);
    }
    let wrong: Vec<String> = rows
        .iter()
        .flat_map(|row| wrong(row).into_iter().map(|what| format!("{}: {what}", row.kernel)))
        .collect();
    text.push('\n');
    for line in &wrong {
        let words: Vec<&str> = line.split_whitespace().collect();
        let _ = writeln!(text, "- {}", words.join(" "));
    }
    text
}

fn laid_out(head: &[&str], rows: impl Iterator<Item = Vec<String>>, markdown: bool) -> String {
    let head = head.iter().map(|word| (*word).to_owned()).collect();
    layout(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), markdown)
}
