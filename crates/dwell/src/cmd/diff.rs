//! `dwell diff`: a comparison of two kept results.

use crate::cli::DiffArgs;
use crate::cmd::results::{self, KeptResult};
use crate::exit;
use crate::out::{LadderDiffResult, Outputs, Page, Render, WakeDiffResult};
use anyhow::bail;
use model::ladder::SCHEMA_LADDER;
use serde_json::Value;

/// Compares the two results; returns the exit status.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<u8> {
    let (a, b) = (results::read_any(&args.a)?, results::read_any(&args.b)?);
    if a.is_wake() && b.is_wake() {
        return wakes(args, a, b);
    }
    match (a, b) {
        (KeptResult::Own(of_a, a), KeptResult::Own(of_b, b)) if of_a == of_b => match of_a.as_str() {
            SCHEMA_LADDER => ladders(args, a, b),
            other => {
                bail!(
                    "this version of dwell cannot compare two results of {other:?}\n\
                     try: two files of dwell ladder --json ({SCHEMA_LADDER}), or of dwell wake --json"
                )
            }
        },
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
    let outputs = Outputs::open(&args.forms, page, None, &[&args.a, &args.b])?;
    Ok(if outputs.write(result, &args.look).complain() { exit::DWELL_FAILED } else { 0 })
}
