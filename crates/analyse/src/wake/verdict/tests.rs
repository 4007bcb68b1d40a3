//! Verdicts on runs with a known answer.

use crate::wake::tests::{measured, thread};
use crate::wake::{too_short, wakeups};
use model::wake::load::{Load, LoadDone};
use model::wake::verdict::{Answer, Deadline, Verdict};
use model::wake::{LatencyBlock, WakeMeasurements, WakeMode};
use model::{Ns, Seen};

const SECOND: Ns = 1_000_000_000;

fn deadline(us: u64, one_in_ns: Ns) -> Deadline {
    Deadline { deadline_ns: us * 1_000, margin: 0.2, confidence: 0.95, one_in_ns }
}

fn judged(mut of: WakeMeasurements, deadline: Deadline) -> Verdict {
    of.asked.deadline = Some(deadline);
    match wakeups(&of).verdict {
        Seen::Value(verdict) => verdict,
        other => panic!("{other:?}"),
    }
}

/// Latencies of a quiet machine: about 5 us, up to 18 or so in a minute at 1 kHz.
fn quiet(seed: u64, cycles: usize) -> Vec<Ns> {
    let mut random = stats::Random::new(seed);
    (0..cycles).map(|_| 4_000 + (-1_000.0 * random.uniform().ln()) as Ns).collect()
}

#[test]
fn no_deadline_no_verdict() {
    assert_eq!(wakeups(&measured(vec![thread(1, &[5])])).verdict, Seen::Absent);
}

#[test]
fn clean_and_long_enough_is_a_pass() {
    // A minute: at 95 % one in 20 s.
    let verdict = judged(measured(vec![thread(1, &quiet(1, 60_000))]), deadline(125, 20 * SECOND));
    assert_eq!((verdict.answer, verdict.limit_ns, verdict.beyond), (Answer::Pass, 100_000, 0));
    assert!((verdict.exceedance_bound * 60_000.0 - 2.995_7).abs() < 0.001, "{}", verdict.exceedance_bound);
    assert!(verdict.one_in_ns.abs_diff(20_028_000_000) < 2_000_000, "{}", verdict.one_in_ns);
    assert_eq!(verdict.run_more_ns, Seen::Absent);
    let said = "none of 60,000 wake-ups exceeded 100 us (the deadline of 125 us less 20 %): with 95 % \
                confidence fewer than one in 20.0 s; the maximum of 10.0 min is estimated at ";
    assert!(verdict.why.starts_with(said), "{}", verdict.why);
    let extreme = verdict.extreme.value().unwrap();
    assert_eq!(extreme.for_ns, 600 * SECOND);
    // The median of the largest of 600,000: 4 + ln(6e5 / ln 2) is 17.7 us.
    assert!(extreme.lo_ns < 17_700 && extreme.hi_ns.unwrap() > 17_700, "{extreme:?}");
}

/// The advice is sufficient: without a late wake-up it gives a pass.
#[test]
fn a_deadline_that_cannot_be_passed_in_time_is_known_before() {
    let mut of = measured(vec![thread(1, &quiet(1, 60_000))]);
    of.asked.deadline = Some(deadline(125, 3_600 * SECOND));
    let note = too_short(&of.asked).unwrap();
    assert!(note.contains("a pass needs 3.00 h without a late wake-up"), "{note}");
    assert!(note.ends_with("\ntry: --for 182m, or --one-in 19s"), "{note}");
    assert_eq!(judged(of.clone(), deadline(125, 19 * SECOND)).answer, Answer::Pass);
    of.asked.deadline = Some(deadline(125, 19 * SECOND));
    assert_eq!(too_short(&of.asked), None);
    of.asked.deadline = Some(deadline(125, 3_600 * SECOND));
    of.asked.for_ns = 182 * 60 * SECOND;
    assert_eq!(too_short(&of.asked), None);
    of.asked.for_ns = SECOND;
    of.asked.mode = WakeMode::Gap;
    assert_eq!(too_short(&of.asked), None);
}

