//! Compares the layers of Cargo's graph with the allowed ones, and each crate with its reason in
//! ARCHITECTURE.md.

use crate::shell::{cargo, output};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The crates of the workspace that each may use, in its code and in its tests.
const ALLOWED: &[(&str, &[&str])] = &[
    ("no-schema", &[]),
    ("model", &["no-schema"]),
    ("stats", &[]),
    ("host", &["model"]),
    ("sys", &["model"]),
    ("code", &["sys", "model"]),
    ("python", &["model", "code"]),
    ("listing", &["model", "stats"]),
    ("observe", &["host", "sys", "model", "stats", "code", "python", "listing"]),
    ("rungs", &["host", "sys", "model", "stats"]),
    ("wakes", &["host", "sys", "model", "stats"]),
    ("loads", &["host", "sys", "model"]),
    ("timings", &["host", "sys", "model", "stats"]),
    ("probes", &["host", "sys", "model", "stats"]),
    ("work", &[]),
    ("pairs", &[]),
    ("store", &["model"]),
    ("analyse", &["model", "stats"]),
    ("report", &["model", "stats", "listing"]),
    ("tables", &["model", "report"]),
    ("send", &["model", "report", "tables"]),
    ("seeds", &[]),
    ("schema", &["model", "listing"]),
    ("golden", &["model", "store", "analyse", "report"]),
    (
        "dwell",
        &[
            "model", "stats", "host", "sys", "observe", "rungs", "wakes", "loads", "timings", "probes",
            "pairs", "store", "analyse", "report", "code", "listing", "tables", "send",
        ],
    ),
    ("guest", &["observe"]),
    ("workshop", &[]),
    ("evaluation", &["workshop", "model", "stats", "analyse", "report", "golden"]),
    ("xtask", &["workshop"]),
];

/// Further ones in tests only: pages are tested with results of `analyse`, and are made without it.
/// JSON is tested by its schema. What is fuzzed is tested with the inputs that are kept.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("report", &["analyse", "schema"]),
    ("code", &["seeds"]),
    ("python", &["seeds"]),
    ("observe", &["seeds"]),
    ("golden", &["seeds"]),
    ("tables", &["analyse", "golden", "stats"]),
    ("send", &["stats"]),
    ("dwell", &["seeds", "schema"]),
    ("store", &["seeds"]),
];

/// The document with the reason for each crate.
const DOCUMENT: &str = "ARCHITECTURE.md";

/// The complaints about the graph of the workspace at `root`.
///
/// # Errors
/// When Cargo cannot describe the workspace.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let described = output(&mut cargo(&["metadata", "--format-version=1", "--no-deps", "--offline"]))?;
    let described: Value = serde_json::from_str(&described).context("cargo metadata is not JSON")?;
    let graph = Graph::read(&described);
    let mut complaints = layers(&graph);
    match fs::read_to_string(root.join(DOCUMENT)) {
        Ok(document) => complaints.extend(reasons(&graph, &document)),
        Err(error) => complaints.push(format!("{DOCUMENT}: {error}")),
    }
    Ok(complaints)
}

/// The workspace's crates by short name, each with its dependencies: own ones by short name, others
/// by package name.
#[derive(Default)]
struct Graph {
    ours: BTreeMap<String, BTreeSet<String>>,
    /// What only their tests use.
    tests: BTreeMap<String, BTreeSet<String>>,
    others: BTreeSet<String>,
}

impl Graph {
    fn read(described: &Value) -> Self {
        let mut graph = Self::default();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for package in list(&described["packages"]) {
            let name = short(&package["name"]);
            graph.ours.entry(name.clone()).or_default();
            for dependency in list(&package["dependencies"]) {
                let used = if dependency["kind"] == "dev" { &mut graph.tests } else { &mut graph.ours };
                if dependency["path"].is_string() {
                    used.entry(name.clone()).or_default().insert(short(&dependency["name"]));
                } else {
                    graph.others.insert(dependency["name"].as_str().unwrap_or_default().to_owned());
                }
            }
        }
        graph
    }
}

