//! The table of system calls where only tracing windows were traced: counts scaled up to the whole
//! run.
//!
//! Calls come with work, so a pause is assumed to have as many per millisecond of CPU time as the
//! window after it. Pauses differ, which gives the interval; it is widened by the uncertainty of
//! the overhead of tracing, which is subtracted from the time in windows. Totals and errors are
//! scaled by the same factor; durations (median, 99th percentile, maximum) are those of the traced
//! calls.

use model::recording::{Sliced, SlicedCall};
use model::run::{CallRow, Estimate};
use model::{CallStats, Ns};
use stats::{Sums, ratio};

/// The estimate of a call over the whole run; none with too few windows.
fn estimate(call: &SlicedCall, seen: u64, sliced: &Sliced) -> Option<Estimate> {
    let ms = |ns: Ns| ns as f64 / 1e6;
    let [best, slow, fast] = sliced.paused_ns;
    let sums = Sums {
        n: sliced.pauses,
        x: ms(best),
        y: call.filled,
        xx: sliced.paused_squares,
        yy: call.squares,
        xy: call.cross,
    };
    let (rate, lo, hi) = ratio(sums)?;
    let counted = call.before + call.calls;
    let all = |rate: f64| seen.max(counted + (rate * ms(sliced.untraced_ns)).round() as u64);
    // With a lower overhead more of the windows was the program's time, and the pauses had fewer
    // calls.
    let (lo, hi) = (lo * best as f64 / slow.max(1) as f64, hi * best as f64 / fast.max(1) as f64);
    Some(Estimate { seen, calls: all(rate), lo: all(lo), hi: Some(all(hi)) })
}

/// Scales a row of the table. A row that cannot be scaled keeps the traced count as its lower
/// bound.
pub(crate) fn scale(row: &mut CallRow, stats: &CallStats, sliced: &Sliced) {
    let call = sliced.calls.iter().find(|call| call.call == stats.call);
    let Some(estimate) = call.and_then(|call| estimate(call, stats.calls, sliced)) else {
        row.estimate = Some(Estimate { seen: stats.calls, calls: stats.calls, lo: stats.calls, hi: None });
        return;
    };
    let scaled = |figure: u64| {
        (u128::from(figure) * u128::from(estimate.calls) / u128::from(estimate.seen.max(1))) as u64
    };
    row.errors = scaled(row.errors);
    row.total_ns = scaled(row.total_ns);
    row.cpu_ns = scaled(row.cpu_ns);
    row.calls = estimate.calls;
    row.estimate = Some(estimate);
}

/// The reason in the coverage.
pub(crate) fn why(sliced: &Sliced) -> String {
    let all = sliced.traced_ns + sliced.untraced_ns;
    let share = 100.0 * sliced.traced_ns as f64 / all.max(1) as f64;
    format!(
        "syscalls were traced {share:.0} % of the CPU time ({} windows) to stay within --max-overhead; \
         figures are scaled up",
        sliced.slices
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Call;

    #[test]
    fn counts_are_scaled_by_cpu_time() {
        // 100,000 before; four windows of 5 ms with 10,000 calls each, after pauses of 45 ms that
        // stand for 90,000 each.
        let [x, y] = [45.0, 90_000.0];
        let call = SlicedCall {
            call: Call(0),
            before: 100_000,
            calls: 40_000,
            filled: 4.0 * y,
            squares: 4.0 * y * y,
            cross: 4.0 * x * y,
        };
        let sliced = Sliced {
            since: 0,
            slices: 4,
            traced_ns: 20_000_000,
            pauses: 4,
            paused_ns: [180_000_000, 225_000_000, 90_000_000],
            paused_squares: 4.0 * x * x,
            untraced_ns: 180_000_000,
            calls: vec![call],
        };
        let stats = CallStats {
            call: Call(0),
            calls: 140_000,
            errors: 14,
            total_ns: 1_400_000,
            cpu_ns: 140_000,
            max_ns: 9,
            histogram: Vec::new(),
        };
        let mut row = CallRow {
            name: "read".into(),
            calls: stats.calls,
            errors: stats.errors,
            total_ns: stats.total_ns,
            cpu_ns: stats.cpu_ns,
            p50_ns: 1,
            p99_ns: 2,
            max_ns: 9,
            estimate: None,
        };
        scale(&mut row, &stats, &sliced);
        assert_eq!((row.calls, row.errors, row.total_ns), (500_000, 50, 5_000_000));
        let estimate = row.estimate.unwrap();
        assert_eq!((estimate.seen, estimate.lo, estimate.hi), (140_000, 428_000, Some(860_000)));
        assert!(why(&sliced).contains("10 % of the CPU time (4 windows)"), "{}", why(&sliced));
    }
}
