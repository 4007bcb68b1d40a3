//! What was observed and what was not, as data with every result.

use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// How much of a source was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// All of it.
    Full,
    /// Part of it; `why` says which.
    Partial,
    /// Nothing of it.
    None,
}

/// One source of evidence: how much it gave, and what would give more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// What it observes: `switches`, `calls`, `interrupts`, `thread names` (these two where they
    /// are missing), `sockets`, `disks`, `network`, `names`, `faults`, `fault places`, `code`,
    /// `objects`, `surroundings` (host metrics), `other users' processes`.
    pub name: String,
    /// How much of it was observed.
    pub seen: Extent,
    /// Why not all of it: what was tried, on what, and the system's error. Empty when complete.
    pub why: String,
    /// A command, or a sentence, that would change it. Empty when there is nothing to do.
    pub remedy: String,
}

impl Source {
    /// One that gave all.
    pub fn full(name: &str) -> Self {
        Self { name: name.to_owned(), seen: Extent::Full, why: String::new(), remedy: String::new() }
    }

    /// One that gave a part: why not all, and what would change it.
    pub fn partial(name: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name: name.to_owned(), seen: Extent::Partial, why: why.into(), remedy: remedy.into() }
    }

    /// One that gave nothing: why, and what would change it.
    pub fn none(name: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { seen: Extent::None, ..Self::partial(name, why, remedy) }
    }
}

/// Two independent figures for one thing, side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The figure that is compared.
    pub what: String,
    /// dwell's figure.
    pub ours_ns: Ns,
    /// The kernel's own.
    pub theirs_ns: Ns,
    /// Whether they agree within the tolerance that docs/method/account.md states.
    pub agrees: bool,
}

/// The source that tells which threads were there when a window began. It is named only where some
/// of them are missing.
pub const THREADS: &str = "threads";

/// The evidence that a result rests on. A page that looks complete is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Every source of evidence, observed or not.
    pub sources: Vec<Source>,
    /// Lost events: those that the kernel could not deliver.
    pub lost_events: Seen<u64>,
    /// Time without evidence on the path, as in the account.
    pub unexplained_ns: Ns,
    /// What dwell's instruments cost the program, by estimate: CPU time of its own threads. How
    /// often each ran, times what one run costs; effects on caches are not in it.
    pub overhead_ns: Seen<Interval>,
    /// The same by instrument; those that never ran are left out.
    #[serde(default)]
    pub overhead_by: Vec<InstrumentOverhead>,
    /// CPU time of dwell's own threads while the program ran: beside the program, not in its time.
    /// Setting up and naming code are not in it.
    #[serde(default)]
    pub reader_cpu_ns: Seen<Ns>,
    /// CPU time of other programs, as a share of the capacity of all CPUs while the program ran (0
    /// to 1).
    #[schemars(with = "Seen<crate::shape::Fraction>")]
    pub host_busy: Seen<f64>,
    /// CPU time taken by the hypervisor while the program ran, summed over CPUs.
    pub steal_ns: Seen<Ns>,
    /// Independent figures from the kernel, to compare with ours.
    pub checks: Vec<Check>,
    /// Anything else the reader must know, a sentence each.
    pub notes: Vec<String>,
}

/// What one kind of instrument cost the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstrumentOverhead {
    /// Which: `calls` (entries and exits of system calls), `switches`, `wakes`, `samples`, `fault
    /// samples`.
    pub what: String,
    /// How often it ran for the program's threads.
    pub times: u64,
    /// That many times the least that one run costs.
    pub lo_ns: Ns,
    /// That many times the most.
    pub hi_ns: Ns,
}

/// An interval, both ends included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Low end.
    pub lo: Ns,
    /// High end.
    pub hi: Ns,
}
