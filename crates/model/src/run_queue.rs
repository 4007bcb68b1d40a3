//! Who had the CPUs while the program was ready to run: its own threads, other programs, nobody.

use crate::{Ns, Pid, Seen};
use serde::{Deserialize, Serialize};

/// The run queue of an account: its `runqueue` part by what had the CPU meanwhile, and how many
/// CPUs the threads used and wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub cpus_used: f64,
    /// Mean number of threads of the tree that ran or were ready to.
    pub cpus_wanted: f64,
}

/// Another program that had the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rival {
    /// Its thread's name.
    pub name: String,
    /// The process: of several with this name the one that threads of the tree waited for longest.
    pub pid: Seen<Pid>,
    /// Time of the account behind threads of this name.
    pub ns: Ns,
}
