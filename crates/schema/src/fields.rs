//! A schema as a list of its fields, one a line: what the outside relies on, in a form in which a
//! review sees each change.

use serde_json::Value;
use std::collections::BTreeMap;

/// Path, type and whether it is always there, a line each, by path: `waits[].total_ns  integer
/// required`. `[]` are the elements of a list, `{}` the values of an object whose names are data. A
/// field of one kind of object among several is required where each of that kind has it.
pub fn fields(schema: &Value) -> String {
    let mut list = List { schema, lines: String::new() };
    list.inside("", &list.leaves(&[schema]));
    list.lines
}

struct List<'a> {
    schema: &'a Value,
    lines: String,
}

impl<'a> List<'a> {
    /// The shapes that a value may have: what these refer to and choose from, without choices.
    fn leaves(&self, of: &[&'a Value]) -> Vec<&'a Value> {
        let mut leaves = Vec::new();
        for schema in of {
            if let Some(name) = schema["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/")) {
                leaves.extend(self.leaves(&[&self.schema["$defs"][name]]));
                continue;
            }
            let choices = ["anyOf", "oneOf"].iter().filter_map(|key| schema[key].as_array()).flatten();
            leaves.extend(self.leaves(&choices.collect::<Vec<_>>()));
            if ["type", "enum", "const", "properties"].iter().any(|key| schema.get(key).is_some()) {
                leaves.push(schema);
            }
        }
        leaves
    }

    /// Lists the fields of what stands at a path.
    fn inside(&mut self, path: &str, leaves: &[&'a Value]) {
        let mut properties: BTreeMap<&str, (Vec<&'a Value>, bool)> = BTreeMap::new();
        let mut within: [(&str, Vec<&'a Value>); 2] = [("[]", Vec::new()), ("{}", Vec::new())];
        for leaf in leaves.iter().filter(|leaf| !is_unseen(leaf)) {
            let required = leaf["required"].as_array();
            for (name, property) in leaf["properties"].as_object().into_iter().flatten() {
                let field = properties.entry(name).or_insert((Vec::new(), true));
                field.0.push(property);
                field.1 &= required.is_some_and(|names| names.iter().any(|one| *one == **name));
            }
            within[0].1.extend(elements(leaf));
            within[1].1.extend(leaf.get("additionalProperties").filter(|value| value.is_object()));
        }
        for (name, (schemas, required)) in properties {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let leaves = self.leaves(&schemas);
            let always = if required { "required" } else { "optional" };
            self.lines.push_str(&format!("{path}  {}  {always}\n", self.types(&leaves)));
            self.inside(&path, &leaves);
        }
        for (mark, schemas) in within.into_iter().filter(|(_, schemas)| !schemas.is_empty()) {
            self.inside(&format!("{path}{mark}"), &self.leaves(&schemas));
        }
    }

    /// What the shapes are, each kind once: `integer|null`.
    fn types(&self, leaves: &[&'a Value]) -> String {
        let mut types: Vec<String> = Vec::new();
        for one in leaves.iter().flat_map(|leaf| self.types_of(leaf)) {
            if !types.contains(&one) {
                types.push(one);
            }
        }
        types.join("|")
    }

    fn types_of(&self, leaf: &'a Value) -> Vec<String> {
        let of = |schemas: &[&'a Value]| self.types(&self.leaves(schemas));
        let words = leaf["enum"].as_array().into_iter().flatten().chain(leaf.get("const"));
        let words: Vec<String> = words.map(Value::to_string).collect();
        match &leaf["type"] {
            _ if is_unseen(leaf) => vec!["unseen".to_owned()],
            _ if !words.is_empty() => words,
            Value::Array(types) => types.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            kind if kind == "array" => {
                let elements: Vec<String> = elements(leaf).map(|one| of(&[one])).collect();
                vec![format!("[{}]", elements.join(", "))]
            }
            _ if leaf["additionalProperties"].is_object() => {
                vec![format!("{{{}}}", of(&[&leaf["additionalProperties"]]))]
            }
            kind => vec![kind.as_str().unwrap_or("object").to_owned()],
        }
    }
}

/// The shapes of the elements of a list: one for all, or one for each place.
fn elements(leaf: &Value) -> impl Iterator<Item = &Value> {
    let places = leaf["prefixItems"].as_array().into_iter().flatten();
    leaf.get("items").filter(|items| items.is_object()).into_iter().chain(places)
}

/// Whether it is why a value could not be observed.
fn is_unseen(leaf: &Value) -> bool {
    leaf["required"].as_array().is_some_and(|names| names.len() == 1 && names[0] == "unseen")
}
