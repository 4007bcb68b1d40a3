//! `--unit FUNCTION` and `--unit usdt:PROVIDER:NAME`: where these pieces of work begin and end.

use crate::cli::{InFile, UnitArg};
use anyhow::anyhow;
use observe::function_code;
use observe::unit_probes::{Error, UnitProbes};
use std::path::PathBuf;

/// The places, of what is not known without any. `program`: its own file.
pub(super) fn probes(
    unit: &UnitArg,
    program: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Option<UnitProbes>> {
    let (InFile { name, file }, provider) = match unit {
        UnitArg::Request | UnitArg::Cycle(_) => return Ok(None),
        UnitArg::Call(function) => (function, None),
        UnitArg::Operation(provider, probe) => (probe, Some(provider)),
    };
    let path = match file {
        Some(file) => file.clone(),
        None => program()?,
    };
    let (found, asked) = match provider {
        None => (UnitProbes::of_call(&path, name), name.clone()),
        Some(provider) => {
            (UnitProbes::of_operation(&path, provider, name), format!("usdt:{provider}:{name}"))
        }
    };
    found.map(Some).map_err(|error| match remedy(&error, &asked) {
        Some(remedy) => anyhow!("cannot follow --unit: {error}\ntry: {remedy}"),
        None => anyhow!(error).context("cannot follow --unit"),
    })
}

fn remedy(error: &Error, name: &str) -> Option<String> {
    match error {
        Error::File(error) => function_remedy(error, "--unit", name),
        Error::NoProbe { path, .. } => {
            let elsewhere = format!("--unit={name}@FILE with the file that contains it");
            Some(format!("{elsewhere}, or a name from `readelf -n {}`", path.display()))
        }
        Error::Go { .. } => Some("--unit=request, if it serves".to_owned()),
        Error::NoEnds { .. } => Some("a function that calls it".to_owned()),
    }
}

/// What to give in place of a function, to this option.
pub(super) fn function_remedy(error: &function_code::Error, option: &str, name: &str) -> Option<String> {
    let elsewhere = format!("{option}={name}@FILE with the file that contains it");
    match error {
        function_code::Error::NoCode(..) => Some(elsewhere),
        function_code::Error::NoFunction(path, _) => {
            Some(format!("{elsewhere}, or a name from `nm -C {}`", path.display()))
        }
        function_code::Error::Several { .. } => Some("the full name of one of them".to_owned()),
        _ => None,
    }
}
