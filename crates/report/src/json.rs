//! The JSON that `--json` promises, described by `docs/schema`, and what makes any JSON safe to look at.

use crate::clean::invisible;
use serde::Serialize;
use std::fmt::Write;

/// A result of the model as indented JSON, with a newline at its end.
///
/// Characters that a terminal would obey are written as `\u….`: the same JSON, but safe to look at. (JSON
/// itself only asks that for the first 32.)
pub fn json<T: Serialize>(result: &T) -> String {
    written(serde_json::to_string_pretty(result))
}

/// The same on one line, for formats of other tools.
pub(crate) fn compact<T: Serialize>(file: &T) -> String {
    written(serde_json::to_string(file))
}

fn written(text: serde_json::Result<String>) -> String {
    // Only a map with other keys than strings, or a `Serialize` that fails, could: the model has neither.
    visible(&text.expect("results have string keys only"))
}

/// JSON with what a terminal would obey escaped, and a newline at its end.
fn visible(plain: &str) -> String {
    let mut safe = String::with_capacity(plain.len() + 1);
    for char in plain.chars() {
        // Line breaks here are the layout's own: those within strings are escaped already.
        if char == '\n' || !invisible(char) {
            safe.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    safe.push('\n');
    safe
}
