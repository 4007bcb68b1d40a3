//! Commands that were run in alternation, in blocks of random order, and what was measured of each
//! run.
//!
//! No conclusion: what follows from the runs is a [`crate::compare::commands::Comparison`].

use crate::recording::Ending;
use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// One run of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedRun {
    /// Its command: from 0, in the order of the command line.
    pub command: u32,
    /// Its block, in which each command ran once: from 0. The first ones do not count: they warm
    /// up, and the first of all tells how long the commands take.
    pub block: u32,
    /// Its place in the block: from 0.
    pub place: u32,
    /// When it began, since the first run did.
    pub began_ns: Ns,
    /// From just before `execve(2)`, read by the process that becomes the command, to the return of
    /// `wait4(2)`.
    pub wall_ns: Ns,
    /// User time of the command and of its descendants that were waited for.
    pub user_ns: Ns,
    /// The same in the kernel.
    pub kernel_ns: Ns,
    /// Page faults served without IO.
    pub minor_faults: u64,
    /// Page faults that needed IO.
    pub major_faults: u64,
    /// Switches as it waited.
    pub voluntary_switches: u64,
    /// Switches as another thread got its CPU.
    pub involuntary_switches: u64,
    /// The largest resident set of one process.
    pub memory_bytes: u64,
    /// Whether it had no more than the process that started it: then it is at most that.
    pub memory_at_most: bool,
    /// How it ended.
    pub ending: Ending,
    /// Processes that it left behind.
    pub left_behind: u32,
    /// Whether a signal stopped it for a while (Ctrl-Z): then it does not count, and has not
    /// failed.
    #[serde(default)]
    pub stopped: bool,
    /// CPU time that the hypervisor took from the host while it ran; unseen of runs that are too
    /// short for the host's counters.
    pub steal_ns: Seen<Ns>,
    /// CPU time of the rest of the host while it ran; likewise.
    pub others_cpu_ns: Seen<Ns>,
    /// Numbers that it printed, as asked by `--metric`.
    pub printed: Vec<f64>,
    /// Why it does not count; none if it does.
    pub excluded: Option<String>,
}

impl TimedRun {
    /// Whether it ended with exit status 0.
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Code(0)
    }
}

/// A figure of a run by which commands are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Wall clock, in nanoseconds.
    #[default]
    Wall,
    /// User time, in nanoseconds.
    User,
    /// Time in the kernel, in nanoseconds.
    Kernel,
    /// Both.
    Cpu,
    /// The largest resident set, in bytes.
    Memory,
    /// Page faults.
    Faults,
    /// The number that each run printed: the median, where there are several.
    Printed,
}

impl Figure {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 7] =
        [Self::Wall, Self::User, Self::Kernel, Self::Cpu, Self::Memory, Self::Faults, Self::Printed];

    /// Whether it is a time in nanoseconds.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Wall | Self::User | Self::Kernel | Self::Cpu)
    }

    /// Its value in a run; none where the run has none.
    pub fn of(self, run: &TimedRun) -> Option<f64> {
        Some(match self {
            Self::Wall => run.wall_ns as f64,
            Self::User => run.user_ns as f64,
            Self::Kernel => run.kernel_ns as f64,
            Self::Cpu => (run.user_ns + run.kernel_ns) as f64,
            Self::Memory => run.memory_bytes as f64,
            Self::Faults => (run.minor_faults + run.major_faults) as f64,
            Self::Printed => {
                let mut printed = run.printed.clone();
                printed.sort_unstable_by(f64::total_cmp);
                let last = printed.len().checked_sub(1)?;
                (printed[last / 2] + printed[printed.len() / 2]) / 2.0
            }
        })
    }
}