#[test]
fn clean_but_too_short_is_undecided_and_says_how_much_more() {
    let verdict = judged(measured(vec![thread(1, &quiet(1, 60_000))]), deadline(125, 3_600 * SECOND));
    assert_eq!(verdict.answer, Answer::Undecided);
    assert!(
        verdict.why.contains(
            "with 95 % confidence fewer than one in 20.0 s, but fewer than one in 60.0 min is required"
        ),
        "{}",
        verdict.why
    );
    let more = *verdict.run_more_ns.value().unwrap();
    // Three hours less the minute that was run.
    assert!((more as f64 / SECOND as f64 - (2.995_73 * 3_600.0 - 60.0)).abs() < 1.0, "{more}");
}

#[test]
fn running_as_much_more_as_it_says_is_enough_and_less_is_not() {
    let goal = deadline(125, 2 * SECOND);
    let first = judged(measured(vec![thread(1, &[5_000; 1_000])]), goal);
    let more = *first.run_more_ns.value().unwrap() as usize / 1_000_000;
    let again = |cycles| judged(measured(vec![thread(1, &vec![5_000; cycles])]), goal).answer;
    assert_eq!((again(1_000 + more), again(1_000 + more - 3)), (Answer::Pass, Answer::Undecided));
}

#[test]
fn a_machine_exactly_at_the_limit_passes_in_one_case_of_twenty() {
    // One late wake-up per second, which is also the limit: a run of 3 s, the shortest that can
    // pass.
    let passed = (0..400).filter(|seed| {
        let mut random = stats::Random::new(*seed);
        let late: Vec<Ns> =
            (0..3_000).map(|_| if random.uniform() < 0.001 { 200_000 } else { 5_000 }).collect();
        judged(measured(vec![thread(1, &late)]), deadline(125, SECOND)).answer == Answer::Pass
    });
    let passed = passed.count();
    assert!((6..=36).contains(&passed), "{passed} of 400, expected 20");
}

#[test]
fn one_late_wake_up_is_a_fail_and_is_counted_exactly() {
    let mut late = quiet(2, 30_000);
    late[7_000] = 140_000;
    let verdict =
        judged(measured(vec![thread(1, &quiet(3, 30_000)), thread(3, &late)]), deadline(125, SECOND));
    assert_eq!((verdict.answer, verdict.beyond), (Answer::Fail, 1));
    assert_eq!(
        verdict.why,
        "1 of 60,000 wake-ups exceeded 100 us (the deadline of 125 us less 20 %), on CPU 3: maximum latency 140 us"
    );
    let answers: Vec<_> = verdict.of_processor.iter().map(|one| (one.cpu, one.answer)).collect();
    assert_eq!(answers, [(Some(1), Answer::Pass), (Some(3), Answer::Fail)]);
    // Clopper and Pearson: 4.74 / trials.
    assert!((verdict.exceedance_bound * 30_000.0 - 4.743_5).abs() < 0.001, "{}", verdict.exceedance_bound);
    assert_eq!(verdict.run_more_ns, Seen::Absent);
}

#[test]
fn within_the_deadline_but_not_the_margin_is_a_fail_that_says_so() {
    let verdict = judged(measured(vec![thread(1, &[5_000, 110_000])]), deadline(125, 1));
    assert_eq!(verdict.answer, Answer::Fail);
    assert!(
        verdict.why.ends_with("maximum latency 110 us, within the deadline but not the margin"),
        "{}",
        verdict.why
    );
}

#[test]
fn the_limit_itself_is_met_although_its_bin_reaches_beyond() {
    // 100,000 is in the bin up to 100,352.
    let verdict = judged(measured(vec![thread(1, &[100_000; 10_000])]), deadline(125, 1));
    assert_eq!((verdict.answer, verdict.beyond), (Answer::Pass, 0));
    let verdict = judged(measured(vec![thread(1, &[100_001; 10])]), deadline(125, 1));
    assert_eq!((verdict.answer, verdict.beyond), (Answer::Fail, 10));
}

#[test]
fn the_cpu_with_the_fewest_cycles_decides() {
    let verdict = judged(
        measured(vec![thread(1, &quiet(4, 60_000)), thread(2, &quiet(5, 3_000))]),
        deadline(125, 10 * SECOND),
    );
    assert_eq!((verdict.answer, verdict.cycles), (Answer::Undecided, 63_000));
    assert!(verdict.one_in_ns < 2 * SECOND && verdict.why.contains("per CPU"), "{}", verdict.why);
    let none = judged(measured(vec![thread(1, &quiet(4, 60_000)), thread(2, &[])]), deadline(125, SECOND));
    assert_eq!((none.answer, none.exceedance_bound), (Answer::Undecided, 1.0));
}

