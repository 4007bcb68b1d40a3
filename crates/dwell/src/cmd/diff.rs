//! `dwell diff`: a comparison of two kept results, or of several comparisons.

use crate::cli::DiffArgs;
use crate::cmd::named;
use crate::cmd::results::{self, KeptResult};
use crate::exit;
use crate::keep::Keeper;
use crate::out::{
    LabDiffResult, LadderDiffResult, Outputs, Page, Render, RunDiffResult, SittingsResult, TimingsDiffResult,
    WakeDiffResult,
};
use anyhow::bail;
use model::compare::commands::SCHEMA_COMPARE;
use model::compare::timings::HYPERFINE;
use model::lab::{LabRun, LabScore, SCHEMA_LAB, SCHEMA_SCORE};
use model::ladder::SCHEMA_LADDER;
use model::run::SCHEMA_RUN;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Compares the results; returns the exit status.
pub(crate) fn diff(mut args: DiffArgs, keeper: &Keeper) -> anyhow::Result<u8> {
    for path in [&mut args.a, &mut args.b].into_iter().chain(&mut args.more) {
        *path = named::settled(path, keeper)?;
    }
    let args = &args;
    let (a, b) = (results::read_any(&args.a, keeper)?, results::read_any(&args.b, keeper)?);
    if let Some(third) = args.more.first()
        && !(a.is_of(SCHEMA_COMPARE) && b.is_of(SCHEMA_COMPARE))
    {
        bail!(
            "{third:?} is a third file, and only results of dwell compare --json ({SCHEMA_COMPARE}) are \
             compared by more than two\ntry: two files"
        );
    }
    if a.is_wake() && b.is_wake() {
        return wakes(args, a, b);
    }
    match (a, b) {
        (KeptResult::Own(of_a, a), KeptResult::Own(of_b, b)) if of_a == of_b => match of_a.as_str() {
            SCHEMA_LADDER => ladders(args, a, b),
            SCHEMA_RUN => runs(args, a, b),
            SCHEMA_COMPARE => sittings(args, a, b, keeper),
            HYPERFINE => timings(args, (&of_a, a), (&of_b, b)),
            SCHEMA_SCORE => scores(args, a, b),
            SCHEMA_LAB => pair(args, a, b),
            other => {
                bail!(
                    "this version of dwell cannot compare two results of {other:?}\n\
                     try: two files of dwell run --json ({SCHEMA_RUN}), of dwell ladder --json \
                     ({SCHEMA_LADDER}), of dwell compare --json ({SCHEMA_COMPARE}), of dwell lab --json \
                     ({SCHEMA_LAB}, {SCHEMA_SCORE}), or of dwell wake --json"
                )
            }
        },
        (KeptResult::Own(of_a, a), KeptResult::Own(of_b, b))
            if [of_a.as_str(), of_b.as_str()].iter().all(|of| [HYPERFINE, SCHEMA_COMPARE].contains(of)) =>
        {
            timings(args, (&of_a, a), (&of_b, b))
        }
        (a, b) => {
            bail!(
                "{:?} is a {} and {:?} a {}: they cannot be compared\ntry: two results of the same kind",
                args.a,
                a.kind(),
                args.b,
                b.kind()
            )
        }
    }
}

fn runs(args: &DiffArgs, a: Value, b: Value) -> anyhow::Result<u8> {
    let (a, b) = (results::run(&args.a, a)?, results::run(&args.b, b)?);
    write(args, &RunDiffResult(analyse::compare::runs(&a.run, &b.run)))
}

fn sittings(args: &DiffArgs, a: Value, b: Value, keeper: &Keeper) -> anyhow::Result<u8> {
    let mut sittings =
        vec![(&args.a, results::comparison(&args.a, a)?), (&args.b, results::comparison(&args.b, b)?)];
    for path in &args.more {
        let (schema, value) = results::read(path, keeper)?;
        if schema != SCHEMA_COMPARE {
            bail!(
                "{path:?} is a {schema:?} and the others are {SCHEMA_COMPARE:?}\ntry: results of the same kind"
            );
        }
        sittings.push((path, results::comparison(path, value)?));
    }
    let named: Vec<_> = sittings.into_iter().map(|(path, of)| (path.display().to_string(), of)).collect();
    write(args, &SittingsResult(analyse::compare::sittings(&named)))
}

/// Commands of which one side at least was timed by another tool.
fn timings(args: &DiffArgs, a: (&str, Value), b: (&str, Value)) -> anyhow::Result<u8> {
    let (a, b) = (results::timings(&args.a, a.0, a.1)?, results::timings(&args.b, b.0, b.1)?);
    let [of_a, of_b] = [&args.a, &args.b].map(|path| path.display().to_string());
    write(args, &TimingsDiffResult(analyse::compare::timings::compare((&of_a, &a), (&of_b, &b))))
}

fn scores(args: &DiffArgs, a: Value, b: Value) -> anyhow::Result<u8> {
    let (a, b): (LabScore, LabScore) = (results::typed(&args.a, a)?, results::typed(&args.b, b)?);
    write(args, &LabDiffResult(analyse::compare::scores(&a, &b)))
}

fn pair(args: &DiffArgs, a: Value, b: Value) -> anyhow::Result<u8> {
    let (a, b): (LabRun, LabRun) = (results::typed(&args.a, a)?, results::typed(&args.b, b)?);
    let Some(diff) = analyse::compare::one_pair(&a, &b) else {
        let name = |of: &LabRun| report::clean(&of.pair.name, false);
        bail!(
            "{:?} is of the pair {} and {:?} of {}: they cannot be compared\ntry: two results of the same pair, or two \
             scores (dwell lab --score --json FILE)",
            args.a,
            name(&a),
            args.b,
            name(&b)
        );
    };
    write(args, &LabDiffResult(diff))
}

fn wakes(args: &DiffArgs, a: KeptResult, b: KeptResult) -> anyhow::Result<u8> {
    let (a, b) = (a.comparable(&args.a)?, b.comparable(&args.b)?);
    write(args, &WakeDiffResult(analyse::compare::wakes(&a, &b)))
}

fn ladders(args: &DiffArgs, a: Value, b: Value) -> anyhow::Result<u8> {
    let (a, b) = (results::ladder(&args.a, a)?, results::ladder(&args.b, b)?);
    let diff = analyse::compare::ladders(&a, &b);
    let a = [analyse::ladder::beside::ladder(&args.a.display().to_string(), &a)];
    write(args, &LadderDiffResult { diff, a, b })
}

fn write<R: Render>(args: &DiffArgs, result: &R) -> anyhow::Result<u8> {
    let page = if args.quiet { Page::None } else { Page::Stdout };
    let read: Vec<&Path> = [&args.a, &args.b].into_iter().chain(&args.more).map(PathBuf::as_path).collect();
    let outputs = Outputs::open(&args.forms, page, None, &read)?;
    Ok(if outputs.write(result, &args.look).complain() { exit::DWELL_FAILED } else { 0 })
}
