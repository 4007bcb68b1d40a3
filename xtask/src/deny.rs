//! Licences, bans, sources and known advisories of the dependencies, by cargo-deny.
//!
//! cargo-deny is built once into `target/tools` where it is not installed. The advisories come from GitHub: where that
//! cannot be reached they are left out, and that is said.

use crate::shell::{cargo, find, program, run, succeeds, target};
use anyhow::Result;
use std::path::PathBuf;

const VERSION: &str = "0.20.2";
const ADVISORIES: &str = "https://github.com/rustsec/advisory-db";

/// Runs the checks that `deny.toml` describes.
///
/// # Errors
/// When a check fails, or cargo-deny cannot be built.
pub(crate) fn check() -> Result<()> {
    let deny = cargo_deny()?;
    run(&mut program(&deny, &["--all-features", "check", "licenses", "bans", "sources"]))?;
    let mut probe = program("timeout", &["20", "git", "ls-remote", "--quiet", ADVISORIES, "HEAD"]);
    if succeeds(probe.env("GIT_TERMINAL_PROMPT", "0")) {
        return run(&mut program(&deny, &["--all-features", "check", "advisories"]));
    }
    println!("ADVISORIES NOT CHECKED: {ADVISORIES} cannot be reached from here");
    Ok(())
}

fn cargo_deny() -> Result<PathBuf> {
    let own = target().join("tools");
    let built = own.join("bin/cargo-deny");
    if let Some(path) = find("cargo-deny").or_else(|| built.is_file().then(|| built.clone())) {
        return Ok(path);
    }
    // Without optimisation it is built in a third of the time, and takes no longer over a graph as small as ours.
    let mut install =
        cargo(&["install", "cargo-deny", "--version", VERSION, "--locked", "--debug", "--quiet"]);
    run(install.arg("--root").arg(&own).arg("--target-dir").arg(own.join("build")))?;
    Ok(built)
}
