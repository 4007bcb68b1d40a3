//! Samples of one operation each, where several must not be averaged: timer latency, huge pages.

use crate::bench::{Bench, interrupted};
use crate::{Samples, Unmeasured};
use sys::clock::monotonic_ns;

/// The part of the time that is warm-up, without samples.
const WARM_UP: u64 = 8;

/// Calls `one` for a time in ns until the bench's time is up, at least once. `None` does not count.
pub(crate) fn sample_singly(
    bench: &Bench<'_>,
    mut one: impl FnMut() -> Result<Option<f64>, Unmeasured>,
) -> Result<Samples, Unmeasured> {
    let begun = monotonic_ns();
    let mut samples = Samples { ops_per_sample: 1, clock_cost_ns: bench.clock_cost_ns, ..Samples::default() };
    loop {
        if bench.stopped() {
            break;
        }
        let warm = monotonic_ns() - begun >= bench.budget_ns / WARM_UP;
        let found = one()?;
        samples.per_op_ns.extend(found.filter(|_| warm));
        if monotonic_ns() - begun >= bench.budget_ns && (warm || bench.budget_ns == 0) {
            break;
        }
    }
    if samples.per_op_ns.is_empty() && bench.stopped() { Err(interrupted()) } else { Ok(samples) }
}
