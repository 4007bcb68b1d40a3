//! The causes that are looked for: a file for each, and its line in the registry.

pub(crate) mod delayed_ack;
mod interpreter_lock;

use super::evidence::Evidence;
use model::Seen;
use model::finding::{CauseName, Finding};
use model::recording::Tier;

/// All of them, in the order in which they are reported.
pub static ALL: &[&Cause] = &[&delayed_ack::CAUSE, &interpreter_lock::CAUSE];

/// Something that takes time and that a person can do something about, or at least must know of.
#[derive(Debug)]
pub struct Cause {
    /// Its name.
    pub name: CauseName,
    /// The tiers in which its signs can be observed.
    pub tiers: &'static [Tier],
    /// What it is and what its signs are: sentences for `docs/method/causes.md`.
    pub doc: &'static str,
    /// Looks for the signs, where the tier allows it.
    check: fn(&Evidence<'_>) -> Outcome,
}

/// What became of looking for a cause.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is there, once or more.
    Found(Vec<Finding>),
    /// It is not.
    RuledOut,
    /// It cannot be determined, for this reason.
    Unavailable(String),
}

impl Outcome {
    /// Found where there are findings, else ruled out.
    fn of(findings: impl Iterator<Item = Finding>) -> Self {
        let findings: Vec<Finding> = findings.collect();
        if findings.is_empty() { Outcome::RuledOut } else { Outcome::Found(findings) }
    }

    /// What `look` finds in a table, if it was observed.
    fn of_table<T>(table: &Seen<Vec<T>>, look: impl FnOnce(&[T]) -> Self) -> Self {
        match table {
            Seen::Value(rows) => look(rows),
            Seen::Absent => Outcome::RuledOut,
            Seen::Unseen(why) => Outcome::Unavailable(why.clone()),
        }
    }
}

impl Cause {
    /// Looks for it.
    pub fn look_for(&self, evidence: &Evidence<'_>) -> Outcome {
        if self.tiers.contains(&evidence.tier) {
            (self.check)(evidence)
        } else {
            Outcome::Unavailable(format!("its signs are not observed with {}", evidence.tier.name()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_cause_has_a_name_of_its_own_and_says_what_it_is() {
        let ids: BTreeSet<&str> = ALL.iter().map(|cause| cause.name.id).collect();
        assert_eq!(ids.len(), ALL.len());
        for cause in ALL {
            let id = cause.name.id;
            assert!(id.chars().all(|char| char.is_ascii_lowercase() || char == '-'), "{id}");
            assert!(cause.doc.ends_with('.') && !cause.doc.contains(['|', '\n']), "{id}: {}", cause.doc);
            assert!(!cause.tiers.is_empty(), "{id}");
        }
    }
}
