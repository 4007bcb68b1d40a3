//! The limits that a program runs under: those of its control group and of the groups above it.
//!
//! Of several the tightest counts. Counters are cumulative, as the kernel keeps them; `analyse`
//! makes of them what happened in the wall.

use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// The control group that a program is in, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlGroup {
    /// Its path from the root of its hierarchy, as `/proc/PID/cgroup` has it. In version 1 that of
    /// the controller `cpu`.
    pub path: Seen<String>,
    /// The CPU quota; absent where neither it nor a group above has one.
    pub cpu: Seen<CpuQuota>,
    /// The memory limit, likewise; or that of another process of the program, where it is tighter.
    pub memory: Seen<MemoryLimit>,
    /// CPUs that its main thread may run on (`Cpus_allowed`).
    pub cpus_allowed: Seen<u32>,
}

/// The CPU quota of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuQuota {
    /// The group that has it: the program's own, or one above.
    pub group: String,
    /// CPU time in each period.
    pub quota_ns: Ns,
    /// The period.
    pub period_ns: Ns,
    /// Periods within the wall in which the group had something to run.
    pub periods: u64,
    /// Periods in which the quota was used up.
    pub throttled_periods: u64,
    /// Time for which the group was throttled; in version 1 summed over CPUs, in version 2 too.
    pub throttled_ns: Ns,
}

/// The memory limit of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLimit {
    /// The group that has it: the program's own, that of another of its processes, or one above.
    pub group: String,
    /// The limit (`memory.max`, or `memory.high` where that is lower).
    pub limit_bytes: u64,
    /// The most that was in use at a snapshot.
    pub used_bytes: u64,
    /// How often the limit was reached within the wall.
    pub reached: u64,
}

impl CpuQuota {
    /// The quota as a number of CPUs.
    pub fn cpus(&self) -> f64 {
        self.quota_ns as f64 / self.period_ns.max(1) as f64
    }
}

/// The limits of a run: those that it ended with, and what they did within the wall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The program's control group, from the root of its hierarchy.
    pub group: Seen<String>,
    /// The CPU quota, with the counts of the wall; absent where there is none.
    pub cpu: Seen<CpuQuota>,
    /// The memory limit, likewise. `used_bytes` is the most that was seen.
    pub memory: Seen<MemoryLimit>,
    /// Number of CPUs that its main thread may run on.
    pub cpus_allowed: Seen<u32>,
    /// What came back into the memory of the group with the memory limit within the wall, after it
    /// had been taken away for want of memory (refaults).absent where there is no memory limit.
    #[serde(default)]
    pub refaulted_bytes: Seen<u64>,
}
