//! The places of a run's time by the program's own code: those that a person would open first.

use crate::wait::{Reason, StackFrame};
use crate::{JsonSchema, Ns, State};
use serde::{Deserialize, Serialize};

/// Time of the account in one state, for one reason, that one function of the program had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredPlace")]
#[schemars(!from)]
pub struct CodePlace {
    /// The process's name.
    pub process: String,
    /// How many threads this is of.
    pub threads: u64,
    /// The function, with the line that has most of this where it is known. None where no stack
    /// leads to code of the program.
    pub code: Option<StackFrame>,
    /// What it was doing.
    pub state: State,
    /// Of kernel time the system call, of a wait its target, in the run queue what ran instead for
    /// most of it.
    pub reason: Reason,
    /// How many other reasons are in this place.
    pub other_reasons: u64,
    /// Total duration.
    pub ns: Ns,
    /// How often it began.
    pub count: u64,
    /// The time of its threads was divided by functions as their samples are.
    pub sampled: bool,
}

/// A place of a stored result: its state decides how its reason is parsed.
#[derive(Deserialize)]
struct StoredPlace {
    process: String,
    threads: u64,
    code: Option<StackFrame>,
    state: State,
    reason: String,
    other_reasons: u64,
    ns: Ns,
    count: u64,
    sampled: bool,
}

impl From<StoredPlace> for CodePlace {
    fn from(stored: StoredPlace) -> Self {
        let StoredPlace { process, threads, code, state, reason, other_reasons, ns, count, sampled } = stored;
        let reason = Reason::read(state, &reason);
        CodePlace { process, threads, code, state, reason, other_reasons, ns, count, sampled }
    }
}
