//! What the host did while the program ran, as series over the wall clock, and what follows from
//! them.
//!
//! All series have one point a step: equal steps from the start of the wall, the last one shorter,
//! at most 600. A rate is that of its step. Their sources are listed in
//! [`surroundings`](crate::surroundings).

use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// All series of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of a step, from the start of the wall clock; the last one is shorter.
    pub step_ns: Ns,
    /// Disks that ever did something, busiest first; the 64 busiest where there are more.
    pub disks: Seen<Vec<DiskSeries>>,
    /// Links that ever carried something, busiest first; the 64 busiest where there are more.
    pub links: Seen<Vec<LinkSeries>>,
    /// The host's memory: one entry.
    pub memory: Seen<Vec<MemorySeries>>,
    /// NFS mounts, busiest first.
    pub nfs: Seen<Vec<NfsSeries>>,
    /// All CPUs of the host together: one entry.
    pub cpu: Seen<Vec<CpuSeries>>,
    /// Findings, the most significant first.
    pub verdicts: Vec<SeriesVerdict>,
}

/// One disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskSeries {
    /// Device name: `nvme0n1`.
    pub name: String,
    /// Requests done within the wall: reads and writes.
    pub requests: u64,
    /// Bytes read and written within the wall.
    pub bytes: u64,
    /// Reads completed per second.
    #[schemars(inner(range(min = 0)))]
    pub reads_per_s: Vec<f64>,
    /// Writes completed per second.
    #[schemars(inner(range(min = 0)))]
    pub writes_per_s: Vec<f64>,
    /// Bytes read per second.
    #[schemars(inner(range(min = 0)))]
    pub read_bytes_per_s: Vec<f64>,
    /// Bytes written per second.
    #[schemars(inner(range(min = 0)))]
    pub written_bytes_per_s: Vec<f64>,
    /// Share of the step with a request in flight, 0 to 1.
    #[schemars(inner(range(min = 0, max = 1)))]
    pub busy_share: Vec<f64>,
    /// Mean number of requests in flight.
    #[schemars(inner(range(min = 0)))]
    pub queue_mean: Vec<f64>,
    /// Time from a request's start to its end, on average over those that ended in the step; null
    /// where the requests of the step took less than 5 ms in all, since the kernel counts in ms.
    pub latency_ns_mean: Vec<Option<Ns>>,
    /// Share of the wall in steps that it was busy for nine tenths of, as far as samples at the
    /// kernel's ticks tell that, with at least one and a half requests in flight on average.
    #[schemars(range(min = 0, max = 1))]
    pub at_limit_share: f64,
}

/// One network link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSeries {
    /// Interface name: `eth0`.
    pub name: String,
    /// Bytes received and sent within the wall, as the kernel counts them: with Ethernet headers.
    pub bytes: u64,
    /// Errors within the wall, both directions.
    pub errors: u64,
    /// Packets dropped within the wall, both directions.
    pub drops: u64,
    /// Bits per second on the wire. Absent for loopback.
    pub speed_bits_per_s: Seen<u64>,
    /// Whether the user gave the speed (`--link`).
    pub speed_given: bool,
    /// Whether the link is full duplex.
    pub full_duplex: Seen<bool>,
    /// Capacity in bits of TCP payload per second: of each direction, or of both together where the
    /// link is half duplex.
    pub payload_limit_bits_per_s: Seen<u64>,
    /// Bytes received per second.
    #[schemars(inner(range(min = 0)))]
    pub received_bytes_per_s: Vec<f64>,
    /// Bytes sent per second.
    #[schemars(inner(range(min = 0)))]
    pub sent_bytes_per_s: Vec<f64>,
    /// Packets received per second.
    #[schemars(inner(range(min = 0)))]
    pub received_packets_per_s: Vec<f64>,
    /// Packets sent per second.
    #[schemars(inner(range(min = 0)))]
    pub sent_packets_per_s: Vec<f64>,
    /// Bits of payload per second: of the busier direction, or of both where the link is half
    /// duplex.
    #[schemars(inner(range(min = 0)))]
    pub payload_bits_per_s: Vec<f64>,
    /// Utilization: share of the link's capacity, by time on the wire; above 1 if the limit is a
    /// shaper that counts bytes differently.
    #[schemars(with = "Seen<Vec<crate::shape::NotNegative>>")]
    pub limit_share: Seen<Vec<f64>>,
    /// Share of the wall in which utilization was 90 % or more.
    #[schemars(with = "Seen<crate::shape::Fraction>")]
    pub at_limit_share: Seen<f64>,
}

