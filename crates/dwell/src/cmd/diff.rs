//! `dwell diff`: two kept results beside each other.

use crate::cli::DiffArgs;
use crate::cmd::ladder::{Form, Outputs};
use crate::cmd::results;
use crate::exit;
use crate::look::{Onto, look_of};
use anyhow::bail;
use model::ladder::SCHEMA_LADDER;
use serde_json::Value;

/// Compares and shows; gives the exit status.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<u8> {
    let (of_a, a) = results::read(&args.a)?;
    let (of_b, b) = results::read(&args.b)?;
    if of_a != of_b {
        bail!(
            "{:?} is a {of_a:?} and {:?} a {of_b:?}: they cannot be compared\ntry: two of a kind",
            args.a,
            args.b
        );
    }
    match of_a.as_str() {
        SCHEMA_LADDER => ladders(args, a, b),
        other => {
            bail!(
                "this version of dwell cannot compare two {other:?}\ntry: two files of dwell ladder --json ({SCHEMA_LADDER})"
            )
        }
    }
}

fn ladders(args: &DiffArgs, a: Value, b: Value) -> anyhow::Result<u8> {
    let (a, b) = (results::ladder(&args.a, a)?, results::ladder(&args.b, b)?);
    let outputs = Outputs::open(&args.forms)?;
    let look = look_of(args.width, args.color, Onto::Stdout);
    let diff = analyse::ladder::diff(&a, &b);
    // The picture has B's bars with A's figures upon them.
    let others = [analyse::ladder::beside::ladder(&args.a.display().to_string(), &a)];
    let failed = outputs.write(args.quiet, &|form| match form {
        Form::Page => report::ladder::diff_terminal(&diff, look).into_bytes(),
        Form::Json => report::ladder::diff_json(&diff).into_bytes(),
        Form::Svg => report::ladder::svg(&b, &others).into_bytes(),
        Form::Png => report::ladder::png(&b, &others),
    });
    Ok(if failed { exit::DWELL_FAILED } else { 0 })
}
