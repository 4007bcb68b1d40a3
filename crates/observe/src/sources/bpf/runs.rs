//! How often each instrument of the kernel half ran, and what that takes at least.

use model::Ns;

/// The cost of one run of each instrument, within the ranges of [`super::Bpf::cost`].
const SWITCH_NS: Ns = 150;
const WAKE_NS: Ns = 150;
const SAMPLE_NS: Ns = 2000;
const FAULT_NS: Ns = 8000;

/// Runs of each instrument so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InstrumentRuns {
    pub(super) calls: u64,
    pub(super) switches: u64,
    pub(super) wakes: u64,
    pub(super) samples: u64,
    /// Samples of page faults.
    pub(super) faults: u64,
}

impl InstrumentRuns {
    /// The overhead that cannot be avoided.
    pub(super) fn fixed_ns(self) -> Ns {
        self.switches * SWITCH_NS + self.wakes * WAKE_NS + self.samples * SAMPLE_NS + self.faults * FAULT_NS
    }
}
