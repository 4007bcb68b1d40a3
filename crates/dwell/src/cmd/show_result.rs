//! `dwell show` of a result that --json wrote: its page, as far as the result has what is on it.

use super::results;
use crate::cli::ShowArgs;
use crate::keep::Keeper;
use crate::look::{OutputKind, look};
use crate::out::{self, OutputPath};
use crate::output::{self, Target};
use anyhow::bail;
use listing::{CountedBlocks, SCHEMA_BLOCKS};
use model::compare::commands::SCHEMA_COMPARE;
use model::compare::lab::SCHEMA_LAB_DIFF;
use model::compare::ladder::SCHEMA_LADDER_DIFF;
use model::compare::runs::SCHEMA_RUN_DIFF;
use model::compare::sittings::SCHEMA_COMPARE_DIFF;
use model::compare::timings::{HYPERFINE, SCHEMA_TIMINGS_DIFF};
use model::compare::wake::SCHEMA_WAKE_DIFF;
use model::doctor::{Doctor, SCHEMA_DOCTOR};
use model::hits::{Hits, SCHEMA_HITS};
use model::lab::{LabRun, SCHEMA_LAB, SCHEMA_SCORE};
use model::ladder::SCHEMA_LADDER;
use model::run::{SCHEMA_ATTACH, SCHEMA_RUN};
use model::wake::load::{LoadRun, SCHEMA_LOAD};
use model::wake::sheet::{SCHEMA_SHEET, Sheet};
use model::wake::{SCHEMA_WAKE, Wakeups};
use model::what_if::{SCHEMA_WHAT_IF, WhatIf};
use model::{Diagnosis, Run, RunResult, Seen};
use pairs::Pair;
use report::Look;
use report::lab::Lesson;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Whether the file is JSON, or a page with it: a recording never begins so.
pub(super) fn is_result(path: &Path) -> bool {
    let mut first = [0_u8; 1];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && (first[0] == b'{' || first[0] == b'<' || first[0].is_ascii_whitespace())
}

/// Refuses options that need stacks where the result has none.
pub(super) fn has_stacks(args: &ShowArgs, result: &RunResult) -> anyhow::Result<()> {
    match &result.profile {
        Seen::Value(_) => Ok(()),
        _ => refuse_stacks(args, "has no stacks: it has a page and its JSON"),
    }
}

fn refuse_stacks(args: &ShowArgs, why: &str) -> anyhow::Result<()> {
    let code = &args.page.code;
    let of_code = code.flame || !code.lines.is_empty() || !code.annotate.is_empty();
    let forms = &args.page.forms;
    let of_form = forms.keys().any(|form| !["json", "html"].contains(&form.as_str()));
    if of_code || of_form {
        bail!(
            "{:?} {why}, and nothing else can be made of it\n\
             try: dwell show ID of a result in dwell list; or dwell run --keep run.dwell ..., then dwell show run.dwell \
             with these options",
            args.recording
        );
    }
    Ok(())
}

/// Shows the result. A page for a browser is left to `dwell report`.
pub(super) fn show(args: &ShowArgs, keeper: &Keeper) -> anyhow::Result<()> {
    let path = &args.recording;
    let code = &args.page.code;
    let outputs = args.page.output.iter().chain(args.page.forms.values());
    let is_file = |output: &&OutputPath| output.path().is_some();
    out::distinct(outputs.filter(is_file), None, &[path])?;
    let [json, html] = ["json", "html"].map(|form| args.page.forms.get(form));
    refuse_stacks(args, "is no run: it has a page and its JSON")?;
    if args.page.work.is_some() {
        bail!("{path:?} is no run, which --work is about\ntry: a result of dwell run");
    }
    if let Some(to) = json {
        let text = results::json(path, keeper)?;
        match to {
            OutputPath::File(to) => Target::open(to)?.write(text)?,
            // Standard output has room for one of them.
            OutputPath::Stdout => return output::to_stdout(text),
        }
    }
    let look = match &args.page.output {
        Some(OutputPath::File(_)) => look(&args.page.look, OutputKind::File),
        Some(OutputPath::Stdout) | None => look(&args.page.look, OutputKind::Stdout),
    };
    let mut text = String::new();
    for (at, (schema, value)) in results::all(path, keeper)?.into_iter().enumerate() {
        text += if at > 0 { "\n" } else { "" };
        text += &match args.page.look.verbose {
            true => page(path, &schema, value, code.causes, look)?,
            false => screen(path, &schema, value, code.causes, look)?,
        };
    }
    match (&args.page.output, html) {
        (Some(OutputPath::File(to)), _) => Target::open(to)?.write(text)?,
        (_, Some(OutputPath::Stdout)) => {}
        (Some(OutputPath::Stdout) | None, _) => output::to_stdout(text)?,
    }
    Ok(())
}

