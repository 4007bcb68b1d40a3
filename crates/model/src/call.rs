//! System calls as they are recorded: by number and table, not by name.
//!
//! Names belong to `analyse`; a recording made on one architecture is read on another.

use crate::{Ns, Pid};
use serde::{Deserialize, Serialize};

/// One entry of a system-call table: the number, and whether it is the 32-bit ("compat") table of
/// the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call(pub u16);

impl Call {
    /// Set in the number for calls through the 32-bit table.
    pub const COMPAT: u16 = 0x8000;
    /// Not a call: the kernel's work on a thread that is dying outside a call (a fatal signal).
    pub const DYING: Call = Call(0x7fff);
    /// Any number out of range; such calls are counted together.
    pub const OTHER: Call = Call(0x7ffe);

    /// The number within its table.
    pub fn number(self) -> u16 {
        self.0 & !Self::COMPAT
    }

    /// Whether the call went through the 32-bit table.
    pub fn is_compat(self) -> bool {
        self.0 & Self::COMPAT != 0
    }
}

/// Time on a CPU inside one call, since the last event of its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTime {
    /// Which call.
    pub call: Call,
    /// How many of them returned in that time (0: it has not returned yet, or never will).
    pub count: u32,
    /// Time on a CPU inside it.
    pub ns: Ns,
}

/// All counters of one system call over the whole run, summed over the tree in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStats {
    /// Which call.
    pub call: Call,
    /// Calls that returned.
    pub calls: u64,
    /// Of these, those that returned an error (-4095 ..= -1).
    pub errors: u64,
    /// Calls whose entry was traced too: what follows, the repeats and the paths are of these. None
    /// where they are of all, as in recordings that do not have it.
    #[serde(default)]
    pub timed: Option<u64>,
    /// Wall time from entry to return, summed.
    pub total_ns: Ns,
    /// CPU time of that.
    pub cpu_ns: Ns,
    /// The longest.
    pub max_ns: Ns,
    /// Wall time by log-linear bucket: (index, calls). `stats::histogram` defines the index.
    pub histogram: Vec<(u16, u64)>,
    /// What they gave. None in recordings that do not have it.
    #[serde(default)]
    pub results: Option<CallResults>,
}

/// What the calls of one kind gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResults {
    /// Bytes that they moved; none for calls whose result is something else.
    pub bytes: Option<u64>,
    /// Calls that moved bytes, by how many: (octave, calls). Octave n is from 2^n to 2^(n + 1) - 1
    /// bytes; [`CallResults::SIZE_MAX`] has all that is larger too.
    pub sizes: Vec<(u8, u64)>,
    /// Calls that returned 0.
    pub zeros: u64,
    /// Calls with the first three arguments and the result of the thread's last one of this kind;
    /// none of those with bytes moved. What arguments point at is not compared: none for calls on
    /// paths.
    pub repeats: Option<u64>,
    /// Calls that failed, by error number, the most frequent first. A few numbers of each call are
    /// kept apart: their sum may be less than all errors.
    pub errors: Vec<(u16, u64)>,
    /// Of calls that open a file by its path or ask for one: how many gave a path again. None for
    /// other calls, and in recordings that do not have it.
    #[serde(default)]
    pub paths: Option<PathsAsked>,
}

/// A sample of the calls of one kind: those with a path that the same process had given to the same
/// call before, as far as the sample has that call too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathsAsked {
    /// Calls in the sample.
    pub sample: u64,
    /// For how many these stand.
    pub calls: u64,
    /// Of these, with a path that was asked for before.
    pub again: u64,
    /// Failed calls among those.
    pub again_failed: u64,
    /// Paths that were asked for again, the most frequent first.
    pub most: Vec<PathAgain>,
}

/// A path that a process asked for again: estimates, since it was first counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathAgain {
    /// The process.
    pub pid: Pid,
    /// The path as it was given: a relative one begins at a directory that is not known.
    pub path: String,
    /// Calls.
    pub again: u64,
    /// Of these, calls that failed.
    pub failed: u64,
}

impl CallResults {
    /// The last octave of sizes: from 8 MiB on.
    pub const SIZE_MAX: u8 = 23;
}

/// Calls that were counted in tracing windows. The busier a window, the longer the pause after it
/// is on average; how long it is, chance decides. So a window stands for as much time as is skipped
/// on average to come to it, and these are the sums over windows that a ratio estimate needs. x is
/// the tree's CPU time for which a window stands, in milliseconds; y is the number of calls in it,
/// by the window's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sliced {
    /// When windows began.
    pub since: Ns,
    /// Number of windows.
    pub slices: u64,
    /// The tree's CPU time within windows, without the overhead of tracing.
    pub traced_ns: Ns,
    /// Windows that stand for more than themselves.
    pub pauses: u64,
    /// The sum of all x; then the same scaled to the windows' time at the lowest and the highest
    /// cost that a traced call may have.
    pub paused_ns: [Ns; 3],
    /// The sum of all x squared.
    pub paused_squares: f64,
    /// The tree's CPU time from then on outside windows. Calls counted there, while the BPF
    /// programs were being attached and detached, are in the table of calls but not in these sums.
    pub untraced_ns: Ns,
    /// Chance decided on the pauses. In older recordings it did not: then x is the CPU time of the
    /// pause before a window, and the sums are biased.
    #[serde(default)]
    pub random: bool,
    /// Calls were counted outside windows too: then the counts of [`CallStats`] are of all calls,
    /// and `calls` is empty.
    #[serde(default)]
    pub counted: bool,
    /// One entry for each traced call.
    pub calls: Vec<SlicedCall>,
}

/// One call of [`Sliced`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlicedCall {
    /// Which.
    pub call: Call,
    /// Counted before windows began.
    pub before: u64,
    /// Counted in windows.
    pub calls: u64,
    /// The sum of all y.
    pub filled: f64,
    /// The sum of all y squared.
    pub squares: f64,
    /// The sum of all x times y.
    pub cross: f64,
    /// The largest distance of a y from what the ratio so far made of its x.
    #[serde(default)]
    pub worst: f64,
}
