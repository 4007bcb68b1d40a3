//! The page of a latency ladder.

use super::{blocks, svg};
use crate::ladder::{parts, plots};
use model::ladder::Ladder;
use model::ladder::beside::Reference;

/// The ladder, with others marked on it.
pub(super) fn article(ladder: &Ladder, others: &[Reference], number: usize) -> String {
    let parts = parts(ladder, others);
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
    blocks::titled(number, &parts.head, &blocks::sections(&sections))
}
