//! The interpreters of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Interpreters that can be run here, one of each version: what `$DWELL_PYTHONS` names (separated
/// by colons), what is installed by pyenv, and what the path has.
pub(crate) fn pythons() -> BTreeMap<String, PathBuf> {
    let named = env::var_os("DWELL_PYTHONS").unwrap_or_default();
    let mut found: Vec<PathBuf> = env::split_paths(&named).collect();
    let pyenv = env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv/versions"));
    let versions = pyenv.and_then(|versions| fs::read_dir(versions).ok()).into_iter().flatten().flatten();
    found.extend(versions.map(|version| version.path().join("bin/python3")));
    let path = env::var_os("PATH").unwrap_or_default();
    found.extend(env::split_paths(&path).map(|directory| directory.join("python3")));
    let mut pythons = BTreeMap::new();
    for python in found {
        let say = "import sys; print(*sys.version_info[:3], sep='.')";
        let Ok(output) = Command::new(&python).args(["-c", say]).output() else { continue };
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let minor = version.strip_prefix("3.").and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
        if minor.is_some_and(|minor| (8..=14).contains(&minor)) {
            pythons.entry(version).or_insert(python);
        }
    }
    assert!(!pythons.is_empty(), "these tests need a python3 of version 3.8 to 3.14");
    pythons
}

/// A script of the tests.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name)
}
