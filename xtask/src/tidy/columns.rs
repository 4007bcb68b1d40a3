//! Lines of prose are at most 100 columns wide: markdown, and comments of Rust and C. They are read
//! in terminals and in diffs.
//!
//! Code blocks hold verbatim output, and a table row cannot be wrapped, so both are exempt. Code is
//! rustfmt's.

use super::Source;

const COLUMNS_MAX: usize = 100;

/// Programs of tests, which cite lines of them by their numbers.
const CITED: &str = "crates/dwell/tests/programs/";

/// The complaints about one file.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let wide = match source.extension() {
        "md" => wide_prose(&source.text),
        "rs" | "c" | "h" if !source.path.starts_with(CITED) => {
            wide_comments(&source.text, source.extension())
        }
        _ => Vec::new(),
    };
    let complaint =
        |(line, columns)| format!("{}:{line}: {columns} columns, and {COLUMNS_MAX} are allowed", source.path);
    wide.into_iter().map(complaint).collect()
}

/// Lines of markdown that are too wide: number and columns.
fn wide_prose(text: &str) -> Vec<(usize, usize)> {
    let mut fenced = false;
    let mut wide = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") {
            fenced = !fenced;
        }
        let columns = columns(line);
        if !fenced && !start.starts_with('|') && columns > COLUMNS_MAX {
            wide.push((index + 1, columns));
        }
    }
    wide
}

/// Lines with nothing but a comment that are too wide: number and columns.
fn wide_comments(text: &str, extension: &str) -> Vec<(usize, usize)> {
    let is_comment = |line: &str| {
        let start = line.trim_start();
        start.starts_with("//") || extension != "rs" && (start.starts_with("/*") || start.starts_with("* "))
    };
    let comments = text.lines().enumerate().filter(|(_, line)| is_comment(line));
    let wide = comments.map(|(index, line)| (index + 1, columns(line)));
    wide.filter(|(_, columns)| *columns > COLUMNS_MAX).collect()
}

/// The width of a line. Tabs are at its start only, where each is 8 columns.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if c == '\t' { 8 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        check(&Source { path: path.into(), text: text.into() })
    }

    #[test]
    fn a_long_line_of_prose_is_found() {
        let long = "word ".repeat(21);
        assert_eq!(of("a.md", &format!("# Title\n{long}\n")), ["a.md:2: 105 columns, and 100 are allowed"]);
        assert_eq!(of("a.md", &format!("{}\n", "é".repeat(100))), Vec::<String>::new());
    }

    #[test]
    fn a_long_comment_is_found_and_long_code_is_not() {
        let long = "word ".repeat(20);
        assert_eq!(
            of("lib.rs", &format!("\n    /// {long}\n")),
            ["lib.rs:2: 108 columns, and 100 are allowed"]
        );
        assert_eq!(of("a.h", &format!("\t/* {long}*/\n")), ["a.h:1: 113 columns, and 100 are allowed"]);
        assert_eq!(of("lib.rs", &format!("{long}// {long}\n*{long}\n")), Vec::<String>::new());
        assert_eq!(of("crates/dwell/tests/programs/a.c", &format!("/* {long}*/\n")), Vec::<String>::new());
    }

    #[test]
    fn code_tables_and_other_files_are_exempt() {
        let long = "word ".repeat(21);
        let text = format!("```\n{long}\n```\n| {long} |\n");
        assert_eq!(of("a.md", &text), Vec::<String>::new());
        assert_eq!(of("a.txt", &format!("{long}\n")), Vec::<String>::new());
        assert_eq!(of("a.md", &format!("{text}{long}\n")).len(), 1, "the block has ended");
    }
}
