//! What is known of the processes of a run beside their threads, in the schema of `--json`: their
//! programs, and the largest of them.

use crate::{JsonSchema, Ns, Pid, Seen};
use serde::{Deserialize, Serialize};

/// The process with the largest resident set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPeak {
    /// Its largest resident set, as the kernel counts it.
    pub bytes: u64,
    /// It was no larger than that: a process begins at the size of the one that created it, here
    /// dwell's.
    pub at_most: bool,
    /// Which it was.
    pub pid: Seen<Pid>,
    /// Its program.
    pub name: Seen<String>,
}

/// The processes of the tree by the program that they executed last. One that executes none has
/// that of its creator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Programs {
    /// The programs that used most CPU time, first; not more than 32.
    #[schemars(length(max = 32))]
    pub rows: Vec<ProgramRow>,
    /// All others together; none where there are none.
    pub rest: Option<ProgramRow>,
}

/// All processes of one program, until the end of the wall.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRow {
    /// Its name: the first 15 bytes of its file's. Of the rest empty.
    pub name: String,
    /// The command line of one of them, where one is known.
    pub command: Option<String>,
    /// How many there were.
    pub processes: u64,
    /// How many of them were created and executed a program while they were observed.
    pub started: u64,
    /// From the creation of those processes until their first `execve` had replaced the old
    /// program, summed.
    pub startup_ns: Ns,
    /// From creation to exit within the wall clock, summed over processes.
    pub life_ns: Ns,
    /// User time of their threads.
    pub user_ns: Ns,
    /// Kernel time of their threads, faults included.
    pub kernel_ns: Ns,
}
