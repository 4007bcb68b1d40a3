//! What tests of pages and of JSON share: golden files, and the schemas in `docs/schema`.

// Golden files and schemas are read here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use jsonschema::Validator;
use serde_json::Value;
use std::path::PathBuf;

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

/// The schema of these results: `run`, `ladder-diff`.
pub(crate) fn schema(what: &str) -> Value {
    let text = std::fs::read_to_string(beside(&format!("../../../docs/schema/dwell.{what}.1.json")));
    serde_json::from_str(&text.expect("the schema can be read")).expect("the schema is JSON")
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
