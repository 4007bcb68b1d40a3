//! Windows of programs of which all is known. Where the kernel does not time the programs, a traced
//! call takes 200 ns, at least 90 and at most 290.

use super::super::runs::{TimedRuns, around};
use super::*;

const MS: Ns = 1_000_000;

fn ran(calls: u64) -> InstrumentRuns {
    InstrumentRuns { calls, counted: calls, ..InstrumentRuns::default() }
}

fn counts(calls: u64) -> Vec<CallStats> {
    let (total_ns, cpu_ns, max_ns) = (0, 0, 0);
    let (histogram, results) = (Vec::new(), None);
    let timed = Some(calls);
    vec![CallStats { call: Call(0), calls, errors: 0, timed, total_ns, cpu_ns, max_ns, histogram, results }]
}

#[test]
fn few_calls_and_calls_without_a_bound_stay_exact() {
    let mut slices = Slices::new(MaxOverhead::All(0.05));
    assert_eq!(slices.turn(10 * MS, ran(20_000), 10 * MS, || counts(0)), None);
    // Many, and long ones.
    assert_eq!(slices.turn(1000 * MS, ran(100_000), 1000 * MS, || counts(0)), None);
    let mut unbound = Slices::new(MaxOverhead::Unbounded);
    assert_eq!(unbound.turn(10 * MS, ran(1_000_000), 10 * MS, || counts(0)), None);
    assert!(slices.exact() && unbound.exact());
}

#[test]
fn many_short_ones_are_seen_in_slices_and_the_sums_add_up() {
    let mut slices = Slices::new(MaxOverhead::All(0.05));
    // 2 million a second: 40 % of the time.
    assert_eq!(slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000)), Some(Depth::Nothing));
    let on = slices.next().unwrap();
    assert_eq!(slices.turn(on, ran(40_000), on, || counts(40_000)), Some(Depth::Everything));
    // 1,000 while it was attached.
    slices.begun(on, ran(41_000), on, &counts(41_000));
    let off = slices.next().unwrap();
    assert_eq!(off, on + SLICE_NS);
    // 10,000 calls are 2 ms of tracing: it goes on until 2 ms are the program's own.
    assert_eq!(slices.turn(off, ran(51_000), off, || counts(51_000)), None);
    assert_eq!(slices.next(), Some(off + LOOK_NS));
    // It stands for nothing; in the one that follows calls are counted, at 45, 20 and 85 ns.
    let off = on + 8 * MS;
    assert_eq!(slices.turn(off, ran(51_000), off, || counts(51_000)), Some(Depth::Counts));
    let counted = |calls: u64| InstrumentRuns { counted: calls, ..ran(51_000) };
    slices.counting_begun(off, counted(51_500), off, &counts(51_500));
    // It stands for the first pause.
    let skipped = slices.skipped_ns / 1e6;
    assert!((skipped - 18.0).abs() < 1e-6, "{skipped}");
    assert_eq!(slices.next(), Some(off + SLICE_NS));
    let end = off + 3 * MS;
    assert_eq!(slices.turn(end, counted(61_500), end, || counts(61_500)), Some(Depth::Nothing));
    let sums = slices.sums(on + 20 * MS).unwrap();
    assert_eq!((sums.slices, sums.untraced_ns), (1, on + 20 * MS - 20 * MS - 11 * MS));
    // 6 of 8 ms are left, and 2.55, 2.8 and 2.15 of 3.
    assert_eq!(sums.traced_ns, 6 * MS + 2_550_000);
    let stands_for = skipped / 2.55;
    let x = stands_for * 2.55;
    let ms = sums.paused_ns.map(|ns| (ns as f64 / 1e5).round() / 10.0);
    assert_eq!((sums.pauses, ms), (1, [2.55, 2.8, 2.15].map(|own| (stands_for * own * 10.0).round() / 10.0)));
    // The next one stands for a pause after 11 ms of which 2.45 are tracing.
    assert!((slices.skipped_ns / 1e6 - ((2.45 + 0.2) / 0.05 - 11.0)).abs() < 1e-6, "{}", slices.skipped_ns);
    let (call, y) = (&sums.calls[0], stands_for * 10_000.0);
    assert_eq!((call.before, call.calls, call.worst), (40_000, 20_000, 0.0));
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    assert!(near(call.filled, y) && near(call.squares, y * y) && near(call.cross, x * y), "{call:?}");
    // The next ones are counted only.
    for _ in 1..COUNTED_FOR_TRACED {
        let at = slices.next().unwrap();
        assert_eq!(slices.turn(at, counted(61_500), at, Vec::new), Some(Depth::Counts));
        slices.counting_begun(at, counted(61_500), at, &counts(61_500));
        let at = at + 3 * MS;
        assert_eq!(slices.turn(at, counted(61_500), at, || counts(61_500)), Some(Depth::Nothing));
    }
    let at = slices.next().unwrap();
    assert_eq!(slices.turn(at, counted(61_500), at, Vec::new), Some(Depth::Everything));
}

