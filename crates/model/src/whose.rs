//! Whose code a run's time is of: the places that a person would open first.

use crate::wait::{Reason, StackFrame};
use crate::{Ns, State};

/// What is of the program's own code.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Whose {
    /// The account by the code that it is of, longest first; sums to it.
    pub places: Vec<CodePlace>,
    /// For each row of `waits` the frame of its stack that is the program's own, by its index.
    pub waits: Vec<Option<usize>>,
    /// For each row of `functions` whether it is the program's own.
    pub functions: Vec<bool>,
    /// The same for `lines`.
    pub lines: Vec<bool>,
    /// The same for the frames of the profile.
    pub frames: Vec<bool>,
}

/// Time of the account in one state, for one reason, that one function of the program had.
#[derive(Debug, Clone, PartialEq)]
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
