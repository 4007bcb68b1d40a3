//! Sentences whose figures and names keep their types until `report` makes words of them.
//!
//! Whoever concludes something knows best how to say it; how a duration, a count or a name from the
//! program looks on a terminal or in JSON is up to `report`.

use crate::coverage::Interval;
use crate::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A sentence, or a part of one, without a full stop.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub struct Sentence(pub Vec<Piece>);

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub enum Piece {
    /// Words, with their blanks.
    Text(Cow<'static, str>),
    /// A name from the program or the machine. It is not trusted.
    Name(String),
    /// A duration.
    Ns(Ns),
    /// A duration between two ends.
    NsBetween(Interval),
    /// A number of things, named in the singular: `8,004 calls`.
    Count(u64, Cow<'static, str>),
    /// A number alone.
    Number(u64),
    /// A size.
    Bytes(u64),
    /// A part of a whole, 0 to 1: `87 %`.
    Share(f64),
    /// A number with as many places as tell something: `0.31`, `1.9`, `40`.
    Decimal(f64),
    /// A factor: `1.5x`.
    Times(f64),
}

impl From<&'static str> for Piece {
    fn from(text: &'static str) -> Self {
        Piece::Text(text.into())
    }
}

impl Sentence {
    /// The sentence with more at its end.
    #[must_use]
    pub fn and(mut self, more: Sentence) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Text that is no sentence in JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a sentence cannot be read: {0:?}")]
pub struct NoSentence(String);

/// In JSON: text as it is, and the other pieces in braces, with their kind: `{name:db} waits
/// {ns:1500} in {count:3 call}`. A brace of a text or a name is there twice.
impl From<Sentence> for String {
    fn from(sentence: Sentence) -> Self {
        let plain = |text: &str| text.replace('{', "{{").replace('}', "}}");
        let written = |piece: &Piece| match piece {
            Piece::Text(text) => plain(text),
            Piece::Name(name) => format!("{{name:{}}}", plain(name)),
            Piece::Ns(ns) => format!("{{ns:{ns}}}"),
            Piece::NsBetween(Interval { lo, hi }) => format!("{{ns_between:{lo} {hi}}}"),
            Piece::Count(count, thing) => format!("{{count:{count} {}}}", plain(thing)),
            Piece::Number(number) => format!("{{number:{number}}}"),
            Piece::Bytes(bytes) => format!("{{bytes:{bytes}}}"),
            Piece::Share(share) => format!("{{share:{share}}}"),
            Piece::Decimal(value) => format!("{{decimal:{value}}}"),
            Piece::Times(times) => format!("{{times:{times}}}"),
        };
        sentence.0.iter().map(written).collect()
    }
}

impl TryFrom<String> for Sentence {
    type Error = NoSentence;

    fn try_from(text: String) -> Result<Self, NoSentence> {
        let mut rest = text.as_str();
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let in_braces = rest.starts_with('{') && !rest.starts_with("{{");
            let (part, after) = up_to_brace(&rest[usize::from(in_braces)..]);
            let (piece, after) = match (in_braces, after.strip_prefix('}')) {
                (true, Some(after)) => (Piece::read(&part), after),
                (false, None) => (Some(Piece::Text(part.into())), after),
                _ => (None, after),
            };
            pieces.push(piece.ok_or_else(|| NoSentence(text.clone()))?);
            rest = after;
        }
        Ok(Self(pieces))
    }
}

/// A piece alone, as it stands in a sentence.
impl From<Piece> for String {
    fn from(piece: Piece) -> Self {
        Sentence(vec![piece]).into()
    }
}

impl TryFrom<String> for Piece {
    type Error = NoSentence;

    fn try_from(text: String) -> Result<Self, NoSentence> {
        let mut pieces = Sentence::try_from(text.clone())?.0;
        match (pieces.pop(), pieces.is_empty()) {
            (Some(piece), true) => Ok(piece),
            _ => Err(NoSentence(text)),
        }
    }
}

/// The text up to a brace that stands alone, with those that are there twice as one; and the rest.
fn up_to_brace(text: &str) -> (String, &str) {
    let mut part = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        part.push_str(before);
        if !brace[1..].starts_with(&brace[..1]) {
            return (part, brace);
        }
        part.push_str(&brace[..1]);
        rest = &brace[2..];
    }
    part.push_str(rest);
    (part, "")
}

impl Piece {
    /// The piece in braces.
    fn read(text: &str) -> Option<Self> {
        let (kind, of) = text.split_once(':')?;
        Some(match kind {
            "name" => Piece::Name(of.to_owned()),
            "ns" => Piece::Ns(of.parse().ok()?),
            "ns_between" => {
                let (lo, hi) = of.split_once(' ')?;
                Piece::NsBetween(Interval { lo: lo.parse().ok()?, hi: hi.parse().ok()? })
            }
            "count" => {
                let (count, thing) = of.split_once(' ')?;
                Piece::Count(count.parse().ok()?, thing.to_owned().into())
            }
            "number" => Piece::Number(of.parse().ok()?),
            "bytes" => Piece::Bytes(of.parse().ok()?),
            "share" => Piece::Share(finite(of)?),
            "decimal" => Piece::Decimal(finite(of)?),
            "times" => Piece::Times(finite(of)?),
            _ => return None,
        })
    }
}

fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A sentence of its pieces; text is written as it is: `say!("waits for ", Name(peer))`.
#[macro_export]
macro_rules! say {
    ($($piece:expr),* $(,)?) => {
        $crate::sentence::Sentence(vec![$($crate::sentence::Piece::from($piece)),*])
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_its_pieces_in_order() {
        let sentence = say!("waits for ", Piece::Name("db".into()), " in ", Piece::Count(3, "call".into()));
        assert_eq!(sentence.0.len(), 4);
        assert_eq!(sentence.0[0], Piece::from("waits for "));
        let longer = sentence.and(say!(", ", Piece::Ns(7)));
        assert_eq!(longer.0.last(), Some(&Piece::Ns(7)));
        assert!(Sentence::default().is_empty());
    }

    #[test]
    fn json_has_each_piece_with_its_kind_and_reads_it_back() {
        let sentence = say!(
            Piece::Name("a{b}}:c".into()),
            " waits {twice} ",
            Piece::Ns(1500),
            Piece::NsBetween(Interval { lo: 1, hi: 2 }),
            Piece::Count(3, "disk request".into()),
            " of ",
            Piece::Share(0.1 + 0.2),
            Piece::Decimal(1e-9),
            Piece::Times(1.5),
            Piece::Number(7),
            Piece::Bytes(8),
        );
        let json = serde_json::to_string(&sentence).expect("it is written");
        assert!(json.contains("waits {{twice}} {ns:1500}{ns_between:1 2}{count:3 disk request}"), "{json}");
        assert_eq!(serde_json::from_str::<Sentence>(&json).expect("it is read"), sentence);
        for forged in
            ["{", "}", "{ns:}", "{ns:1", "a}b", "{made:up}", "{count:3}", "{{{", "{name:{}}", "{share:NaN}"]
        {
            assert!(Sentence::try_from(forged.to_owned()).is_err(), "{forged}");
        }
        assert!(Sentence::try_from(String::new()).expect("an empty sentence").is_empty());
    }
}
