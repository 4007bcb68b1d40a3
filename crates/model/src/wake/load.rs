//! Stress loads that run while wake-ups are measured, and their results.

use crate::recording::Host;
use crate::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The name of the schema of `dwell load --json`.
pub const SCHEMA_LOAD: &str = "dwell.load/1";

/// What `dwell load --json` writes: one load that ran alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRun {
    /// [`SCHEMA_LOAD`].
    pub schema: String,
    /// The host.
    pub host: Host,
    /// When it began: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// What the load did.
    pub result: LoadDone,
    /// Whether it was ended early, by a signal.
    pub interrupted: bool,
}

/// How senders reach receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Pairs of local sockets.
    #[default]
    Sockets,
    /// Pipes.
    Pipes,
}

/// What senders and receivers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Workers {
    /// Processes.
    #[default]
    Processes,
    /// Threads of one process.
    Threads,
}

/// A load with its sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Load {
    /// Groups of senders and receivers, each sender writing to each receiver of its group.
    Sched {
        /// Groups, each of `pairs` senders and as many receivers.
        groups: u32,
        /// Senders, and receivers, of a group.
        pairs: u32,
        /// Bytes of one message.
        message_bytes: u32,
        /// What the messages go through.
        transport: Transport,
        /// What senders and receivers are.
        workers: Workers,
    },
    /// Copies memory from place to place and verifies it by checksums.
    Memory {
        /// Threads that copy.
        threads: u32,
        /// In all.
        bytes: u64,
    },
    /// Writes files past the page cache, reads them back and verifies them.
    Disk {
        /// With a file each.
        threads: u32,
        /// Size of a file.
        bytes: u64,
        /// Where the files are; none: the directory for temporary files.
        dir: Option<String>,
    },
    /// Round trips over TCP on the loopback.
    Network {
        /// Pairs of threads.
        threads: u32,
        /// Bytes of one message.
        message_bytes: u32,
    },
    /// Busy loops.
    Cpu {
        /// Threads that spin.
        threads: u32,
    },
    /// Timers that interrupt.
    Irq {
        /// Number of threads, with one timer each.
        threads: u32,
        /// Expirations of each timer per second.
        rate_hz: u32,
    },
}

impl Transport {
    /// As the command line takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sockets => "sockets",
            Self::Pipes => "pipes",
        }
    }
}

impl Workers {
    /// As the command line takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Threads => "threads",
        }
    }
}

impl Load {
    /// Its name, without sizes; the same in JSON.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// It as the command line takes it, with all of its sizes. A directory stands last, since any
    /// character may be in it.
    pub fn spec(&self) -> String {
        match self {
            Self::Sched { groups, pairs, message_bytes, transport, workers } => {
                let (transport, workers) = (transport.name(), workers.name());
                format!(
                    "sched:groups={groups},pairs={pairs},message={message_bytes},transport={transport},workers={workers}"
                )
            }
            Self::Memory { threads, bytes } => format!("memory:threads={threads},size={bytes}"),
            Self::Disk { threads, bytes, dir } => {
                let dir = dir.as_ref().map_or_else(String::new, |dir| format!(",dir={dir}"));
                format!("disk:threads={threads},size={bytes}{dir}")
            }
            Self::Network { threads, message_bytes } => {
                format!("network:threads={threads},message={message_bytes}")
            }
            Self::Cpu { threads } => format!("cpu:threads={threads}"),
            Self::Irq { threads, rate_hz } => format!("irq:threads={threads},rate={rate_hz}"),
        }
    }
}

/// Memory or a file whose content differed from what had been written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// Address, or offset in the file.
    pub at: u64,
    /// The expected content.
    pub expected: u64,
    /// The content found.
    pub actual: u64,
    /// The CPU that saw it.
    pub cpu: u32,
}

/// What a load did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadDone {
    /// With its sizes: of memory what it had in the end, which the host or the control group may
    /// have limited; otherwise what was asked for.
    pub load: Load,
    /// From the start of the first worker to the end of the last.
    pub ran_ns: Ns,
    /// Amount of work done, in `unit`.
    pub done: u64,
    /// `messages`, `bytes`, `round trips`, `loops`, `timers`.
    pub unit: String,
    /// CPU time.
    pub cpu_ns: Ns,
    /// The first verification errors.
    pub mismatches: Vec<Mismatch>,
    /// Number of verification errors.
    pub mismatches_total: u64,
    /// Workers that ended early, and why: sentences without a full stop.
    #[serde(default)]
    pub failures: Vec<String>,
    /// What could not be done as requested: sentences without a full stop.
    pub limits: Vec<String>,
}
