//! Wake-up latency: what was measured ([`WakeMeasurements`]), and what follows from it
//! ([`Wakeups`], in the shape that `dwell wake --json` writes, `dwell.wake/1`).
//!
//! A wake-up is late by the time from when its sleep should have ended to when the thread reads the
//! clock. Measuring concludes nothing: percentiles, warnings, causes and the verdict are made of it
//! by `analyse`. Names and units are a public contract, listed in
//! `docs/schema/dwell.wake.1.fields.txt`: fields are added, not renamed.

pub mod environment;
pub mod load;
pub mod sheet;
pub mod spike;
pub mod verdict;

use crate::recording::Host;
use crate::{JsonSchema, Ns, Origin, Seen};
use environment::Environment;
use load::{Load, LoadDone};
use serde::{Deserialize, Serialize};
use spike::{Spike, SpikeSeen};
use verdict::{Deadline, Verdict};

/// The name of the schema.
pub const SCHEMA_WAKE: &str = "dwell.wake/1";

/// The mode of the measuring threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WakeMode {
    /// They sleep until a given time and measure their latency.
    #[default]
    Timer,
    /// They read the clock in a busy loop and measure the gaps.
    Gap,
}

/// How a thread sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sleeper {
    /// `clock_nanosleep(2)` until an absolute time.
    #[default]
    ClockNanosleep,
    /// `timerfd_settime(2)` with an absolute time and a period, and `read(2)`.
    Timerfd,
    /// `timer_create(2)` that signals the thread, and `sigwaitinfo(2)`.
    PosixTimer,
}

/// A scheduling policy with its parameter: sched(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// `SCHED_FIFO`, with its priority (1 to 99).
    Fifo(#[schemars(range(min = 1))] u32),
    /// `SCHED_RR`, with its priority.
    Rr(#[schemars(range(min = 1))] u32),
    /// `SCHED_OTHER`: the timer slack of the thread, which delays its wake-ups, in nanoseconds.
    Other(Ns),
    /// `SCHED_DEADLINE`.
    Deadline {
        /// Runtime: CPU time guaranteed in each period.
        runtime_ns: Ns,
        /// Relative to the start of the period.
        deadline_ns: Ns,
        /// The period.
        period_ns: Ns,
    },
}

/// The request, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakeRequest {
    /// Mode of the measuring threads.
    pub mode: WakeMode,
    /// How the measuring threads sleep.
    pub sleeper: Sleeper,
    /// CPUs with a measuring thread each.
    pub cpus: Vec<u32>,
    /// Time from one wake-up to the next.
    pub interval_ns: Ns,
    /// Duration.
    pub for_ns: Ns,
    /// Scheduling policy of the measuring threads.
    pub policy: Policy,
    /// Stress loads during the measurement.
    pub loads: Vec<Load>,
    /// The deadline to judge, if any.
    pub deadline: Option<Deadline>,
    /// The latency from which a wake-up is a spike; none: the largest ones are.
    pub spike_ns: Option<Ns>,
}

/// The settings of a measuring thread in force, read back while it measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InForce {
    /// Policy, by `sched_getattr(2)`.
    pub policy: Policy,
    /// Affinity, by `sched_getaffinity(2)`.
    pub cpus: Seen<Vec<u32>>,
    /// Bytes locked in memory by the process: `VmLck`.
    pub locked_bytes: Seen<u64>,
    /// Whether that is all that was mapped when it began: `mlockall(2)`.
    #[serde(default = "not_said")]
    pub locked_all: Seen<bool>,
    /// Settings that were refused, with the system's error: sentences without a full stop.
    pub refused: Vec<String>,
}

fn not_said() -> Seen<bool> {
    Seen::unseen("not recorded by the dwell version that measured it")
}

/// Values of a histogram from `from_ns` up to, not with, `to_ns`; in JSON
/// `[from_ns, to_ns, count]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(with = "(Ns, std::num::NonZeroU64, u64)")]
#[serde(from = "(Ns, Ns, u64)", into = "(Ns, Ns, u64)")]
pub struct Bin {
    /// The smallest value.
    pub from_ns: Ns,
    /// The first value beyond.
    pub to_ns: Ns,
    /// Count.
    pub count: u64,
}

impl From<(Ns, Ns, u64)> for Bin {
    fn from((from_ns, to_ns, count): (Ns, Ns, u64)) -> Self {
        Self { from_ns, to_ns, count }
    }
}

impl From<Bin> for (Ns, Ns, u64) {
    fn from(bin: Bin) -> Self {
        (bin.from_ns, bin.to_ns, bin.count)
    }
}

/// The maximum latency of an interval of time: timelines and estimates of the maximum use blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBlock {
    /// The start of the block, from the start of the measurement.
    pub at_ns: Ns,
    /// Wake-ups in the block.
    pub cycles: u64,
    /// The maximum latency.
    pub max_ns: Ns,
}

