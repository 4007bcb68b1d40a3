//! Lines of markdown are at most 100 columns wide: documents are read in terminals and in diffs.
//!
//! Code blocks hold output as it came, and a table row cannot be wrapped, so both are exempt.

use super::Source;

const COLUMNS_MAX: usize = 100;

/// The complaints about one file.
pub(crate) fn check(source: &Source) -> Vec<String> {
    if source.extension() != "md" {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    let mut fenced = false;
    for (index, line) in source.text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") {
            fenced = !fenced;
        }
        let columns = line.chars().count();
        if !fenced && !start.starts_with('|') && columns > COLUMNS_MAX {
            complaints.push(format!(
                "{}:{}: {columns} columns, and {COLUMNS_MAX} are allowed",
                source.path,
                index + 1
            ));
        }
    }
    complaints
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
    fn code_tables_and_other_files_are_exempt() {
        let long = "word ".repeat(21);
        let text = format!("```\n{long}\n```\n| {long} |\n");
        assert_eq!(of("a.md", &text), Vec::<String>::new());
        assert_eq!(of("a.rs", &format!("{long}\n")), Vec::<String>::new());
        assert_eq!(of("a.md", &format!("{text}{long}\n")).len(), 1, "the block has ended");
    }
}
