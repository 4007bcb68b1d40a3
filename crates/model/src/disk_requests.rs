//! What processes asked of disks: as it is recorded, and as a table in the schema of `--json`.
//!
//! These are requests that threads of the tree made, whether one of them waited for it or not.
//! Those of the kernel's own threads, such as pages that are written back later, are not in it.

use crate::{JsonSchema, Pid, Seen};
use serde::{Deserialize, Serialize};

/// What was recorded of all disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUses {
    /// A disk, a process and a direction each, those with most requests first.
    pub uses: Vec<DiskUse>,
    /// Requests that are not among them: there were too many processes.
    pub other_requests: u64,
}

/// Requests of one process to one disk in one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// The process.
    pub pid: Pid,
    /// Device number of the disk (not of a partition).
    pub dev: u32,
    /// Whether they wrote.
    pub write: bool,
    /// How many.
    pub requests: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Octaves of their bytes and how many were in each: 12 is from 4 KiB to less than 8 KiB, and
    /// the last has all that are larger.
    pub sizes: Vec<(u8, u64)>,
    /// From the end of the request before, of this process to this disk in this direction, in
    /// sectors of 512 bytes: 0 none, n from 2^(n-1) to less than 2^n. The first request is in none.
    pub distances: Vec<(u8, u64)>,
    /// Requests issued while no other of the tree was under way on that disk.
    pub alone: u64,
    /// The sum of how many of the tree's were under way on that disk at each, itself included.
    pub depths: u64,
    /// The largest of these.
    pub depth_max: u32,
}

/// The table of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskRequests {
    /// A disk, a process and a direction each, those with most requests first; not more than 64.
    #[schemars(length(max = 64))]
    pub rows: Vec<DiskRequestRow>,
    /// Requests that are not among them.
    pub other_requests: u64,
}

/// Requests of one process to one disk in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskRequestRow {
    /// The disk; of a partition the whole one.
    pub device: Seen<String>,
    /// The process.
    pub pid: Pid,
    /// Its name.
    pub program: Seen<String>,
    /// Whether they wrote; else they read.
    pub write: bool,
    /// How many.
    pub requests: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// By size, in octaves: (smallest number of bytes, requests). The octave of 8 MiB has all that
    /// are larger too; empty ones are left out.
    pub sizes: Vec<(u64, u64)>,
    /// Requests that began where the one before of this row had ended.
    pub follow_on: u64,
    /// The others but the first, by distance from there, forwards or backwards, in octaves: the
    /// smallest number of bytes, and how many requests.
    pub jumps: Vec<(u64, u64)>,
    /// Requests issued while no other of the program was under way on that disk.
    pub alone: u64,
    /// How many of the program's were under way on that disk when one was issued, itself included:
    /// the mean.
    #[schemars(range(min = 1))]
    pub depth_mean: f64,
    /// The most of them.
    pub depth_max: u32,
}

/// Octave 0 of distances is no distance.
pub const FOLLOWS_ON: u8 = 0;
