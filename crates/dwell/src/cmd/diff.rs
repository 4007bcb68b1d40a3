//! `dwell diff`: a comparison of two kept results, or of several comparisons.

use crate::cli::DiffArgs;
use crate::cmd::named;
use crate::cmd::results::{self, Comparand, Unread};
use crate::exit;
use crate::keep::ResultStore;
use crate::out::{
    LadderDiffResult, LadderResult, Outputs, Page, Render, RunOutput, SheetResult, TimingsResult,
};
use anyhow::{Context, anyhow, bail};
use model::compare::commands::{Comparison, SCHEMA_COMPARE};
use model::compare::timings::Timings;
use model::compare::wake::Comparable;
use model::lab::{LabRun, LabScore, SCHEMA_LAB, SCHEMA_SCORE};
use model::ladder::SCHEMA_LADDER;
use model::run::{SCHEMA_ATTACH, SCHEMA_RUN};
use model::wake::Wakeups;
use std::path::{Path, PathBuf};

/// Compares the results; returns the exit status.
pub(crate) fn diff(mut args: DiffArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    let mut ids = Vec::new();
    for path in [&mut args.a, &mut args.b].into_iter().chain(&mut args.more) {
        let kept = named::find(path, keeper)?;
        if let Some(row) = &kept {
            *path = row.id.clone().into();
        }
        ids.push(kept.map(|row| row.id));
    }
    let args = &args;
    let (a, b) = (results::comparand(&args.a, keeper)?, results::comparand(&args.b, keeper)?);
    if let Some(third) = args.more.first()
        && !(a.is::<Comparison>() && b.is::<Comparison>())
    {
        bail!(
            "{third:?} is a third file, and only results of dwell compare --json ({SCHEMA_COMPARE}) are \
             compared by more than two\ntry: two files"
        );
    }
    if is_latency(&a) && is_latency(&b) {
        let mut diff = analyse::compare::wakes(&latency(&args.a, a)?, &latency(&args.b, b)?);
        diff.names = [&args.a, &args.b].map(|path| path.display().to_string());
        return write(args, &diff);
    }
    let (of_a, of_b) = (a.what(), b.what());
    let timed = |one: &Comparand| one.is::<TimingsResult>() || one.is::<Comparison>();
    let both_timed = timed(&a) && timed(&b);
    match (a, b) {
        (Comparand::Own(a), Comparand::Own(b)) if of_a == of_b => two_of_a_kind(args, a, b, &ids, keeper),
        (Comparand::Own(a), Comparand::Own(b)) if both_timed => {
            timings(args, &timed_commands(&args.a, a)?, &timed_commands(&args.b, b)?)
        }
        _ => bail!(
            "{:?} is a {of_a} and {:?} a {of_b}: they cannot be compared\ntry: two results of the same kind",
            args.a,
            args.b
        ),
    }
}

/// `ids`: those of A and B, where they are results of the store.
fn two_of_a_kind(
    args: &DiffArgs,
    a: Unread,
    b: Unread,
    ids: &[Option<String>],
    keeper: &ResultStore,
) -> anyhow::Result<u8> {
    if a.is::<LadderResult>() {
        return ladders(args, a.read()?, b.read()?);
    }
    if a.is::<RunOutput>() {
        let (a, b): (RunOutput, RunOutput) = (a.read()?, b.read()?);
        let mut diff = analyse::compare::runs(&a.result.run, &b.result.run);
        for (of, id) in [&mut diff.a, &mut diff.b].into_iter().zip(ids) {
            of.id.clone_from(id);
        }
        return write(args, &diff);
    }
    if a.is::<Comparison>() {
        return sittings(args, a.read()?, b.read()?, keeper);
    }
    if a.is::<TimingsResult>() {
        return timings(args, &timed_commands(&args.a, a)?, &timed_commands(&args.b, b)?);
    }
    if a.is::<LabScore>() {
        return write(args, &analyse::compare::scores(&a.read()?, &b.read()?));
    }
    if a.is::<LabRun>() {
        return pair(args, &a.read()?, &b.read()?);
    }
    bail!(
        "this version of dwell cannot compare two results of {:?}\n\
         try: two files of dwell run --json ({SCHEMA_RUN}), of dwell attach --json \
         ({SCHEMA_ATTACH}), of dwell ladder --json ({SCHEMA_LADDER}), of dwell compare --json ({SCHEMA_COMPARE}), of dwell lab --json \
         ({SCHEMA_LAB}, {SCHEMA_SCORE}), or of dwell wake --json",
        a.schema
    )
}

