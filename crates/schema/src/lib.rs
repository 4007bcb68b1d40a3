//! The JSON Schemas of what dwell writes, made from the types that it writes and their comments.
//!
//! A schema describes what this version writes, and is valid for what earlier versions wrote: a
//! field is required where reading a result needs it. Readers must ignore fields that they do not
//! know, so that later versions may add some.

mod fields;

pub use fields::fields;

use listing::{CountedBlocks, SCHEMA_BLOCKS};
use model::compare::commands::{Comparison, SCHEMA_COMPARE};
use model::compare::lab::{LabComparison, SCHEMA_LAB_DIFF};
use model::compare::ladder::{LadderComparison, SCHEMA_LADDER_DIFF};
use model::compare::runs::{RunComparison, SCHEMA_RUN_DIFF};
use model::compare::sittings::{SCHEMA_COMPARE_DIFF, Sittings};
use model::compare::timings::{SCHEMA_TIMINGS_DIFF, TimingsDiff};
use model::compare::wake::{SCHEMA_WAKE_DIFF, WakeComparison};
use model::doctor::{Doctor, SCHEMA_DOCTOR};
use model::hits::{Hits, SCHEMA_HITS};
use model::lab::{LabQuiz, LabRun, LabScore, SCHEMA_LAB, SCHEMA_QUIZ, SCHEMA_SCORE};
use model::ladder::{Ladder, SCHEMA_LADDER};
use model::list::{ResultList, SCHEMA_LIST};
use model::run::{SCHEMA_ATTACH, SCHEMA_RUN};
use model::trend::{SCHEMA_TREND, Trend};
use model::wake::load::{LoadRun, SCHEMA_LOAD};
use model::wake::sheet::{SCHEMA_SHEET, Sheet};
use model::wake::{SCHEMA_WAKE, Wakeups};
use model::what_if::{SCHEMA_WHAT_IF, WhatIf};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The rule for who reads any of it.
const RULE: &str = "Fields are added, never renamed or removed; readers must ignore unknown fields. A value that \
                    may be missing is the value itself, null if it is absent, or {\"unseen\": \"why\"} if it could \
                    not be observed. Names that end in `_ns` are of nanoseconds.";

/// A kind of result.
pub struct Published {
    /// What it calls itself in its field `schema`: `dwell.wake/1`. A run has a second name, for a
    /// window.
    pub names: &'static [&'static str],
    root: fn() -> Value,
}

/// All kinds of results, by name.
pub const ALL: &[Published] = &[
    Published { names: &[SCHEMA_BLOCKS], root: of::<CountedBlocks> },
    Published { names: &[SCHEMA_COMPARE_DIFF], root: of::<Sittings> },
    Published { names: &[SCHEMA_COMPARE], root: of::<Comparison> },
    Published { names: &[SCHEMA_DOCTOR], root: of::<Doctor> },
    Published { names: &[SCHEMA_HITS], root: of::<Hits> },
    Published { names: &[SCHEMA_LAB_DIFF], root: of::<LabComparison> },
    Published { names: &[SCHEMA_SCORE], root: of::<LabScore> },
    Published { names: &[SCHEMA_QUIZ], root: of::<LabQuiz> },
    Published { names: &[SCHEMA_LAB], root: of::<LabRun> },
    Published { names: &[SCHEMA_LADDER_DIFF], root: of::<LadderComparison> },
    Published { names: &[SCHEMA_LADDER], root: of::<Ladder> },
    Published { names: &[SCHEMA_LIST], root: of::<ResultList> },
    Published { names: &[SCHEMA_LOAD], root: of::<LoadRun> },
    Published { names: &[SCHEMA_RUN_DIFF], root: of::<RunComparison> },
    Published { names: &[SCHEMA_RUN, SCHEMA_ATTACH], root: run },
    Published { names: &[SCHEMA_TIMINGS_DIFF], root: of::<TimingsDiff> },
    Published { names: &[SCHEMA_TREND], root: of::<Trend> },
    Published { names: &[SCHEMA_WAKE_DIFF], root: of::<WakeComparison> },
    Published { names: &[SCHEMA_SHEET], root: of::<Sheet> },
    Published { names: &[SCHEMA_WAKE], root: of::<Wakeups> },
    Published { names: &[SCHEMA_WHAT_IF], root: of::<WhatIf> },
];

impl Published {
    /// The kind of result that calls itself so.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|one| one.names.contains(&name))
    }

    /// The name of its file, without an ending: `dwell.wake.1`.
    pub fn file(&self) -> String {
        self.names[0].replace('/', ".")
    }

    /// Its JSON Schema, of draft 2020-12.
    pub fn schema(&self) -> Value {
        let mut schema = (self.root)();
        let about = schema["description"].as_str().unwrap_or_default();
        schema["description"] = format!("{about} {RULE}").into();
        schema["title"] = self.names[0].into();
        schema["$id"] = format!("urn:{}", self.names[0].replace(['.', '/'], ":")).into();
        schema["properties"]["schema"] =
            json!({"description": "Name and version of this format.", "enum": self.names});
        schema
    }
}

/// What dwell writes of this type.
fn of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    for transform in [left_out, in_plain_text, variants_described] {
        settings = settings.with_transform(RecursiveTransform(transform));
    }
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// A run is read back by a type that also takes what the oldest versions wrote, before there was a
/// schema: by that it has words of its findings. It has a window where it is one.
fn run() -> Value {
    let mut schema = of::<model::KeptRun>();
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(["schema", "findings", "ruled_out"].map(Value::from));
    }
    // Its default is that of a type that may be null, which no result has.
    if let Some(diagnosis) = schema["properties"]["diagnosis"].as_object_mut() {
        diagnosis.remove("default");
    }
    schema["if"] = json!({"properties": {"schema": {"description": "Of a window.", "const": SCHEMA_ATTACH}}});
    schema["then"] = json!({"required": ["window"]});
    schema["else"] = json!({"not": {"required": ["window"]}});
    schema
}

/// A field with a default was not written by some earlier version. One that may be left out and has
/// none is left out where it would be null.
fn left_out(schema: &mut Schema) {
    let Some(Value::Object(mut properties)) = schema.remove("properties") else { return };
    let mut required: Vec<Value> = match schema.remove("required") {
        Some(Value::Array(names)) => names,
        _ => Vec::new(),
    };
    for (name, property) in &mut properties {
        if property.get("default").is_some() {
            required.retain(|one| one != name);
        } else if !required.iter().any(|one| one == name) {
            not_null(property);
        }
    }
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
}

/// Takes null from what a value may be.
fn not_null(schema: &mut Value) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            schema["type"] = one.clone();
        }
    } else if let Some(Value::Array(values)) = schema.get_mut("anyOf") {
        values.retain(|one| one["type"] != "null");
        values.iter_mut().for_each(not_null);
    }
}

/// The description of a variant goes to the field that tells which variant it is.
fn variants_described(schema: &mut Schema) {
    let Some(Value::Array(variants)) = schema.get_mut("oneOf") else { return };
    for variant in variants {
        let Some(about) = variant.get("description").cloned() else { continue };
        let fields = variant.get_mut("properties").and_then(Value::as_object_mut);
        for field in
            fields.into_iter().flat_map(|fields| fields.values_mut()).filter_map(Value::as_object_mut)
        {
            if !field.contains_key("$ref") {
                field.entry("description").or_insert_with(|| about.clone());
            }
        }
    }
}

/// Comments have line breaks and links to other parts of the code.
fn in_plain_text(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("[`", "`").replace("`]", "`");
    }
}
