//! Which mapping page faults are in, and whose code they are of: as they are recorded, and as a
//! table in the schema of `--json`.

use crate::thread::Comm;
use crate::wait::StackFrame;
use crate::{JsonSchema, Pid, Seen};
use serde::{Deserialize, Serialize};

/// What a page fault of the sample is in, as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FaultMapping {
    /// It was not found: the address space was locked, or there is none.
    Unknown,
    /// Memory of no file, other than the next two.
    Anonymous,
    /// What `brk` moves the end of.
    Heap,
    /// The stack of the first thread of a program, or of another one.
    Stack,
    /// A file, or shared memory.
    File {
        /// Device number, as in [`Object::File`](crate::recording::Object::File).
        dev: u32,
        /// Inode.
        ino: u64,
        /// The first bytes of its name.
        name: Comm,
    },
}

/// What kind of mapping it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MappingKind {
    /// Not found.
    Unknown,
    /// Memory of no file, other than the next two.
    Anonymous,
    /// What `brk` moves the end of.
    Heap,
    /// A thread's stack.
    Stack,
    /// A file, or shared memory.
    File,
}

/// Page faults by process, mapping and place: estimates by a sample.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultPlaces {
    /// Those with most faults in the sample, first; not more than 16.
    #[schemars(length(max = 16))]
    pub processes: Vec<FaultingProcess>,
    /// Estimated faults of all others.
    pub other_faults: u64,
}

/// The page faults of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultingProcess {
    /// The process.
    pub pid: Pid,
    /// Its name.
    pub program: Seen<String>,
    /// Its page faults, as the kernel counted them.
    pub counted: Seen<u64>,
    /// The same by the sample.
    pub faults: u64,
    /// Its largest resident set: beside the faults it says how often a page is touched anew.
    pub peak_bytes: Seen<u64>,
    /// By mapping and place, most faults first; not more than 8.
    #[schemars(length(max = 8))]
    pub rows: Vec<FaultRow>,
    /// Estimated faults of other mappings and places.
    pub other_faults: u64,
}

/// Page faults of a process in one mapping, at one place of its code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRow {
    /// What kind of mapping.
    pub kind: MappingKind,
    /// The file's path; where that was not recorded the beginning of its name. Absent for others.
    pub path: Seen<String>,
    /// The program's own line or function that they are of.
    pub place: Seen<StackFrame>,
    /// Estimated faults.
    pub faults: u64,
    /// Samples that say so.
    pub samples: u64,
}
