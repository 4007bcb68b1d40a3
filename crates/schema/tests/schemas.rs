//! The schemas promise what is kept in `docs/schema`, describe each field, and are valid for all
//! results that are kept in the repository, older ones too.
//!
//! `BLESS=1 cargo test -p dwell-schema` writes the files of `docs/schema` anew.

use dwell_schema::{ALL, Published, fields};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::meta::validate(schema).expect("the schema is one of draft 2020-12");
    let options = jsonschema::draft202012::options().should_validate_formats(true);
    options.build(schema).expect("the schema compiles")
}

#[test]
fn the_fields_are_those_that_are_promised() {
    let directory = root().join("docs/schema");
    let mut named = BTreeSet::new();
    for one in ALL {
        let file = directory.join(format!("{}.fields.txt", one.file()));
        let now = fields(&one.schema());
        if std::env::var_os("BLESS").is_some() {
            fs::write(&file, &now).expect("a list can be written");
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<String>>();
        let (promised, made) = (lines(&kept), lines(&now));
        let (gone, new): (Vec<_>, Vec<_>) =
            (promised.difference(&made).collect(), made.difference(&promised).collect());
        assert!(
            kept == now,
            "{}: no longer so: {gone:#?}\nnew: {new:#?}\nFields are added, never renamed or removed. If it \
             is meant: BLESS=1 cargo test -p dwell-schema",
            file.display()
        );
        named.insert(file);
    }
    let there: BTreeSet<_> =
        fs::read_dir(directory).expect("the lists").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(there, named);
}

#[test]
fn a_field_is_one_line_with_all_that_it_may_be() {
    let list = fields(&json!({
        "$defs": {
            "Unseen": {"type": "object", "required": ["unseen"], "properties": {"unseen": {"type": "string"}}},
            "Kind": {"oneOf": [
                {"type": "object", "required": ["kind", "n"],
                 "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}},
                {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "b"}}},
            ]},
        },
        "type": "object",
        "required": ["list"],
        "properties": {
            "list": {"type": "array", "items": {"$ref": "#/$defs/Kind"}},
            "map": {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"enum": ["x", 1]}]},
            "seen": {"anyOf": [{"type": "number"}, {"type": "null"}, {"$ref": "#/$defs/Unseen"}]},
        },
    }));
    let lines = [
        "list  [object]  required",
        "list[].kind  \"a\"|\"b\"  required",
        "list[].n  integer  required",
        "map  {integer|null}  optional",
        "pair  [string, \"x\"|1]  optional",
        "seen  number|null|unseen  optional",
    ];
    assert_eq!(list.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn every_field_is_described_in_plain_text() {
    fn walk(at: &str, schema: &Value) {
        let Some(object) = schema.as_object() else { return };
        for (name, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let described = property.get("description").is_some() || property.get("$ref").is_some();
            assert!(described, "{at}/{name} has no description");
        }
        if let Some(text) = object.get("description").and_then(Value::as_str) {
            let of_code = ["[`", "`]", "::", "\n", "`SCHEMA_"].iter().find(|mark| text.contains(**mark));
            assert_eq!(of_code, None, "{at}: {text}");
        }
        for (key, value) in object {
            walk(&format!("{at}/{key}"), value);
            value.as_array().into_iter().flatten().for_each(|one| walk(&format!("{at}/{key}"), one));
        }
    }
    for one in ALL {
        walk(one.names[0], &one.schema());
    }
}

/// Files of JSON below a directory.
fn results(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            results(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
}

#[test]
fn kept_results_are_valid() {
    let mut files = Vec::new();
    for directory in ["golden/recordings", "golden/older", "report/tests/samples"] {
        results(&root().join("crates").join(directory), &mut files);
    }
    let mut valid = 0;
    for file in files {
        let value: Value = serde_json::from_slice(&fs::read(&file).expect("it can be read")).expect("JSON");
        // Exports for other tools, and results of these, have other names or none.
        let Some(published) = value["schema"].as_str().and_then(Published::named) else { continue };
        let validator = validator(&published.schema());
        let wrong: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", file.display());
        valid += 1;
    }
    assert!(valid >= 15, "{valid}");
}
