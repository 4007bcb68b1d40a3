//! Text of programs in HTML: cleaned as for a terminal, then escaped for elements and attributes.

use crate::clean::{clean, fit};

/// Columns of a text that nothing else has cut: the JSON has all of it.
const MOST: usize = 400;

/// Text for an element or a quoted attribute. Nothing in it is markup, moves the reading direction
/// or hides; a text that is longer than a paragraph is cut.
pub(super) fn text(untrusted: &str) -> String {
    markup(&fit(&clean(untrusted, true), MOST, true))
}

/// The same of text that is clean and bounded.
pub(super) fn markup(clean: &str) -> String {
    let mut escaped = String::with_capacity(clean.len());
    for char in clean.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        let said = text("<img src=x onerror=\"alert(1)\">&'\u{202e}\u{7}\u{200b}");
        assert_eq!(said, "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;&#39;\\u{202e}\\x07\\u{200b}");
        assert_eq!(text(&"x".repeat(10_000)).chars().count(), MOST);
    }
}
