//! The table of system calls where not all were traced.
//!
//! Where all were counted, only their time is an estimate. A call that was not traced took as long
//! on a CPU as those of its kind that were, as far as the samples taken in it allow: their interval
//! is the figure's. Its waits are known, since switches are always traced. What only traced calls
//! tell, repeats and paths, is scaled up.
//!
//! Where calls were counted in windows only, counts are scaled up to the whole run. Windows begin
//! at random, so each stands for the time that is skipped on average to come to it. Calls come with
//! work: what windows do not stand for has as many per millisecond of CPU time. Windows differ,
//! which gives the interval; it is widened by the uncertainty of the overhead of tracing, which is
//! subtracted from the time in windows. Totals, errors and results are scaled by the same factor;
//! durations (median, 99th percentile, maximum) are those of the traced calls. A call that few
//! windows had is not estimated: what was traced is the least that there was.

use crate::account::split::{squares, sum};
use crate::untraced::Untraced;
use model::recording::{Sliced, SlicedCall, Trailer};
use model::syscall_rows::{CallRow, Estimate, TimedCalls};
use model::{Call, CallStats, Ns, Seen};
use stats::{Sums, wilson, wilson_of};

/// The estimate of a call over the whole run; none where its windows cannot bound it.
fn estimate(call: &SlicedCall, seen: u64, sliced: &Sliced) -> Option<Estimate> {
    if !sliced.random {
        return None;
    }
    let ms = |ns: Ns| ns as f64 / 1e6;
    let [best, slow, fast] = sliced.paused_ns;
    let sums = Sums {
        n: sliced.pauses,
        x: ms(best),
        y: call.filled,
        xx: sliced.paused_squares,
        yy: call.squares,
        xy: call.cross,
        worst: call.worst,
    };
    let (rate, lo, hi) = sums.ratio(ms(sliced.traced_ns) / ms(best.max(1)))?;
    let counted = call.before + call.calls;
    let all = |rate: f64| seen.max(counted + (rate * ms(sliced.untraced_ns)).round() as u64);
    // With a lower overhead more of the windows was the program's time, and the pauses had fewer
    // calls.
    let (lo, hi) = (lo * best as f64 / slow.max(1) as f64, hi * best as f64 / fast.max(1) as f64);
    Some(Estimate { seen, calls: all(rate), lo: all(lo), hi: Some(all(hi)) })
}

/// The time of all calls of a row, of which this many were timed: all were counted.
pub(crate) fn complete(row: &mut CallRow, stats: &CallStats, sliced: &Sliced, untraced: &Untraced) {
    let timed = stats.timed.unwrap_or(stats.calls).min(stats.calls);
    if timed == stats.calls {
        return;
    }
    let scaled = |figure: u64| scaled(figure, stats.calls, timed);
    let all = sum(untraced.all);
    let share = |weight: u64| weight as f64 / all.max(1) as f64;
    let weight = untraced.weight(stats.call);
    let known = match all {
        0 => wilson(0, 0),
        all => wilson_of(share(weight), (all as f64).powi(2) / squares(untraced.all).max(1) as f64),
    };
    let of_pauses = |share: f64| (share * sliced.untraced_ns as f64) as Ns;
    let by_samples = (of_pauses(known.lo), of_pauses(known.hi));
    let more_ns = match timed {
        0 => of_pauses(share(weight)),
        // As long as those that were timed, within what samples allow.
        _ => (scaled(stats.cpu_ns) - stats.cpu_ns).clamp(by_samples.0, by_samples.1),
    };
    row.cpu_ns = stats.cpu_ns + more_ns;
    row.total_ns = stats.total_ns + more_ns + untraced.waited_ns(stats.call);
    row.timed = Some(TimedCalls {
        calls: timed,
        lo_ns: stats.cpu_ns + by_samples.0,
        hi_ns: stats.cpu_ns + by_samples.1,
    });
    if let Seen::Value(results) = &mut row.results {
        results.repeats = results.repeats.filter(|_| timed > 0).map(scaled);
        // Those of paths are of all calls already.
    }
}

/// How many calls of a kind there were somewhere, where this many of them were timed: as many as
/// in the whole tree.
pub(crate) fn counted(trailer: &Trailer, call: Call, timed: u64) -> u64 {
    let Seen::Value(calls) = &trailer.calls else { return timed };
    let stats = calls.iter().find(|stats| stats.call == call);
    match stats.and_then(|stats| Some((stats.calls, stats.timed?))) {
        Some((calls, of)) if of > 0 => scaled(timed, calls, of),
        _ => timed,
    }
}

/// A figure of this many calls, for all of them.
fn scaled(figure: u64, all: u64, of: u64) -> u64 {
    (u128::from(figure) * u128::from(all) / u128::from(of.max(1))) as u64
}

