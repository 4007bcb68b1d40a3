//! JSON with the fields of an object in their order, which `serde_json::Value` does not keep.

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Null,
    Word(bool),
    /// As JSON writes it.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// A result as its JSON has it.
    pub(super) fn of<T: Serialize>(result: &T) -> Self {
        // As in `json`: the model has no maps with other keys than strings.
        let text = serde_json::to_string(result).expect("results have string keys only");
        serde_json::from_str(&text).expect("what was written as JSON is JSON")
    }

    /// Why a value is not there, where that is what the JSON says.
    pub(super) fn unseen(&self) -> Option<&str> {
        match self {
            Tree::Object(fields) => match fields.as_slice() {
                [(name, Tree::Text(why))] if name == "unseen" => Some(why),
                _ => None,
            },
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<Tree, E> {
        Ok(Tree::Word(is))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Number(number.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::Number(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Tree, E> {
        Ok(serde_json::Number::from_f64(number).map_or(Tree::Null, |number| Tree::Number(number.to_string())))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Tree, A::Error> {
        let mut object = Vec::new();
        while let Some(field) = fields.next_entry()? {
            object.push(field);
        }
        Ok(Tree::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_and_numbers_are_as_they_were_written() {
        let text = r#"{"z":18446744073709551615,"a":[-1,0.1,null,true,"x"],"u":{"unseen":"why"}}"#;
        let tree: Tree = serde_json::from_str(text).unwrap();
        let Tree::Object(fields) = &tree else { panic!("{tree:?}") };
        assert_eq!(fields[0], ("z".to_owned(), Tree::Number("18446744073709551615".to_owned())));
        let Tree::List(items) = &fields[1].1 else { panic!("{tree:?}") };
        assert_eq!(items[..2], ["-1", "0.1"].map(|text| Tree::Number(text.to_owned())));
        assert_eq!(fields[2].1.unseen(), Some("why"));
        assert_eq!(Tree::of(&json!({"unseen": 5})).unseen(), None, "no reason is a number");
    }
}
