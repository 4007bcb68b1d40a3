//! Where samples of the processor's counters struck, until the end says which are on the path.

use crate::account::Slot;
use crate::counted::{CounterHitId, Places, Sampled};
use rustc_hash::FxHashMap;

/// Where counters were sampled.
#[derive(Debug, Default)]
pub(super) struct Struck {
    pub(super) places: Places,
    /// By ledger, while another thread may have let time pass.
    pub(super) passed_over: FxHashMap<(Slot, CounterHitId), Sampled>,
}
