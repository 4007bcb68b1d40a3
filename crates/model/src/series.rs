//! What the host did while the program ran, as series over the wall clock, and what follows from
//! them.
//!
//! All series have one point a step: equal steps from the start of the wall, the last one shorter,
//! at most 600. A rate is that of its step. Their sources are listed in
//! [`surroundings`](crate::surroundings).

use crate::{Ns, Seen};
use serde::{Deserialize, Serialize};

/// All series of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of a step.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskSeries {
    /// `nvme0n1`.
    pub name: String,
    /// Requests done within the wall: reads and writes.
    pub requests: u64,
    /// Bytes read and written within the wall.
    pub bytes: u64,
    /// Reads done per second.
    pub reads_per_s: Vec<f64>,
    /// Writes done per second.
    pub writes_per_s: Vec<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Vec<f64>,
    /// Bytes written per second.
    pub written_bytes_per_s: Vec<f64>,
    /// Share of the step with a request in flight, 0 to 1.
    pub busy_share: Vec<f64>,
    /// Mean number of requests in flight.
    pub queue_mean: Vec<f64>,
    /// Time from a request's start to its end, on average over those that ended in the step; null
    /// where the requests of the step took less than 5 ms in all, since the kernel counts in ms.
    pub latency_ns_mean: Vec<Option<Ns>>,
    /// Share of the wall in steps that it was busy for nine tenths of, as far as samples at the
    /// kernel's ticks tell that, with at least one and a half requests in flight on average.
    pub at_limit_share: f64,
}

/// One network link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// `eth0`.
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
    /// Whether it is full duplex.
    pub full_duplex: Seen<bool>,
    /// Capacity in bits of TCP payload per second: of each direction, or of both together where the
    /// link is half duplex.
    pub payload_limit_bits_per_s: Seen<u64>,
    /// Bytes received per second.
    pub received_bytes_per_s: Vec<f64>,
    /// Bytes sent per second.
    pub sent_bytes_per_s: Vec<f64>,
    /// Packets received per second.
    pub received_packets_per_s: Vec<f64>,
    /// Packets sent per second.
    pub sent_packets_per_s: Vec<f64>,
    /// Bits of payload per second: of the busier direction, or of both where the link is half
    /// duplex.
    pub payload_bits_per_s: Vec<f64>,
    /// Utilization by time on the wire; above 1 where the limit is a shaper that does not count
    /// framing.
    pub limit_share: Seen<Vec<f64>>,
    /// Share of the wall in which utilization was 90 % or more.
    pub at_limit_share: Seen<f64>,
}

/// The memory of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemorySeries {
    /// All of it.
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
    pub faults_per_s: Vec<f64>,
    /// Faults that needed IO, per second.
    pub major_faults_per_s: Vec<f64>,
    /// Pages swapped in and out per second.
    pub swapped_pages_per_s: Vec<f64>,
    /// Share of the step in which some task waited for memory.
    pub pressure_share: Seen<Vec<f64>>,
}

/// One NFS mount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NfsSeries {
    /// `server:/export`.
    pub name: String,
    /// Where it is mounted.
    pub mount: String,
    /// Calls to the server per second.
    pub calls_per_s: Vec<f64>,
    /// Bytes sent per second.
    pub sent_bytes_per_s: Vec<f64>,
    /// Bytes received per second.
    pub received_bytes_per_s: Vec<f64>,
    /// Mean time from queueing to reply over the calls of the step; null likewise.
    pub latency_ns_mean: Vec<Option<Ns>>,
    /// Operations called within the wall, longest total first.
    pub operations: Vec<NfsOperationRow>,
}

/// One kind of call to an NFS server, over the wall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsOperationRow {
    /// `READ`, `GETATTR`, …
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Time from queueing to reply, summed.
    pub total_ns: Ns,
    /// Its mean.
    pub latency_ns_mean: Ns,
}

/// All CPUs of the host together. Shares are of all CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuSeries {
    /// Number of CPUs.
    pub cpus: u32,
    /// Busy.
    pub busy_share: Vec<f64>,
    /// Busy with something other than the program and dwell.
    pub others_share: Vec<f64>,
    /// Taken by the hypervisor.
    pub steal_share: Vec<f64>,
    /// In interrupts and softirqs.
    pub interrupt_share: Vec<f64>,
    /// Idle with IO in flight.
    pub iowait_share: Vec<f64>,
}

/// What follows from the series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SeriesVerdict {
    /// A link carried as much as it can.
    LinkAtLimit {
        /// Which.
        name: String,
        /// Share of the wall.
        share_of_wall: f64,
        /// Bits of payload per second in that time: the median of its steps.
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
        carried_bits_per_s: f64,
    },
    /// A disk was busy with more than one request in flight.
    DiskAtLimit {
        /// Which.
        name: String,
        /// Share of the wall.
        share_of_wall: f64,
        /// Mean number of requests in flight in that time.
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
        cpus_taken: f64,
        /// Number of CPUs of the host.
        cpus: u32,
    },
    /// Tasks waited for memory, or pages were swapped.
    MemoryShort {
        /// Share of the wall in which some task waited for memory.
        pressure_share: Seen<f64>,
        /// Pages swapped in and out per second.
        swapped_pages_per_s: f64,
    },
}
