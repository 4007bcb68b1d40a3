//! What the host did while the program ran: its disks, links, memory and processors, as counters at one moment.
//!
//! Counters are cumulative, as the kernel keeps them; turning two of them into a rate is the analysis's work.

use crate::{Ns, Seen};
use serde::{Deserialize, Serialize};

/// One look at the host. A disk, link or NFS mount stands in the first look and then only in those before which it did
/// something, so that an idle host's looks are short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Disks (whole devices, not partitions), from `/proc/diskstats`.
    pub disks: Seen<Vec<Disk>>,
    /// Network interfaces, from `/proc/PID/net/dev`: those of the network namespace that the program is in.
    pub links: Seen<Vec<Link>>,
    /// Which network namespace that is (its inode); its links are other ones when it changes. 0 where that cannot be read.
    pub links_namespace: u64,
    /// Memory, from `/proc/meminfo`, `/proc/vmstat` and `/proc/pressure`.
    pub memory: Seen<Memory>,
    /// Processor time of the whole host, from `/proc/stat`.
    pub cpu: Seen<Cpu>,
    /// NFS mounts, from `/proc/PID/mountstats`; empty where there are none.
    pub nfs: Seen<Vec<Nfs>>,
}

/// One disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
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
    /// Its speed in bits per second, where the kernel knows one (`/sys/class/net/*/speed`) or the user gave it. Virtual
    /// links have none (some say a made-up one, which is not believed); for loopback it is absent.
    pub speed_bits: Seen<u64>,
    /// Whether the speed (and duplex) is the user's word.
    pub speed_given: bool,
    /// Whether it sends and receives at once (`/sys/class/net/*/duplex`).
    pub full_duplex: Seen<bool>,
    /// The largest packet without its Ethernet header (`/sys/class/net/*/mtu`).
    pub mtu_bytes: Seen<u32>,
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
    /// dwell's own part of `busy_ns`, by its own clock.
    pub dwell_ns: Ns,
}

/// One NFS mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nfs {
    /// What is mounted: `server:/export`.
    pub device: String,
    /// Where.
    pub mount: String,
    /// The operations that were called at all.
    pub operations: Vec<NfsOperation>,
}

/// One kind of call to an NFS server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsOperation {
    /// `READ`, `GETATTR`, …
    pub name: String,
    /// How often.
    pub calls: u64,
    /// From queueing to answer, summed. The kernel counts in ms.
    pub total_ns: Ns,
    /// Bytes: sent, received.
    pub bytes: (u64, u64),
}
