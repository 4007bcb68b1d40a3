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
pub(crate) struct Need {
    pub(crate) name: &'static str,
    packages: &'static [&'static str],
    present: fn() -> bool,
}

impl Need {
    pub(crate) fn is_present(&self) -> bool {
        (self.present)()
    }
}

/// A program in `PATH`.
macro_rules! needs {
    ($($item:ident: $name:literal, $packages:expr;)*) => {
        $(pub(crate) const $item: Need =
            Need { name: $name, packages: &$packages, present: || find($name).is_some() };)*
    };
}

needs! {
    PERF: "perf", ["linux-perf", "linux-tools-generic"];
    STRACE: "strace", ["strace"];
    CC: "cc", ["gcc"];
    MAKE: "make", ["make"];
    GIT: "git", ["git"];
    GO: "go", ["golang-go"];
    NODE: "node", ["nodejs"];
    NPM: "npm", ["npm"];
    MVN: "mvn", ["maven"];
    JAVAC: "javac", ["default-jdk-headless"];
    PYTHON: "python3", ["python3"];
    PERL: "perl", ["perl-base"];
    CARGO: "cargo", ["cargo"];
    RUSTC: "rustc", ["rustc"];
    CURL: "curl", ["curl"];
    AB: "ab", ["apache2-utils"];
    XZ: "xz", ["xz-utils"];
    RIPGREP: "rg", ["ripgrep"];
    RSYNC: "rsync", ["rsync"];
    FIO: "fio", ["fio"];
    SQLITE: "sqlite3", ["sqlite3"];
    REDIS: "redis-server", ["redis-server"];
    NGINX: "nginx", ["nginx", "nginx-light"];
    SETPRIV: "setpriv", ["util-linux"];
    BZIP2: "bzip2", ["bzip2"];
    ZIP: "zip", ["zip"];
    PV: "pv", ["pv"];
    IPERF3: "iperf3", ["iperf3"];
    SSH_KEYGEN: "ssh-keygen", ["openssh-client"];
}

pub(crate) const POSTGRES: Need = Need {
    name: "postgres",
    packages: &["postgresql"],
    present: || postgres().is_some_and(|path| path.join("pgbench").exists()),
};

/// A machine has it or not: no package brings it.
pub(crate) const QUOTA: Need = Need {
    name: "a CPU controller of control groups",
    packages: &[],
    present: || quota::controller().is_some(),
};

/// Whether all of these are there.
///
/// # Errors
/// With those that are not, and the packages that would bring them.
pub(crate) fn all_present(needs: &[&Need]) -> Result<()> {
    let missing = needs.iter().filter(|need| !need.is_present());
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
        let absent = Need { name: "no-such-program", packages: &["it-all"], present: || false };
        let none = Need { name: "a controller", packages: &[], present: || false };
        let there = Need { name: "there", packages: &["there"], present: || true };
        let said = all_present(&[&there, &absent, &none]).unwrap_err().to_string();
        assert_eq!(said, "no-such-program (package it-all), a controller missing");
        assert!(all_present(&[&there]).is_ok());
    }
}