/// Whether it is a measurement of latency.
fn is_latency(one: &Comparand) -> bool {
    matches!(one, Comparand::Other(_)) || one.is::<Wakeups>() || one.is::<SheetResult>()
}

/// Its figures for a comparison; it must be a measurement of latency.
fn latency(path: &Path, one: Comparand) -> anyhow::Result<Comparable> {
    match one {
        Comparand::Other(comparable) => Ok(*comparable),
        Comparand::Own(unread) if unread.is::<SheetResult>() => {
            let SheetResult { sheet, .. } = unread.read()?;
            let none = || anyhow!("{path:?} is a sheet without any measured case");
            analyse::wake::comparable_sheet(&sheet).with_context(none)
        }
        Comparand::Own(unread) => Ok(analyse::wake::comparable(&unread.read()?)),
    }
}

fn sittings(args: &DiffArgs, a: Comparison, b: Comparison, keeper: &ResultStore) -> anyhow::Result<u8> {
    let mut sittings = vec![(&args.a, a), (&args.b, b)];
    for path in &args.more {
        let more = results::one(path, results::all(path, keeper)?)?;
        if !more.is::<Comparison>() {
            bail!(
                "{path:?} is a {:?} and the others are {SCHEMA_COMPARE:?}\ntry: results of the same kind",
                more.schema
            );
        }
        sittings.push((path, more.read()?));
    }
    let named: Vec<_> = sittings.into_iter().map(|(path, of)| (path.display().to_string(), of)).collect();
    write(args, &analyse::compare::sittings(&named))
}

/// Commands that another tool timed, or dwell as that tool would have.
fn timed_commands(path: &Path, one: Unread) -> anyhow::Result<Timings> {
    if one.is::<TimingsResult>() {
        return Ok(one.read::<TimingsResult>()?.timings);
    }
    analyse::compare::timings::of_comparison(&one.read()?)
        .map_err(|error| anyhow!("{path:?} cannot be read: {}", report::clean(&error.to_string(), false)))
}

/// Commands of which one side at least was timed by another tool.
fn timings(args: &DiffArgs, a: &Timings, b: &Timings) -> anyhow::Result<u8> {
    let [of_a, of_b] = [&args.a, &args.b].map(|path| path.display().to_string());
    write(args, &analyse::compare::timings::compare((&of_a, a), (&of_b, b)))
}

fn pair(args: &DiffArgs, a: &LabRun, b: &LabRun) -> anyhow::Result<u8> {
    let Some(diff) = analyse::compare::one_pair(a, b) else {
        let name = |of: &LabRun| report::clean(&of.pair.name, false);
        bail!(
            "{:?} is of the pair {} and {:?} of {}: they cannot be compared\ntry: two results of the same pair, or two \
             scores (dwell lab --score --json FILE)",
            args.a,
            name(a),
            args.b,
            name(b)
        );
    };
    write(args, &diff)
}

fn ladders(args: &DiffArgs, a: LadderResult, b: LadderResult) -> anyhow::Result<u8> {
    let diff = analyse::compare::ladders(&a.ladder, &b.ladder);
    let a = [analyse::ladder::beside::ladder(&args.a.display().to_string(), &a.ladder)];
    write(args, &LadderDiffResult { diff, a, b: b.ladder })
}

fn write<R: Render>(args: &DiffArgs, result: &R) -> anyhow::Result<u8> {
    let page = if args.quiet { Page::None } else { Page::Stdout };
    let page = args.page_to.as_ref().map_or(page, Page::To);
    let read: Vec<&Path> = [&args.a, &args.b].into_iter().chain(&args.more).map(PathBuf::as_path).collect();
    let outputs = Outputs::open(&args.forms, page, None, &read)?;
    Ok(if outputs.write(result, &args.look).complain() { exit::DWELL_FAILED } else { 0 })
}
