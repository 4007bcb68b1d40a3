//! What makes a run's figures doubtful: time without evidence, and others on the same CPUs.

use super::Evidence;
use super::limits::OTHERS_SHARE_MIN;
use model::Seen;
use model::coverage::Coverage;
use model::diagnosis::Doubts;

/// Full access aims at less than this part of the account.
const UNEXPLAINED_PART: u128 = 100;
/// From this part of what all CPUs could give on, steal is worth a warning.
const STEAL_PART: u128 = 100;

/// Other programs had so much of the CPUs that they may have slowed this one.
pub(crate) fn is_busy(coverage: &Coverage) -> bool {
    matches!(coverage.host_busy, Seen::Value(busy) if busy >= OTHERS_SHARE_MIN)
}

/// What makes these doubtful.
pub(super) fn of(evidence: &Evidence<'_>) -> Doubts {
    let coverage = &evidence.run.coverage;
    let all = evidence.run.wall_ns.saturating_mul(u64::from(evidence.run.host.cpus.max(1)));
    Doubts {
        unexplained: u128::from(coverage.unexplained_ns) * UNEXPLAINED_PART
            > u128::from(evidence.run.whole_ns()),
        host_busy: is_busy(coverage),
        steal: matches!(coverage.steal_ns, Seen::Value(steal)
            if steal > 0 && u128::from(steal) * STEAL_PART >= u128::from(all)),
    }
}
