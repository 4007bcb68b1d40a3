//! The latency ladder of a machine: what was measured ([`Measurements`]), and what follows from it
//! ([`Ladder`], in the shape that `dwell ladder --json` promises, `dwell.ladder/1`).
//!
//! Measuring concludes nothing: [`Samples`] are times as the clock gave them. Medians, intervals,
//! what is plausible and where a cache ends are made of them by `analyse`. Names and units are a
//! public contract, described by `docs/schema/dwell.ladder.1.json`: fields are added, not renamed.

pub mod beside;

use crate::recording::Host;
use crate::{Ns, Seen};
use serde::{Deserialize, Serialize};

/// The name of the promise.
pub const SCHEMA_LADDER: &str = "dwell.ladder/1";

/// What a rung is about, in the order of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// What one core does by itself.
    Core,
    /// Caches, memory, and cores with each other.
    Memory,
    /// Getting memory and giving it back.
    Allocator,
    /// What an interpreter does for one line.
    Language,
    /// System calls, threads, processes, timers.
    Kernel,
    /// Files and the disk below them.
    Files,
    /// Packets and connections.
    Network,
}

impl Group {
    /// All of them.
    pub const ALL: [Group; 7] = [
        Group::Core,
        Group::Memory,
        Group::Allocator,
        Group::Language,
        Group::Kernel,
        Group::Files,
        Group::Network,
    ];

    /// The name used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Group::Core => "core",
            Group::Memory => "memory",
            Group::Allocator => "allocator",
            Group::Language => "language",
            Group::Kernel => "kernel",
            Group::Files => "files",
            Group::Network => "network",
        }
    }
}

/// What a rung says of itself before it is measured. All texts are sentences or parts of one,
/// without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Unique, lower case, words joined by `-`: a public name. Of a rung about a host that was
    /// named, with `@HOST` behind.
    pub id: String,
    /// Where it belongs.
    pub group: Group,
    /// What one operation is, in a few words.
    pub what: String,
    /// What the figure does not contain, or must not be taken for.
    pub excludes: String,
    /// How it is measured.
    pub method: String,
    /// Where the method comes from.
    pub source: String,
    /// What must be there for it to be measured; empty where nothing special is.
    pub needs: String,
}

/// The times of one rung, as measured. The clock's own cost is still in them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Nanoseconds for one operation, of each sample: the time of the sample by its operations.
    pub per_op_ns: Vec<f64>,
    /// Operations of one sample.
    pub ops_per_sample: u64,
    /// The cost of one reading of the clock, of which each sample has one in it. 0 where something
    /// else than the clock that dwell reads gave the times.
    pub clock_cost_ns: f64,
    /// What must be taken off to leave the operation: the same without it, each right after the
    /// sample of the same place. Empty where nothing is.
    #[serde(default)]
    pub baseline_ns: Vec<f64>,
    /// What the same place moves, in bytes a second. Empty where that makes no sense.
    #[serde(default)]
    pub bytes_per_s: Vec<f64>,
    /// What qualifies the figure, where the rung itself knows it: pages not obtained, a smaller
    /// file. Sentences without a full stop.
    #[serde(default)]
    pub limits: Vec<String>,
}

/// Why a rung has no samples: a sentence without a full stop, and what would help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unmeasured {
    /// This machine has no such thing: a second memory node, a second CPU.
    Absent(String),
    /// It could not be measured, or nobody asked for it.
    Unseen(String),
}

/// What happened to the measuring thread during a rung.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// How long the rung took, in all.
    pub took_ns: Ns,
    /// How long the measuring thread waited for its CPU, which had other work.
    #[serde(default)]
    pub waited_ns: Ns,
    /// Time that the hypervisor gave to others, summed over all CPUs.
    pub steal_ns: Ns,
    /// Nanoseconds of a cycle right before and right after. Empty where that was not looked at.
    pub cycle_ns: Vec<f64>,
}

/// One rung after its turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What it is.
    pub about: About,
    /// Its samples, or why there are none.
    pub outcome: Result<Samples, Unmeasured>,
    /// What else happened meanwhile.
    pub conditions: Conditions,
}

/// The chase through one size of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeSamples {
    /// Bytes that were chased through.
    pub bytes: u64,
    /// Nanoseconds a load, of each sample, with the clock's cost.
    pub per_op_ns: Vec<f64>,
    /// Loads of a sample.
    pub ops_per_sample: u64,
}

/// A cache as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Of one line.
    pub line_bytes: u64,
    /// CPUs that share it.
    pub shared_by: u32,
}

