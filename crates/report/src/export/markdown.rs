//! Tables in Markdown (GitHub's, with pipes). Figures are as in the JSON, so that they still sum.

use super::format::Exported;
use super::tables::{Cell, Table};
use crate::clean::{clean, fit};

/// The longest text of a cell, in columns.
const CELL: usize = 200;

/// The tables, each below its name. What has no rows is left out.
pub fn markdown<'a>(tables: impl IntoIterator<Item = &'a Table>) -> Exported {
    let mut cut = 0;
    let text = |table: &Table| {
        let heads: Vec<String> = table.columns.iter().map(|head| escaped(head)).collect();
        let mut lines = vec![format!("## {}", escaped(&table.name)), String::new(), line(&heads)];
        lines.push(line(&(0..heads.len()).map(|at| alignment(table, at)).collect::<Vec<_>>()));
        for row in &table.rows {
            let cells = row.iter().map(|cell| match cell {
                Cell::Empty => String::new(),
                Cell::Plain(text) => text.clone(),
                Cell::Text(text) => {
                    let text = clean(text, true);
                    let short = fit(&text, CELL, true);
                    cut += usize::from(short.len() < text.len());
                    escaped(&short)
                }
            });
            lines.push(line(&cells.collect::<Vec<_>>()));
        }
        lines.join("\n") + "\n"
    };
    let texts: Vec<String> = tables.into_iter().filter(|table| !table.rows.is_empty()).map(text).collect();
    let left_out = (cut > 0).then(|| format!("{cut} long texts are cut: CSV and the JSON have all of them"));
    Exported { bytes: texts.join("\n").into_bytes(), left_out: left_out.into_iter().collect() }
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Columns of numbers are aligned at their last digit.
fn alignment(table: &Table, column: usize) -> String {
    let is_text = table.rows.iter().any(|row| matches!(row[column], Cell::Text(_)));
    if is_text { ":---" } else { "---:" }.to_owned()
}

/// Text that shows as it is: no mark of Markdown, no HTML, no link, no mention.
fn escaped(text: &str) -> String {
    let text = clean(text, true);
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // What makes links of plain text: `https://x`, `www.x`, `a@x`, `@user`, `#1`.
            ':' | '@' | '#' | '.' if links(&escaped, char) => {
                escaped.push_str(&format!("&#{};", u32::from(char)));
            }
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '$' | '{' | '}' | '!' => {
                escaped.push('\\');
                escaped.push(char);
            }
            char => escaped.push(char),
        }
    }
    escaped
}

/// Whether a character could make a link of what is before it.
fn links(before: &str, char: char) -> bool {
    match char {
        '.' => before.to_ascii_lowercase().ends_with("www"),
        ':' => before.ends_with(|char: char| char.is_ascii_alphabetic()),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_as_it_is() {
        for (text, safe) in [
            ("a | b", "a \\| b"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("[x](javascript:1)", "\\[x\\](javascript&#58;1)"),
            ("https://x.y www.x.y", "https&#58;//x.y www&#46;x.y"),
            ("@user #1", "&#64;user &#35;1"),
            ("`a` *b* _c_", "\\`a\\` \\*b\\* \\_c\\_"),
            ("a\nb\u{202e}", "a\\\\nb\\\\u\\{202e\\}"),
        ] {
            assert_eq!(escaped(text), safe);
        }
    }

    #[test]
    fn a_long_text_is_cut_and_said() {
        let table = Table {
            name: "t".into(),
            columns: vec!["name".into(), "ns".into()],
            rows: vec![vec![Cell::Text("x".repeat(10_000)), Cell::Plain("5".into())]],
        };
        let Exported { bytes, left_out } = markdown([&table]);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("## t\n\n| name | ns |\n| :--- | ---: |\n| xxx"), "{text}");
        assert!(text.len() < 400 && text.contains("… | 5 |"), "{text}");
        assert!(left_out[0].starts_with("1 long texts"), "{left_out:?}");
    }
}
