//! A late wake-up: what the kernel did on its CPU, as seen ([`SpikeSeen`]), and what made it late
//! ([`Spike`]).

use crate::{JsonSchema, Ns, Seen, Tid};
use serde::{Deserialize, Serialize};

/// A task in an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its thread ID; 0 is the idle task.
    pub tid: Tid,
    /// Its name (`comm`): untrusted text.
    pub name: String,
    /// The kernel's priority: below 100 real-time, -1 `SCHED_DEADLINE`.
    pub priority: i32,
}

/// Something that the kernel did on the CPU of a late wake-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelAction {
    /// The scheduler gave the CPU from one task to another; `preempted`: the first could have gone
    /// on.
    Switch {
        /// The task switched out.
        from: Task,
        /// The task switched in.
        to: Task,
        /// The task switched out was still runnable.
        preempted: bool,
    },
    /// A task was made runnable.
    Woken(Task),
    /// Entry of an interrupt handler.
    IrqBegin(String),
    /// Its exit.
    IrqEnd,
    /// A softirq began: `timer`, `net_rx`.
    SoftirqBegin(String),
    /// Its exit.
    SoftirqEnd,
    /// The interrupt of the CPU's own timer began (where the kernel tells).
    TimerBegin,
    /// Its exit.
    TimerEnd,
    /// The timer of the measuring thread expired, according to the kernel.
    Expired,
    /// Entry of another interrupt without a handler: reschedule, call function, NMI.
    OtherBegin(String),
    /// Its exit.
    OtherEnd,
    /// The CPU began to idle, in this state.
    IdleBegin(u32),
    /// The measuring thread was moved here from another CPU.
    Migrated(u32),
    /// The measuring thread was stopped: job control or a tracer. It stays so until it is woken.
    Stopped,
    /// From here on the kernel had to let the timer of the measuring thread expire: its time and
    /// its timer slack.
    Due,
    /// The hypervisor counted this much as given to others on this CPU since the reading before,
    /// which may be as old as the longest pause of the reader; in steps of `USER_HZ`, a hundredth
    /// of a second.
    Stolen(Ns),
    /// Events from here until the next switch were dropped.
    Lost,
}

/// An event of the ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelEvent {
    /// When.
    pub at_ns: Ns,
    /// What.
    pub happened: KernelAction,
}

/// A late wake-up as it was recorded. All times are from the start of the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpikeSeen {
    /// On which CPU.
    pub cpu: u32,
    /// The measuring thread.
    pub tid: Tid,
    /// When its wake-up was due.
    pub expected_ns: Ns,
    /// When it read the clock.
    pub awake_ns: Ns,
    /// What the kernel did, in order, from a little before `expected_ns` on.
    pub events: Vec<KernelEvent>,
    /// The kernel's stack of who had the CPU when the thread was made runnable late; where that was
    /// in time and the thread got the CPU late, as they gave it up. Innermost first. Absent when
    /// the CPU idled, or nothing was late in the kernel's eyes.
    pub stack: Seen<Vec<String>>,
    /// Why events are missing, where they are.
    pub lost: Option<String>,
}

/// The kind of a part of a latency. The names are a public contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The timer's interrupt came late while the CPU idled: leaving the idle state.
    IdleExit,
    /// The timer's interrupt came late while a task ran: interrupts were off, or the hypervisor ran
    /// somebody else.
    InterruptsOff,
    /// The hypervisor ran another guest (it counted steal).
    Steal,
    /// An interrupt handler.
    Interrupt,
    /// A softirq.
    Softirq,
    /// The timer interrupt.
    TimerInterrupt,
    /// Timer slack (`SCHED_OTHER`): prctl(2), `PR_SET_TIMERSLACK`.
    TimerSlack,
    /// Another task ran that this one may not preempt, since its priority is not lower; or that the
    /// scheduler chose although this one was runnable (it was out of its time: throttled).
    Task,
    /// A task of lower priority kept running: preemption was off, or the kernel is not preemptible
    /// there.
    PreemptionOff,
    /// The scheduler's own time from the wake-up to the switch.
    Switching,
    /// The way to another CPU.
    Migration,
    /// The thread was stopped.
    Stopped,
    /// From the switch until the thread read the clock.
    ReturnToUser,
    /// Unknown: firmware, the hypervisor, the thread itself.
    Unexplained,
}

/// A part of a latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyShare {
    /// What.
    pub cause: Cause,
    /// Who: a task, an interrupt, a softirq, an idle state.
    pub who: Option<String>,
    /// How long.
    pub ns: Ns,
}

/// A late wake-up with its cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spike {
    /// When it was due, from the start of the measurement.
    pub at_ns: Ns,
    /// On which CPU.
    pub cpu: u32,
    /// Its latency.
    pub ns: Ns,
    /// Kind of the largest part.
    pub cause: Cause,
    /// Name of the largest part.
    pub who: Option<String>,
    /// Parts of the latency in order of time; they sum to `ns`.
    pub shares: Vec<LatencyShare>,
    /// Kernel stack of the task that had the CPU, innermost first.
    pub stack: Seen<Vec<String>>,
    /// Why events are missing, if they are: their part of the latency is unexplained.
    #[serde(default)]
    pub lost: Option<String>,
}
