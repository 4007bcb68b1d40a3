//! What single operations cost on a machine, from its latency ladder. Waits are compared with them,
//! and predictions use them. `analyse` takes them from a ladder.

use crate::ladder::MedianInterval;
use crate::{JsonSchema, Seen};
use serde::{Deserialize, Serialize};

/// Costs of one operation each, in nanoseconds: the median with its 95 % interval, to a thousandth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// The ladder that they are from, in words.
    pub from: String,
    /// When that ladder began: RFC 3339, UTC.
    pub measured_at: String,
    /// Whether it was measured with `--quick`: wider intervals.
    pub quick: bool,
    /// A load from memory that depends on the one before.
    pub memory_access_ns: Seen<MedianInterval>,
    /// The cheapest system call (`system-call`).
    pub call_ns: Seen<MedianInterval>,
    /// First touch of a page of the smallest size: a fault without IO (`page-touch`).
    pub fault_ns: Seen<MedianInterval>,
    /// A switch from one thread to another on the same core (`thread-switch`).
    pub switch_ns: Seen<MedianInterval>,
    /// Opening a file and closing it.
    pub open_ns: Seen<MedianInterval>,
    /// `stat` of a file (`stat`).
    pub stat_ns: Seen<MedianInterval>,
    /// Writing 4 KiB to disk with fsync (`fsync`).
    pub fsync_ns: Seen<MedianInterval>,
    /// Reading 4 KiB at a random offset of the disk, past the page cache (`direct-read`).
    pub disk_read_ns: Seen<MedianInterval>,
    /// A process: fork, the smallest static program executed, exit and wait. The sum of two rungs;
    /// the ends of intervals are added as well.
    pub process_ns: Seen<MedianInterval>,
    /// A TCP connection within the host: connect, accept, close (`tcp-connect`).
    pub connect_ns: Seen<MedianInterval>,
    /// Loads that depend on the one before, by the size of the memory that they are spread over,
    /// smallest first.
    #[serde(default)]
    pub load_ns: Seen<Vec<LoadCost>>,
    /// What one of 32 random reads of 4 KiB takes that are under way at once, past the page cache
    /// (`direct-read-32`).
    #[serde(default)]
    pub disk_read_32_ns: Seen<MedianInterval>,
    /// Reading 1 MiB from the disk, one after another in order (`sequential-read`).
    #[serde(default)]
    pub sequential_read_ns: Seen<MedianInterval>,
    /// Writing 1 MiB to the disk, one after another in order (`sequential-write`).
    #[serde(default)]
    pub sequential_write_ns: Seen<MedianInterval>,
    /// A full TLS 1.3 handshake within the host, both ends together (`tls-handshake`).
    #[serde(default)]
    pub tls_handshake_ns: Seen<MedianInterval>,
}

/// What a load from a set of memory costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCost {
    /// The size of the set.
    pub bytes: u64,
    /// A load: the median.
    pub ns: f64,
}

/// Operations that waits are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `memory_access_ns`.
    MemoryAccess,
    /// `call_ns`.
    SystemCall,
    /// `switch_ns`.
    ThreadSwitch,
    /// `fsync_ns`.
    Fsync,
    /// `disk_read_ns`.
    DiskRead,
    /// `process_ns`.
    Process,
    /// `connect_ns`.
    Connect,
}

impl Costs {
    /// How many times as many random reads the disk serves in the same time where 32 are under way
    /// as where one is. None where one of the two is not known.
    pub fn reads_at_once(&self) -> Option<f64> {
        let (one, of_32) = (self.disk_read_ns.value()?, self.disk_read_32_ns.value()?);
        (of_32.median > 0.0).then(|| one.median * 32.0 / of_32.median)
    }

    /// What one of these costs.
    pub fn of(&self, operation: Operation) -> &Seen<MedianInterval> {
        match operation {
            Operation::MemoryAccess => &self.memory_access_ns,
            Operation::SystemCall => &self.call_ns,
            Operation::ThreadSwitch => &self.switch_ns,
            Operation::Fsync => &self.fsync_ns,
            Operation::DiskRead => &self.disk_read_ns,
            Operation::Process => &self.process_ns,
            Operation::Connect => &self.connect_ns,
        }
    }
}
