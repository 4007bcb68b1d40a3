//! What a run means: all that was concluded from it and does not stand in its tables.
//!
//! The class and the verdicts on host metrics are part of the run, since the JSON has them. What is
//! concluded, and from what, is up to `analyse`; `report` takes it as it is.

use crate::costs::Operation;
use crate::finding::{CauseName, Finding};
use crate::probe::Probed;
use crate::sentence::Sentence;
use crate::wait::Reason;
use crate::whose::Whose;
use crate::{Ns, Seen};

/// What a run means.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The kinds of time that the class is decided from, with their shares of the account, largest
    /// first.
    pub kinds: [(TimeKind, f64); 3],
    /// Why no kind is the class, where it is `mixed`.
    pub mixed: Option<Mixed>,
    /// Time of the account in which it was ready to run but had no CPU, or was stopped, and that
    /// neither the class nor `behind_own_ns` tells: where that is worth a word.
    pub held_up_ns: Option<Ns>,
    /// Time of the account in which its own threads had all CPUs: where that is worth a word.
    pub behind_own_ns: Option<Ns>,
    /// Why it was not let run, where it is starved.
    pub starved: Option<Starved>,
    /// What most of the kernel's work is, where there is such a thing.
    pub kernel_work: Option<KernelWork>,
    /// How long the longest wait is, in operations of this host.
    pub yardstick: Option<Yardstick>,
    /// How each row of `waits` was ended.
    pub ended: Vec<Ended>,
    /// The host metrics that moved, or that matter to what bounds the program; what matters most
    /// comes first.
    pub metrics: Vec<Metric>,
    /// The limits of its control group that it came up against.
    pub limits: Vec<Limit>,
    /// Whose code its time is of.
    pub whose: Whose,
    /// What makes its figures doubtful.
    pub doubts: Doubts,
    /// Causes that it shows; what saves most comes first. A cause that another one explains is
    /// named there only.
    pub findings: Vec<Finding>,
    /// What a probe of one of them gave, by its index; unseen where it gave nothing. Nothing where
    /// none was asked for.
    pub probed: Option<(usize, Seen<Probed>)>,
    /// Causes that were looked for and are not there, and why.
    pub ruled_out: Vec<(CauseName, Sentence)>,
    /// Causes that could not be looked for, and why.
    pub unavailable: Vec<(CauseName, String)>,
}

/// Kinds of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeKind {
    /// Blocked in any way.
    Waiting,
    /// Kernel and faults.
    Kernel,
    /// User.
    User,
}

/// Why a class is `mixed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mixed {
    /// The two leading kinds are too close.
    NoneLeads,
    /// Waiting leads, but is less than half.
    WaitingBelowHalf,
}

/// Time of the account in which a program was ready to run, by what had the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starved {
    /// Other programs.
    pub others_ns: Ns,
    /// Nobody on its account: the quota of its control group was used up.
    pub throttled_ns: Ns,
    /// A hypervisor: an estimate from what it took of the whole host.
    pub stolen_ns: Ns,
    /// One of these, or an unseen quota: nothing tells which, but its own threads had a CPU each.
    pub unknown_ns: Ns,
}

/// Work of the kernel for a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KernelWork {
    /// Page faults.
    Faults,
    /// Interrupts and softirqs.
    Interrupts,
    /// A system call, or entering and leaving them.
    Calls(Reason),
}

/// A wait in operations of the host, as its ladder has measured them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Yardstick {
    /// The row of `waits`: the one that the path has most of.
    pub wait: usize,
    /// Its longest wait.
    pub ns: Ns,
    /// As long as this many of these.
    pub worth: Vec<(Operation, u64)>,
}

/// How threads ended the waits of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By releasing a lock.
    Unlocked,
    /// In any way: also conditions, barriers and the end of a thread wake others.
    Woken,
}

/// A series of host metrics, by its index in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Of `links`.
    Link(usize),
    /// Of `disks`.
    Disk(usize),
    /// Of `nfs`.
    Nfs(usize),
    /// Of `cpu`.
    Cpu(usize),
    /// Of `memory`.
    Memory(usize),
}

/// A limit that a program runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The CPU quota.
    Quota,
    /// The memory limit.
    Memory,
    /// The CPUs that it may run on.
    Cpus,
}

/// What makes the figures of a run doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Doubts {
    /// More of the account is unexplained than should be.
    pub unexplained: bool,
    /// Other programs had a good part of the CPUs.
    pub host_busy: bool,
    /// A hypervisor took a good part of the CPUs.
    pub steal: bool,
}
