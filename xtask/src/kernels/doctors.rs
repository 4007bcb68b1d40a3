//! What `dwell doctor` says on each kernel, for people to read; and what a machine can say of it:
//! that it ended, repeats nothing, and sends nobody to a kernel that is older than theirs.

use super::lane;
use super::plans::DOCTORS;
use super::qemu::Said;
use super::which::Kernel;
use crate::shell::target;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;

/// Asks each kernel.
///
/// # Errors
/// A kernel does not boot, or what doctor says there is wrong.
pub(super) fn run(kernels: &[Kernel]) -> Result<()> {
    let mut failed = Vec::new();
    for kernel in kernels {
        let complaints = match lane::doctors(kernel) {
            Err(error) => vec![format!("{error:#}")],
            Ok(said) => {
                let text = text(&said);
                println!("{text}");
                let path = target().join("kernels-run").join(format!("{}.doctor.txt", kernel.name));
                fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
                complaints(&said)
            }
        };
        complaints.iter().for_each(|complaint| println!("{}: {complaint}", kernel.name));
        if !complaints.is_empty() {
            failed.push(kernel.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("doctor is not right on {}", failed.join(", ")) }
}

/// What was said to each who asked.
fn asked(said: &Said) -> impl Iterator<Item = (&'static str, &str)> {
    DOCTORS.into_iter().filter_map(|who| Some((who, said.of(who).next()?["said"].as_str()?)))
}

fn text(said: &Said) -> String {
    let one =
        |(who, text): (&str, &str)| format!("== {who}, Linux {}\n\n{}\n\n", said.release(), text.trim());
    asked(said).map(one).collect()
}

fn complaints(said: &Said) -> Vec<String> {
    let mut all = Vec::new();
    for who in DOCTORS {
        match said.of(who).next() {
            None => all.push(format!("{who}: it was not asked")),
            Some(line) if line["status"] != 0 => all.push(format!("{who}: {}", line["ended"])),
            Some(_) => {}
        }
    }
    let release = version(said.release());
    for (who, text) in asked(said) {
        let mut seen = BTreeSet::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if !seen.insert(line) {
                all.push(format!("{who}: twice: {line}"));
            }
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let newer = words
            .windows(4)
            .filter(|four| (four[0], four[2]) == ("Linux", "or") && four[3].starts_with("newer"));
        for four in newer {
            if version(four[1]).zip(release).is_some_and(|(newer, here)| newer <= here) {
                all.push(format!("{who}: {} is sent to Linux {} or newer", said.release(), four[1]));
            }
        }
    }
    all
}

/// The first two numbers of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '-']).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn said(text: &str) -> Said {
        let mut lines = vec![json!({"step": "booted", "release": "6.12.3-cloud"})];
        lines.extend(DOCTORS.map(|who| json!({"step": who, "status": 0, "said": text})));
        Said { lines, took: Duration::ZERO }
    }

    #[test]
    fn nobody_is_sent_to_an_older_kernel_and_nothing_is_said_twice() {
        assert!(complaints(&said("all well\n\ntry: Linux 6.13 or\n  newer")).is_empty());
        let old = complaints(&said("try: Linux 6.3 or\n  newer"));
        assert_eq!(old.len(), 3);
        assert_eq!(old[0], "root's doctor: 6.12.3-cloud is sent to Linux 6.3 or newer");
        assert_eq!(complaints(&said("a\nb\n  a"))[0], "root's doctor: twice: a");
        assert!(text(&said("well")).starts_with("== root's doctor, Linux 6.12.3-cloud\n\nwell\n\n== user"));
    }
}
