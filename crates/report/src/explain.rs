//! The manual of causes on a terminal.

use crate::Look;
use crate::paint::{Ink, Line, joined};
use model::finding::CauseName;

/// A cause: its name, and paragraphs with their headings.
pub fn explain(cause: &CauseName, paragraphs: &[(&str, &str)], look: Look) -> String {
    let head = Line::new(look).add(Ink::Bold, &cause.id).add(Ink::Plain, &format!("  {}", cause.title));
    let paragraph = |(heading, text): &(&str, &str)| {
        let mut lines = vec![Line::new(look).add(Ink::Bold, heading)];
        lines.extend(Line::new(look).pad_to(2).add(Ink::Plain, &plain(text)).wrap_whole(2));
        lines
    };
    let parts: Vec<_> = std::iter::once(vec![head]).chain(paragraphs.iter().map(paragraph)).collect();
    joined(&parts)
}

/// All causes, one in a line.
pub fn list(causes: &[CauseName], look: Look) -> String {
    let line = |cause: &CauseName| {
        let line = Line::new(look).add(Ink::Bold, &cause.id).pad_to(22).add(Ink::Plain, &cause.title).cut();
        line.render() + "\n"
    };
    causes.iter().map(line).collect()
}

/// Markdown without its marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_is_wrapped_paragraphs_with_headings() {
        let look = Look { width: 40, colour: false, unicode: true, height: Look::HEIGHT };
        let cause = CauseName::new("sync-writes", "writes synced one by one");
        let long = "It calls `fsync` after each of many small writes, and waits each time.";
        let page = explain(&cause, &[("What it is", long)], look);
        assert_eq!(
            page,
            "sync-writes  writes synced one by one\n\nWhat it is\n  It calls fsync after each of many\n  small \
             writes, and waits each time.\n"
        );
        let very_long = "All of a manual is shown. ".repeat(99);
        let words = explain(&cause, &[("What it is", &very_long)], look).split_whitespace().count();
        assert_eq!(words, "sync-writes writes synced one by one What it is".split(' ').count() + 6 * 99);
        assert_eq!(list(&[cause], look), "sync-writes           writes synced one…\n");
    }
}
