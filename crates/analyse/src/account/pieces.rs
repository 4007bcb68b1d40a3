//! What every tier's analysis gives: the pieces of a run that depend on how it was seen.

use super::progress_clock::ProgressTimes;
use super::steps::StepTable;
use model::run::{Phases, ThreadLedger, WaitRow, WindowSummary};
use model::{AccountPart, Ns};

/// The account and what belongs to it.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// When the wall began.
    pub(crate) start: Ns,
    /// The wall clock.
    pub(crate) wall_ns: Ns,
    /// It, by state; sums to it.
    pub(crate) parts: Vec<AccountPart>,
    /// It, by place, longest first; sums to it.
    pub(crate) steps: StepTable,
    /// It, over time.
    pub(crate) phases: Phases,
    /// Wall-clock time by what any thread did, where switches were seen.
    pub(crate) covered: Option<ProgressTimes>,
    /// Each thread's own ledger.
    pub(crate) threads: Vec<ThreadLedger>,
    /// What threads were blocked on.
    pub(crate) waits: Vec<WaitRow>,
    /// Where the program lived already; then the pieces are of its threads' time and sum to that.
    pub(crate) window: Option<WindowSummary>,
}
