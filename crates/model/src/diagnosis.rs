//! What a run means: all that was concluded from it and does not stand in its tables.
//!
//! The class and the verdicts on host metrics are part of the run, since the JSON has them. What is
//! concluded, and from what, is up to `analyse`; `report` takes it as it is.

use crate::costs::Operation;
use crate::explained::{ExplainedBy, Explanation};
use crate::finding::{BaseRate, CauseName, Finding, RowRef};
use crate::probe::Probed;
use crate::requests::Requests;
use crate::ruled_out::RuledOut;
use crate::run::Run;
use crate::wait::Reason;
use crate::{JsonSchema, Ns, Seen, State};
use serde::{Deserialize, Deserializer, Serialize};

/// What a run means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The port at which it waited for work most of the time, where it was run and not attached to:
    /// it is a server, and its wall clock is how long somebody let it run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serves_at: Option<u16>,
    /// Why it was not let run, where it is starved.
    pub starved: Option<Starved>,
    /// What most of the kernel's work is, where there is such a thing.
    pub kernel_work: Option<KernelWork>,
    /// How long the longest wait is, in operations of this host.
    pub yardstick: Option<Yardstick>,
    /// The host metrics that moved, or that matter to what bounds the program; what matters most
    /// comes first.
    pub metrics: Vec<Metric>,
    /// The limits of its control group that it came up against.
    pub limits: Vec<Limit>,
    /// What makes its figures doubtful.
    pub doubts: Doubts,
    /// Causes that it shows; what saves most comes first. A cause that another one explains is
    /// named there only.
    pub findings: Vec<Finding>,
    /// Whether the first two findings are about as likely to save most: what is known of measured
    /// programs does not tell their order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub either: bool,
    /// What was saved of other programs of which nothing was found, where nothing is found of this
    /// one. None of a window, and in older results.
    #[serde(default)]
    pub base_rate: Option<BaseRate>,
    /// What of the time each of them explains, and what the rest is. Older results lack it.
    #[serde(default)]
    pub explained: Seen<Explanation>,
    /// What a probe of one of them gave, by its index; unseen where it gave nothing. Nothing where
    /// none was asked for.
    pub probed: Option<(usize, Seen<Probed>)>,
    /// Causes that were looked for and are not there, and why.
    #[schemars(with = "Vec<(CauseName, crate::shape::WhyNot)>")]
    pub ruled_out: Vec<(CauseName, RuledOut)>,
    /// Causes that could not be looked for, and why.
    pub unavailable: Vec<(CauseName, String)>,
}

