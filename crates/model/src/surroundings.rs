//! What the host did while the program ran: counters of its disks, links, memory and CPUs at one
//! moment.
//!
//! Counters are cumulative, as the kernel keeps them; `analyse` turns two of them into a rate.

use crate::{Ns, Seen};
use serde::{Deserialize, Serialize};

/// One snapshot of the host. The first has every disk, link and NFS mount; later ones only those
/// that were active since the snapshot before, so that snapshots of an idle host are short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMetrics {
    /// Disks (whole devices, not partitions), from `/proc/diskstats`.
    pub disks: Seen<Vec<DiskCounters>>,
    /// Network interfaces, from `/proc/PID/net/dev`: those of the network namespace that the
    /// program is in.
    pub links: Seen<Vec<LinkCounters>>,
    /// Inode of that network namespace; when it changes, the links are other ones. 0 where it
    /// cannot be read.
    pub links_namespace: u64,
    /// Memory, from `/proc/meminfo`, `/proc/vmstat` and `/proc/pressure`.
    pub memory: Seen<MemoryCounters>,
    /// CPU time of the whole host, from `/proc/stat`.
    pub cpu: Seen<CpuCounters>,
    /// NFS mounts, from `/proc/PID/mountstats`; empty where there are none.
    pub nfs: Seen<Vec<NfsCounters>>,
}

/// One disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// `nvme0n1`.
    pub name: String,
    /// Its device number, as in [`Object::File`](crate::recording::Object::File).
    pub dev: u32,
    /// Requests done: reads, writes.
    pub requests: (u64, u64),
    /// Bytes: read, written.
    pub bytes: (u64, u64),
    /// Time that requests took, summed over requests: reads, writes.
    pub request_ns: (Ns, Ns),
    /// Time with a request in flight.
    pub busy_ns: Ns,
    /// Requests in flight times time (weighted time).
    pub queue_ns: Ns,
}

/// One network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// `eth0`.
    pub name: String,
    /// Bytes: received, sent.
    pub bytes: (u64, u64),
    /// Packets: received, sent.
    pub packets: (u64, u64),
    /// Errors of both directions.
    pub errors: u64,
    /// Packets dropped in both directions.
    pub drops: u64,
    /// Its speed in bits per second, where the kernel knows one (`/sys/class/net/*/speed`) or the
    /// user gave it. Virtual links have none (the made-up speed of some drivers is ignored); absent
    /// for loopback.
    pub speed_bits: Seen<u64>,
    /// Whether the user gave the speed (and duplex).
    pub speed_given: bool,
    /// Whether it is full duplex (`/sys/class/net/*/duplex`).
    pub full_duplex: Seen<bool>,
    /// The largest packet without its Ethernet header (`/sys/class/net/*/mtu`).
    pub mtu_bytes: Seen<u32>,
}

/// Memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCounters {
    /// All of it.
    pub total_bytes: u64,
    /// Free for use without swapping (`MemAvailable`).
    pub available_bytes: u64,
    /// Unused (`MemFree`).
    pub free_bytes: u64,
    /// The page cache (`Cached` and `Buffers`).
    pub cache_bytes: u64,
    /// Dirty or under writeback (`Dirty` and `Writeback`).
    pub dirty_bytes: u64,
    /// Swap in use.
    pub swap_bytes: u64,
    /// Page faults of the whole host: all, and those that needed IO.
    pub faults: (u64, u64),
    /// Pages swapped in and out.
    pub swapped_pages: (u64, u64),
    /// Time that some task waited for memory (`/proc/pressure/memory`).
    pub pressure_ns: Seen<Ns>,
}

/// CPU time, summed over CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuCounters {
    /// All modes but idle, IO wait and steal.
    pub busy_ns: Ns,
    /// Idle with IO in flight.
    pub iowait_ns: Ns,
    /// Taken by the hypervisor.
    pub steal_ns: Ns,
    /// In interrupts and softirqs.
    pub interrupt_ns: Ns,
    /// dwell's own part of `busy_ns`, by its own clock.
    pub dwell_ns: Ns,
}

/// One NFS mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsCounters {
    /// What is mounted: `server:/export`.
    pub device: String,
    /// Where.
    pub mount: String,
    /// Operations with at least one call.
    pub operations: Vec<NfsOperation>,
}

/// One kind of call to an NFS server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsOperation {
    /// `READ`, `GETATTR`, …
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Time from queueing to reply, summed. The kernel counts in ms.
    pub total_ns: Ns,
    /// Bytes: sent, received.
    pub bytes: (u64, u64),
}