/// What the machine says of itself, beyond [`Host`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's name.
    pub cpu: Seen<String>,
    /// Caches that hold data, smallest level first. Empty where the kernel does not tell.
    pub caches: Vec<Cache>,
    /// Of one page.
    pub page_bytes: u64,
    /// Memory nodes.
    pub nodes: u32,
    /// CPUs that dwell may run on.
    pub cpus_allowed: Vec<u32>,
    /// The frequency that the kernel states now, in MHz. In a virtual machine often that of the
    /// time stamp counter.
    pub stated_mhz: Seen<f64>,
    /// The highest frequency that the kernel may set, in MHz.
    pub max_mhz: Seen<f64>,
    /// Who chooses the frequency.
    pub governor: Seen<String>,
    /// What the kernel's clock reads: `tsc`, `arch_sys_counter`, `hpet`.
    pub clocksource: Seen<String>,
    /// Memory that may still be taken, by this host and by the control group.
    pub memory_free_bytes: Seen<u64>,
}

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Five seconds instead of thirty.
    pub quick: bool,
    /// Rungs or groups by name; empty: all.
    pub only: Vec<String>,
    /// The directory of the file rungs.
    pub dir: Option<String>,
    /// Hosts that may be spoken to.
    pub hosts: Vec<String>,
}

/// All that one measuring gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// Where.
    pub host: Host,
    /// What the machine says of itself.
    pub machine: Machine,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// What was asked for.
    pub asked: Asked,
    /// What one reading of the clock costs.
    pub clock_cost_ns: f64,
    /// The rungs in the order of the ladder.
    pub rungs: Vec<Measured>,
    /// Latency against size, smallest first.
    pub curve: Seen<Vec<SizeSamples>>,
    /// How long all of it took.
    pub took_ns: Ns,
    /// The most memory that dwell had at a time, in bytes. Pages from the administrator's reserve
    /// are not in it.
    pub memory_peak_bytes: Seen<u64>,
    /// Somebody ended it early.
    pub interrupted: bool,
}

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Half of the samples are below.
    pub median: f64,
    /// Low end of the interval of the median.
    pub lo: f64,
    /// High end.
    pub hi: f64,
}

/// How far the samples lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// A tenth of the samples is below.
    pub p10: f64,
    /// A tenth is above.
    pub p90: f64,
    /// The largest.
    pub max: f64,
}

/// Whether a figure can be what it claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It lies where published figures and this machine's other rungs put it.
    Plausible,
    /// It does not: it may be something else than its name says.
    Doubtful,
    /// There is nothing to compare it with, or no figure.
    Unknown,
}

/// The verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plausible {
    /// Can it be?
    pub verdict: Verdict,
    /// Compared with what.
    pub why: String,
}

/// A rung of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// What it is.
    #[serde(flatten)]
    pub about: About,
    /// Nanoseconds for one operation, the clock's cost taken off.
    pub ns: Seen<Interval>,
    /// How far the samples lie apart.
    pub spread_ns: Seen<Spread>,
    /// How many there are.
    pub samples: u64,
    /// Operations of one sample: spread and interval are of means of so many.
    pub ops_per_sample: u64,
    /// What the same place moves.
    pub bytes_per_s: Seen<Interval>,
    /// What qualifies the figure, or why the machine has no such thing.
    pub limits: Vec<String>,
    /// Whether it can be.
    pub plausible: Plausible,
}

/// A point of latency against size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Bytes that were chased through.
    pub bytes: u64,
    /// Nanoseconds a load.
    pub ns: Interval,
}

/// Where latency rises.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// The size about which it rises: between two points of the curve, their geometric mean.
    pub bytes: u64,
    /// Latency below.
    pub below_ns: f64,
    /// Latency above.
    pub above_ns: f64,
    /// The cache that ends there, by what the kernel says of sizes: `l1`, `l2`, `l3`; none where no
    /// size fits.
    pub level: Option<String>,
}

/// Latency against size, and the edges in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Smallest first.
    pub points: Vec<Point>,
    /// Smallest first.
    pub edges: Vec<Edge>,
}

/// The ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// [`SCHEMA_LADDER`].
    pub schema: String,
    /// Where.
    pub host: Host,
    /// What the machine says of itself.
    pub machine: Machine,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// How long it took.
    pub took_ns: Ns,
    /// What was asked for.
    pub asked: Asked,
    /// In the order of the groups; those that were not asked for are left out.
    pub rungs: Vec<Rung>,
    /// Latency against size.
    pub curve: Seen<Curve>,
    /// What qualifies all of it.
    pub limits: Vec<String>,
}
