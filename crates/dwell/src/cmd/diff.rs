//! `dwell diff`: a comparison of two kept results, or of several comparisons.

use crate::cli::DiffArgs;
use crate::cmd::named;
use crate::cmd::results::{self, Compared};
use crate::exit;
use crate::keep::Keeper;
use crate::out::{LadderDiffResult, Outputs, Page, Render, Side};
use anyhow::{anyhow, bail};
use model::Ladder;
use model::compare::commands::{Comparison, SCHEMA_COMPARE};
use model::compare::timings::Timings;
use model::lab::{LabRun, SCHEMA_LAB, SCHEMA_SCORE};
use model::ladder::SCHEMA_LADDER;
use model::run::SCHEMA_RUN;
use std::path::{Path, PathBuf};

/// Compares the results; returns the exit status.
pub(crate) fn diff(mut args: DiffArgs, keeper: &Keeper) -> anyhow::Result<u8> {
    for path in [&mut args.a, &mut args.b].into_iter().chain(&mut args.more) {
        *path = named::settled(path, keeper)?;
    }
    let args = &args;
    let (a, b) = (results::compared(&args.a, keeper)?, results::compared(&args.b, keeper)?);
    let both_timed = [&a, &b].into_iter().all(|one| matches!(one.side, Some(Side::Commands(_))));
    if let Some(third) = args.more.first()
        && !both_timed
    {
        bail!(
            "{third:?} is a third file, and only results of dwell compare --json ({SCHEMA_COMPARE}) are \
             compared by more than two\ntry: two files"
        );
    }
    let (of_a, of_b) = (a.what, b.what);
    match (a.side, b.side) {
        (Some(Side::Run(a)), Some(Side::Run(b))) => write(args, &analyse::compare::runs(&a.run, &b.run)),
        (Some(Side::Commands(a)), Some(Side::Commands(b))) => sittings(args, *a, *b, keeper),
        (Some(Side::Timings(a)), Some(Side::Timings(b))) => timings(args, &a, &b),
        (Some(Side::Timings(a)), Some(Side::Commands(b))) => timings(args, &a, &timed(&args.b, &b)?),
        (Some(Side::Commands(a)), Some(Side::Timings(b))) => timings(args, &timed(&args.a, &a)?, &b),
        (Some(Side::Ladder(a)), Some(Side::Ladder(b))) => ladders(args, &a, *b),
        (Some(Side::Latency(a)), Some(Side::Latency(b))) => write(args, &analyse::compare::wakes(&a, &b)),
        (Some(Side::Score(a)), Some(Side::Score(b))) => write(args, &analyse::compare::scores(&a, &b)),
        (Some(Side::Pair(a)), Some(Side::Pair(b))) => pair(args, &a, &b),
        _ if of_a == of_b => bail!(
            "this version of dwell cannot compare two results of {of_a}\n\
             try: two files of dwell run --json ({SCHEMA_RUN}), of dwell ladder --json \
             ({SCHEMA_LADDER}), of dwell compare --json ({SCHEMA_COMPARE}), of dwell lab --json \
             ({SCHEMA_LAB}, {SCHEMA_SCORE}), or of dwell wake --json"
        ),
        _ => bail!(
            "{:?} is a {of_a} and {:?} a {of_b}: they cannot be compared\ntry: two results of the same kind",
            args.a,
            args.b
        ),
    }
}

fn sittings(args: &DiffArgs, a: Comparison, b: Comparison, keeper: &Keeper) -> anyhow::Result<u8> {
    let mut sittings = vec![(&args.a, a), (&args.b, b)];
    for path in &args.more {
        let Compared { what, side } = results::compared(path, keeper)?;
        let Some(Side::Commands(comparison)) = side else {
            bail!(
                "{path:?} is a {what} and the others are {SCHEMA_COMPARE:?}\ntry: results of the same kind"
            );
        };
        sittings.push((path, *comparison));
    }
    let named: Vec<_> = sittings.into_iter().map(|(path, of)| (path.display().to_string(), of)).collect();
    write(args, &analyse::compare::sittings(&named))
}

/// What dwell compared, as another tool would have timed it.
fn timed(path: &Path, comparison: &Comparison) -> anyhow::Result<Timings> {
    analyse::compare::timings::of_comparison(comparison)
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

fn ladders(args: &DiffArgs, a: &Ladder, b: Ladder) -> anyhow::Result<u8> {
    let diff = analyse::compare::ladders(a, &b);
    let a = [analyse::ladder::beside::ladder(&args.a.display().to_string(), a)];
    write(args, &LadderDiffResult { diff, a, b })
}

fn write<R: Render>(args: &DiffArgs, result: &R) -> anyhow::Result<u8> {
    let page = if args.quiet { Page::None } else { Page::Stdout };
    let read: Vec<&Path> = [&args.a, &args.b].into_iter().chain(&args.more).map(PathBuf::as_path).collect();
    let outputs = Outputs::open(&args.forms, page, None, &read)?;
    Ok(if outputs.write(result, &args.look).complain() { exit::DWELL_FAILED } else { 0 })
}
