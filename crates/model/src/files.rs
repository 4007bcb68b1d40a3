//! What processes read and wrote of regular files: as it is recorded, and as a table in the schema
//! of `--json`.
//!
//! Both are by the calls that read and write: what is mapped, sent by `sendfile` or moved by
//! io_uring is in neither.

use crate::{Call, JsonSchema, Ns, Pid, Seen};
use serde::{Deserialize, Serialize};

/// What was recorded of all files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUses {
    /// The bytes that each sample of small transfers stands for.
    pub point_bytes: u64,
    /// A file and a process each, those that moved most first.
    pub files: Vec<FileUse>,
    /// Bytes of files that are not among them: there were too many.
    pub other_bytes: u64,
}

/// What a process read and wrote of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUse {
    /// The process.
    pub pid: Pid,
    /// Device number, as in [`Object::File`](crate::recording::Object::File).
    pub dev: u32,
    /// Inode.
    pub ino: u64,
    /// Which file of that inode: they are used again.
    pub generation: u32,
    /// The first bytes of its name.
    pub name: String,
    /// Its largest size.
    pub size_bytes: u64,
    /// Read.
    pub read: Transfers,
    /// Written.
    pub written: Transfers,
    /// It was opened with `O_SYNC`.
    pub sync: bool,
    /// With `O_DSYNC`.
    pub dsync: bool,
    /// With `O_DIRECT`.
    pub direct: bool,
    /// Writes that waited to be durable.
    #[serde(default)]
    pub durable: Seen<DurableWrites>,
    /// Requests to disks that were made for it.
    #[serde(default)]
    pub disk: Seen<FileRequests>,
}

/// Requests to disks that threads of a process made in calls on a file, by its descriptor, or in
/// page faults of it. Counted, not estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRequests {
    /// Calls that read.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Calls that write.
    pub writes: u64,
    /// Their bytes.
    pub written_bytes: u64,
}

/// Writes to a file that was opened with `O_SYNC` or `O_DSYNC`, as far as they left their CPU: each
/// waits until the device has confirmed it. Counted, not estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurableWrites {
    /// How many.
    pub calls: u64,
    /// Bytes that they wrote.
    pub bytes: u64,
    /// Their time, waits included.
    pub ns: Ns,
    /// The call of the last.
    pub call: Option<Call>,
}

/// What was moved in one direction: estimates by a sample in which each byte has the same chance.
/// Large transfers are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfers {
    /// Bytes.
    pub bytes: u64,
    /// Calls that moved them.
    pub calls: u64,
    /// Their CPU time, summed.
    pub cpu_ns: Ns,
    /// Samples that stand for [`FileUses::point_bytes`] each; the rest was counted.
    pub points: u64,
    /// The call that moved some of it last.
    pub call: Option<Call>,
}

/// The table of files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileTable {
    /// A file and a process each, those that moved most first; not more than 256.
    #[schemars(length(max = 256))]
    pub rows: Vec<FileRow>,
    /// Bytes of files that are not among them.
    pub other_bytes: u64,
    /// Calls were traced in windows: these are the files' bytes and times within them.
    pub at_least: bool,
}

/// What a process read and wrote of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRow {
    /// Its path; where that was not recorded, the first 15 bytes of its name after `…/`.
    pub path: String,
    /// The device that it is on.
    pub device: Seen<String>,
    /// Its inode.
    pub inode: u64,
    /// Which file of that inode: they are used again.
    pub generation: u32,
    /// The process.
    pub pid: Pid,
    /// Its name.
    pub program: Seen<String>,
    /// The largest size that was seen.
    pub size_bytes: u64,
    /// What it read.
    pub read: TransferRow,
    /// What it wrote.
    pub written: TransferRow,
    /// How it was opened, of `O_SYNC`, `O_DSYNC` and `O_DIRECT`.
    #[schemars(extend("items" = {"enum": ["O_SYNC", "O_DSYNC", "O_DIRECT"]}))]
    pub flags: Vec<String>,
    /// Writes that each waited until the device had confirmed them, of a file that was opened with
    /// `O_SYNC` or `O_DSYNC`: counted, not estimated. Null where there were none; missing in files
    /// of older versions.
    #[serde(default)]
    pub durable: Seen<DurableRow>,
    /// Requests to disks that threads of the process made for this file: in calls by a descriptor
    /// of it, or in page faults of it, with what the kernel read ahead. Counted, not estimated.
    /// Null where there were none; missing in files of older versions.
    #[serde(default)]
    pub disk: Seen<FileRequests>,
}

/// Writes that each waited until the device has confirmed them: of a file that was opened with
/// `O_SYNC` or `O_DSYNC`. Counted, not estimated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DurableRow {
    /// The system call of the last.
    pub call: String,
    /// Number of calls.
    pub calls: u64,
    /// Bytes that they wrote.
    pub bytes: u64,
    /// Their time, waits included.
    pub total_ns: Ns,
}

/// What was moved in one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferRow {
    /// The call that moved some of it last; empty where nothing was moved.
    pub call: String,
    /// Estimated number of calls that moved bytes.
    pub calls: u64,
    /// Estimated bytes.
    pub bytes: u64,
    /// The low end of their 95 % interval.
    pub lo_bytes: u64,
    /// Estimated CPU time of the calls, summed.
    pub cpu_ns: Ns,
}

impl FileRow {
    /// Whether two rows are of one file.
    pub fn is_same_file(&self, other: &FileRow) -> bool {
        (self.inode, self.generation, &self.device) == (other.inode, other.generation, &other.device)
    }
}
