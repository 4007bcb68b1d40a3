//! Rules for single files: each states its purpose, is short, and names no path of one machine.

use super::Source;

/// A longer file has more than one subject.
const LINES_MAX: usize = 800;
/// A header that is made from a layout: it is as long as that makes it.
const MADE: &str = "by `cargo xtask bpf`: changes are made there.";

/// The complaints about one file.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    let path = &source.path;
    if source.extension() == "rs" && !source.text.starts_with("//!") {
        complaints.push(format!("{path}:1: does not open with //! and its purpose"));
    }
    let lines = source.text.lines().count();
    let made = source.extension() == "h" && source.text.contains(MADE);
    if ["rs", "c", "h", "py", "sh", "bt"].contains(&source.extension()) && !made && lines > LINES_MAX {
        complaints.push(format!("{path}: {lines} lines, and {LINES_MAX} are allowed"));
    }
    for (index, line) in source.text.lines().enumerate() {
        if let Some(place) = private_place(line) {
            complaints.push(format!("{path}:{}: names a path of one machine: {place}", index + 1));
        }
    }
    complaints
}

/// A path that exists only on a development machine. Written in two parts, or this file would
/// complain about itself.
fn private_place(line: &str) -> Option<&'static str> {
    let place = concat!("/wo", "rk/");
    let begins_there = |at: usize| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-}/".contains(c))
    };
    line.match_indices(place).any(|(at, _)| begins_there(at)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        check(&Source { path: path.into(), text: text.into() })
    }

    #[test]
    fn a_file_must_open_with_its_purpose() {
        assert_eq!(of("a.rs", "//! Why.\n").len(), 0);
        assert_eq!(of("a.rs", "use std::fs;\n").len(), 1);
        assert_eq!(of("a.md", "# Title\n").len(), 0);
    }

    #[test]
    fn a_file_may_not_be_long() {
        assert_eq!(of("a.c", &"x\n".repeat(LINES_MAX)).len(), 0);
        assert_eq!(of("a.c", &"x\n".repeat(LINES_MAX + 1)).len(), 1);
        let text = "x\n".repeat(LINES_MAX);
        assert_eq!(of("a.h", &format!("/* Made from `wire.rs` {MADE} */\n{text}")).len(), 0);
    }

    #[test]
    fn a_crate_named_work_is_no_private_place() {
        assert_eq!(of("a.md", "see crates/work/src\n").len(), 0);
        assert_eq!(of("a.md", concat!("see `/wo", "rk/main`\n")).len(), 1);
    }
}
