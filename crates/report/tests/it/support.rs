//! What tests of pages and of JSON share: golden files, what holds for each page, and the schemas.

// Golden files are read here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use dwell_report::Look;
use jsonschema::Validator;
use serde_json::Value;
use std::path::PathBuf;
use unicode_width::UnicodeWidthChar;

/// A file of the directory of tests.
pub(crate) fn beside(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Compares a text with the golden file of this name.
pub(crate) fn check_golden(name: &str, text: &str) {
    let path = beside("golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("cannot write a golden file");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{name} differs from {}; BLESS=1 renews it\n{text}", path.display());
}

/// The same of a page: its file is `NAME.txt`.
pub(crate) fn check_page(name: &str, page: &str) {
    check_golden(&format!("{name}.txt"), page);
}

/// A page without its colours.
pub(crate) fn strip_colour(page: &str) -> String {
    let mut pieces = page.split('\x1b');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or("", |(_, text)| text));
    }
    plain
}

/// Characters that turn the direction of text, have no width, or end a line.
const OBEYED: [char; 6] = ['\u{202e}', '\u{2066}', '\u{200f}', '\u{200b}', '\u{feff}', '\u{2028}'];

/// No line of a page is wider than it, and nothing is left for a terminal to obey.
pub(crate) fn check_lines(name: &str, page: &str, look: Look) {
    let width = look.width;
    let plain = if look.colour { strip_colour(page) } else { page.to_owned() };
    assert!(look.unicode || page.is_ascii(), "{name} at {width}: not ASCII\n{page}");
    for line in plain.lines() {
        let wide: usize = line.chars().map(|char| char.width().unwrap_or(0)).sum();
        assert!(wide <= usize::from(width), "{name} at {width}: {wide} columns\n{line}");
        assert!(!line.chars().any(char::is_control), "{name} at {width}: {line:?}");
        assert!(!line.contains(OBEYED), "{name} at {width}: {line:?}");
        assert!(look.colour || !line.ends_with(' '), "{name} at {width}: blanks at the end of {line:?}");
    }
}

/// The schema of these results: `run`, `ladder-diff`.
pub(crate) fn schema(what: &str) -> Value {
    schema::Published::named(&format!("dwell.{what}/1")).expect("it has a schema").schema()
}

pub(crate) fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::meta::validate(schema).expect("the schema is one of draft 2020-12");
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(schema)
        .expect("the schema compiles")
}

pub(crate) fn errors(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Closes every described object, so that a field without a description is an error.
pub(crate) fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if object.get("properties").is_some_and(Value::is_object) && object.contains_key("type") {
                object.insert("additionalProperties".into(), Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
