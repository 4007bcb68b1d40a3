//! A value that may be missing, and why: what was not observed is never shown as zero.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is known of a value.
///
/// In JSON: the value itself, `null` when it was observed to be absent, or `{"unseen": "why"}` when
/// it could not be observed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Seen<T> {
    /// It was observed and has this value.
    Value(T),
    /// It was observed and is not there.
    Absent,
    /// It could not be observed, for this reason: a sentence without a full stop.
    Unseen(String),
}

impl<T> Seen<T> {
    /// A value that could not be observed.
    pub fn unseen(why: impl Into<String>) -> Self {
        Seen::Unseen(why.into())
    }

    /// The value, where there is one, to be changed.
    pub fn value_mut(&mut self) -> Option<&mut T> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }

    /// The value, where there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Seen::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The same of a reference to the value.
    pub fn as_ref(&self) -> Seen<&T> {
        match self {
            Seen::Value(value) => Seen::Value(value),
            Seen::Absent => Seen::Absent,
            Seen::Unseen(why) => Seen::Unseen(why.clone()),
        }
    }

    /// Maps the value, where there is one.
    pub fn map<U>(self, with: impl FnOnce(T) -> U) -> Seen<U> {
        self.and_then(|value| Seen::Value(with(value)))
    }

    /// What `with` knows by the value, where there is one.
    pub fn and_then<U>(self, with: impl FnOnce(T) -> Seen<U>) -> Seen<U> {
        match self {
            Seen::Value(value) => with(value),
            Seen::Absent => Seen::Absent,
            Seen::Unseen(why) => Seen::Unseen(why),
        }
    }

    /// Both values, where both exist; else why one of them is unseen; else absent.
    pub fn zip<U>(self, other: Seen<U>) -> Seen<(T, U)> {
        match (self, other) {
            (Seen::Value(value), Seen::Value(other)) => Seen::Value((value, other)),
            (Seen::Unseen(why), _) | (_, Seen::Unseen(why)) => Seen::Unseen(why),
            (Seen::Absent, _) | (_, Seen::Absent) => Seen::Absent,
        }
    }
}

/// Why a field is unseen that an earlier version of dwell did not record.
pub const UNRECORDED: &str = "not recorded by the dwell version that made this file";

/// A field that an earlier version of dwell did not record.
impl<T> Default for Seen<T> {
    fn default() -> Self {
        Seen::unseen(UNRECORDED)
    }
}

/// The form for people and JSON, where a value's own shape tells it from the others.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Plain<T> {
    Unseen { unseen: String },
    Value(T),
    Absent,
}

/// The form for compact encodings, which need a tag.
#[derive(Serialize, Deserialize)]
enum Tagged<T> {
    Value(T),
    Absent,
    Unseen(String),
}

impl<T: Serialize> Serialize for Seen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            match self {
                Seen::Value(value) => Plain::Value(value),
                Seen::Absent => Plain::Absent,
                Seen::Unseen(why) => Plain::Unseen { unseen: why.clone() },
            }
            .serialize(serializer)
        } else {
            match self {
                Seen::Value(value) => Tagged::Value(value),
                Seen::Absent => Tagged::Absent,
                Seen::Unseen(why) => Tagged::Unseen(why.clone()),
            }
            .serialize(serializer)
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Seen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(if deserializer.is_human_readable() {
            match Plain::deserialize(deserializer)? {
                Plain::Value(value) => Seen::Value(value),
                Plain::Absent => Seen::Absent,
                Plain::Unseen { unseen } => Seen::Unseen(unseen),
            }
        } else {
            match Tagged::deserialize(deserializer)? {
                Tagged::Value(value) => Seen::Value(value),
                Tagged::Absent => Seen::Absent,
                Tagged::Unseen(why) => Seen::Unseen(why),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_absent_and_unseen_stay_apart_in_json() {
        let all = [Seen::Value(0), Seen::Absent, Seen::unseen("no access")];
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text, r#"[0,null,{"unseen":"no access"}]"#);
        assert_eq!(serde_json::from_str::<[Seen<i32>; 3]>(&text).unwrap(), all);
    }

    #[test]
    fn of_two_the_one_that_is_unseen_says_why() {
        let unseen = Seen::<i32>::unseen("no access");
        assert_eq!(Seen::Value(1).zip(Seen::Value("a")), Seen::Value((1, "a")));
        assert_eq!(Seen::<i32>::Absent.zip(unseen.clone()).map(|(_, two)| two), unseen);
        assert_eq!(Seen::Value(1).and_then(|_| Seen::<i32>::Absent), Seen::Absent);
        assert_eq!(Seen::Value(1).as_ref().map(|one| one + 1), Seen::Value(2));
    }

    #[test]
    fn a_compact_encoding_gives_back_what_went_in() {
        let all = [Seen::Value(7), Seen::Absent, Seen::unseen("no access")];
        let bytes = postcard::to_stdvec(&all).unwrap();
        assert_eq!(postcard::from_bytes::<[Seen<i32>; 3]>(&bytes).unwrap(), all);
    }
}