#[test]
fn an_expected_maximum_beyond_the_deadline_is_no_pass() {
    // Clean, but ten times the run gets as far as 17.7 us.
    let tight = Deadline { margin: 0.0, ..deadline(16, SECOND) };
    let late: Vec<Ns> = quiet(1, 60_000).into_iter().map(|ns| ns.min(15_900)).collect();
    let verdict = judged(measured(vec![thread(1, &late)]), tight);
    let expected = verdict.extreme.value().unwrap().max_ns;
    if expected > 16_000 {
        assert_eq!(verdict.answer, Answer::Undecided);
        assert!(matches!(&verdict.run_more_ns, Seen::Unseen(why) if why.contains("higher maximum")));
        assert!(verdict.why.contains("beyond the deadline"), "{}", verdict.why);
    } else {
        panic!("{expected}: the sample does not exceed the deadline");
    }
}

fn done(load: Load, ran_ns: Ns, mismatches_total: u64) -> LoadDone {
    LoadDone {
        load,
        ran_ns,
        done: 1,
        unit: String::new(),
        cpu_ns: 1,
        mismatches: Vec::new(),
        mismatches_total,
        failures: Vec::new(),
        limits: Vec::new(),
    }
}

/// A minute of quiet under two loads, which did this.
fn loaded(done: Vec<LoadDone>) -> Verdict {
    let mut of = measured(vec![thread(1, &quiet(1, 60_000))]);
    of.asked.loads = vec![Load::Cpu { threads: 2 }, Load::Memory { threads: 1, bytes: 1 << 20 }];
    of.loads = done;
    judged(of, deadline(125, 20 * SECOND))
}

#[test]
fn a_failed_load_is_no_pass_and_is_named() {
    let cpu = |ran_ns| done(Load::Cpu { threads: 2 }, ran_ns, 0);
    // A reduced size.
    let memory = |ran_ns, wrong| done(Load::Memory { threads: 1, bytes: 4096 }, ran_ns, wrong);
    let held = loaded(vec![cpu(61 * SECOND), memory(60 * SECOND, 0)]);
    assert_eq!((held.answer, &held.run_more_ns), (Answer::Pass, &Seen::Absent));
    for (did, why) in [
        (vec![memory(61 * SECOND, 0)], "load cpu has no result; none of 60,000 "),
        (
            vec![cpu(61 * SECOND), memory(3 * SECOND, 0)],
            "load memory ended after 3.00 s of 60.0 s; none of 60,000 ",
        ),
        (
            vec![cpu(61 * SECOND), memory(61 * SECOND, 2)],
            "load memory read back other data than it had written: this machine is not reliable; none \
             of 60,000 ",
        ),
        (
            vec![cpu(61 * SECOND), LoadDone { failures: vec!["no room".into()], ..memory(61 * SECOND, 0) }],
            "a worker of load memory ended early; none of 60,000 ",
        ),
    ] {
        let verdict = loaded(did);
        assert_eq!(verdict.answer, Answer::Undecided, "{why}");
        assert!(verdict.why.starts_with(why), "{}", verdict.why);
        assert!(matches!(&verdict.run_more_ns, Seen::Unseen(why) if why.contains("the load")));
    }
}

#[test]
fn a_short_last_block_is_no_block_but_its_maximum_counts() {
    // 39 whole ones and half of one.
    let verdict = judged(measured(vec![thread(1, &quiet(6, 39_500))]), deadline(125, 1));
    assert_eq!(verdict.extreme, Seen::unseen("at least 40 blocks needed, 39 measured"));
    let verdict = judged(measured(vec![thread(1, &quiet(6, 40_000))]), deadline(125, 1));
    assert!(verdict.extreme.value().is_some(), "{:?}", verdict.extreme);
    let block = |at: u64, cycles, max_ns| LatencyBlock { at_ns: at * SECOND, cycles, max_ns };
    let timeline = [block(0, 9, 5), block(1, 9, 4), block(2, 1, 90)];
    assert_eq!(super::maxima(&timeline, 2_500_000_000), [5.0, 90.0]);
    // The stall itself makes the last one poor in wake-ups: it is whole all the same.
    assert_eq!(super::maxima(&timeline, 3 * SECOND), [5.0, 4.0, 90.0]);
}

