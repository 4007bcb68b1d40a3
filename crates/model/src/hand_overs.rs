//! Which thread of the tree ended whose waits, in the schema of `--json`: how often, how long the
//! other had waited, and how soon it ran.

use crate::peers::Lengths;
use crate::wait::{WaitCall, WaitTarget};
use crate::{JsonSchema, Pid, Seen, State, Tid};
use serde::{Deserialize, Serialize};

/// Waits of threads of the tree that other threads of the tree ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandOvers {
    /// The most frequent hand-overs, first: 64 at most. Where more than eight rows differ only by
    /// their threads' numbers, or by their files or futexes, they are one.
    #[schemars(length(max = 64))]
    pub rows: Vec<HandOverRow>,
    /// How many there were of all others.
    pub other_times: u64,
}

/// Waits of one thread that another one ended, for one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandOverRow {
    /// Who ended them: who ran then, or had sent what arrived.
    pub from: HandOverEnd,
    /// Who waited.
    pub to: HandOverEnd,
    /// The states in which a thread is blocked; `unexplained` if it was blocked and no wake-up was
    /// observed.
    #[schemars(with = "crate::shape::WaitState")]
    pub reason: State,
    /// The call in which the thread waited. In JSON its name, empty for a fault, `not seen` where
    /// it was not observed.
    pub call: WaitCall,
    /// Through what: the wait target. In JSON an object: `{"kind": "pipe", "name": null}`.
    pub through: WaitTarget,
    /// Number of waits.
    pub times: u64,
    /// How long the thread had waited.
    pub waited: Lengths,
    /// From the wake-up until the thread ran, where it was seen to run.
    pub until_run: Seen<Lengths>,
}

/// A thread at one end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandOverEnd {
    /// Its name.
    pub name: String,
    /// Its process. Absent where the row stands for many threads of this name.
    pub pid: Seen<Pid>,
    /// The thread, likewise.
    pub tid: Seen<Tid>,
}

impl HandOvers {
    /// How many there were.
    pub fn times(&self) -> u64 {
        self.rows.iter().map(|row| row.times).sum::<u64>() + self.other_times
    }
}
