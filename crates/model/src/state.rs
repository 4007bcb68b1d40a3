//! What a thread is doing: the one vocabulary of thread states.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// What a thread, or the path through a program, was doing. In order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum State {
    /// Stopped by job control or a tracer.
    Stopped,
    /// On a CPU in a system call.
    Kernel,
    /// On a CPU in a page fault (or another exception).
    Fault,
    /// On a CPU that an interrupt or a softirq had taken from its own code or a fault. In a call it
    /// is time of the call.
    Interrupt,
    /// On a CPU in its own code.
    User,
    /// Runnable, but the CPU quota of its cgroup was used up.
    Throttled,
    /// Runnable, but something else ran.
    Runqueue,
    /// Blocked on a disk or a filesystem, in a call or in a fault.
    Disk,
    /// Blocked on a peer across a network protocol.
    Network,
    /// Blocked on a lock: a futex, a file lock, a kernel lock.
    Lock,
    /// Blocked on a pipe, a terminal or a local socket whose other end is outside the tree.
    Pipe,
    /// Waiting for time to pass.
    Sleep,
    /// Waiting for work: a client, the next piece; in a window a child, too, which has its own
    /// ledger.
    Idle,
    /// Blocked on something else.
    OtherWait,
    /// Time without evidence.
    Unexplained,
}

impl State {
    /// All states, in order of precedence.
    pub const ALL: [State; 15] = *Self::VARIANTS.as_array().unwrap();

    /// The name used in every output.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the thread was on a CPU.
    pub fn on_cpu(self) -> bool {
        self.in_kernel() || self == State::User
    }

    /// Whether the thread was on a CPU, or would have been if it had been let.
    pub fn wants_cpu(self) -> bool {
        self.on_cpu() || matches!(self, State::Runqueue | State::Throttled)
    }

    /// Whether it was on a CPU in kernel mode, for itself or for an interrupt.
    pub fn in_kernel(self) -> bool {
        matches!(self, State::Kernel | State::Fault | State::Interrupt)
    }

    /// Whether the thread was blocked: it waited for something other than a CPU.
    pub fn blocked(self) -> bool {
        self.waits() || self == State::Idle
    }

    /// Whether the thread was blocked and what it waited for may bound the program.
    pub fn waits(self) -> bool {
        matches!(
            self,
            State::Disk | State::Network | State::Lock | State::Pipe | State::Sleep | State::OtherWait
        )
    }
}
