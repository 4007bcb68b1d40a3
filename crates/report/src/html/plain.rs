//! The page of a result that has no page of its own: the text for a terminal as it is.

use super::escape::markup;
use crate::clean::clean;

/// The text.
pub(super) fn article(title: &str, text: &str, number: usize) -> String {
    let lines: Vec<String> = text.lines().map(|line| markup(&clean(line, true))).collect();
    format!(
        "<article data-result=\"{number}\">\n<header><h1>{}</h1></header>\n<section><pre>{}</pre></section>\n</article>\n",
        super::escape::text(title),
        lines.join("\n")
    )
}
