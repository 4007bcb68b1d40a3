//! Why a cause that was looked for is not there: the figure that decided it, and what the rule
//! asks for. `report` makes words of it.

use crate::JsonSchema;
use crate::sentence::{Piece, Sentence};
use serde::{Deserialize, Deserializer, Serialize};

/// Why a cause is ruled out.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RuledOut {
    /// What was seen. With a threshold it goes on from the figure, as ` behind other programs` from
    /// `7.69 ms`; without one it is the whole reason.
    pub what: Sentence,
    /// What fell short, where the rule has a figure for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
}

/// A figure beside what a rule asks for. Both are in the same unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// The figure is smaller than needed.
    Below {
        /// What was measured.
        figure: Piece,
        /// What is needed at least.
        needed: Piece,
    },
    /// The figure is large enough, but rests on too few samples.
    FewSamples {
        /// What was measured.
        figure: Piece,
        /// The samples that it rests on.
        samples: u64,
        /// The samples that are needed at least.
        needed: u64,
    },
    /// The figure is larger than allowed.
    Above {
        /// What was measured.
        figure: Piece,
        /// What is allowed at most.
        allowed: Piece,
    },
}

impl RuledOut {
    /// A figure that is smaller than needed; `what` goes on from it.
    pub fn below(figure: Piece, what: Sentence, needed: Piece) -> Self {
        Self { what, threshold: Some(Threshold::Below { figure, needed }) }
    }

    /// A figure that rests on too few samples; `what` goes on from it.
    pub fn few_samples(figure: Piece, what: Sentence, samples: u64, needed: u64) -> Self {
        Self { what, threshold: Some(Threshold::FewSamples { figure, samples, needed }) }
    }

    /// A figure that is larger than allowed; `what` goes on from it.
    pub fn above(figure: Piece, what: Sentence, allowed: Piece) -> Self {
        Self { what, threshold: Some(Threshold::Above { figure, allowed }) }
    }
}

/// A reason without a figure.
impl From<Sentence> for RuledOut {
    fn from(what: Sentence) -> Self {
        Self { what, threshold: None }
    }
}

/// Older results have the sentence alone.
impl<'de> Deserialize<'de> for RuledOut {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Sentence(Sentence),
            Whole {
                what: Sentence,
                #[serde(default)]
                threshold: Option<Threshold>,
            },
        }
        Ok(match Form::deserialize(from)? {
            Form::Sentence(what) => Self { what, threshold: None },
            Form::Whole { what, threshold } => Self { what, threshold },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::say;

    #[test]
    fn a_reason_is_read_as_it_was_written_and_so_is_the_sentence_of_an_older_result() {
        let what = || say!("of CPU time in the allocator");
        let reasons = [
            RuledOut::below(Piece::Share(0.1), what(), Piece::Share(0.25)),
            RuledOut::few_samples(Piece::Share(0.86), what(), 7, 30),
            RuledOut::above(Piece::Bytes(1 << 20), what(), Piece::Bytes(4096)),
            RuledOut::from(say!("no name server was asked")),
        ];
        for reason in reasons {
            let json = serde_json::to_string(&reason).expect("it is written");
            assert_eq!(serde_json::from_str::<RuledOut>(&json).expect(&json), reason);
        }
        let older = serde_json::from_str::<RuledOut>("\"it waited {ns:7}\"").expect("a sentence");
        assert_eq!(older, RuledOut::from(say!("it waited ", Piece::Ns(7))));
        let two = r#"{"what": "", "threshold": {"below": {"figure": "{ns:7}{ns:8}", "needed": "{ns:9}"}}}"#;
        assert!(serde_json::from_str::<RuledOut>(two).is_err(), "a figure is one piece");
    }
}