/// What one thread measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadMeasured {
    /// The CPU that it is on.
    pub cpu: u32,
    /// Its settings according to the kernel.
    pub in_force: InForce,
    /// Wake-ups (in gap mode: clock reads).
    pub cycles: u64,
    /// Missed periods: latency divided by interval, rounded down, of each wake-up.
    /// They are no wake-ups and not in the histogram.
    pub missed: u64,
    /// Wake-ups on another CPU, while this one was offline or taken from dwell. They are in no
    /// other figure.
    #[serde(default)]
    pub elsewhere: u64,
    /// Of all wake-ups on this CPU, in order, empty ones left out; 128 bins an octave, so a value
    /// is known to within 1 %.
    pub histogram: Vec<Bin>,
    /// The minimum. 0 without wake-ups, as all below.
    pub min_ns: Ns,
    /// The sum.
    pub sum_ns: Ns,
    /// The maximum latency.
    pub max_ns: Ns,
    /// When the wake-up with the maximum latency was due, from the start of the measurement.
    pub max_at_ns: Ns,
    /// Blocks of the same length (the last may be shorter), one second or longer.
    pub blocks: Vec<LatencyBlock>,
    /// CPU time of the thread, while it measured.
    pub cpu_ns: Ns,
}

/// All results of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeMeasurements {
    /// Where.
    pub host: Host,
    /// The settings that decide about latency, and what changed while it ran.
    pub environment: Environment,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// The number of the machine: [`Origin::machine_number`].
    #[serde(default)]
    pub machine_number: Option<String>,
    /// The version of dwell that measured.
    #[serde(default)]
    pub dwell: Option<String>,
    /// The request.
    pub asked: WakeRequest,
    /// Duration of the measurement.
    pub took_ns: Ns,
    /// The resolution of the clock: clock_getres(2).
    pub resolution_ns: Ns,
    /// One for each CPU.
    pub threads: Vec<ThreadMeasured>,
    /// What the loads did.
    pub loads: Vec<LoadDone>,
    /// The kernel's events around spikes; or why they are unknown.
    pub spikes: Seen<Vec<SpikeSeen>>,
    /// What else could not be done or observed: sentences without a full stop.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Ended early.
    pub interrupted: bool,
}

/// The figures of one thread, or of all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wakes {
    /// The CPU; none: all of them.
    pub cpu: Option<u32>,
    /// Number of wake-ups.
    pub cycles: u64,
    /// Missed periods: wake-up times that passed while a thread was late. They do not count as
    /// wake-ups and are not in the histogram.
    pub missed: Seen<u64>,
    /// Wake-ups elsewhere, while the CPU was offline or taken from dwell; left out where there
    /// were none, or they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub elsewhere: Option<u64>,
    /// Minimum latency.
    pub min_ns: Seen<Ns>,
    /// Mean latency.
    pub avg_ns: Seen<Ns>,
    /// Median. Unseen if there are too few wake-ups for it.
    pub p50_ns: Seen<Ns>,
    /// 99th percentile. Unseen if there are too few wake-ups for it.
    pub p99_ns: Seen<Ns>,
    /// 99.9th percentile. Unseen if there are too few wake-ups for it.
    pub p999_ns: Seen<Ns>,
    /// 99.99 %. Unseen when there are fewer than 10,000 wake-ups; the others likewise.
    pub p9999_ns: Seen<Ns>,
    /// 99.999th percentile. Unseen if there are too few wake-ups for it.
    pub p99999_ns: Seen<Ns>,
    /// 99.9999th percentile. Unseen if there are too few wake-ups for it.
    pub p999999_ns: Seen<Ns>,
    /// The maximum latency.
    pub max_ns: Seen<Ns>,
    /// When the wake-up with the maximum latency was due, from the start of the measurement.
    pub max_at_ns: Seen<Ns>,
    /// Histogram of all latencies, ascending; empty bins are left out.
    pub histogram: Vec<Bin>,
    /// Maximum latency of each block, in order.
    pub timeline: Vec<LatencyBlock>,
    /// Overhead: CPU time of the measurement itself for each wake-up.
    pub cpu_per_cycle_ns: Seen<Ns>,
}

/// The requested settings and those in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The request, defaults filled in.
    pub asked: WakeRequest,
    /// Settings in force, in the order of `asked.cpus`.
    pub in_force: Vec<InForce>,
}

/// What `dwell wake --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wakeups {
    /// Name and version of this format.
    #[schemars(extend("const" = SCHEMA_WAKE))]
    pub schema: String,
    /// The host.
    pub host: Host,
    /// The settings that decide about latency.
    pub environment: Environment,
    /// When it began: RFC 3339, UTC, to the nanosecond; in results of older versions to the second.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// Which result it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// The version of dwell that measured. Results of older versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dwell: Option<String>,
    /// Duration of the measurement.
    pub took_ns: Ns,
    /// Requested settings and those in force.
    pub settings: Settings,
    /// Figures of all CPUs together.
    pub all: Wakes,
    /// One for each CPU.
    pub threads: Vec<Wakes>,
    /// What the loads did.
    pub loads: Vec<LoadDone>,
    /// Verdict: pass, fail or undecided; null if no deadline was given.
    pub verdict: Seen<Verdict>,
    /// The largest spikes with their causes, the largest first.
    pub spikes: Seen<Vec<Spike>>,
    /// Caveats: what qualifies the result, which settings were not in force, and what would change
    /// that: sentences; a second line says what to try.
    pub limits: Vec<String>,
    /// Whether it was ended early: by a signal, or by a thread that could not keep its interval.
    pub interrupted: bool,
}
