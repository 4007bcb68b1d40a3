//! Wake-up latency: what was measured ([`Measurements`]), and what follows from it ([`Wakeups`], in
//! the shape that `dwell wake --json` promises, `dwell.wake/1`).
//!
//! A wake-up is late by the time from when its sleep should have ended to when the thread reads the
//! clock. Measuring concludes nothing: percentiles, warnings, causes and the verdict are made of it
//! by `analyse`. Names and units are a public contract, described by
//! `docs/schema/dwell.wake.1.json`: fields are added, not renamed.

pub mod environment;
pub mod load;
pub mod sheet;
pub mod spike;
pub mod verdict;

use crate::recording::Host;
use crate::{Ns, Seen};
use environment::Environment;
use load::{Load, LoadDone};
use serde::{Deserialize, Serialize};
use spike::{Spike, SpikeSeen};
use verdict::{Deadline, Verdict};

/// The name of the promise.
pub const SCHEMA_WAKE: &str = "dwell.wake/1";

/// What the measuring threads do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// They sleep until a given time, and see how late they are.
    #[default]
    Timer,
    /// They read the clock without pause, and see for how long they could not.
    Gap,
}

/// How a thread sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// `SCHED_FIFO`, with its priority (1 to 99).
    Fifo(u32),
    /// `SCHED_RR`, with its priority.
    Rr(u32),
    /// `SCHED_OTHER`: the timer slack of the thread, which delays its wake-ups, in nanoseconds.
    Other(Ns),
    /// `SCHED_DEADLINE`.
    Deadline {
        /// Guaranteed time in each period.
        runtime_ns: Ns,
        /// Counted from the period's begin.
        deadline_ns: Ns,
        /// Of one cycle.
        period_ns: Ns,
    },
}

/// What was asked for, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Sleep or spin.
    pub mode: Mode,
    /// How to sleep.
    pub sleeper: Sleeper,
    /// CPUs with a measuring thread each.
    pub cpus: Vec<u32>,
    /// From one wake-up to the next.
    pub interval_ns: Ns,
    /// How long.
    pub for_ns: Ns,
    /// Of the measuring threads.
    pub policy: Policy,
    /// What the machine does meanwhile.
    pub loads: Vec<Load>,
    /// What is judged, if anything.
    pub deadline: Option<Deadline>,
    /// The latency from which a wake-up is a spike; `None`: the largest ones.
    pub spike_ns: Option<Ns>,
}

/// The settings of a measuring thread in force, read back while it measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InForce {
    /// `sched_getattr(2)`.
    pub policy: Policy,
    /// `sched_getaffinity(2)`.
    pub cpus: Seen<Vec<u32>>,
    /// Bytes locked in memory by the process: `VmLck`.
    pub locked_bytes: Seen<u64>,
    /// Whether that is all that was mapped when it began: `mlockall(2)`.
    #[serde(default = "not_said")]
    pub locked_all: Seen<bool>,
    /// What asked for was refused, with what the system said: sentences without a full stop.
    pub refused: Vec<String>,
}

fn not_said() -> Seen<bool> {
    Seen::unseen("the dwell that measured did not say it")
}

/// Values of a histogram from `from_ns` up to, not with, `to_ns`; in JSON
/// `[from_ns, to_ns, count]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Ns, Ns, u64)", into = "(Ns, Ns, u64)")]
pub struct Bin {
    /// The smallest value.
    pub from_ns: Ns,
    /// The first value beyond.
    pub to_ns: Ns,
    /// How many.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The start of the block, from the start of the measurement.
    pub at_ns: Ns,
    /// Wake-ups in it.
    pub cycles: u64,
    /// The maximum latency.
    pub max_ns: Ns,
}

