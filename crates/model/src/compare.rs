//! Comparison of two results: the types that every comparison shares.
//!
//! Each kind of result has a file below with its schema. All share the change of a figure; JSON and
//! pages have different words for it.

/// A type for `serde(with)` that has a [`Change`] in JSON in the words of a kind of result.
macro_rules! words_in_json {
    ($name:ident, $words:expr) => {
        struct $name;

        impl $name {
            fn serialize<S: serde::Serializer>(change: &Change, to: S) -> Result<S::Ok, S::Error> {
                $words.serialize(*change, to)
            }

            fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Change, D::Error> {
                $words.deserialize(from)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"enum": Change::ALL.map(|change| $words.of(change))})
            }
        }
    };
}

pub mod commands;
pub mod lab;
pub mod ladder;
pub mod runs;
pub mod sittings;
pub mod timings;
pub mod wake;
pub mod why;

use crate::JsonSchema;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

/// One of the two results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The first: the reference.
    A,
    /// The second.
    B,
}

/// The change of a figure from A to B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// B is smaller.
    Less,
    /// B is larger.
    More,
    /// They differ by less than the margin, intervals included.
    Same,
    /// The intervals allow more than one of these, or there are none.
    Undecided,
}

impl Change {
    /// All of them, in the order of pages.
    pub const ALL: [Self; 4] = [Self::Less, Self::More, Self::Same, Self::Undecided];
}

/// The words of a kind of result for less and more.
#[derive(Debug, Clone, Copy)]
pub struct ChangeWords {
    /// For [`Change::Less`].
    pub less: &'static str,
    /// For [`Change::More`].
    pub more: &'static str,
}

impl ChangeWords {
    /// The word for a change.
    pub fn of(&self, change: Change) -> &'static str {
        match change {
            Change::Less => self.less,
            Change::More => self.more,
            Change::Same => "same",
            Change::Undecided => "undecided",
        }
    }

    fn serialize<S: Serializer>(&self, change: Change, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.of(change))
    }

    fn deserialize<'de, D: Deserializer<'de>>(&self, from: D) -> Result<Change, D::Error> {
        let word = String::deserialize(from)?;
        let found = Change::ALL.into_iter().find(|change| self.of(*change) == word);
        found.ok_or_else(|| D::Error::custom(format!("unknown change {word:?}")))
    }
}

/// Something other than the figures in which the two results differ.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
pub struct Difference {
    /// What differs, in a few words.
    pub what: String,
    /// Value in the first.
    pub a: String,
    /// Value in the other.
    pub b: String,
}

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
pub struct EstimateInterval {
    /// The estimate.
    pub estimate: f64,
    /// Low end.
    pub lo: f64,
    /// High end.
    pub hi: f64,
}
