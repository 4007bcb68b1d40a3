//! Threads that are switched out and in, and what wakes them.

use crate::call::{Call, CallTime};
use crate::object::{Object, SocketEnds};
use crate::thread::{Comm, Counters};
use crate::wake_reason::BlockRequest;
use crate::{Ns, Tid};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A thread of the tree that was switched out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchOut {
    /// Which.
    pub tid: Tid,
    /// Its state.
    pub left: SwitchOutState,
    /// Its system calls since its last event.
    pub calls: Calls,
}

/// The state in which a thread was switched out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SwitchOutState {
    /// Runnable: preempted, or it yielded.
    Runnable,
    /// Blocked.
    Blocked(WaitContext),
    /// Stopped by job control or a tracer.
    Stopped,
    /// Dead; this was its last switch.
    Dead(Counters),
}

/// What a thread did when it blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitContext {
    /// The call; none when it blocked in a fault.
    pub call: Option<Call>,
    /// Uninterruptible sleep (state D).
    pub uninterruptible: bool,
    /// The kernel counts it as waiting for IO (`in_iowait`).
    pub io: bool,
    /// The object of the call, from its arguments.
    pub on: Object,
}

/// A thread of the tree that was switched in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchIn {
    /// Which.
    pub tid: Tid,
    /// The thread that had the CPU before, where this thread waited long enough for it to matter: 0
    /// is the idle task.
    pub ran: Option<(Tid, Comm)>,
    /// How long its cgroup was throttled since the thread was last on a CPU, where that was read.
    pub throttled_ns: Ns,
}

/// What wakes a thread, in which context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waker {
    /// A thread, in task context.
    Task {
        /// Which.
        tid: Tid,
        /// Its name, where it is outside the tree.
        name: Option<Comm>,
    },
    /// A timer that expired.
    Timer,
    /// A device interrupt, or the softirq of block devices.
    Device,
    /// A network softirq.
    Network {
        /// The interrupted thread: unrelated, or on loopback the sender itself.
        over: Tid,
        /// The socket that became ready, where it is known.
        ready: Option<SocketEnds>,
    },
    /// Another softirq.
    Interrupt,
    /// Unknown.
    Unknown,
}

/// What the kernel recorded with a wake-up, where the call that waited could not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WakeReason {
    /// A request to a disk has completed.
    Request(BlockRequest),
    /// The waker worked on this: the pipe, socket or eventfd that it writes to, for a thread that
    /// polls several.
    Object(Object),
}

/// Most wake-ups have none, hardly any has two.
pub type WakeReasons = SmallVec<[WakeReason; 1]>;

/// What a sampled thread was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SampleMode {
    /// Its own code.
    User,
    /// Kernel code in a call.
    Call(Call),
    /// Kernel code outside a call, entered by an exception: a fault.
    Fault,
    /// An interrupt handler or a softirq, in a call or not. Recordings of today have one of the
    /// last two instead.
    Interrupt,
    /// Kernel code, in a call or a fault: which is unknown.
    Kernel,
    /// Syscall entry or exit: kernel code while no call is being timed.
    Entry,
    /// A softirq during this call. The call may have raised it: what is sent to this host is
    /// received there.
    InterruptInCall(Call),
    /// A softirq over the thread's own code or a fault, or the kernel's way back from an interrupt.
    InterruptOutside,
}

/// The system calls since the last event of a thread; mostly one or two.
pub type Calls = SmallVec<[CallTime; 2]>;