/// What one thread measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadMeasured {
    /// The CPU that it is on.
    pub cpu: u32,
    /// What the kernel says of it.
    pub in_force: InForce,
    /// Wake-ups (in gap mode: readings of the clock).
    pub cycles: u64,
    /// Periods that went by while it was late: lateness by interval, rounded down, of each wake-up.
    /// They are no wake-ups and not in the histogram.
    pub missed: u64,
    /// Of all wake-ups, in order, empty ones left out; 128 bins an octave, so a value is known to
    /// within 1 %.
    pub histogram: Vec<Bin>,
    /// The minimum. 0 without wake-ups, as all below.
    pub min_ns: Ns,
    /// All together.
    pub sum_ns: Ns,
    /// The maximum latency.
    pub max_ns: Ns,
    /// When the wake-up with the maximum latency was due, from the start of the measurement.
    pub max_at_ns: Ns,
    /// Blocks of the same length (the last may be shorter), one second or longer.
    pub blocks: Vec<Block>,
    /// CPU time of the thread, while it measured.
    pub cpu_ns: Ns,
}

/// All that one measuring gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// Where.
    pub host: Host,
    /// The settings that decide about latency, and what changed while it ran.
    pub environment: Environment,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// What was asked for.
    pub asked: Asked,
    /// How long the threads measured.
    pub took_ns: Ns,
    /// The resolution of the clock: clock_getres(2).
    pub resolution_ns: Ns,
    /// One for each CPU.
    pub threads: Vec<ThreadMeasured>,
    /// What the loads did.
    pub loads: Vec<LoadDone>,
    /// The kernel's events around spikes; or why they are unknown.
    pub spikes: Seen<Vec<SpikeSeen>>,
    /// What else could not be done or seen: sentences without a full stop.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Ended early.
    pub interrupted: bool,
}

/// The figures of one thread, or of all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wakes {
    /// The CPU; none: all of them.
    pub cpu: Option<u32>,
    /// Wake-ups.
    pub cycles: u64,
    /// Missed periods. Unseen in results of tools that do not count them.
    pub missed: Seen<u64>,
    /// The minimum.
    pub min_ns: Seen<Ns>,
    /// Mean.
    pub avg_ns: Seen<Ns>,
    /// Half of all are not later.
    pub p50_ns: Seen<Ns>,
    /// 99 of 100.
    pub p99_ns: Seen<Ns>,
    /// 999 of 1,000.
    pub p999_ns: Seen<Ns>,
    /// 9,999 of 10,000. Unseen when there are fewer than that, as all of these.
    pub p9999_ns: Seen<Ns>,
    /// 99,999 of 100,000.
    pub p99999_ns: Seen<Ns>,
    /// 999,999 of 1,000,000.
    pub p999999_ns: Seen<Ns>,
    /// The maximum latency.
    pub max_ns: Seen<Ns>,
    /// When the wake-up with the maximum latency was due, from the start.
    pub max_at_ns: Seen<Ns>,
    /// Of all wake-ups, in order.
    pub histogram: Vec<Bin>,
    /// The blocks.
    pub timeline: Vec<Block>,
    /// CPU time of the measuring itself, for one wake-up.
    pub cpu_per_cycle_ns: Seen<Ns>,
}

/// What was asked for and what was in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// By the caller, defaults filled in.
    pub asked: Asked,
    /// By CPU, in the order of `asked.cpus`.
    pub in_force: Vec<InForce>,
}

/// Everything that one `dwell wake` has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wakeups {
    /// [`SCHEMA_WAKE`].
    pub schema: String,
    /// Where.
    pub host: Host,
    /// The settings that decide about latency.
    pub environment: Environment,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// How long the threads measured.
    pub took_ns: Ns,
    /// Asked for and in force.
    pub settings: Settings,
    /// All CPUs together.
    pub all: Wakes,
    /// One for each CPU.
    pub threads: Vec<Wakes>,
    /// What the loads did.
    pub loads: Vec<LoadDone>,
    /// Met, missed or undecided; none was asked for: absent.
    pub verdict: Seen<Verdict>,
    /// The largest spikes with their causes, the largest first.
    pub spikes: Seen<Vec<Spike>>,
    /// What qualifies all of it, what was not in force, and what would change it: sentences without
    /// a full stop.
    pub limits: Vec<String>,
    /// Ended early.
    pub interrupted: bool,
}
