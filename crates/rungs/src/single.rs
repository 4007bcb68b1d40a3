//! Samples of one operation each, for what must not be averaged over several: the lateness of a timer, a huge page.

use crate::bench::{Bench, interrupted};
use crate::{Samples, Unmeasured};
use sys::clock::monotonic_ns;

/// The part of the time that no sample is kept of.
const WARM_UP: u64 = 8;

/// Asks `one` for a time in ns until the bench's time is over, at least once. `None` is a time that does not count.
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
