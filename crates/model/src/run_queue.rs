//! Who had the CPUs while the program was ready to run: its own threads, other programs, nobody.

use crate::{JsonSchema, Ns, Pid, Seen};
use serde::{Deserialize, Serialize};

/// The run queue of an account: its `runqueue` part by what had the CPU meanwhile, and how many
/// CPUs the threads used and needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunQueue {
    /// Behind threads of the tree: its own work had the CPU.
    pub behind_own_ns: Ns,
    /// Behind other programs and threads of the kernel.
    pub behind_others_ns: Ns,
    /// The CPU was idle: it had to wake up first.
    pub idle_cpu_ns: Ns,
    /// What had the CPU was not observed.
    pub unseen_ns: Ns,
    /// Other programs, by the time that the account waited behind them, longest first: 8 at most.
    pub others: Vec<Rival>,
    /// Mean number of CPUs that the threads of the tree ran on.
    #[schemars(range(min = 0))]
    pub cpus_used: f64,
    /// Mean number of threads of the tree that ran or were ready to.
    #[schemars(range(min = 0))]
    pub cpus_wanted: f64,
    /// The same of all threads of the tree, on the path or not; not observed without BPF.
    #[serde(default)]
    pub of_all: Seen<QueueOfAll>,
}

/// Who had the CPUs while threads of the tree were ready to run, over all of these. The times of
/// the rows and the three other ones sum to `total_ns`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueOfAll {
    /// Time of all threads in the run queue: the sum of `states.runqueue` of `threads`.
    pub total_ns: Ns,
    /// Processes that had the CPU meanwhile, longest first: 32 at most. Of one name at most eight
    /// are told apart.
    #[schemars(length(max = 32))]
    pub rows: Vec<OccupantRow>,
    /// All others together.
    pub other_ns: Ns,
    /// The CPU was idle: it had to wake up first.
    pub idle_cpu_ns: Ns,
    /// What had the CPU was not observed.
    pub unseen_ns: Ns,
}

/// A process that had a CPU for which a thread of the tree waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OccupantRow {
    /// The name of its thread.
    pub name: String,
    /// The process. Absent where the row stands for many of this name.
    pub pid: Seen<Pid>,
    /// Its command line, where that is known: of processes of the tree.
    pub command: Option<String>,
    /// Whether it is of the tree.
    pub of_tree: bool,
    /// For how long threads of the tree waited behind it.
    pub ns: Ns,
}

/// Another program that had the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rival {
    /// The name of its thread.
    pub name: String,
    /// The process: of several with this name the one that threads of the tree waited for longest.
    pub pid: Seen<Pid>,
    /// Time of the account behind threads of this name.
    pub ns: Ns,
}
