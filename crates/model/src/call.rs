//! System calls as they are recorded: by number and table, not by name.
//!
//! Names belong to `analyse`; a recording made on one architecture is read on another.

use crate::Ns;
use serde::{Deserialize, Serialize};

/// One entry of a system-call table: the number, and whether it is the 32-bit ("compat") table of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call(pub u16);

impl Call {
    /// Set in the number for calls through the 32-bit table.
    pub const COMPAT: u16 = 0x8000;
    /// Not a call: the kernel's work on a thread that is dying outside a call (a fatal signal).
    pub const DYING: Call = Call(0x7fff);
    /// A number that no table of ours has (out of range); such calls are counted together.
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

/// Time on a CPU inside one call within one stretch of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTime {
    /// Which call.
    pub call: Call,
    /// How many of them returned in the stretch (0: it has not returned yet, or never will).
    pub count: u32,
    /// Time on a CPU inside it.
    pub ns: Ns,
}

/// Everything counted of one call over the whole run, summed over the tree in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStats {
    /// Which call.
    pub call: Call,
    /// Calls that returned.
    pub calls: u64,
    /// Of these, those that returned an error (-4095 ..= -1).
    pub errors: u64,
    /// Wall time from entry to return, summed.
    pub total_ns: Ns,
    /// Of it, time on a CPU.
    pub cpu_ns: Ns,
    /// The longest.
    pub max_ns: Ns,
    /// Wall time by log-linear bucket: (index, calls). `stats::histogram` says what an index means.
    pub histogram: Vec<(u16, u64)>,
}

/// What calls were counted in slices of time. Slices are no even sample: a pause is the longer the busier the slice before
/// it was. So each pause is filled from the slice behind it, and these are the sums over pauses that a ratio estimate
/// needs (Cochran, Sampling Techniques, chapter 6). x is the tree's time on a CPU in a pause, in milliseconds; y how often a
/// call was made in it by the rate of the slice behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sliced {
    /// From when on.
    pub since: Ns,
    /// How many slices there were.
    pub slices: u64,
    /// The tree's time on a CPU within slices without what tracing took of it.
    pub traced_ns: Ns,
    /// Pauses with a slice behind them.
    pub pauses: u64,
    /// The sum of all x; then the same in proportion to the slices' time with the lowest and the highest cost that a
    /// traced call may have.
    pub paused_ns: [Ns; 3],
    /// The sum of all x squared.
    pub paused_squares: f64,
    /// The tree's time on a CPU from then on outside slices. Calls that were counted then, while the programs were being
    /// attached and detached, are in the table of calls but not in these sums.
    pub untraced_ns: Ns,
    /// Each call that was seen.
    pub calls: Vec<SlicedCall>,
}

/// One call of [`Sliced`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlicedCall {
    /// Which.
    pub call: Call,
    /// Counted while all were.
    pub before: u64,
    /// Counted in slices.
    pub calls: u64,
    /// The sum of all y.
    pub filled: f64,
    /// The sum of all y squared.
    pub squares: f64,
    /// The sum of all x times y.
    pub cross: f64,
}
