//! Licences, bans, sources and known advisories of the dependencies, by cargo-deny.
//!
//! cargo-deny is installed by `cargo install` where it is missing: once per machine, not per clone.
//! The advisories come from GitHub: where that cannot be reached they are skipped, with a message.

use crate::shell::{cargo, find, program, run, succeeds, target};
use anyhow::{Context, Result};
use std::env;
use std::path::{Path, PathBuf};

const VERSION: &str = "0.20.2";
const ADVISORIES: &str = "https://github.com/rustsec/advisory-db";

/// The workspace of the fuzz targets, by the same rules. `--locked` notices that its lock file does
/// not fit the manifests any more, which nothing else of the whole lane does.
const FUZZ: [&str; 4] = ["--manifest-path", "fuzz/Cargo.toml", "--config", "deny.toml"];

/// Runs the checks that `deny.toml` describes.
///
/// # Errors
/// When a check fails, or cargo-deny cannot be built.
pub(crate) fn check() -> Result<()> {
    let deny = cargo_deny()?;
    // Only the fuzz targets have what the exceptions are for.
    let checks = ["check", "--allow", "license-exception-not-encountered", "licenses", "bans", "sources"];
    run(program(&deny, &["--all-features", "--locked"]).args(checks))?;
    run(program(&deny, &["--all-features", "--locked"]).args(FUZZ).args(checks))?;
    let mut probe = program("timeout", &["20", "git", "ls-remote", "--quiet", ADVISORIES, "HEAD"]);
    if succeeds(probe.env("GIT_TERMINAL_PROMPT", "0")) {
        run(&mut program(&deny, &["--all-features", "check", "advisories"]))?;
        return run(program(&deny, &["--all-features"]).args(FUZZ).args(["check", "advisories"]));
    }
    println!("ADVISORIES NOT CHECKED: {ADVISORIES} cannot be reached from here");
    Ok(())
}

fn cargo_deny() -> Result<PathBuf> {
    if let Some(path) = installed() {
        return Ok(path);
    }
    // Without optimisation it builds in a third of the time, and is as fast for a graph as small as
    // ours.
    let mut install =
        cargo(&["install", "cargo-deny", "--version", VERSION, "--locked", "--debug", "--quiet"]);
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    run(install.arg("--target-dir").arg(target().join("tools")))?;
    installed().context("cargo-deny was installed, but is neither in PATH nor in Cargo's directory")
}

/// Its path: in `PATH`, or in Cargo's directory, which need not be in `PATH`.
fn installed() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let own = home.map(|home| home.join("bin/cargo-deny")).filter(|path| path.is_file());
    find("cargo-deny").or(own)
}
