//! The account: every nanosecond of the wall clock, once.

pub use crate::state::State;
use crate::together::PlacesTogether;
use crate::wait::Reason;
use crate::{JsonSchema, Ns, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a figure is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// From the time stamps of events at both of its ends.
    Measured,
    /// From samples; it has an interval.
    Sampled,
    /// From other figures.
    Derived,
}

/// One state's share of the wall clock, with how it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountPart {
    /// What the thread or path was doing.
    pub state: State,
    /// Duration.
    pub ns: Ns,
    /// How the duration is known.
    pub basis: Basis,
    /// Low end of the 95 % interval; `ns` itself where measured.
    pub lo_ns: Ns,
    /// High end of the 95 % interval; `ns` itself where measured.
    pub hi_ns: Ns,
}

/// One place on the critical path: thread, state, reason, total duration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredStep")]
#[schemars(!from)]
pub struct Step {
    /// The process; 0 for time that belongs to none.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// The process's name, as the kernel has it (`comm`): up to 15 bytes of the program's choosing.
    pub process: String,
    /// What it was doing.
    pub state: State,
    /// The reason: the call for `kernel`, the wait target, or the thread that ran instead. In JSON
    /// a string, empty when nothing more is known.
    pub reason: Reason,
    /// Total duration.
    pub ns: Ns,
    /// How often it began. Where the time is sampled: the number of intervals on a CPU in which it
    /// may have been.
    pub count: u64,
    /// Number of rows that this row stands for, where there are several. Process, thread and reason
    /// are then what all of them have in common: a number is 0, a name empty, where they differ.
    /// Sums are exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub together: Option<PlacesTogether>,
}

/// A step of a stored result: its state decides how its reason is parsed.
#[derive(Deserialize)]
struct StoredStep {
    pid: Pid,
    tid: Tid,
    process: String,
    state: State,
    reason: String,
    ns: Ns,
    count: u64,
    #[serde(default)]
    together: Option<PlacesTogether>,
}

impl From<StoredStep> for Step {
    fn from(stored: StoredStep) -> Self {
        let StoredStep { pid, tid, process, state, reason, ns, count, together } = stored;
        Step { pid, tid, process, state, reason: Reason::read(state, &reason), ns, count, together }
    }
}

/// The wall clock, cut along the critical path: each nanosecond belongs to exactly one part and one
/// step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Account {
    wall_ns: Ns,
    parts: Vec<AccountPart>,
}

/// Parts or steps that do not sum to the wall clock.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("the account does not close: {what} sum to {sum_ns} ns of {wall_ns} ns wall clock")]
pub struct DoesNotClose {
    /// `parts`, `steps` or the state whose steps differ from its part.
    pub what: String,
    /// What they sum to.
    pub sum_ns: u128,
    /// What they should sum to.
    pub wall_ns: Ns,
}

impl Account {
    /// An account of `wall_ns`, refused unless both ledgers sum to it exactly, state by state.
    /// `steps`: the state and the time of each.
    pub fn new(
        wall_ns: Ns,
        parts: Vec<AccountPart>,
        steps: impl IntoIterator<Item = (State, Ns)>,
    ) -> Result<Self, DoesNotClose> {
        let mut of_steps = BTreeMap::<State, u128>::new();
        for (state, ns) in steps {
            *of_steps.entry(state).or_default() += u128::from(ns);
        }
        let closes = |what: &str, sum_ns: u128, wall_ns: Ns| {
            if sum_ns == u128::from(wall_ns) {
                Ok(())
            } else {
                Err(DoesNotClose { what: what.to_owned(), sum_ns, wall_ns })
            }
        };
        closes("parts", parts.iter().map(|part| u128::from(part.ns)).sum(), wall_ns)?;
        closes("steps", of_steps.values().sum(), wall_ns)?;
        for part in &parts {
            closes(part.state.name(), of_steps.get(&part.state).copied().unwrap_or(0), part.ns)?;
        }
        Ok(Self { wall_ns, parts })
    }

    /// The wall clock: from the entry of the successful `execve` to the end of the root's last
    /// thread.
    pub fn wall_ns(&self) -> Ns {
        self.wall_ns
    }

    /// By state, in order of precedence; states that did not occur are left out.
    pub fn parts(&self) -> &[AccountPart] {
        &self.parts
    }

    /// One state's time; 0 when it did not occur.
    pub fn ns(&self, state: State) -> Ns {
        self.parts.iter().filter(|part| part.state == state).map(|part| part.ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(state: State, ns: Ns) -> AccountPart {
        AccountPart { state, ns, basis: Basis::Measured, lo_ns: ns, hi_ns: ns }
    }

    #[test]
    fn an_account_that_misses_a_nanosecond_is_refused() {
        let parts = || vec![part(State::User, 60), part(State::Sleep, 40)];
        let steps = || [(State::User, 60), (State::Sleep, 40)];
        assert!(Account::new(100, parts(), steps()).is_ok());
        assert_eq!(Account::new(101, parts(), steps()).unwrap_err().what, "parts");
        assert_eq!(Account::new(100, parts(), [(State::User, 99)]).unwrap_err().what, "steps");
        let swapped = [(State::User, 40), (State::Sleep, 60)];
        assert_eq!(Account::new(100, parts(), swapped).unwrap_err().what, "user");
    }
}
