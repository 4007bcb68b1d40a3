//! A thread as the kernel names and counts it.

use crate::Ns;
use serde::{Deserialize, Serialize};

/// A thread's name as the kernel has it: up to 15 bytes of the program's choosing, then zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// The bytes before the first zero, with what is not UTF-8 replaced. Still untrusted: escape
    /// before printing.
    pub fn to_text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// Those before the first zero. The kernel does not clear what is behind it.
    pub fn bytes(&self) -> &[u8] {
        let len = self.0.iter().position(|byte| *byte == 0).unwrap_or(16);
        &self.0[..len]
    }
}

impl From<&str> for Comm {
    fn from(text: &str) -> Self {
        let mut bytes = [0; 16];
        let len = text.len().min(15);
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Comm(bytes)
    }
}

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

/// The kernel's counters of a thread or of a finished tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// On a CPU (`se.sum_exec_runtime`).
    pub cpu_ns: Ns,
    /// Runnable, waiting for a CPU (`sched_info.run_delay`).
    pub runqueue_ns: Ns,
    /// Page faults served without IO.
    pub minor_faults: u64,
    /// Page faults that needed IO.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
}
