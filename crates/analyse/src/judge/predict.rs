//! How much of a wait can be on the path, and with that what a fix can save.

use super::Evidence;
use model::coverage::Interval;
use model::{Ns, State};

/// What some waits in a state have of the path, where only their sum over all threads is known: at
/// least what no other wait in that state can have, and no more than all of them have.
pub(super) fn on_path(evidence: &Evidence<'_>, state: State, waited_ns: Ns) -> Interval {
    let of_state = || evidence.waits.iter().filter(|wait| wait.reason == state);
    let total_ns: Ns = of_state().map(|wait| wait.total_ns).sum();
    let path_ns: Ns = of_state().map(|wait| wait.path_ns).sum();
    let off_path_ns = total_ns.saturating_sub(path_ns);
    Interval { lo: waited_ns.saturating_sub(off_path_ns).min(path_ns), hi: waited_ns.min(path_ns) }
}
