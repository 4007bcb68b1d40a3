//! The settings of a machine that decide how late a thread wakes up, as they were, and what changed
//! meanwhile.

use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// A state that a CPU may idle in: sysfs `cpuidle`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// Name: `POLL`, `C1`, `C6`.
    pub name: String,
    /// Its exit latency according to the kernel.
    pub exit_latency_ns: Ns,
    /// Whether it is enabled.
    pub disabled: bool,
}

/// What a CPU's own settings are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSettings {
    /// The CPU.
    pub cpu: u32,
    /// Its frequency governor.
    pub governor: Seen<String>,
    /// Its idle states.
    pub idle_states: Seen<Vec<IdleState>>,
    /// Interrupts that are routed to it, by `/proc/irq/*/effective_affinity_list`: their names.
    pub interrupts: Seen<Vec<String>>,
    /// Interrupts that struck it while the measurement ran, by `/proc/interrupts`: name and number,
    /// most first.
    pub interrupted: Seen<Vec<(String, u64)>>,
    /// Steal during the measurement.
    pub steal_ns: Seen<Ns>,
    /// System management interrupts during the measurement.
    pub smi: Seen<u64>,
}

/// The machine's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The preemption model of the kernel: `none`, `voluntary`, `full`, `lazy`, `rt`.
    pub preemption: Seen<String>,
    /// The kernel's command line.
    pub command_line: Seen<String>,
    /// The kernel's clock source: `tsc`, `arch_sys_counter`, `hpet`.
    pub clocksource: Seen<String>,
    /// The hypervisor, where there is one.
    pub hypervisor: Seen<String>,
    /// CPUs that the scheduler leaves alone: `isolcpus`.
    pub isolated: Seen<Vec<u32>>,
    /// CPUs without a tick: `nohz_full`.
    pub nohz_full: Seen<Vec<u32>>,
    /// The wake-up latency that idle states are limited to while it is measured, in microseconds:
    /// what `/dev/cpu_dma_latency` was held at; absent where no limit was requested.
    pub dma_latency_us: Seen<u32>,
    /// `kernel.sched_rt_runtime_us` by `kernel.sched_rt_period_us`; -1 for the first: no limit.
    #[schemars(with = "Seen<(crate::shape::RealTime, i64)>")]
    pub rt_runtime_us: Seen<(i64, i64)>,
    /// `cpu.rt_runtime_us` of the cgroup, where real-time group scheduling is on.
    #[schemars(with = "Seen<crate::shape::RealTime>")]
    pub cgroup_rt_runtime_us: Seen<i64>,
    /// Whether CPUs share a core with another one: `smt/active`.
    pub smt: Seen<bool>,
    /// The highest priority that the user may ask for: `RLIMIT_RTPRIO`; with the right to all of
    /// them, 99.
    pub rt_priority_max: u32,
    /// The CPU that the rest of dwell ran on is not measured; none: there is no other.
    pub housekeeping: Option<u32>,
    /// The measured CPUs.
    pub cpus: Vec<CpuSettings>,
}
