//! A table as CSV (RFC 4180), which a spreadsheet opens without running anything of it.

use super::format::Exported;
use super::tables::{Cell, Table};
use crate::clean::clean;

/// The rows with their heads. Absent and unobserved values are empty.
pub fn csv(table: &Table) -> Exported {
    let line = |cells: Vec<String>| cells.join(",") + "\r\n";
    let mut text = String::new();
    if !table.columns.is_empty() {
        text += &line(table.columns.iter().map(|head| quoted(head)).collect());
    }
    for row in &table.rows {
        text += &line(row.iter().map(field).collect());
    }
    let empty = table.empty_cells();
    let left_out = (empty > 0).then(|| {
        format!(
            "empty cells ({empty}) are absent or were not observed: CSV does not say which, the JSON does"
        )
    });
    Exported { bytes: text.into_bytes(), left_out: left_out.into_iter().collect() }
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Plain(text) => text.clone(),
        Cell::Text(text) => quoted(text),
    }
}

/// Text that no reader takes for anything else: cleaned, with an apostrophe where a spreadsheet
/// would begin a formula, and between quotes where it has a separator.
fn quoted(text: &str) -> String {
    let text = harmless(&clean(text, true));
    // A reader with other separators must not find a cell in it either.
    let separates = |char: char| matches!(char, ',' | '"' | ';' | '|' | '\'');
    if text.contains(separates) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Where a formula could begin: at the start, and after a semicolon, which separates cells where
/// the comma is a decimal point. Spreadsheets skip blanks and quotes before it.
fn harmless(text: &str) -> String {
    let formula = |char: char| matches!(char, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠');
    let mut safe = String::with_capacity(text.len() + 1);
    let mut begins = true;
    for char in text.chars() {
        if begins && formula(char) {
            safe.push('\'');
        }
        begins = char == ';' || (begins && (char.is_whitespace() || char == '"'));
        safe.push(char);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_rfc() {
        let table = Table {
            name: "x".into(),
            columns: vec!["a".into(), "b".into(), "c".into()],
            rows: vec![
                vec![Cell::Plain("-1".into()), Cell::Text("x, \"y\"".into()), Cell::Empty],
                vec![Cell::Plain("0.5".into()), Cell::Text("plain".into()), Cell::Text("a\r\nb".into())],
            ],
        };
        let Exported { bytes, left_out } = csv(&table);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, "a,b,c\r\n-1,\"x, \"\"y\"\"\",\r\n0.5,plain,a\\r\\nb\r\n");
        assert_eq!(left_out.len(), 1);
        assert!(left_out[0].starts_with("empty cells (1)"), "{left_out:?}");
    }

    #[test]
    fn no_text_is_a_formula() {
        for (text, safe) in [
            ("=1+1", "\"'=1+1\""),
            ("-bash", "\"'-bash\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("  =cmd", "\"  '=cmd\""),
            ("\t=cmd", "\\t=cmd"),
            ("＝cmd", "\"'＝cmd\""),
            ("a;=cmd|' /c calc'!A0", "\"a;'=cmd|' /c calc'!A0\""),
            ("\"=cmd", "\"\"\"'=cmd\""),
            ("a=b-c", "a=b-c"),
            ("gcc -Wl,-O1", "\"gcc -Wl,-O1\""),
            ("\u{202e}gpj\x1b[2J", "\\u{202e}gpj\\x1b[2J"),
        ] {
            assert_eq!(quoted(text), safe, "{text:?}");
        }
    }
}