/// The memory of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySeries {
    /// Total memory.
    pub total_bytes: u64,
    /// Available without swapping, at the last snapshot of the step.
    pub available_bytes: Vec<u64>,
    /// Unused, likewise.
    pub free_bytes: Vec<u64>,
    /// The page cache, likewise.
    pub cache_bytes: Vec<u64>,
    /// Dirty or under writeback, likewise.
    pub dirty_bytes: Vec<u64>,
    /// Swap in use, likewise.
    pub swap_bytes: Vec<u64>,
    /// Page faults per second.
    #[schemars(inner(range(min = 0)))]
    pub faults_per_s: Vec<f64>,
    /// Faults that needed IO, per second.
    #[schemars(inner(range(min = 0)))]
    pub major_faults_per_s: Vec<f64>,
    /// Pages swapped in and out per second.
    #[schemars(inner(range(min = 0)))]
    pub swapped_pages_per_s: Vec<f64>,
    /// Memory pressure: share of the step in which some task waited for memory.
    #[schemars(with = "Seen<Vec<crate::shape::Fraction>>")]
    pub pressure_share: Seen<Vec<f64>>,
}

/// One NFS mount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NfsSeries {
    /// `server:/export`.
    pub name: String,
    /// Where it is mounted.
    pub mount: String,
    /// Calls to the server per second.
    #[schemars(inner(range(min = 0)))]
    pub calls_per_s: Vec<f64>,
    /// Bytes sent per second.
    #[schemars(inner(range(min = 0)))]
    pub sent_bytes_per_s: Vec<f64>,
    /// Bytes received per second.
    #[schemars(inner(range(min = 0)))]
    pub received_bytes_per_s: Vec<f64>,
    /// Mean time from queueing to reply over the calls of the step; null likewise.
    pub latency_ns_mean: Vec<Option<Ns>>,
    /// Operations called within the wall, longest total first.
    pub operations: Vec<NfsOperationRow>,
}

/// One kind of call to an NFS server, over the wall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NfsOperationRow {
    /// Operation name: `READ`, `GETATTR`, …
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Time from queueing to reply, summed.
    pub total_ns: Ns,
    /// Its mean.
    pub latency_ns_mean: Ns,
}

/// All CPUs of the host together. Shares are of all CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSeries {
    /// Number of CPUs.
    pub cpus: u32,
    /// Busy.
    #[schemars(inner(range(min = 0, max = 1)))]
    pub busy_share: Vec<f64>,
    /// Busy with something other than the program and dwell.
    #[schemars(inner(range(min = 0, max = 1)))]
    pub others_share: Vec<f64>,
    /// Taken by the hypervisor.
    #[schemars(inner(range(min = 0, max = 1)))]
    pub steal_share: Vec<f64>,
    /// In interrupts and softirqs.
    #[schemars(inner(range(min = 0, max = 1)))]
    pub interrupt_share: Vec<f64>,
    /// Idle with IO in flight (iowait).
    #[schemars(inner(range(min = 0, max = 1)))]
    pub iowait_share: Vec<f64>,
}

/// What follows from the series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SeriesVerdict {
    /// A link carried as much as it can.
    LinkAtLimit {
        /// Which.
        name: String,
        /// Share of the wall clock in which it was.
        #[schemars(range(min = 0, max = 1))]
        share_of_wall: f64,
        /// Bits of payload per second in that time: the median of its steps.
        #[schemars(range(min = 0))]
        carried_bits_per_s: f64,
        /// Bits of payload per second that it can carry.
        limit_bits_per_s: u64,
    },
    /// The program waited for the network and this link carried a steady rate; its capacity is not
    /// known.
    LinkSteady {
        /// Which.
        name: String,
        /// Bits of payload per second.
        #[schemars(range(min = 0))]
        carried_bits_per_s: f64,
    },
    /// A disk was busy with more than one request in flight.
    DiskAtLimit {
        /// Which.
        name: String,
        /// Share of the wall clock in which it was.
        #[schemars(range(min = 0, max = 1))]
        share_of_wall: f64,
        /// Mean number of requests in flight in that time.
        #[schemars(range(min = 0))]
        queue_mean: f64,
    },
    /// These disks were nearly idle while the program waited for something else.
    DisksIdle {
        /// All disks of the host.
        names: Vec<String>,
    },
    /// Other programs used a large part of the CPUs.
    HostBusy {
        /// Mean number of CPUs that they kept busy.
        #[schemars(range(min = 0))]
        cpus_taken: f64,
        /// Number of CPUs of the host.
        cpus: u32,
    },
    /// Tasks waited for memory, or pages were swapped.
    MemoryShort {
        /// Share of the wall in which some task waited for memory.
        #[schemars(with = "Seen<crate::shape::Fraction>")]
        pressure_share: Seen<f64>,
        /// Pages swapped in and out per second.
        #[schemars(range(min = 0))]
        swapped_pages_per_s: f64,
    },
}
