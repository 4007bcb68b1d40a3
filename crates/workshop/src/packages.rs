//! Packages of Debian and Ubuntu.

use crate::shell::{program, succeeds};
use std::process::Command;

/// apt-get, without questions, waiting for another running one, such as an unattended upgrade.
pub fn apt_get(arguments: &[&str]) -> Command {
    let mut command = program("apt-get", &["--quiet", "--option=DPkg::Lock::Timeout=300"]);
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// The first of the packages that apt knows, so that names of both Debian and Ubuntu work.
pub fn available(packages: &[&'static str]) -> &'static str {
    let known = packages.iter().find(|name| succeeds(&mut program("apt-cache", &["show", name])));
    known.unwrap_or(&packages[0])
}
