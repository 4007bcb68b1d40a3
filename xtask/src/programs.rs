//! Test programs: what Cargo builds, their paths, and their tests.

use crate::dist;
use crate::shell::{cargo, output, program, root, shown};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The profile of the whole lane: of Clippy, of the static binaries and of the tests, so that build
/// scripts and procedural macros are built once.
pub(crate) const TESTED: &str = "tested";

/// What Cargo builds tests for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// At each change: unoptimised, in increments, for the system.
    Developer,
    /// As users get dwell: static. The programs of known truth are linked to the system's C
    /// library, as most programs are that dwell observes.
    Static,
}

/// A program of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The short name of its package: `report` for dwell-report.
    pub(crate) package: String,
    /// `lib`, or the name of the target.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The directory of its package, in which tests run.
    pub(crate) directory: PathBuf,
    /// The programs of known truth, if built.
    work: Option<PathBuf>,
}

/// Builds what `cargo test` with these arguments would run.
///
/// # Errors
/// When something does not build.
pub(crate) fn build(which: &[&str], how: Build) -> Result<Vec<Program>> {
    let mut command = cargo(&["test", "--no-run"]);
    // Without the examples, which clippy has checked.
    command.args(["--lib", "--bins", "--tests"]).args(which);
    if how == Build::Static {
        command.args(["--profile", TESTED]);
        dist::target_static(&mut command);
    }
    let built = artifacts(&mut command)?;
    let truths = match how {
        Build::Developer => None,
        Build::Static => {
            let only = ["build", "--package", "dwell-work", "--profile", TESTED];
            artifacts(&mut cargo(&only))?.first().and_then(executable)
        }
    };
    let programs = built.iter().filter(|artifact| artifact["profile"]["test"] == true).filter_map(read);
    Ok(programs.map(|program| Program { work: truths.clone(), ..program }).collect())
}

/// Runs Cargo, and returns the programs that it built or found built.
fn artifacts(command: &mut Command) -> Result<Vec<Value>> {
    command.args(["--locked", "--message-format=json-render-diagnostics"]).stdout(Stdio::piped());
    eprintln!("$ {}", shown(command));
    let mut child = command.spawn().context("cannot start cargo")?;
    let lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
    let artifacts = lines.map_while(Result::ok).filter_map(|line| artifact(&line)).collect();
    let status = child.wait().context("cannot wait for cargo")?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(artifacts)
}

/// The names of its tests, without those that are ignored.
///
/// # Errors
/// When it cannot list them.
pub(crate) fn tests(of: &Program) -> Result<Vec<String>> {
    let list = |more: &[&str]| -> Result<Vec<String>> {
        let said = output(&mut program(&of.path, &[&["--list", "--format=terse"], more].concat()))?;
        let tests = said.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(tests.map(str::to_owned).collect())
    };
    let ignored = list(&["--ignored"])?;
    Ok(list(&[])?.into_iter().filter(|test| !ignored.contains(test)).collect())
}

/// The environment of the tests of a program.
pub(crate) fn environment(of: &Program) -> Option<(&'static str, &Path)> {
    of.work.as_deref().map(|path| ("DWELL_WORK", path))
}

fn artifact(line: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(line).ok()?;
    (message["reason"] == "compiler-artifact" && message["executable"].is_string()).then_some(message)
}

fn executable(message: &Value) -> Option<PathBuf> {
    message["executable"].as_str().map(PathBuf::from)
}

fn read(message: &Value) -> Option<Program> {
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = directory.strip_prefix(root()).ok()?.file_name()?.to_str()?.to_owned();
    let library = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "lib");
    let name = if library { "lib" } else { message["target"]["name"].as_str()? }.to_owned();
    Some(Program { package, name, path: executable(message)?, directory, work: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_of_tests_is_a_program() {
        let manifest = root().join("crates/report/Cargo.toml");
        let line = serde_json::json!({
            "reason": "compiler-artifact", "manifest_path": manifest, "executable": "/t/it-1",
            "target": {"name": "it", "kind": ["test"]}, "profile": {"test": true},
        });
        let program = read(&artifact(&line.to_string()).unwrap()).unwrap();
        assert_eq!((program.package.as_str(), program.name.as_str()), ("report", "it"));
        assert_eq!(program.directory, root().join("crates/report"));
        assert_eq!(artifact(r#"{"reason": "compiler-artifact", "executable": null}"#), None);
    }
}
