//! Sentences whose figures and names keep their types until `report` makes words of them.
//!
//! Whoever concludes something knows best how to say it; how a duration, a count or a name from the
//! program looks on a terminal or in JSON is up to `report`.

use crate::Ns;
use crate::coverage::Interval;

/// A sentence, or a part of one, without a full stop.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sentence(pub Vec<Piece>);

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words, with their blanks.
    Text(&'static str),
    /// A name from the program or the machine. It is not trusted.
    Name(String),
    /// A duration.
    Ns(Ns),
    /// A duration between two ends.
    NsBetween(Interval),
    /// So many of a thing, in the singular: `8,004 calls`.
    Count(u64, &'static str),
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
        Piece::Text(text)
    }
}

impl Sentence {
    /// The same with more at its end.
    #[must_use]
    pub fn and(mut self, more: Sentence) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
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
        let sentence = say!("waits for ", Piece::Name("db".into()), " in ", Piece::Count(3, "call"));
        assert_eq!(sentence.0.len(), 4);
        assert_eq!(sentence.0[0], Piece::Text("waits for "));
        let longer = sentence.and(say!(", ", Piece::Ns(7)));
        assert_eq!(longer.0.last(), Some(&Piece::Ns(7)));
        assert!(Sentence::default().is_empty());
    }
}
