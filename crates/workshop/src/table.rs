//! Tables, as text or Markdown.

/// Columns padded to their widest cell; the first to the left, the others to the right.
pub fn layout(rows: &[Vec<String>], markdown: bool) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let cells: Vec<String> = cells.collect();
        let line = if markdown { format!("| {} |", cells.join(" | ")) } else { cells.join("  ") };
        text.push_str(line.trim_end());
        text.push('\n');
        if markdown && index == 0 {
            let rule = widths.iter().enumerate().map(|(column, _)| if column == 0 { "---" } else { "---:" });
            text.push_str(&format!("| {} |\n", rule.collect::<Vec<_>>().join(" | ")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".to_owned(), "wide".to_owned()], vec!["longer".to_owned(), "1".to_owned()]];
        assert_eq!(layout(&rows, false), "a       wide\nlonger     1\n");
        assert!(layout(&rows, true).starts_with("| a      | wide |\n| --- | ---: |\n"));
    }
}