impl Diagnosis {
    /// Whether all rows that it refers to are in the tables, causes have names and explanations sum
    /// to the whole: somebody may have changed a kept one.
    pub fn is_sound(&self, run: &Run) -> bool {
        let fits = |place: &RowRef| match *place {
            RowRef::State(_) | RowRef::Run => true,
            RowRef::Step(row) => row < run.path.len(),
            RowRef::Wait(row) => row < run.waits.len(),
            RowRef::HandOver(row) => has(&run.tables.hand_overs, |table| row < table.rows.len()),
            RowRef::Connection(row) => has(&run.tables.connections, |rows| row < rows.len()),
            RowRef::Lookup(row) => has(&run.tables.lookups, |rows| row < rows.len()),
            RowRef::File(row) => has(&run.tables.files, |table| row < table.rows.len()),
            RowRef::Call(row) => has(&run.tables.syscalls, |rows| row < rows.len()),
            RowRef::Function(row) => has(&run.tables.functions, |rows| row < rows.len()),
            RowRef::Line(row) => has(&run.tables.lines, |rows| row < rows.len()),
            RowRef::Thread(row) => row < run.threads.len(),
        };
        let shared = |(at, finding): (usize, &Finding)| {
            finding.saving.value().and_then(|saving| saving.shared).is_none_or(|shared| shared.finding < at)
        };
        let metric = |metric: &Metric| {
            has(&run.series, |series| match *metric {
                Metric::Link(at) => has(&series.links, |rows| at < rows.len()),
                Metric::Disk(at) => has(&series.disks, |rows| at < rows.len()),
                Metric::Nfs(at) => has(&series.nfs, |rows| at < rows.len()),
                Metric::Cpu(at) => has(&series.cpu, |rows| at < rows.len()),
                Metric::Memory(at) => has(&series.memory, |rows| at < rows.len()),
            })
        };
        let explains = |explained: &Explanation| {
            let exists = |by: &ExplainedBy| match by {
                ExplainedBy::Finding(finding) => *finding < self.findings.len(),
                ExplainedBy::OwnWork(_) | ExplainedBy::NotJudged { .. } => true,
            };
            explained.closes(run.whole_ns()).is_ok() && explained.rows().iter().all(|row| exists(&row.by))
        };
        let others = self.ruled_out.iter().map(|(cause, _)| cause);
        let others = others.chain(self.unavailable.iter().map(|(cause, _)| cause));
        let causes = self.findings.iter().flat_map(|finding| finding.explains.iter().chain([&finding.cause]));
        causes.chain(others).all(CauseName::is_sound)
            && self.findings.iter().all(|finding| fits(&finding.place))
            && self.findings.iter().enumerate().all(shared)
            && (!self.either || self.findings.len() > 1)
            && run.tables.requests.value().is_none_or(Requests::is_sound)
            && self.explained.value().is_none_or(explains)
            && self.probed.as_ref().is_none_or(|(at, _)| *at < self.findings.len())
            && self.yardstick.as_ref().is_none_or(|yardstick| yardstick.wait < run.waits.len())
            && self.metrics.iter().all(metric)
    }
}

fn has<T>(table: &Seen<T>, row: impl Fn(&T) -> bool) -> bool {
    table.value().is_some_and(row)
}

/// Kinds of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeKind {
    /// Blocked in any way.
    Waiting,
    /// Kernel and faults.
    Kernel,
    /// User.
    User,
}

/// Why a class is `mixed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mixed {
    /// The two leading kinds are too close.
    NoneLeads,
    /// Waiting leads, but is less than half.
    WaitingBelowHalf,
}

/// Time of the account in which a program was ready to run, by what had the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Starved {
    /// Other programs had them.
    pub others_ns: Ns,
    /// Nobody on its account: the quota of its control group was used up.
    pub throttled_ns: Ns,
    /// A hypervisor: an estimate from what it took of the whole host.
    pub stolen_ns: Ns,
    /// One of these, or an unseen quota: nothing tells which, but its own threads had a CPU each.
    pub unknown_ns: Ns,
}

/// Work of the kernel for a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelWork {
    /// Page faults.
    Faults,
    /// Interrupts and softirqs.
    Interrupts,
    /// A system call, or entering and leaving them.
    Calls(#[serde(deserialize_with = "of_kernel")] Reason),
}

/// The reason of a stored result: its text alone does not tell what it is of.
fn of_kernel<'de, D: Deserializer<'de>>(from: D) -> Result<Reason, D::Error> {
    Ok(Reason::read(State::Kernel, &String::deserialize(from)?))
}

/// A wait in operations of the host, as its ladder has measured them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Yardstick {
    /// The row of `waits`: the one that the path has most of.
    pub wait: usize,
    /// Its longest wait.
    pub ns: Ns,
    /// As long as this many of these.
    pub worth: Vec<(Operation, u64)>,
}

/// A series of host metrics, by its index in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The CPU quota.
    Quota,
    /// The memory limit.
    Memory,
    /// The CPUs that it may run on.
    Cpus,
}

/// What makes the figures of a run doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Doubts {
    /// More of the account is unexplained than should be.
    pub unexplained: bool,
    /// Other programs had a good part of the CPUs.
    pub host_busy: bool,
    /// A hypervisor took a good part of the CPUs.
    pub steal: bool,
}
