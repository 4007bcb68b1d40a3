//! `dwell diff`: two kept results beside each other.

use crate::cli::DiffArgs;
use crate::cmd::outputs::{Form, Outputs, Written, places};
use crate::cmd::results::{self, Kept};
use crate::exit;
use crate::look::{Onto, look};
use anyhow::bail;
use model::ladder::SCHEMA_LADDER;
use serde_json::Value;

/// Compares and shows; gives the exit status.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<u8> {
    let (a, b) = (results::read_any(&args.a)?, results::read_any(&args.b)?);
    if a.is_wake() && b.is_wake() {
        return wakes(args, a, b);
    }
    match (a, b) {
        (Kept::Own(of_a, a), Kept::Own(of_b, b)) if of_a == of_b => match of_a.as_str() {
            SCHEMA_LADDER => ladders(args, a, b),
            other => {
                bail!(
                    "this version of dwell cannot compare two {other:?}\ntry: two files of dwell ladder --json ({SCHEMA_LADDER}), or \
                     of dwell wake --json"
                )
            }
        },
        (a, b) => {
            bail!(
                "{:?} is a {} and {:?} a {}: they cannot be compared\ntry: two of a kind",
                args.a,
                a.what(),
                args.b,
                b.what()
            )
        }
    }
}

fn wakes(args: &DiffArgs, a: Kept, b: Kept) -> anyhow::Result<u8> {
    let (a, b) = (a.comparable(&args.a)?, b.comparable(&args.b)?);
    let outputs = Outputs::open(&places(&args.forms, None), None, &[&args.a, &args.b])?;
    let look = look(&args.look, Onto::Stdout);
    let diff = analyse::wake::diff(&a, &b);
    let written = outputs.write(args.quiet, &|form| match form {
        Form::Page => report::wake::diff_terminal(&diff, look).into_bytes(),
        Form::Json => report::wake::diff_json(&diff).into_bytes(),
        Form::Svg => report::wake::diff_svg(&diff).into_bytes(),
        Form::Png => report::wake::diff_png(&diff),
        Form::Junit => Vec::new(),
    });
    Ok(status(written))
}

fn ladders(args: &DiffArgs, a: Value, b: Value) -> anyhow::Result<u8> {
    let (a, b) = (results::ladder(&args.a, a)?, results::ladder(&args.b, b)?);
    let outputs = Outputs::open(&places(&args.forms, None), None, &[&args.a, &args.b])?;
    let look = look(&args.look, Onto::Stdout);
    let diff = analyse::ladder::diff(&a, &b);
    // The picture has B's bars with A's figures upon them.
    let others = [analyse::ladder::beside::ladder(&args.a.display().to_string(), &a)];
    let written = outputs.write(args.quiet, &|form| match form {
        Form::Page => report::ladder::diff_terminal(&diff, look).into_bytes(),
        Form::Json => report::ladder::diff_json(&diff).into_bytes(),
        Form::Svg => report::ladder::svg(&b, &others).into_bytes(),
        Form::Png => report::ladder::png(&b, &others),
        Form::Junit => Vec::new(),
    });
    Ok(status(written))
}

fn status(written: Written) -> u8 {
    if written == Written::Failed { exit::DWELL_FAILED } else { 0 }
}
