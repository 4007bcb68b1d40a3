//! The latency ladder of a machine: what was measured ([`LadderMeasurements`]), and what follows
//! from it ([`Ladder`], in the shape that `dwell ladder --json` writes, `dwell.ladder/1`).
//!
//! Measuring concludes nothing: [`Samples`] are times as the clock gave them. Medians, intervals,
//! what is plausible and where a cache ends are made of them by `analyse`. Names and units are a
//! public contract, listed in `docs/schema/dwell.ladder.1.fields.txt`: fields are added, not
//! renamed.

pub mod beside;

pub use crate::cache::Cache;
use crate::recording::Host;
use crate::{JsonSchema, Ns, Origin, Seen};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The name of the schema.
pub const SCHEMA_LADDER: &str = "dwell.ladder/1";

/// Groups of rungs, in the order of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum RungGroup {
    /// One core alone.
    Core,
    /// Caches, memory, and communication between cores.
    Memory,
    /// Allocating and freeing memory.
    Allocator,
    /// One line in an interpreter.
    Language,
    /// System calls, threads, processes, timers.
    Kernel,
    /// Files and the disk below them.
    Files,
    /// Packets and connections.
    Network,
}

impl RungGroup {
    /// All of them.
    pub const ALL: [RungGroup; 7] = *Self::VARIANTS.as_array().unwrap();

    /// The name used in every output.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a rung says of itself before it is measured. All texts are sentences or parts of one,
/// without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RungDescription {
    /// Unique, lower case, words joined by `-`: a public name. Of a rung about a host that was
    /// named, with `@HOST` behind.
    #[schemars(regex(pattern = r"^[a-z0-9-]+(@[\s\S]+)?$"))]
    pub id: String,
    /// Its group.
    pub group: RungGroup,
    /// What one operation is, in a few words.
    pub what: String,
    /// What the figure does not include, or must not be taken for.
    pub excludes: String,
    /// How it is measured.
    pub method: String,
    /// The version of the method. It is raised when figures can no longer be compared with those
    /// before; another wording of the method is the same version. Results that lack it are of the
    /// first.
    #[serde(default = "first_version")]
    #[schemars(range(min = 1))]
    pub method_version: u32,
    /// Where the method comes from.
    pub source: String,
    /// Requirements of the measurement; empty if there are none.
    pub needs: String,
}

/// The first version of each method.
fn first_version() -> u32 {
    1
}

/// The times of one rung, as measured. They still include the cost of reading the clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Nanoseconds per operation, of each sample: the time of the sample divided by its operations.
    pub per_op_ns: Vec<f64>,
    /// Operations of one sample.
    pub ops_per_sample: u64,
    /// The cost of one reading of the clock, which each sample contains. 0 where the times are not
    /// from the clock that dwell reads.
    pub clock_cost_ns: f64,
    /// What must be taken off to leave the operation: the same without it, each right after the
    /// sample of the same place. Empty where nothing is.
    #[serde(default)]
    pub baseline_ns: Vec<f64>,
    /// Throughput at this rung, in bytes per second. Empty where it makes no sense.
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
    /// It could not be measured, or was not requested.
    Unseen(String),
}

/// What happened to the measuring thread during a rung.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// How long the rung took, in all.
    pub took_ns: Ns,
    /// How long the measuring thread waited for its CPU, which had other work.
    #[serde(default)]
    pub waited_ns: Seen<Ns>,
    /// Time that the hypervisor gave to others, summed over all CPUs.
    pub steal_ns: Seen<Ns>,
    /// Nanoseconds per CPU cycle right before and right after. Empty where it was not measured.
    pub cycle_ns: Vec<f64>,
}

/// One measured rung.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRung {
    /// Its description.
    pub about: RungDescription,
    /// Its samples, or why there are none.
    pub outcome: Result<Samples, Unmeasured>,
    /// Disturbances in that time.
    pub conditions: Conditions,
}

/// The pointer chase through one size of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeSamples {
    /// Size of the memory, in bytes.
    pub bytes: u64,
    /// Nanoseconds per load, of each sample, with the clock's cost.
    pub per_op_ns: Vec<f64>,
    /// Loads of a sample.
    pub ops_per_sample: u64,
}

/// The machine's properties, beyond those of `host`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The CPU's name.
    pub cpu: Seen<String>,
    /// Caches that hold data, smallest level first. Empty where the kernel does not list them.
    pub caches: Vec<Cache>,
    /// Smallest page size, in bytes.
    #[schemars(range(min = 1))]
    pub page_bytes: u64,
    /// Memory nodes.
    #[schemars(range(min = 1))]
    pub nodes: u32,
    /// CPUs that dwell was allowed to use.
    pub cpus_allowed: Vec<u32>,
    /// The frequency that the kernel states now, in MHz. In a virtual machine often that of the
    /// time stamp counter.
    #[schemars(with = "Seen<crate::shape::NotNegative>")]
    pub stated_mhz: Seen<f64>,
    /// The highest frequency that the kernel may set, in MHz.
    #[schemars(with = "Seen<crate::shape::NotNegative>")]
    pub max_mhz: Seen<f64>,
    /// The frequency governor.
    pub governor: Seen<String>,
    /// The kernel's clock source: `tsc`, `arch_sys_counter`, `hpet`.
    pub clocksource: Seen<String>,
    /// Available memory, of this host and of the cgroup.
    pub memory_free_bytes: Seen<u64>,
}

