//! Comments and documents may only cite files that exist: a dangling pointer is worse than none.
//!
//! Names that may belong to other projects (`sched.h`, `core.c`) are not checked; a Rust, Markdown
//! or TOML name, and any path that begins with a directory of this repository, is.

use super::Source;
use std::collections::BTreeSet;

/// Cited files that tools make, or that belong to Cargo and Rust in general.
const ELSEWHERE: &[&str] =
    &["lib.rs", "mod.rs", "main.rs", "build.rs", "Cargo.toml", "config.toml", "clippy.toml"];

/// The complaints about one file, given the paths of all.
pub(crate) fn check(source: &Source, paths: &[&str]) -> Vec<String> {
    let mut complaints = Vec::new();
    let tops: BTreeSet<&str> =
        paths.iter().filter_map(|path| path.split_once('/')).map(|(top, _)| top).collect();
    for (index, line) in source.text.lines().enumerate() {
        let Some(prose) = prose(line, source.extension()) else { continue };
        let cited = prose.split(|c: char| !(c.is_alphanumeric() || "_-./:@".contains(c)));
        for name in cited.map(|name| name.trim_matches(['.', ':', '-'])).filter(|name| is_ours(name, &tops)) {
            let name = name.split(':').next().unwrap_or(name);
            if !exists(name, &source.path, paths) {
                complaints.push(format!("{}:{}: cites {name}, which is not there", source.path, index + 1));
            }
        }
    }
    complaints
}

/// The prose of the line.
fn prose<'a>(line: &'a str, extension: &str) -> Option<&'a str> {
    match extension {
        "md" => Some(line),
        "rs" | "c" | "h" => {
            let trimmed = line.trim_start();
            let inside = extension != "rs" && (trimmed.starts_with("* ") || trimmed.starts_with("/*"));
            // A `//` after a colon is an address in a string.
            let after = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
            if inside { Some(trimmed) } else { after.map(|(at, _)| &line[at..]) }
        }
        "toml" | "sh" | "py" => line.find('#').map(|at| &line[at..]),
        _ => None,
    }
}

fn is_ours(name: &str, tops: &BTreeSet<&str>) -> bool {
    let path = name.split(':').next().unwrap_or(name);
    let Some((stem, extension)) = path.rsplit_once('.') else { return false };
    if stem.is_empty()
        || stem.ends_with('/')
        || path.starts_with('/')
        || name.contains("://")
        || path.contains("..")
    {
        return false;
    }
    let known = ["rs", "md", "toml", "c", "h", "py", "sh", "bt", "json"].contains(&extension);
    let top = path.split_once('/').map(|(top, _)| top);
    // `docs.rs`, `crates.io` and the like are addresses.
    if path.starts_with("docs.rs") || top == Some("target") {
        return false;
    }
    match top {
        Some(top) => known && (tops.contains(top) || extension == "rs" || extension == "md"),
        None => ["rs", "md", "toml"].contains(&extension),
    }
}

/// Whether a file of the repository has that path, relative to the root, to the citing file or to
/// any directory.
fn exists(name: &str, from: &str, paths: &[&str]) -> bool {
    let name = name.trim_start_matches("./");
    let beside = from.rsplit_once('/').map(|(directory, _)| format!("{directory}/{name}"));
    let ending = format!("/{name}");
    ELSEWHERE.contains(&name)
        || paths
            .iter()
            .any(|path| *path == name || path.ends_with(&ending) || Some(*path) == beside.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: &[&str] =
        &["crates/model/src/run.rs", "ARCHITECTURE.md", "crates/observe/src/sources/bpf/dwell.bpf.c"];

    fn of(path: &str, text: &str) -> usize {
        check(&Source { path: path.into(), text: text.into() }, PATHS).len()
    }

    #[test]
    fn what_is_there_may_be_cited() {
        assert_eq!(
            of(
                "crates/model/src/lib.rs",
                "// see run.rs and ARCHITECTURE.md, crates/observe/src/sources/bpf/dwell.bpf.c.\n"
            ),
            0
        );
        assert_eq!(of("README.md", "[the map](ARCHITECTURE.md), `src/run.rs`\n"), 0);
    }

    #[test]
    fn what_is_not_there_may_not_be_cited() {
        assert_eq!(of("crates/model/src/lib.rs", concat!("//! see gone", ".rs\n")), 1);
        assert_eq!(of("README.md", concat!("[plan](PL", "AN.md)\n")), 1);
        assert_eq!(of("a.c", concat!("/* see crates/model/go", "ne.c */\n")), 1);
    }

    #[test]
    fn names_of_others_and_code_are_not_judged() {
        assert_eq!(
            of("a.rs", "// as kernel/sched/core.c and linux/bpf.h do; https://docs.rs/aya/x.html\n"),
            0
        );
        assert_eq!(of("a.rs", concat!("let path = \"go", "ne.rs\";\n")), 0);
    }
}
