//! The JSON that `--json` promises; `docs/schema/dwell.run.1.json` describes it. And what makes any JSON safe to look
//! at.

use crate::clean::invisible;
use model::Run;
use std::fmt::Write;

/// The run as indented JSON, with a newline at its end.
///
/// Characters that a terminal would obey are written as `\u….`: the same JSON, but safe to look at. (JSON
/// itself only asks that for the first 32.)
pub fn json(run: &Run) -> String {
    // Only a map with keys that are no strings, or an error of an own `Serialize`, could fail: there is neither.
    visible(&serde_json::to_string_pretty(run).expect("a run has string keys only"))
}

/// JSON with what a terminal would obey escaped, and a newline at its end.
pub(crate) fn visible(plain: &str) -> String {
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