/// Scales a row of the table. A row that cannot be scaled keeps the traced count as its lower
/// bound.
pub(crate) fn scale(row: &mut CallRow, stats: &CallStats, sliced: &Sliced) {
    let call = sliced.calls.iter().find(|call| call.call == stats.call);
    let Some(estimate) = call.and_then(|call| estimate(call, stats.calls, sliced)) else {
        row.estimate = Some(Estimate { seen: stats.calls, calls: stats.calls, lo: stats.calls, hi: None });
        return;
    };
    let scaled = |figure: u64| scaled(figure, estimate.calls, estimate.seen);
    row.errors = scaled(row.errors);
    row.total_ns = scaled(row.total_ns);
    row.cpu_ns = scaled(row.cpu_ns);
    if let Seen::Value(results) = &mut row.results {
        results.bytes = results.bytes.map(scaled);
        results.zeros = scaled(results.zeros);
        results.repeats = results.repeats.map(scaled);
        results.sizes.iter_mut().for_each(|(_, calls)| *calls = scaled(*calls));
        results.errors.iter_mut().for_each(|error| error.calls = scaled(error.calls));
        if let Some(paths) = &mut results.paths {
            paths.again = scaled(paths.again);
            paths.again_failed = scaled(paths.again_failed);
            for path in &mut paths.most {
                (path.again, path.again_failed) = (scaled(path.again), scaled(path.again_failed));
            }
        }
    }
    row.calls = estimate.calls;
    row.estimate = Some(estimate);
}

/// How many calls the tree made, at most as far as is known.
pub(crate) fn calls(trailer: &Trailer) -> u64 {
    let Seen::Value(counted) = &trailer.calls else { return 0 };
    let most = |stats: &CallStats| {
        let Some(sliced) = trailer.sliced.as_ref().filter(|sliced| !sliced.counted) else {
            return stats.calls;
        };
        let call = sliced.calls.iter().find(|call| call.call == stats.call);
        let estimate = call.and_then(|call| estimate(call, stats.calls, sliced));
        let by_time = || {
            // Before windows all were traced.
            let before = call.map_or(0, |call| call.before);
            let all_ns = u128::from(sliced.traced_ns + sliced.untraced_ns);
            let since = u128::from(stats.calls.saturating_sub(before));
            before + (since * all_ns / u128::from(sliced.traced_ns.max(1))) as u64
        };
        estimate.and_then(|estimate| estimate.hi).unwrap_or_else(by_time)
    };
    counted.iter().map(most).sum()
}

/// The reason in the coverage.
pub(crate) fn why(sliced: &Sliced) -> String {
    let all = sliced.traced_ns + sliced.untraced_ns;
    let share = 100.0 * sliced.traced_ns as f64 / all.max(1) as f64;
    let told = match sliced.counted {
        true => "all calls are counted; between windows their time is sampled",
        false => "figures are estimates or lower bounds",
    };
    format!(
        "traced for {share:.1} % of the CPU time ({} windows) to stay within --max-overhead; {told}",
        sliced.slices
    )
}

