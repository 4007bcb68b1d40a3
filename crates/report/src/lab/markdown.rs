//! A score, or a pair, as tables in Markdown: pairs of writings beside the figures of these.

use super::cells::{cells, has_sittings, mean_saved, own_first, remarks, totals};
use crate::Look;
use crate::clean::clean;
use crate::units::{duration, percents};
use model::lab::{LabPart, LabRun, LabScore, ScoreRow, Writing};
use model::run::Ends;

const HEADS: [&str; 8] =
    ["pair", "cause", "found first", "predicted, % of the wall", "measured", "held", "score", "rule's score"];

/// The same as a table in Markdown.
pub fn markdown(score: &LabScore) -> String {
    let look = Look::PLAIN;
    let mut text = String::new();
    if has_sittings(score) {
        text += &format!("| {} |\n|{}\n", HEADS.join(" | "), " --- |".repeat(HEADS.len()));
        for row in &score.rows {
            text += &format!("| {} |\n", cells(row, look).join(" | "));
        }
        text += "\n";
    }
    text += &format!("{}\n", totals(score).join("\n"));
    let remarks: Vec<String> = remarks(score).iter().map(|remark| format!("- {remark}\n")).collect();
    if !remarks.is_empty() {
        text += &format!("\n{}", remarks.concat());
    }
    let written = score
        .rows
        .iter()
        .filter(|_| has_sittings(score))
        .filter_map(|row| Some((row, row.pair.writing.as_ref()?)));
    text += &of_writings(&written.map(|(row, writing)| of_a_writing(row, writing, look)).collect::<String>());
    safe(&text)
}

/// Line by line, since a result that is shown again may be anybody's file.
fn safe(text: &str) -> String {
    text.lines().map(|line| clean(line, true).to_string() + "\n").collect()
}

/// These rows as a table; nothing without any.
fn of_writings(rows: &str) -> String {
    match rows {
        "" => String::new(),
        rows => format!(
            "\n| writing | theirs | here: slow, fast | found first | predicted, % | saved, % |\n\
             | --- | --- | --- | --- | --- | --- |\n{rows}"
        ),
    }
}

/// A pair beside the figures of the writing that it comes from: its last sitting, if there is one
/// that with no other programs beside.
pub(super) fn of_a_writing(row: &ScoreRow, writing: &Writing, look: Look) -> String {
    let (title, name, theirs) = (&writing.title, &row.pair.name, &writing.theirs);
    let quiet = row.sittings.iter().rev().find(|sitting| !sitting.beside);
    let Some(sitting) = quiet.or(row.sittings.last()) else {
        return format!("| {title}: `{name}` | {theirs} | - | - | - | - |\n");
    };
    let beside = if sitting.beside { " (beside busy loops)" } else { "" };
    let wall = |at: usize| sitting.wall_ns.get(at).copied().flatten().map_or("-".to_owned(), duration);
    let ends = |ends: Ends| percents(ends.lo, ends.hi, look.dash());
    format!(
        "| {title}: `{name}` | {theirs} | {}, {}{beside} | {} | {} | {} |\n",
        wall(0),
        wall(1),
        own_first(sitting, row.pair.cause.as_deref()),
        sitting.outcome.predicted.map_or("-".to_owned(), ends),
        mean_saved(std::slice::from_ref(sitting)),
    )
}

/// A pair as a table in Markdown, beside the figures of its writing, with the parts that were timed
/// apart.
pub fn markdown_of_one(run: &LabRun) -> String {
    let look = Look::PLAIN;
    let row = ScoreRow { pair: run.pair.clone(), sittings: vec![run.sitting.clone()] };
    let writing = row.pair.writing.as_ref().map(|writing| of_a_writing(&row, writing, look));
    safe(&format!(
        "| {} |\n|{}\n| {} |\n{}{}",
        HEADS.join(" | "),
        " --- |".repeat(HEADS.len()),
        cells(&row, look).join(" | "),
        of_writings(&writing.unwrap_or_default()),
        of_parts(&run.apart)
    ))
}

/// What parts take, the slow way and the fast one.
fn of_parts(parts: &[LabPart]) -> String {
    let row = |part: &LabPart| {
        let [slow_ns, fast_ns, ..] = part.wall_ns[..] else { return String::new() };
        let times = slow_ns as f64 / fast_ns.max(1) as f64;
        format!("| {} | {} | {} | {times:.1} |\n", part.what, duration(slow_ns), duration(fast_ns))
    };
    match parts.iter().map(row).collect::<String>() {
        rows if rows.is_empty() => rows,
        rows => format!("\n| part | slow | fast | times |\n| --- | --- | --- | --- |\n{rows}"),
    }
}
