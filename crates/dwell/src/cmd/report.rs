//! `dwell report`: kept results as a page for a browser.

use super::recordings::{self, Kept};
use super::results::{self, typed};
use super::{named, show_result};
use crate::cli::ReportArgs;
use crate::exit;
use crate::keep::Keeper;
use crate::look::LookArgs;
use crate::out::{OutputPath, Outputs, Page, PageResult, Paths};
use anyhow::bail;
use model::RunResult;
use model::compare::commands::SCHEMA_COMPARE;
use model::compare::lab::SCHEMA_LAB_DIFF;
use model::compare::ladder::SCHEMA_LADDER_DIFF;
use model::compare::runs::SCHEMA_RUN_DIFF;
use model::compare::sittings::SCHEMA_COMPARE_DIFF;
use model::compare::timings::SCHEMA_TIMINGS_DIFF;
use model::compare::wake::SCHEMA_WAKE_DIFF;
use model::doctor::SCHEMA_DOCTOR;
use model::lab::{LabRun, SCHEMA_LAB, SCHEMA_SCORE};
use model::ladder::beside::Reference;
use model::ladder::{Ladder, SCHEMA_LADDER};
use model::wake::load::SCHEMA_LOAD;
use model::wake::sheet::{SCHEMA_SHEET, Sheet};
use model::wake::{SCHEMA_WAKE, Wakeups};
use report::Look;
use report::html;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Writes the page; returns the exit status.
pub(crate) fn report(args: &ReportArgs, keeper: &Keeper) -> anyhow::Result<u8> {
    // Another result may be the last one before the content is read.
    let files = args.files.iter().map(|file| named::settled(file, keeper)).collect::<Result<Vec<_>, _>>()?;
    write(&files, &args.output, keeper)
}

/// Writes the page of these files; returns the exit status.
pub(super) fn write(files: &[PathBuf], output: &OutputPath, keeper: &Keeper) -> anyhow::Result<u8> {
    let read: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let outputs = Outputs::open(&Paths::new(), Page::To(output), None, &read)?;
    let mut kept = Vec::new();
    for path in files {
        kept.extend(open(path, keeper)?);
    }
    let outcome = outputs.write(&PageResult(page(&kept)?), &LookArgs::default());
    Ok(if outcome.complain() { exit::DWELL_FAILED } else { 0 })
}

/// A result with where it is from.
struct Opened<'a> {
    path: &'a Path,
    schema: String,
    content: Content,
}

enum Content {
    Run(Box<RunResult>),
    Json(Value),
}

fn open<'a>(path: &'a Path, keeper: &Keeper) -> anyhow::Result<Vec<Opened<'a>>> {
    let of_run = |result: RunResult| Opened {
        path,
        schema: result.run.promise().to_owned(),
        content: Content::Run(Box::new(result)),
    };
    if let Some(Kept { result, .. }) = recordings::open_run(path, keeper)? {
        return Ok(vec![of_run(result)]);
    }
    let opened = |(schema, value): (String, Value)| match results::is_run(&schema) {
        true => Ok(of_run(results::run(path, value)?)),
        false => Ok(Opened { path, schema, content: Content::Json(value) }),
    };
    results::all(path, keeper)?.into_iter().map(opened).collect()
}

/// The page of results of one kind.
fn page(kept: &[Opened<'_>]) -> anyhow::Result<String> {
    let runs: Vec<&RunResult> = kept
        .iter()
        .filter_map(|one| match &one.content {
            Content::Run(result) => Some(result.as_ref()),
            Content::Json(_) => None,
        })
        .collect();
    if runs.len() == kept.len() {
        return Ok(html::runs(&runs));
    }
    let first = &kept[0];
    if let Some(other) = kept.iter().find(|other| other.schema != first.schema) {
        bail!(
            "{:?} is a {:?} and {:?} a {:?}: they have no common page\ntry: results of one kind",
            first.path,
            first.schema,
            other.path,
            other.schema
        );
    }
    let json: Vec<(&Path, &Value)> = kept
        .iter()
        .filter_map(|one| match &one.content {
            Content::Json(value) => Some((one.path, value)),
            Content::Run(_) => None,
        })
        .collect();
    of_kind(&first.schema, &json)
}

fn of_kind(schema: &str, kept: &[(&Path, &Value)]) -> anyhow::Result<String> {
    fn all<T>(
        kept: &[(&Path, &Value)],
        read: impl Fn(&Path, Value) -> anyhow::Result<T>,
    ) -> anyhow::Result<Vec<T>> {
        kept.iter().map(|(path, value)| read(path, (*value).clone())).collect()
    }
    Ok(match schema {
        SCHEMA_COMPARE => html::comparisons(&all(kept, results::comparison)?),
        SCHEMA_LADDER => {
            let ladders = all(kept, results::ladder)?;
            let beside = |(at, (path, ladder)): (usize, (&Path, &Ladder))| {
                let marked = analyse::ladder::beside::ladder(&path.display().to_string(), ladder);
                (at, marked)
            };
            let paths = kept.iter().map(|(path, _)| *path);
            let marked: Vec<(usize, Reference)> = paths.zip(&ladders).enumerate().map(beside).collect();
            let others = |own: usize| -> Vec<Reference> {
                let others = marked.iter().filter(|(at, _)| *at != own).map(|(_, other)| other.clone());
                others.chain((marked.len() == 1).then(analyse::ladder::beside::textbook)).collect()
            };
            let with_others: Vec<_> =
                ladders.iter().enumerate().map(|(at, ladder)| (ladder.clone(), others(at))).collect();
            html::ladders(&with_others)
        }
        SCHEMA_WAKE => html::wakes(&all(kept, typed::<Wakeups>)?),
        SCHEMA_SHEET => html::sheets(&all(kept, typed::<Sheet>)?),
        SCHEMA_SCORE => html::scores(&all(kept, results::score)?),
        SCHEMA_LOAD => html::loads(&all(kept, typed)?),
        SCHEMA_DOCTOR => html::doctors(&all(kept, typed)?),
        SCHEMA_LAB => {
            let runs = all(kept, typed::<LabRun>)?;
            let with_lesson = |run| (run, show_result::lesson(run));
            html::pairs(&runs.iter().map(with_lesson).collect::<Vec<_>>())
        }
        SCHEMA_RUN_DIFF => html::run_diffs(&all(kept, typed)?),
        SCHEMA_COMPARE_DIFF => html::sittings(&all(kept, typed)?),
        SCHEMA_LADDER_DIFF => html::ladder_diffs(&all(kept, typed)?),
        SCHEMA_WAKE_DIFF => html::wake_diffs(&all(kept, typed)?),
        SCHEMA_LAB_DIFF => html::lab_diffs(&all(kept, typed)?),
        SCHEMA_TIMINGS_DIFF => html::timings_diffs(&all(kept, typed)?),
        _ => {
            let [(path, value)] = kept else {
                bail!("results of {schema:?} have no page side by side\ntry: one file")
            };
            let text = show_result::page(path, schema, (*value).clone(), false, Look::PLAIN)?;
            html::plain("other", schema, &text, *value)
        }
    })
}