/// The request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LadderRequest {
    /// Quick: five seconds instead of thirty.
    pub quick: bool,
    /// Rungs or groups by name; empty: all.
    pub only: Vec<String>,
    /// The directory of the file rungs.
    pub dir: Option<String>,
    /// Hosts that the network rungs may connect to.
    pub hosts: Vec<String>,
}

/// All results of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LadderMeasurements {
    /// Where.
    pub host: Host,
    /// The machine's properties.
    pub machine: Machine,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// The number of the machine: [`Origin::machine_number`].
    #[serde(default)]
    pub machine_number: Option<String>,
    /// The version of dwell that measured.
    #[serde(default)]
    pub dwell: Option<String>,
    /// The request.
    pub asked: LadderRequest,
    /// The cost of one clock read.
    pub clock_cost_ns: f64,
    /// The rungs in the order of the ladder.
    pub rungs: Vec<MeasuredRung>,
    /// Latency against size, smallest first.
    pub curve: Seen<Vec<SizeSamples>>,
    /// How long all of it took.
    pub took_ns: Ns,
    /// The most memory that dwell had at a time, in bytes. Pages from the administrator's reserve
    /// are not in it.
    pub memory_peak_bytes: Seen<u64>,
    /// It was interrupted.
    pub interrupted: bool,
}

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MedianInterval {
    /// Half of the samples are below.
    pub median: f64,
    /// Low end of the interval of the median.
    pub lo: f64,
    /// High end.
    pub hi: f64,
}

/// Spread of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// Whether a figure is plausible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Plausibility {
    /// It agrees with published figures and the machine's other rungs.
    Plausible,
    /// It does not: the measurement may not be of what its name says.
    Doubtful,
    /// There is nothing to compare it with, or no figure.
    Unknown,
}

/// Plausibility and its basis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plausible {
    /// Whether it is plausible.
    pub verdict: Plausibility,
    /// What it was compared with.
    pub why: String,
}

/// A rung of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rung {
    /// Its description.
    #[serde(flatten)]
    pub about: RungDescription,
    /// Nanoseconds of one operation, less the overhead of the clock; null if this machine has no
    /// such thing, with the reason in `limits`.
    pub ns: Seen<MedianInterval>,
    /// Spread of the samples.
    pub spread_ns: Seen<Spread>,
    /// Number of samples.
    pub samples: u64,
    /// Operations per sample: spread and interval are of means of this many.
    pub ops_per_sample: u64,
    /// Throughput of the same level, in bytes per second; null if it has no meaning.
    pub bytes_per_s: Seen<MedianInterval>,
    /// What qualifies the figure, or why the machine lacks it.
    pub limits: Vec<String>,
    /// Plausibility of the figure.
    pub plausible: Plausible,
}

/// Nanoseconds per CPU cycle, by the rung that measures it; more than 0. None where it was not
/// measured.
pub fn cycle_ns(rungs: &[Rung]) -> Option<f64> {
    let cycle = rungs.iter().find(|rung| rung.about.id == "cycle")?.ns.value()?.median;
    (cycle > 0.0).then_some(cycle)
}

/// A point of latency against size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Size of the memory, in bytes.
    #[schemars(range(min = 1))]
    pub bytes: u64,
    /// Nanoseconds per load.
    pub ns: MedianInterval,
}

/// Where latency rises.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyEdge {
    /// The size at which it rises: the geometric mean of two points of the curve.
    #[schemars(range(min = 1))]
    pub bytes: u64,
    /// Latency below that size.
    pub below_ns: f64,
    /// Latency above that size.
    pub above_ns: f64,
    /// The cache that ends there, by what the kernel says of sizes: `l1`, `l2`, `l3`; none where no
    /// size fits.
    pub level: Option<String>,
}

/// Latency against size, and the edges in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Smallest size first.
    pub points: Vec<Point>,
    /// Smallest size first.
    pub edges: Vec<LatencyEdge>,
}

/// What `dwell ladder --json` writes. Times of one operation are nanoseconds with a fraction;
/// durations are whole nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    /// [`SCHEMA_LADDER`].
    pub schema: String,
    /// The host.
    pub host: Host,
    /// Further properties of the machine.
    pub machine: Machine,
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
    /// Options of the measurement.
    pub asked: LadderRequest,
    /// In the order of the groups; those not requested are left out.
    pub rungs: Vec<Rung>,
    /// Latency by working-set size.
    pub curve: Seen<Curve>,
    /// Caveats of the whole ladder: sentences; a second line says what to try.
    pub limits: Vec<String>,
    /// Rungs in whose time others had the CPU for more than a tenth: other tasks, or the
    /// hypervisor. 0 in results of earlier versions.
    #[serde(default)]
    pub rungs_disturbed: u32,
}
