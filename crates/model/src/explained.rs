//! What explains a run's time: each nanosecond of the account belongs to a finding, is the
//! program's own work, or is not judged.

use crate::account::DoesNotClose;
use crate::sentence::Sentence;
use crate::wait::{WaitCall, WaitTarget};
use crate::{JsonSchema, Ns, Seen, State};
use serde::{Deserialize, Serialize};

/// The time of a run by what explains it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Findings in their order, own work and what is not judged, each longest first; `ns` sums to
    /// the account's sum exactly.
    rows: Vec<Explained>,
    /// What is known of the largest row that is not judged, where that is a tenth of the time or
    /// more and longer than what the first finding explains, or saves.
    pub open_question: Option<OpenQuestion>,
}

impl Explanation {
    /// Refused unless the rows sum to the whole.
    ///
    /// # Errors
    /// What they sum to.
    pub fn new(whole_ns: Ns, rows: Vec<Explained>) -> Result<Self, DoesNotClose> {
        let explanation = Self { rows, open_question: None };
        explanation.closes(whole_ns).map(|()| explanation)
    }

    /// The rows.
    pub fn rows(&self) -> &[Explained] {
        &self.rows
    }

    /// What a finding explains.
    pub fn of_finding(&self, finding: usize) -> Ns {
        let is_of = |row: &&Explained| row.by == ExplainedBy::Finding(finding);
        self.rows.iter().filter(is_of).map(|row| row.ns).sum()
    }

    /// Refuses rows that somebody changed.
    pub(crate) fn closes(&self, whole_ns: Ns) -> Result<(), DoesNotClose> {
        let sum_ns = self.rows.iter().map(|row| u128::from(row.ns)).sum();
        let what = || "explanations".to_owned();
        if sum_ns == u128::from(whole_ns) {
            Ok(())
        } else {
            Err(DoesNotClose { what: what(), sum_ns, wall_ns: whole_ns })
        }
    }
}

/// Time that one thing explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// What explains it.
    pub by: ExplainedBy,
    /// How long.
    pub ns: Ns,
}

/// What explains time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExplainedBy {
    /// A finding, by its index in `findings`.
    Finding(usize),
    /// Code on a CPU, which no finding makes less, by what it was doing.
    OwnWork(State),
    /// No cause is known, and it is no work either.
    NotJudged {
        /// What it was doing.
        state: State,
        /// Which waits these are; null where there are several kinds with less than a twentieth of
        /// the time each, or where it was no wait.
        waits: Option<UnjudgedWaits>,
    },
}

/// Waits of one kind that no finding explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnjudgedWaits {
    /// Where in the kernel: the call's name, empty for a fault, `not seen` where it was not
    /// observed.
    pub call: WaitCall,
    /// The wait target.
    pub on: WaitTarget,
    /// Number of such waits, on the path or not, as in `waits`; how often the path began one where
    /// no row there has them alone.
    pub calls: u64,
    /// The longest such wait of any thread.
    pub max_ns: Seen<Ns>,
}

/// What is open where most of a run's time is not judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    /// What is known: how often, how long, where, and what ended it.
    pub known: Sentence,
    /// What would have to be true for a change to help, and what that would be.
    pub when: Sentence,
    /// What to type to find out.
    pub next: Sentence,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_that_misses_a_nanosecond_is_refused() {
        let own = |ns| Explained { by: ExplainedBy::OwnWork(State::User), ns };
        assert!(Explanation::new(100, vec![own(60), own(40)]).is_ok());
        let refused = Explanation::new(100, vec![own(60), own(39)]).unwrap_err();
        assert_eq!((&*refused.what, refused.sum_ns), ("explanations", 99));
    }

    #[test]
    fn rows_are_read_back_from_json() {
        let waits = UnjudgedWaits {
            call: WaitCall::Syscall("poll".into()),
            on: WaitTarget::TimeLimit,
            calls: 2,
            max_ns: Seen::Value(7),
        };
        let by = [
            ExplainedBy::Finding(0),
            ExplainedBy::OwnWork(State::User),
            ExplainedBy::NotJudged { state: State::Runqueue, waits: None },
            ExplainedBy::NotJudged { state: State::Sleep, waits: Some(waits) },
        ];
        let rows: Vec<_> = by.into_iter().map(|by| Explained { by, ns: 1 }).collect();
        let json = serde_json::to_string(&rows).unwrap();
        assert!(json.starts_with(r#"[{"by":{"finding":0},"ns":1},{"by":{"own_work":"user"}"#), "{json}");
        assert_eq!(serde_json::from_str::<Vec<Explained>>(&json).unwrap(), rows);
    }
}
