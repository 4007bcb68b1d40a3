//! `--unit FUNCTION` and `--unit usdt:PROVIDER:NAME`: where these pieces of work begin and end.

use crate::cli::{InFile, UnitArg};
use crate::output;
use anyhow::{anyhow, bail};
use model::requests::Unit;
use observe::unit_probes::{Error, UnitProbes};
use observe::{Choice, Watching, function_code};
use std::path::PathBuf;
use sys::at_once::EndAtOnce;

/// Has dwell follow what `unit` names: in the file that it names, or in the program's own. `files`
/// gives those that may be meant, by the file that was named.
pub(super) fn follow(
    unit: &UnitArg,
    watching: &mut Watching,
    files: impl FnOnce(Option<&PathBuf>) -> anyhow::Result<Vec<PathBuf>>,
) -> anyhow::Result<()> {
    if watching.units.unit != Unit::Request && matches!(watching.source, Choice::Perf | Choice::Proc) {
        bail!("--unit needs BPF, and --source asks for another source\ntry: without --source");
    }
    let (InFile { name, file }, provider) = match unit {
        UnitArg::Request | UnitArg::Cycle(_) => return Ok(()),
        UnitArg::Call(function) => (function, None),
        UnitArg::Operation(provider, probe) => (probe, Some(provider)),
    };
    // Debug information may be large, and until the program starts there is nothing to lose.
    let _at_once = EndAtOnce::begin(output::remove_unwritten).ok();
    let find = |path: PathBuf| match provider {
        None => UnitProbes::of_call(&path, name),
        Some(provider) => UnitProbes::of_operation(&path, provider, name),
    };
    let mut found: Vec<_> = files(file.as_ref())?.into_iter().map(find).collect();
    // Of several programs one may have it.
    let at = found.iter().position(Result::is_ok).unwrap_or(0);
    let asked = match provider {
        None => name.clone(),
        Some(provider) => format!("usdt:{provider}:{name}"),
    };
    let found = found.swap_remove(at).map_err(|error| match remedy(&error, &asked) {
        Some(remedy) => anyhow!("cannot follow --unit: {}\ntry: {remedy}", with_causes(&error)),
        None => anyhow!(error).context("cannot follow --unit"),
    })?;
    watching.units.of = Some(found.name().into());
    watching.unit_probes = Some(found);
    Ok(())
}

fn remedy(error: &Error, name: &str) -> Option<String> {
    match error {
        Error::File(error) => function_remedy(error, "--unit", name),
        Error::NoProbe { path, .. } => {
            let elsewhere = format!("--unit={name}@FILE with the file that contains it");
            Some(format!("{elsewhere}, or a name from `readelf -n {}`", path.display()))
        }
        Error::Go(_) => Some("--unit=request, if it serves".to_owned()),
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
        function_code::Error::Several { .. } => {
            Some("one of them by its full name, or by its symbol as `nm` shows it".to_owned())
        }
        _ => None,
    }
}

/// An error with what caused it.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
