//! What tests of rungs share.

use model::Ns;
use sys::clock::monotonic_ns;

/// Until it is given up to find a turn without other work in between.
const PATIENCE_NS: Ns = 20_000_000_000;

/// Asserts that four times the work takes about four times as long: then nothing of it was
/// optimised away, and nothing else is in it that matters. Repeated while the machine has other
/// work.
pub(crate) fn grows_with_work(count: u64, mut work: impl FnMut(u64)) {
    grows_with_work_timed(count, |count| {
        let from = monotonic_ns();
        work(count);
        monotonic_ns() - from
    });
}

/// The same for work that says itself how long it took.
pub(crate) fn grows_with_work_timed(count: u64, mut work: impl FnMut(u64) -> Ns) {
    let until = monotonic_ns() + PATIENCE_NS;
    let (mut once, mut four_times) = (Ns::MAX, Ns::MAX);
    let mut times = 0.0;
    for turn in 0.. {
        // The least of all turns is that without other work in between.
        once = once.min(work(count));
        four_times = four_times.min(work(4 * count));
        times = four_times as f64 / once.max(1) as f64;
        if turn >= 5 && (3.0..5.5).contains(&times) || monotonic_ns() > until {
            break;
        }
    }
    assert!(
        (3.0..5.5).contains(&times),
        "four times the work took {times} times as long: {once} and {four_times} ns"
    );
}