/// The page that fits a screen, as the verb that measured shows it.
fn screen(path: &Path, schema: &str, value: Value, causes: bool, look: Look) -> anyhow::Result<String> {
    Ok(match schema {
        SCHEMA_RUN | SCHEMA_ATTACH => of_run(&results::run(path, value)?, report::screen, causes, look),
        SCHEMA_LADDER => report::ladder::screen(&results::ladder(path, value)?, &[], look),
        SCHEMA_WAKE => report::wake::screen(&results::typed::<Wakeups>(path, value)?, look),
        SCHEMA_DOCTOR => report::doctor::short(&results::typed::<Doctor>(path, value)?, look),
        SCHEMA_LAB => report::lab::short_pair(&results::typed(path, value)?, look),
        // What was asked for is shown whole.
        SCHEMA_HITS | SCHEMA_BLOCKS => page(path, schema, value, causes, look)?,
        _ => report::fit(&page(path, schema, value, causes, look)?, look),
    })
}

/// The page with all tables.
pub(super) fn page(
    path: &Path,
    schema: &str,
    value: Value,
    causes: bool,
    look: Look,
) -> anyhow::Result<String> {
    Ok(match schema {
        SCHEMA_RUN | SCHEMA_ATTACH => of_run(&results::run(path, value)?, report::terminal, causes, look),
        SCHEMA_LADDER => report::ladder::terminal(&results::ladder(path, value)?, &[], look),
        SCHEMA_COMPARE => report::compare::commands(&results::comparison(path, value)?, look),
        HYPERFINE => report::compare::timings::one(&results::timings(path, schema, value)?, look),
        SCHEMA_WAKE => report::wake::terminal(&results::typed::<Wakeups>(path, value)?, look),
        SCHEMA_SHEET => report::wake::sheet_terminal(
            &results::typed::<Sheet>(path, value)?,
            look,
            Some(&path.display().to_string()),
        ),
        SCHEMA_LOAD => report::load::terminal(&results::typed::<LoadRun>(path, value)?, look),
        SCHEMA_DOCTOR => report::doctor::terminal(&results::typed::<Doctor>(path, value)?, look),
        SCHEMA_HITS => report::hits::terminal(&results::typed::<Hits>(path, value)?, look),
        SCHEMA_BLOCKS => report::blocks::terminal(&results::typed::<CountedBlocks>(path, value)?, look),
        SCHEMA_WHAT_IF => report::what_if::terminal(&results::typed::<WhatIf>(path, value)?, look),
        SCHEMA_LAB => of_pair(&results::typed(path, value)?, look),
        SCHEMA_RUN_DIFF => report::compare::runs(&results::typed(path, value)?, look),
        SCHEMA_COMPARE_DIFF => report::compare::sittings(&results::typed(path, value)?, look),
        SCHEMA_LADDER_DIFF => report::compare::ladders(&results::typed(path, value)?, look),
        SCHEMA_WAKE_DIFF => report::compare::wakes(&results::typed(path, value)?, look),
        SCHEMA_LAB_DIFF => report::compare::labs(&results::typed(path, value)?, look),
        SCHEMA_TIMINGS_DIFF => report::compare::timings::two(&results::typed(path, value)?, look),
        SCHEMA_SCORE => report::lab::score(&results::score(path, value)?, look),
        other => bail!(
            "this version of dwell has no page for {other:?}\n\
             try: results of dwell run, attach, compare, ladder, wake, load, doctor, lab, diff"
        ),
    })
}

/// What there is to learn, of a pair that this dwell has as well.
pub(super) fn lesson(run: &LabRun) -> Lesson {
    Lesson { text: Pair::named(&run.pair.name).map_or("", |pair| pair.lesson) }
}

fn of_pair(run: &LabRun, look: Look) -> String {
    report::lab::pair(run, &lesson(run), look)
}

fn of_run(
    result: &RunResult,
    page: fn(&Run, &Diagnosis, Look) -> String,
    causes: bool,
    look: Look,
) -> String {
    let RunResult { run, diagnosis, .. } = result;
    let mut text = page(run, diagnosis, look);
    if causes {
        text.push('\n');
        text.push_str(&report::causes(run, diagnosis, look));
    }
    text
}