#[test]
fn a_window_costs_what_the_kernel_timed_in_it() {
    let own = |timed: bool| {
        let mut slices = Slices::new(MaxOverhead::BesideCounting(0.05));
        slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
        let on = slices.next().unwrap();
        slices.turn(on, ran(40_000), on, Vec::new);
        let at = |calls: u64, ns| InstrumentRuns {
            timed: timed.then_some(TimedRuns { pairs: calls, ns }),
            ..ran(calls)
        };
        slices.begun(on, at(40_000, 5 * MS), on, &counts(40_000));
        let off = on + 20 * MS;
        slices.turn(off, at(50_000, 13 * MS), off, || counts(50_000));
        slices.sums(off).unwrap().traced_ns
    };
    // Caches are cold: 800 ns of run time, and 100 around it.
    assert_eq!([true, false].map(own), [20 * MS - 10_000 * 900, 20 * MS - 10_000 * 200]);
}

#[test]
fn a_slice_in_which_there_was_no_time_for_its_calls_says_nothing() {
    let mut slices = Slices::new(MaxOverhead::BesideCounting(0.05));
    assert_eq!(slices.turn(0, ran(1_000_000), 10 * MS, || counts(1_000_000)), Some(Depth::Counts));
    let mut now = 1_000 * MS;
    assert_eq!(slices.turn(now, ran(1_000_000), 20 * MS, Vec::new), Some(Depth::Everything));
    slices.begun(now, ran(1_000_000), 20 * MS, &counts(1_000_000));
    // 10,000 calls and no time at all, as from a clock that was read too late at the beginning.
    now += 1_000 * MS;
    let skipped = slices.skipped_ns;
    slices.turn(now, ran(1_010_000), 20 * MS, || counts(1_010_000));
    let sums = slices.sums(0).unwrap();
    assert_eq!((sums.slices, sums.pauses), (0, 0));
    assert!(sums.calls.iter().all(|call| call.filled == 0.0), "{:?}", sums.calls);
    assert!(slices.skipped_ns >= skipped + 1e9, "the next one stands for it too");
}

#[test]
fn what_was_measured_decides_when_calls_cost_too_much_and_how_long_pauses_are() {
    let begins = |each: Option<EachNs>, attach_ms: u64| {
        let mut slices = Slices::new(MaxOverhead::All(0.02));
        if let Some(each) = each {
            slices.costs(each);
        }
        for _ in 0..50 {
            slices.switched(Depth::Everything, attach_ms * 3 * MS);
            slices.switched(Depth::Nothing, attach_ms * 3 * MS);
        }
        // 50,000 a second.
        let turn = slices.turn(1000 * MS, ran(50_000), 1000 * MS, || counts(50_000));
        (turn, slices.skipped_ns / 1e6)
    };
    assert_eq!(begins(None, 1), (None, 0.0), "1 % of the time");
    let cold = EachNs { call: 600.0, ..EachNs::TYPICAL };
    let (turn, pause) = begins(Some(cold), 1);
    assert_eq!(turn, Some(Depth::Counts), "3 %");
    // Both take 1 ms of a CPU: 2.06 ms are 2 %.
    assert!((pause - 101.0).abs() < 0.1, "{pause}");
    assert!((begins(Some(cold), 2).1 - 201.0).abs() < 0.1);
}