#[test]
fn a_block_without_a_wake_up_has_no_maximum() {
    let block = |at: u64, cycles, max_ns| LatencyBlock { at_ns: at * SECOND, cycles, max_ns };
    let timeline = [block(0, 9, 5), block(1, 0, 0), block(2, 9, 7)];
    assert_eq!(super::maxima(&timeline, 3 * SECOND), [5.0, 7.0]);
    assert_eq!(super::maxima(&[], SECOND), [0.0; 0]);
}

#[test]
fn blocks_of_a_few_wake_ups_give_no_estimate() {
    let mut of = measured(vec![thread(1, &quiet(6, 60))]);
    of.threads[0].blocks = (0..60)
        .map(|at| LatencyBlock { at_ns: at * SECOND, cycles: 1, max_ns: 5_000 + at * 37 % 60 })
        .collect();
    of.took_ns = 60 * SECOND;
    let verdict = judged(of, deadline(125, 1));
    assert_eq!(verdict.extreme, Seen::unseen("at least 30 values per block needed, about 1 measured"));
}

#[test]
fn nothing_measured_is_undecided() {
    let verdict = judged(measured(vec![thread(1, &[])]), deadline(125, SECOND));
    assert_eq!((verdict.answer, verdict.why.as_str()), (Answer::Undecided, "no wake-up was measured"));
    let verdict = judged(measured(Vec::new()), deadline(125, SECOND));
    assert_eq!((verdict.answer, verdict.exceedance_bound), (Answer::Undecided, 1.0));
}

#[test]
fn a_cpu_without_a_wake_up_never_passes() {
    // The bound is 1, and one per interval is within what is required.
    let goal = deadline(125, 1_000_000);
    for threads in [vec![thread(1, &[])], vec![thread(1, &quiet(1, 60_000)), thread(2, &[])]] {
        let verdict = judged(measured(threads), goal);
        assert_eq!(verdict.answer, Answer::Undecided);
        assert_eq!(verdict.of_processor.last().unwrap().answer, Answer::Undecided);
    }
    let mut asleep = measured(vec![thread(1, &[])]);
    asleep.took_ns = 10 * SECOND;
    // Some milliseconds, at the nominal rate: without a cycle there is no other.
    assert!(judged(asleep, goal).run_more_ns.value().is_some_and(|ns| *ns < 60_000_000));
    let verdict = judged(measured(vec![thread(1, &[5_000; 10]), thread(2, &[])]), goal);
    assert!(verdict.why.ends_with("but CPU 2 had no wake-up"), "{}", verdict.why);
}

#[test]
fn a_busy_loop_is_judged_by_time() {
    let mut gap = measured(vec![thread(1, &[100; 100_000])]);
    gap.asked.mode = WakeMode::Gap;
    gap.took_ns = 10_000_000;
    // 100,000 readings in 10 ms: at 95 % one in 3.34 ms.
    let verdict = judged(gap, deadline(125, 3_000_000));
    assert_eq!(verdict.answer, Answer::Pass);
    assert!(verdict.one_in_ns.abs_diff(3_338_000) < 1_000, "{}", verdict.one_in_ns);
}

#[test]
fn pauses_of_busy_loops_are_not_measured_but_take_time() {
    // Gaps of 100 and 101 ns: 10.05 ms, in which it paused as long again.
    let mut late = vec![100; 50_000];
    late.resize(100_000, 101);
    let mut gap = measured(vec![thread(1, &late)]);
    gap.asked.mode = WakeMode::Gap;
    gap.took_ns = 20_100_000;
    // 100.5 ns / (3 / 100,000).
    let verdict = judged(gap.clone(), deadline(125, 3_000_000));
    assert!(verdict.one_in_ns.abs_diff(3_354_800) < 1_000, "{}", verdict.one_in_ns);
    let verdict = judged(gap, deadline(125, 6_709_600));
    // The same time again, pauses included.
    let more = *verdict.run_more_ns.value().unwrap();
    assert!(more.abs_diff(20_100_000) < 10_000, "{more}");
}
