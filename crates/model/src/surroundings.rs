//! What the host did while the program ran: its disks, links, memory and processors, as counters at one moment.
//!
//! Counters are cumulative, as the kernel keeps them; turning two of them into a rate is the analysis's work.

use crate::{Ns, Seen};
use serde::{Deserialize, Serialize};

/// One look at the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Disks (whole devices, not partitions), from `/proc/diskstats`.
    pub disks: Seen<Vec<Disk>>,
    /// Network interfaces, from `/proc/net/dev` of the namespace that dwell is in.
    pub links: Seen<Vec<Link>>,
    /// Memory, from `/proc/meminfo`, `/proc/vmstat` and `/proc/pressure`.
    pub memory: Seen<Memory>,
    /// Processor time of the whole host, from `/proc/stat`.
    pub cpu: Seen<Cpu>,
    /// NFS mounts, from `/proc/self/mountstats`; empty where there are none.
    pub nfs: Seen<Vec<Nfs>>,
}

/// One disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// `nvme0n1`.
    pub name: String,
    /// Its device number.
    pub dev: u32,
    /// Requests done: reads, writes.
    pub requests: (u64, u64),
    /// Bytes: read, written.
    pub bytes: (u64, u64),
    /// Time that requests took, summed over requests: reads, writes.
    pub request_ns: (Ns, Ns),
    /// Time with a request under way.
    pub busy_ns: Ns,
    /// Requests under way times time.
    pub queue_ns: Ns,
}

/// One network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
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
    /// Its speed in bits per second, where the kernel knows one (`/sys/class/net/*/speed`): virtual links have none.
    pub speed_bits: Seen<u64>,
    /// Whether it sends and receives at once (`/sys/class/net/*/duplex`).
    pub full_duplex: Seen<bool>,
}

/// Memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// Free for use without swapping (`MemAvailable`).
    pub available_bytes: u64,
    /// Used by nobody (`MemFree`).
    pub free_bytes: u64,
    /// The page cache (`Cached` and `Buffers`).
    pub cache_bytes: u64,
    /// Written but not on its disk yet (`Dirty` and `Writeback`).
    pub dirty_bytes: u64,
    /// Swap in use.
    pub swap_bytes: u64,
    /// Faults of the whole host: all, and those that needed IO.
    pub faults: (u64, u64),
    /// Pages swapped in and out.
    pub swapped_pages: (u64, u64),
    /// Time that some task waited for memory (`/proc/pressure/memory`).
    pub pressure_ns: Seen<Ns>,
}

/// Processor time, summed over processors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// All modes but idle, IO wait and steal.
    pub busy_ns: Ns,
    /// Idle with IO under way.
    pub iowait_ns: Ns,
    /// Taken by the hypervisor.
    pub steal_ns: Ns,
    /// In interrupts and soft interrupts.
    pub interrupt_ns: Ns,
}

/// One NFS mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nfs {
    /// What is mounted: `server:/export`.
    pub device: String,
    /// Where.
    pub mount: String,
    /// Calls by operation (`READ`, `GETATTR`, …), with the time each took in all, from queueing to answer, and bytes
    /// sent and received.
    pub operations: Vec<(String, u64, Ns, u64, u64)>,
}