#[test]
fn calls_are_counted_between_windows_whatever_that_costs_or_as_long_as_the_bound_holds() {
    // 2 million a second: counting takes 9 % of the time.
    let first = |bound| {
        let mut slices = Slices::new(bound);
        let turn = slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
        (turn, slices.sums(20 * MS).map(|sums| (sums.counted, sums.calls.len())))
    };
    assert_eq!(first(MaxOverhead::BesideCounting(0.05)), (Some(Depth::Counts), Some((true, 0))));
    assert_eq!(first(MaxOverhead::All(0.05)), (Some(Depth::Nothing), Some((false, 1))));

    // 100,000 a second, which may be counted within 2 %, and then 2 million.
    let mut slices = Slices::new(MaxOverhead::All(0.02));
    let cold = EachNs { call: 600.0, ..EachNs::TYPICAL };
    slices.costs(cold);
    let turn = slices.turn(1000 * MS, ran(100_000), 1000 * MS, || panic!("counts are exact"));
    assert_eq!((turn, slices.attached()), (Some(Depth::Counts), Some((0, 100_000))));
    let on = slices.next().unwrap();
    let counted = InstrumentRuns { counted: 900_000, ..ran(100_000) };
    assert_eq!(slices.turn(on, counted, 1400 * MS, || counts(900_000)), Some(Depth::Nothing));
    assert!(slices.next().unwrap() >= on, "a pause begins");
    let sums = slices.sums(1400 * MS).unwrap();
    assert_eq!((sums.counted, sums.since, sums.untraced_ns), (false, on, 0));
    assert_eq!((sums.calls[0].before, sums.calls[0].calls), (900_000, 0), "up to here counts are exact");
}

#[test]
fn what_own_calls_took_says_what_entering_the_programs_takes() {
    let mut slices = Slices::new(MaxOverhead::BesideCounting(0.05));
    // 377 ns, of which 40 to 115 are the programs'.
    slices.around(around(377.5));
    slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
    let on = slices.next().unwrap();
    slices.turn(on, ran(40_000), on, Vec::new);
    let at = |calls: u64, ns| InstrumentRuns { timed: Some(TimedRuns { pairs: calls, ns }), ..ran(calls) };
    slices.begun(on, at(40_000, 5 * MS), on, &counts(40_000));
    let off = on + 20 * MS;
    slices.turn(off, at(50_000, 7 * MS), off, || counts(50_000));
    // 200 ns of run time, and 300 around it.
    assert_eq!(slices.sums(off).unwrap().traced_ns, 20 * MS - 10_000 * 500);
}

/// A program in CPU time: how many calls it has made after this many of its own milliseconds. It
/// sleeps for so long after every `each` of them. Gives the sums of its recording.
fn simulated(calls: impl Fn(f64) -> u64, sleeps: (f64, f64), whole_ms: f64, seed: Ns) -> Sliced {
    const COST: f64 = 200e-6;
    const COUNT_COST: f64 = 45e-6;
    let mut slices = Slices::new(MaxOverhead::All(0.02));
    let (mut own, mut now, mut traced, mut depth) = (0.0, seed as f64 / 1e6, 0, Depth::Everything);
    let (each, sleep) = sleeps;
    let (start, mut slept, mut counted) = (now, 0.0, 0);
    while own < whole_ms {
        let was = calls(own);
        now += 0.1;
        if slept < (own / each).floor() * sleep {
            slept += 0.1;
        } else {
            own += 0.1;
        }
        let more = calls(own) - was;
        match depth {
            Depth::Nothing => {}
            Depth::Counts => {
                counted += more;
                now += more as f64 * COUNT_COST;
            }
            Depth::Everything => {
                (traced, counted) = (traced + more, counted + more);
                now += more as f64 * COST;
            }
        }
        let ran = InstrumentRuns { counted, ..ran(traced) };
        let (at, busy) = ((now * 1e6) as Ns, ((now - start - slept) * 1e6) as Ns);
        if slices.next().is_some_and(|next| at < next) {
            continue;
        }
        let Some(turn) = slices.turn(at, ran, busy, || counts(counted)) else { continue };
        depth = turn;
        match depth {
            Depth::Everything => slices.begun(at, ran, busy, &counts(counted)),
            Depth::Counts if slices.counts_in_window() => {
                slices.counting_begun(at, ran, busy, &counts(counted));
            }
            Depth::Counts | Depth::Nothing => {}
        }
    }
    slices.sums(((now - start - slept) * 1e6) as Ns).unwrap()
}

