//! What `/proc` shows of a thread.

use crate::call::Call;
use crate::object::Object;
use crate::thread::Comm;
use crate::{Ns, Pid, Seen, Tid};
use serde::{Deserialize, Serialize};

/// A thread as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSnapshot {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub pid: Pid,
    /// The process's parent.
    pub parent: Pid,
    /// Its name.
    pub name: Comm,
    /// `R S D T t Z X I`, as in `/proc/PID/stat`.
    pub state: u8,
    /// Its current system call, from `/proc/PID/syscall`; `Absent` when it is in none.
    pub call: Seen<Call>,
    /// The kind of descriptor that the call's first argument is, where it is one and could be read.
    pub on: Object,
    /// The kernel function in which it sleeps, from `/proc/PID/wchan`.
    pub wchan: Seen<String>,
    /// Time on a CPU so far, from `schedstat`.
    pub cpu_ns: Seen<Ns>,
    /// Time runnable so far, from `schedstat`.
    pub runqueue_ns: Seen<Ns>,
    /// User time so far, in clock ticks.
    pub user_ns: Ns,
    /// Kernel time so far, likewise.
    pub kernel_ns: Ns,
    /// Minor faults so far.
    pub minor_faults: u64,
    /// Major faults so far.
    pub major_faults: u64,
    /// Open pipes of the process, by inode, and whether for writing. Only in the entry of the group
    /// leader, and only while a thread of the tree waits on a pipe.
    pub pipes: Vec<(u64, bool)>,
}
