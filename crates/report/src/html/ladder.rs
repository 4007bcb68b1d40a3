//! The page of a latency ladder.

use super::{blocks, svg};
use crate::ladder::{parts, plots};
use model::ladder::Ladder;
use model::ladder::beside::Reference;

/// The ladder, with others marked on it.
pub(super) fn article(ladder: &Ladder, others: &[Reference], number: usize) -> String {
    let parts = parts(ladder, others);
    let mut head = parts.head.iter();
    let mut html = format!("<article data-result=\"{number}\">\n<header>\n");
    if let Some(first) = head.next() {
        html += &format!("<h1>{}</h1>\n", blocks::line(first));
    }
    html.extend(head.map(|line| format!("<p class=\"lead\">{}</p>\n", blocks::line(line))));
    html += "</header>\n";
    let picture = svg::picture(
        &plots(ladder, others),
        "each rung on one logarithmic axis, and latency by working set size; their figures are in the tables",
    );
    let beside = parts.beside.as_ref().map(blocks::table).unwrap_or_default();
    let curve = match &parts.curve {
        Some(grid) => {
            format!(
                "<details><summary>Latency by size as a table</summary>\n{}</details>\n",
                blocks::table(grid)
            )
        }
        None => String::new(),
    };
    let sections = [
        ("Latency of each level", picture),
        ("Rungs", format!("{}{beside}{}", blocks::table(&parts.rungs), blocks::lines(&parts.legend))),
        ("Where caches end", format!("{}{curve}", blocks::lines(&parts.edges))),
        ("Not measured", blocks::lines(&parts.missing)),
        ("What qualifies it", blocks::lines(&parts.notes)),
    ];
    for (title, body) in sections.iter().filter(|(_, body)| !body.is_empty()) {
        html += &format!("<section>\n<h2>{title}</h2>\n{body}</section>\n");
    }
    html + "</article>\n"
}
