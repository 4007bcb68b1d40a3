//! No circle of imports within a crate: what cannot be read without each other is one module.
//!
//! What counts: `use` of a module, and paths that begin with `crate` or `super`, outside of tests.
//! A path to a module of the file itself does not: so a registry names its members. Nor does a path
//! to the crate's root: that gives the names of its modules out again, so what is taken from there
//! is theirs, and the root itself is read last.

use super::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Crates that are free of circles, and stay so.
const FREE: &[&str] = &[
    "analyse", "code", "dwell", "golden", "host", "listing", "loads", "model", "observe", "probes", "python",
    "report", "rungs", "stats", "store", "sys", "timings", "wakes", "work", "workshop",
];

/// Modules by their paths, each with those that it uses.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// The complaints about the crates that are free of circles.
pub(super) fn check(sources: &[Source]) -> Vec<String> {
    FREE.iter().flat_map(|name| check_crate(name, sources)).collect()
}

fn check_crate(name: &str, sources: &[Source]) -> Vec<String> {
    let prefix = format!("crates/{name}/src/");
    let ours = sources.iter().filter_map(|source| {
        let path = source.path.strip_prefix(&prefix)?.strip_suffix(".rs")?;
        (!path.ends_with("tests")).then(|| (module(path), code_of(&source.text)))
    });
    let files: BTreeMap<String, String> = ours.collect();
    let edges: Edges = files.iter().map(|(of, code)| (of.clone(), uses(of, code, &files))).collect();
    let circle = edges.keys().filter(|start| reaches(&edges, start, start));
    let circle: Vec<&str> = circle.map(|module| if module.is_empty() { "lib" } else { module }).collect();
    if circle.is_empty() {
        return Vec::new();
    }
    vec![format!("crate {name}: modules that import each other: {}", circle.join(", "))]
}

/// `a/b` or `a/b/mod` is `a::b`; the root is empty.
fn module(path: &str) -> String {
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") { String::new() } else { path.replace('/', "::") }
}

/// The text without comments and tests. What a module within the file takes from the file is no
/// import.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut within = false;
    let line = |line: &str| {
        let line = line.split("//").next().unwrap_or_default().trim_end();
        if line == "}" {
            within = false;
        } else if !line.starts_with(' ') && line.ends_with('{') {
            within = line.split(' ').any(|word| word == "mod");
        }
        if within { as_of_file(line) } else { line.to_owned() }
    };
    code.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The paths of a module within a file, as the file would write them.
fn as_of_file(line: &str) -> String {
    const ABOVE: &str = "\0";
    line.replace("super::super::", ABOVE).replace("super::", "").replace(ABOVE, "super::")
}

/// The modules that a module uses, itself apart.
fn uses(of: &str, code: &str, files: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for statement in code.split("use ").skip(1).filter_map(|rest| rest.split_once(';')) {
        for path in expanded(statement.0) {
            used.extend(resolved(of, &path, files));
        }
    }
    for word in code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        // A path that ends in `::` is the head of a group, which is a `use`.
        let whole = !word.ends_with("::");
        if whole && (word.starts_with("crate::") || word.starts_with("super::")) {
            used.extend(resolved(of, word, files));
        }
    }
    used.remove(of);
    // The root: see the head of the file.
    used.remove("");
    used
}

/// `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expanded(path: &str) -> Vec<String> {
    let Some((head, rest)) = path.split_once('{') else { return vec![path.trim().to_owned()] };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut item, mut items) = (0, String::new(), Vec::new());
    for c in inner.chars().chain([',']) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(std::mem::take(&mut item));
                continue;
            }
            _ => {}
        }
        item.push(c);
    }
    let items = items.iter().filter(|item| !item.trim().is_empty());
    items.flat_map(|item| expanded(item)).map(|item| format!("{}{item}", head.trim())).collect()
}

/// The module that a path leads into, as seen from a module.
fn resolved(of: &str, path: &str, files: &BTreeMap<String, String>) -> Option<String> {
    let mut at: Vec<&str> = of.split("::").filter(|part| !part.is_empty()).collect();
    let mut parts = path.split("::").map(str::trim).peekable();
    match parts.peek().copied()? {
        "crate" => {
            at.clear();
            parts.next();
        }
        "self" => {
            parts.next();
        }
        "super" => {
            while parts.next_if_eq(&"super").is_some() {
                at.pop();
            }
        }
        first => {
            // A crate, or a module of this one.
            let child: Vec<&str> = at.iter().copied().chain([first]).collect();
            files.contains_key(&child.join("::")).then_some(())?;
        }
    }
    at.extend(parts.map(|part| part.split(' ').next().unwrap_or_default()));
    while !files.contains_key(&at.join("::")) {
        at.pop()?;
    }
    Some(at.join("::"))
}

/// Whether imports lead from one module to another.
fn reaches(edges: &Edges, from: &str, to: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        for used in edges.get(module).into_iter().flatten() {
            if used == to {
                return true;
            }
            if seen.insert(used) {
                next.push(used);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_circle_is_found_however_it_is_written() {
        let check = |a: &str, b: &str| {
            let lib = source("crates/stats/src/lib.rs", "mod a;\nuse a::A;\n");
            let a = source("crates/stats/src/a.rs", a);
            check(&[lib, a, source("crates/stats/src/a/b.rs", b)])
        };
        let free = "mod b;\nuse b::B;\nuse std::a;\n";
        assert_eq!(
            check(free, "// use crate::a::A;\n#[cfg(test)]\nmod tests { use super::super::A; }\n"),
            [""; 0]
        );
        for circle in ["use super::A;", "use crate::{a::{A, C}, d};", "fn f() -> crate::a::A {}"] {
            let found = check(free, circle);
            assert_eq!(found, ["crate stats: modules that import each other: a, a::b"], "{circle}");
        }
        assert_eq!(check(free, "use crate::E;"), [""; 0], "what the root gives out is no circle");
        let within = |path: &str| format!("mod here {{\n    use {path};\n}}\n");
        assert_eq!(check(free, &within("super::{A, b}")), [""; 0], "a module of the file itself");
        assert_eq!(check(free, &within("super::super::A")).len(), 1, "and one of its parent");
    }
}
