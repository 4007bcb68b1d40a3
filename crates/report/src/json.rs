//! The JSON of `--json`, whose fields are listed in `docs/schema`, and the escapes that make JSON
//! safe to print.

use crate::clean::invisible;
use serde::Serialize;
use std::fmt::Write;

/// A result of the model as indented JSON, with a newline at its end.
///
/// Control characters of terminals are written as `\u….`: the same JSON, but safe to print. (JSON
/// itself requires that of the first 32 only.)
pub fn json<T: Serialize>(result: &T) -> String {
    written(serde_json::to_string_pretty(result))
}

/// The same on one line, for the formats of other tools.
pub(crate) fn compact<T: Serialize>(file: &T) -> String {
    written(serde_json::to_string(file))
}

fn written(text: serde_json::Result<String>) -> String {
    // Only a map with other keys than strings, or a `Serialize` that fails, could fail; the model
    // has neither.
    visible(&text.expect("results have string keys only"))
}

/// JSON with control characters of terminals escaped, and a newline at its end.
fn visible(plain: &str) -> String {
    let mut safe = String::with_capacity(plain.len() + 1);
    for char in plain.chars() {
        // Line breaks here are layout: those in strings are escaped already.
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