/// `dwell-model` is `model`.
fn short(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    name.strip_prefix("dwell-").unwrap_or(name).to_owned()
}

fn layers(graph: &Graph) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, used) in &graph.ours {
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| known == name) else {
            complaints.push(format!("crate {name}: its layer is not defined in xtask/src/tidy/graph.rs"));
            continue;
        };
        let in_tests =
            ALLOWED_IN_TESTS.iter().find(|(known, _)| known == name).map_or(&[][..], |(_, more)| more);
        for other in used.iter().filter(|other| !allowed.contains(&other.as_str())) {
            complaints.push(format!("crate {name} may not use {other}"));
        }
        let tests = graph.tests.get(name).into_iter().flatten();
        for other in tests.filter(|other| !allowed.iter().chain(in_tests).any(|name| name == other)) {
            complaints.push(format!("tests of crate {name} may not use {other}"));
        }
    }
    for (name, _) in ALLOWED.iter().filter(|(name, _)| !graph.ours.contains_key(*name)) {
        complaints.push(format!("crate {name} has a layer and does not exist"));
    }
    complaints
}

fn reasons(graph: &Graph, document: &str) -> Vec<String> {
    let given = table(document);
    let needed: BTreeSet<&String> = graph.ours.keys().chain(&graph.others).collect();
    let without = needed.iter().filter(|name| given.get(name.as_str()).is_none_or(String::is_empty));
    let without = without.map(|name| format!("{DOCUMENT}: no reason is given for the crate {name}"));
    let stale = given.keys().filter(|name| !needed.contains(name));
    without
        .chain(stale.map(|name| format!("{DOCUMENT}: gives a reason for {name}, which is not used")))
        .collect()
}

/// The rows of every table whose first column is headed `crate`: each name in it, with the last
/// column. A cell may name several crates, separated by commas.
fn table(document: &str) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    let mut inside = false;
    for line in document.lines() {
        let Some(row) = line.trim().strip_prefix('|') else {
            inside = false;
            continue;
        };
        let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
        let (first, last) = (cells[0], cells[cells.len() - 1]);
        if first.eq_ignore_ascii_case("crate") {
            inside = true;
        } else if inside && !first.starts_with("--") && !first.starts_with(":-") && cells.len() > 1 {
            for name in first.split(',').map(|name| name.trim().trim_matches(['`', '*'])) {
                rows.insert(name.strip_prefix("dwell-").unwrap_or(name).to_owned(), last.to_owned());
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_arrow_the_wrong_way_is_found() {
        let ours =
            |name: &str, used: &[&str]| (name.to_owned(), used.iter().map(|&n| n.to_owned()).collect());
        let mut graph = Graph::default();
        graph.ours.extend(ALLOWED.iter().map(|(name, used)| ours(name, used)));
        assert_eq!(layers(&graph), Vec::<String>::new());
        graph.ours.extend([ours("analyse", &["observe"])]);
        assert_eq!(layers(&graph), ["crate analyse may not use observe"]);
        graph.ours.extend([ours("analyse", &[]), ours("report", &["analyse"])]);
        assert_eq!(layers(&graph), ["crate report may not use analyse"]);
        graph.ours.extend([ours("report", &[])]);
        graph.tests.extend([ours("report", &["analyse"]), ours("model", &["stats"])]);
        assert_eq!(layers(&graph), ["tests of crate model may not use stats"]);
    }

    #[test]
    fn each_crate_needs_a_reason_and_each_reason_a_crate() {
        let described = json!({"packages": [{"name": "dwell-model", "dependencies": [
            {"name": "serde", "path": null}, {"name": "anyhow"}, {"name": "dwell-stats", "path": "/x"}]}]});
        let graph = Graph::read(&described);
        let document = "| crate | why |\n|---|---|\n| `model` | nouns |\n| `serde`, `gone` | formats |\n";
        assert_eq!(
            reasons(&graph, document),
            [
                "ARCHITECTURE.md: no reason is given for the crate anyhow",
                "ARCHITECTURE.md: gives a reason for gone, which is not used"
            ]
        );
    }
}