/// What gives more.
pub(crate) fn remedy(sliced: &Sliced) -> &'static str {
    match sliced.counted {
        true => "--max-overhead none (times every call, at a higher overhead)",
        false => "--max-overhead none (exact counts, at a higher overhead)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::split::{Kind, one};
    use model::recording::SampleMode;
    use model::syscall_rows::{ErrorRow, PathsRow, ResultsRow};

    /// 100 ms outside windows, of which the samples in calls have 3 of 4.
    #[test]
    fn all_were_counted_and_their_time_is_that_of_those_timed_within_what_samples_allow() {
        let sliced = Sliced {
            since: 0,
            slices: 9,
            traced_ns: 5_000_000,
            pauses: 9,
            paused_ns: [0; 3],
            paused_squares: 0.0,
            untraced_ns: 100_000_000,
            random: true,
            counted: true,
            calls: Vec::new(),
        };
        let stats = |timed, cpu_ns| CallStats {
            call: Call(0),
            calls: 100_000,
            errors: 17,
            timed: Some(timed),
            total_ns: cpu_ns,
            cpu_ns,
            max_ns: 9,
            histogram: Vec::new(),
            results: None,
        };
        let mut untraced = Untraced::default();
        for _ in 0..300 {
            untraced.sampled(SampleMode::Call(Call(0)), one(Kind::Call, 1));
        }
        (0..100).for_each(|_| untraced.sampled(SampleMode::User, one(Kind::User, 1)));
        untraced.waited(Call(0), 7_000_000);
        let row = |stats: &CallStats| {
            let mut row = CallRow {
                name: "read".into(),
                calls: stats.calls,
                errors: stats.errors,
                total_ns: stats.total_ns,
                cpu_ns: stats.cpu_ns,
                p50_ns: Seen::Value(1),
                p99_ns: Seen::Value(2),
                max_ns: Seen::Value(9),
                results: Seen::Absent,
                timed: None,
                estimate: None,
            };
            complete(&mut row, stats, &sliced, &untraced);
            let timed =
                row.timed.map(|timed| (timed.calls, timed.lo_ns / 1_000_000, timed.hi_ns / 1_000_000));
            (row.calls, row.errors, row.cpu_ns, row.total_ns, timed)
        };
        // 800 ns each, as the samples say: 76 ms of the rest.
        let timed = Some((5000, 74, 82));
        assert_eq!(row(&stats(5000, 4_000_000)), (100_000, 17, 80_000_000, 87_000_000, timed));
        // Those that were timed were longer than the rest can have been.
        let (_, _, cpu_ns, ..) = row(&stats(5000, 8_000_000));
        assert!((86_000_000..88_000_000).contains(&cpu_ns), "{cpu_ns}");
        // None was timed.
        assert_eq!(row(&stats(0, 0)).2, 75_000_000);
        // All were: nothing is an estimate.
        assert_eq!(row(&stats(100_000, 8_000_000)), (100_000, 17, 8_000_000, 8_000_000, None));
    }

    #[test]
    fn counts_are_scaled_by_cpu_time() {
        // 100,000 before; sixteen windows of 5 ms with 2,500 calls each, which stand for 45 ms
        // with 22,500.
        let [x, y] = [45.0, 22_500.0];
        let call = SlicedCall {
            call: Call(0),
            before: 100_000,
            calls: 40_000,
            filled: 16.0 * y,
            squares: 16.0 * y * y,
            cross: 16.0 * x * y,
            worst: 0.0,
        };
        let mut sliced = Sliced {
            since: 0,
            slices: 16,
            traced_ns: 80_000_000,
            pauses: 16,
            paused_ns: [720_000_000, 900_000_000, 360_000_000],
            paused_squares: 16.0 * x * x,
            untraced_ns: 720_000_000,
            random: true,
            counted: false,
            calls: vec![call],
        };
        let stats = CallStats {
            call: Call(0),
            calls: 140_000,
            errors: 14,
            timed: None,
            total_ns: 1_400_000,
            cpu_ns: 140_000,
            max_ns: 9,
            histogram: Vec::new(),
            results: None,
        };
        let results = ResultsRow {
            bytes: Some(140_000),
            sizes: vec![(1, 140_000)],
            zeros: 28,
            repeats: Some(42),
            errors: vec![ErrorRow { errno: 11, name: None, calls: 14 }],
            paths: Some(PathsRow { sample: 7, again: 14_000, again_failed: 14, most: Vec::new() }),
        };
        let unscaled = CallRow {
            name: "read".into(),
            calls: stats.calls,
            errors: stats.errors,
            total_ns: stats.total_ns,
            cpu_ns: stats.cpu_ns,
            p50_ns: Seen::Value(1),
            p99_ns: Seen::Value(2),
            max_ns: Seen::Value(9),
            results: Seen::Value(results),
            timed: None,
            estimate: None,
        };
        let mut row = unscaled.clone();
        scale(&mut row, &stats, &sliced);
        assert_eq!((row.calls, row.errors, row.total_ns), (500_000, 50, 5_000_000));
        let results = row.results.value().unwrap();
        assert_eq!((results.bytes, results.zeros, results.repeats), (Some(500_000), 100, Some(150)));
        assert_eq!((results.sizes[0], results.errors[0].calls), ((1, 500_000), 50));
        let paths = results.paths.as_ref().unwrap();
        assert_eq!((paths.sample, paths.again, paths.again_failed), (7, 50_000, 50));
        let estimate = row.estimate.unwrap();
        assert_eq!((estimate.seen, estimate.lo, estimate.hi), (140_000, 428_000, Some(860_000)));
        assert!(why(&sliced).contains("10.0 % of the CPU time (16 windows)"), "{}", why(&sliced));

        // A few windows, and windows whose pauses followed from what the last had.
        sliced.random = false;
        let few = Sliced { random: true, pauses: 11, ..sliced.clone() };
        for sliced in [sliced, few] {
            let mut row = unscaled.clone();
            scale(&mut row, &stats, &sliced);
            let least = Estimate { seen: 140_000, calls: 140_000, lo: 140_000, hi: None };
            assert_eq!((row.calls, row.errors, row.estimate), (140_000, 14, Some(least)));
        }
    }
}
