//! Finding and running other programs, and paths of the repository.

use anyhow::{Context, Result, bail};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}

/// Cargo's target directory.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |path| root().join(path))
}

/// The Cargo that runs this program, at the root, without standard input.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments).stdin(Stdio::null());
    forget_package(&mut command);
    command
}

/// Removes the variables that `cargo run` sets for the program's own package: build scripts watch
/// them, and would rebuild what the same Cargo called by hand has built.
pub fn forget_package(command: &mut Command) {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| is_of_package(name)).for_each(|name| {
        command.env_remove(name);
    });
}

fn is_of_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Any other program, at the root, without standard input.
pub fn program(name: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = Command::new(name.as_ref());
    command.current_dir(root()).args(arguments).stdin(Stdio::null());
    command
}

/// Runs to the end, showing the command and its output.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs to the end and returns standard output; standard error is part of the error.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        bail!(
            "{} ended with {}: {}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether it can be started and succeeds; its output is not shown.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The path of a program: in `PATH`, or in the directories of administrators' tools, which are not
/// in every user's.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    directories.map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// The command as typed in a shell.
pub fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::is_of_package;

    #[test]
    fn the_users_own_variables_stay() {
        assert!(is_of_package("CARGO_PKG_VERSION") && is_of_package("CARGO_MANIFEST_DIR"));
        assert!(!is_of_package("CARGO_HOME") && !is_of_package("CARGO_TARGET_DIR"));
    }
}
