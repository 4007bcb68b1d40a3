//! Threads that are switched out and in, and what wakes them.

use crate::because::Request;
use crate::call::{Call, CallTime};
use crate::object::{Ends, Object};
use crate::thread::{Comm, Counters};
use crate::{Ns, Tid};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A thread of the tree that left a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Out {
    /// Which.
    pub tid: Tid,
    /// In what condition.
    pub left: Left,
    /// Its calls since it was last heard of.
    pub calls: Calls,
}

/// In what condition a thread left its CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// Still runnable: preempted, or it yielded.
    Runnable,
    /// Blocked.
    Blocked(Wait),
    /// Stopped by job control or a tracer.
    Stopped,
    /// Dead; this was its last.
    Dead(Counters),
}

/// What a thread was in when it blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The call; none when it blocked in a fault.
    pub call: Option<Call>,
    /// It cannot be woken by signals (state D).
    pub uninterruptible: bool,
    /// The kernel says it waits for IO (`in_iowait`).
    pub io: bool,
    /// What the call was about, read from its arguments.
    pub on: Object,
}

/// A thread of the tree that came onto a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct In {
    /// Which.
    pub tid: Tid,
    /// Who had the CPU until now, where this thread waited long enough for it to matter: 0 is the idle loop.
    pub ran: Option<(Tid, Comm)>,
    /// How long its control group was out of CPU quota since it was last on a CPU, where that was asked.
    pub throttled_ns: Ns,
}

/// Who wakes, in what context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waker {
    /// A thread, in its own time.
    Task {
        /// Which.
        tid: Tid,
        /// Its name, where it is not of the tree.
        name: Option<Comm>,
    },
    /// A timer that ran out.
    Timer,
    /// A device's interrupt, or the soft interrupt of block devices.
    Device,
    /// The network's soft interrupt.
    Network {
        /// The thread it interrupted: innocent, or the sender itself on loopback.
        over: Tid,
        /// The socket that became ready, where the kernel tells.
        ready: Option<Ends>,
    },
    /// Another soft interrupt.
    Interrupt,
    /// It cannot be told.
    Unknown,
}

/// What the kernel recorded with a wake-up, where the call that waited could not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WakeReason {
    /// A request to a disk has completed.
    Request(Request),
    /// The waker worked on this: the pipe, socket or eventfd that it writes to, for a thread that
    /// polls several.
    Object(Object),
}

/// Most wake-ups have none, hardly any has two.
pub type WakeReasons = SmallVec<[WakeReason; 1]>;

/// What a sampled thread was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Its own code.
    User,
    /// Kernel code in a call.
    Call(Call),
    /// Kernel code outside a call: a fault.
    Fault,
    /// An interrupt that came in its time.
    Interrupt,
    /// Kernel code; whether in a call or a fault cannot be told.
    Kernel,
    /// Kernel code on the way into a call or out of it, where no call is being timed.
    Entry,
}

/// The calls of one stretch; most stretches have one or two.
pub type Calls = SmallVec<[CallTime; 2]>;
