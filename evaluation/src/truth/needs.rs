//! What the programs need to be installed, and installing it.

use super::quota;
use anyhow::{Result, ensure};
use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use workshop::packages::{apt_get, available};
use workshop::shell::{find, run};

/// Something that has to be there, and the Debian or Ubuntu packages that bring it, best first.
#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) name: &'static str,
    packages: &'static [&'static str],
    present: fn(&str) -> bool,
}

impl Need {
    pub(crate) fn is_present(&self) -> bool {
        (self.present)(self.name)
    }
}

/// What every program is started and watched with.
pub(crate) static TOOLS: [Need; 3] = [
    in_path("perf", &["linux-perf", "linux-tools-generic"]),
    in_path("strace", &["strace"]),
    in_path("setpriv", &["util-linux"]),
];

/// What programs need, by the names that they give it.
static NEEDS: [Need; 28] = [
    in_path("cc", &["gcc"]),
    in_path("make", &["make"]),
    in_path("git", &["git"]),
    in_path("go", &["golang-go"]),
    in_path("node", &["nodejs"]),
    in_path("npm", &["npm"]),
    in_path("mvn", &["maven"]),
    in_path("javac", &["default-jdk-headless"]),
    in_path("python3", &["python3"]),
    in_path("perl", &["perl-base"]),
    in_path("cargo", &["cargo"]),
    in_path("rustc", &["rustc"]),
    in_path("curl", &["curl"]),
    in_path("ab", &["apache2-utils"]),
    in_path("xz", &["xz-utils"]),
    in_path("rg", &["ripgrep"]),
    in_path("rsync", &["rsync"]),
    in_path("fio", &["fio"]),
    in_path("sqlite3", &["sqlite3"]),
    in_path("redis-server", &["redis-server"]),
    in_path("nginx", &["nginx", "nginx-light"]),
    in_path("bzip2", &["bzip2"]),
    in_path("zip", &["zip"]),
    in_path("pv", &["pv"]),
    in_path("iperf3", &["iperf3"]),
    in_path("ssh-keygen", &["openssh-client"]),
    Need {
        name: "postgres",
        packages: &["postgresql"],
        present: |_| postgres().is_some_and(|path| path.join("pgbench").exists()),
    },
    // A machine has it or not: no package brings it.
    Need {
        name: "a CPU controller of control groups",
        packages: &[],
        present: |_| quota::controller().is_some(),
    },
];

/// A program in `PATH`.
const fn in_path(name: &'static str, packages: &'static [&'static str]) -> Need {
    Need { name, packages, present: |name| find(name).is_some() }
}

/// The need of this name.
pub(crate) fn named(name: &str) -> Option<&'static Need> {
    NEEDS.iter().find(|need| need.name == name)
}

/// Whether all of these are there.
///
/// # Errors
/// With those that are not, and the packages that would bring them.
pub(crate) fn all_present<'a>(needs: impl IntoIterator<Item = &'a Need>) -> Result<()> {
    let missing = needs.into_iter().filter(|need| !need.is_present());
    let shown = missing.map(|need| match need.packages.first() {
        Some(package) if *package != need.name => format!("{} (package {package})", need.name),
        _ => need.name.to_owned(),
    });
    let shown: Vec<String> = shown.collect();
    ensure!(shown.is_empty(), "{} missing", shown.join(", "));
    Ok(())
}

/// Debian keeps the programs of PostgreSQL apart, by version.
pub(crate) fn postgres() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let mut paths: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    paths.retain(|path| path.join("initdb").exists());
    paths.sort();
    paths.pop()
}

/// Installs what is missing, where that can be done; programs that still lack something are left
/// out, so a failure is only said.
pub(crate) fn install<'a>(needs: impl Iterator<Item = &'a Need>) {
    let missing: BTreeSet<&[&str]> = needs
        .filter(|need| !need.is_present() && !need.packages.is_empty())
        .map(|need| need.packages)
        .collect();
    if missing.is_empty() || !geteuid().is_root() || find("apt-get").is_none() {
        return;
    }
    let updated = run(&mut apt_get(&["update"]));
    let chosen = missing.into_iter().map(available);
    let mut install = apt_get(&["install", "--yes", "--no-install-recommends"]);
    // Servers of packages are not to be started where that can be asked for.
    let done = updated.and_then(|()| run(install.args(chosen).env("RUNLEVEL", "1")));
    if let Err(error) = done {
        eprintln!("{error:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let absent = Need { name: "no-such-program", packages: &["it-all"], present: |_| false };
        let none = Need { name: "a controller", packages: &[], present: |_| false };
        let there = Need { name: "there", packages: &["there"], present: |_| true };
        let said = all_present([&there, &absent, &none]).unwrap_err().to_string();
        assert_eq!(said, "no-such-program (package it-all), a controller missing");
        assert!(all_present([&there]).is_ok());
    }
}