fn estimated(sums: &Sliced) -> f64 {
    let call = &sums.calls[0];
    let rate = call.filled / (sums.paused_ns[0] as f64 / 1e6);
    (call.before + call.calls) as f64 + rate * sums.untraced_ns as f64 / 1e6
}

/// Busy phases end in the pauses that they make long: windows that begin at fixed times after
/// them would see quiet ones.
#[test]
fn bursts_and_steady_calls_are_estimated_without_bias() {
    let rounds = |length: f64, busy: f64| {
        move |ms: f64| {
            let whole = (ms / length).floor();
            ((whole * busy + (ms - whole * length).min(busy)) * 2000.0) as u64
        }
    };
    let never = (f64::INFINITY, 0.0);
    // The last sleeps 90 ms after each burst.
    for (length, busy, sleeps) in [
        (100.0, 100.0, never),
        (100.0, 20.0, never),
        (57.0, 10.0, never),
        (330.0, 100.0, never),
        (10.0, 10.0, (10.0, 90.0)),
    ] {
        let calls = rounds(length, busy);
        let truth = calls(6000.0) as f64;
        let all: Vec<f64> = (1..=40)
            .map(|seed| estimated(&simulated(calls, sleeps, 6000.0, seed * 1_234_567)) / truth)
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let spread = all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (all.len() - 1) as f64;
        let error = (spread / all.len() as f64).sqrt();
        assert!((mean - 1.0).abs() < 0.02 + 3.0 * error, "{length} {busy}: {mean} {error}");
    }
}

#[test]
fn a_slice_that_has_not_begun_when_the_recording_ends_counts_for_nothing() {
    let mut slices = Slices::new(MaxOverhead::All(0.05));
    slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
    let on = slices.next().unwrap();
    assert_eq!(slices.turn(on, ran(40_000), on, Vec::new), Some(Depth::Everything));
    assert!(slices.in_slice());
    let sums = slices.sums(on + 10 * MS).unwrap();
    assert_eq!((sums.slices, sums.pauses, sums.calls[0].calls), (0, 0, 0));
}

#[test]
fn counts_are_not_read_while_the_tree_sleeps_and_attaching_is_tried_again() {
    let mut slices = Slices::new(MaxOverhead::All(0.05));
    assert!(!slices.may_have_ended(0, 0), "no window");
    slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
    let at = slices.next().unwrap();
    slices.turn(at, ran(40_000), at, || counts(40_000));
    let skipped = slices.skipped_ns;
    slices.failed(at);
    assert_eq!((slices.next(), slices.skipped_ns), (Some(at + RETRY_NS), skipped + RETRY_NS as f64));
    let at = at + RETRY_NS;
    assert_eq!(slices.turn(at, ran(40_000), 20 * MS, || counts(40_000)), Some(Depth::Everything));
    slices.begun(at, ran(40_000), 20 * MS, &counts(40_000));
    assert!(!slices.may_have_ended(at + SLICE_NS, 21 * MS));
    assert_eq!(slices.next(), Some(at + SLICE_NS + LOOK_NS));
    assert!(slices.may_have_ended(at + 3 * MS, 22 * MS));
    assert!(slices.may_have_ended(at + SLICE_NS_MAX, 20 * MS));
}

#[test]
fn when_it_becomes_quiet_there_is_no_pause() {
    let mut slices = Slices::new(MaxOverhead::BesideCounting(0.05));
    slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
    let at = slices.next().unwrap();
    slices.turn(at, ran(40_000), at, || counts(40_000));
    slices.begun(at, ran(40_000), at, &counts(40_000));
    let end = slices.next().unwrap();
    assert_eq!(slices.turn(end, ran(40_010), end, || counts(40_010)), None);
    assert_eq!(slices.next(), Some(end + SLICE_NS));
    assert_eq!(slices.attached(), Some((1, 40_000)), "the second one costs nothing");
}
