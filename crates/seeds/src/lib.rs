//! Runs a decoder on the kept inputs of its fuzz target, in an ordinary test.
//!
//! `fuzz/seeds/TARGET` has a few inputs that together reach most of the decoder, and
//! `fuzz/regressions/TARGET` each that once made it panic, hang or take too much memory. A fuzzer
//! starts from the same files and calls the same functions. What hangs is ended by the lane.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Runs `decoder` on each kept input of `target`.
///
/// # Panics
/// When it panics on one: with the path of the input. Also when there are no inputs.
pub fn replay(target: &str, decoder: impl Fn(&[u8])) {
    replay_also(target, &[], decoder);
}

/// As [`replay`], also on the files in `more`.
///
/// # Panics
/// As [`replay`].
pub fn replay_also(target: &str, more: &[PathBuf], decoder: impl Fn(&[u8])) {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let kept = ["seeds", "regressions"].map(|kind| files(&top.join(kind).join(target)));
    let inputs: Vec<PathBuf> = kept.into_iter().flatten().chain(more.iter().cloned()).collect();
    assert!(!inputs.is_empty(), "fuzz target {target} has no inputs");
    for path in inputs {
        let input = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let done = catch_unwind(AssertUnwindSafe(|| decoder(&input)));
        assert!(done.is_ok(), "{target} panics on {}", path.display());
    }
}

/// The files of a directory, in order; none where it does not exist.
///
/// # Panics
/// When the directory cannot be read.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap_or_else(|error| panic!("{directory:?}: {error}")).path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "has no inputs")]
    fn a_target_without_inputs_is_no_test() {
        replay("none-of-this-name", |_| {});
    }

    #[test]
    fn further_files_are_inputs_and_a_panic_names_its_own() {
        let this = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let met = std::cell::Cell::new(0);
        replay_also("none", std::slice::from_ref(&this), |input| met.set(met.get() + input.len()));
        assert!(met.get() > 100);
        let failed = catch_unwind(|| replay_also("none", &[this], |_| panic!("on purpose")));
        let said = failed.expect_err("it panicked");
        assert!(said.downcast_ref::<String>().is_some_and(|said| said.contains("Cargo.toml")));
    }
}
