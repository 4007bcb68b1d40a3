//! Pairs of which all is known.

use super::*;
use model::compare::Side;
use model::compare::commands::{PercentileChange, PercentileFound};
use model::recording::Ending;
use model::timing::Figure;
use stats::Random;

const MS: f64 = 1e6;

fn settings(pairs: Option<u32>) -> CompareSettings {
    CompareSettings {
        on: Figure::Wall,
        metric: None,
        margin: 0.01,
        alpha: 0.05,
        warmup: 1,
        pairs,
        for_ns: None,
        shell: None,
        seed: 1,
    }
}

fn run(command: u32, block: u32, place: u32, wall_ns: f64) -> TimedRun {
    TimedRun {
        command,
        block,
        place,
        began_ns: u64::from(block) * 20_000_000 + u64::from(place) * 10_000_000,
        wall_ns: wall_ns as Ns,
        user_ns: 0,
        kernel_ns: 0,
        minor_faults: 100,
        major_faults: 0,
        voluntary_switches: 1,
        involuntary_switches: 0,
        memory_bytes: 1 << 20,
        memory_at_most: false,
        ending: Ending::Code(0),
        left_behind: 0,
        stopped: false,
        steal_ns: Seen::Absent,
        others_cpu_ns: Seen::Absent,
        printed: Vec::new(),
        excluded: None,
    }
}

fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos()
}

/// Runs commands of these times with this noise, until it is decided or this many blocks are done.
fn compared(times_ms: &[f64], noise: f64, settings: CompareSettings, blocks: u32) -> Comparer {
    let mut random = Random::new(7);
    let most = settings.pairs.unwrap_or(blocks);
    let mut comparer = Comparer::new(settings, times_ms.len());
    for block in 0..=most {
        let turned = random.uniform() < 0.5;
        let runs: Vec<_> = times_ms
            .iter()
            .enumerate()
            .map(|(command, ms)| {
                let place = if turned { times_ms.len() - 1 - command } else { command };
                // The first block is cold.
                let cold = if block == 0 { 5.0 } else { 1.0 };
                let wall = ms * MS * cold * (noise * normal(&mut random)).exp();
                run(command as u32, block, place as u32, wall)
            })
            .collect();
        comparer.add(&runs);
        if comparer.is_decided() {
            break;
        }
    }
    comparer
}

fn sitting(commands: usize) -> ComparedSitting {
    let of = |at: usize| CommandDescription {
        name: format!("c{at}"),
        command: vec![format!("c{at}")],
        parameters: Vec::new(),
        env: Vec::new(),
    };
    ComparedSitting {
        dwell: "0".into(),
        host: Host {
            name: "h".into(),
            kernel: "k".into(),
            arch: "x86_64".into(),
            cpus: 2,
            memory_bytes: Seen::Absent,
            virtualisation: Seen::Absent,
        },
        started_at: String::new(),
        machine: "0123456789abcdef".to_owned(),
        commands: (0..commands).map(of).collect(),
        empty_ns: Ok(vec![400_000, 500_000, 450_000]),
        took_ns: 0,
        ended: CompareEnd::Decided,
        limits: Vec::new(),
    }
}

#[test]
fn a_large_difference_is_decided_after_few_pairs() {
    let comparer = compared(&[10.0, 13.0], 0.02, settings(None), 200);
    let found = comparer.conclude(sitting(2));
    let [change] = &*found.comparisons else { panic!("{:?}", found.comparisons) };
    assert_eq!(change.verdict, Change::More);
    assert!(change.pairs.len() <= 10, "{}", change.pairs.len());
    assert!(change.pairs.iter().all(|pair| pair.block > 0), "the first does not count");
    let ratio = change.ratio.unwrap();
    assert!(ratio.lo > 1.0 && (1.25..1.35).contains(&ratio.estimate) && ratio.hi > 1.29, "{ratio:?}");
    let difference = change.difference.unwrap();
    assert!((2.5 * MS..3.5 * MS).contains(&difference.estimate), "{difference:?}");
    assert_eq!(change.needs, None);
}

#[test]
fn the_same_is_found_to_be_within_the_margin() {
    let comparer = compared(&[10.0, 10.0], 0.005, settings(None), 400);
    assert_eq!(comparer.standing()[0].1, Change::Same);
    let found = comparer.conclude(sitting(2));
    let ratio = found.comparisons[0].ratio.unwrap();
    assert!(ratio.lo > 1.0 / 1.01 && ratio.hi < 1.01, "{ratio:?}");
    let noise = found.comparisons[0].noise_floor.unwrap();
    assert!(noise.lo < 1.0 && 1.0 < noise.hi, "{noise:?}");
}

#[test]
fn a_difference_that_changes_meanwhile_is_no_verdict() {
    // B takes three quarters of A's time, and then as long as A.
    let changing = |first: u32, blocks: u32| {
        let mut random = Random::new(5);
        let mut comparer = Comparer::new(CompareSettings { margin: 0.2, ..settings(None) }, 2);
        for block in 0..=blocks {
            let ratio = if block <= first { 0.75 } else { 1.0 };
            let mut took = |ms: f64| ms * MS * (1.0 + 0.01 * normal(&mut random));
            let runs =
                [run(0, block, block % 2, took(10.0)), run(1, block, 1 - block % 2, took(10.0 * ratio))];
            comparer.add(&runs);
        }
        let standing = comparer.standing()[0];
        (standing, comparer.conclude(sitting(2)).comparisons.remove(0))
    };
    let (standing, change) = changing(30, 400);
    let ratio = standing.0.unwrap();
    assert!(ratio.lo < 0.77 && ratio.hi > 0.99, "what it was at first, and what it became: {ratio:?}");
    assert_eq!(standing.1, Change::Undecided);
    assert_eq!((change.verdict, change.ratio, change.needs), (Change::Undecided, Some(ratio), None));
    let (_, steady) = changing(400, 400);
    assert_eq!((steady.verdict, &*steady.no_verdict), (Change::Less, &[] as &[String]));
}

#[test]
fn a_change_that_is_small_beside_the_difference_leaves_the_verdict() {
    // A host so quiet that the interval is a thousandth wide, and then a hundredth less.
    let mut random = Random::new(5);
    let mut comparer = Comparer::new(settings(None), 2);
    for block in 0..=400 {
        let times = if block <= 60 { 2.80 } else { 2.77 };
        let mut took = |ms: f64| ms * MS * (1.0 + 0.001 * normal(&mut random));
        let runs = [run(0, block, block % 2, took(11.2)), run(1, block, 1 - block % 2, took(11.2 * times))];
        comparer.add(&runs);
    }
    let (ratio, change) = comparer.standing()[0];
    let ratio = ratio.unwrap();
    assert!(ratio.lo < 2.773 && ratio.hi > 2.795, "both: {ratio:?}");
    assert_eq!(change, Change::More);
    let found = comparer.conclude(sitting(2));
    assert_eq!((found.comparisons[0].verdict, found.comparisons[0].ratio), (Change::More, Some(ratio)));
    assert!(found.limits.iter().any(|limit| limit == MOVED), "{:?}", found.limits);
}

#[test]
fn a_small_difference_is_undecided_and_says_what_it_would_take() {
    let comparer = compared(&[10.0, 10.1], 0.03, settings(None), 10);
    assert!(!comparer.is_decided());
    let found = comparer.conclude(sitting(2));
    let change = &found.comparisons[0];
    assert_eq!(change.verdict, Change::Undecided);
    let needs = change.needs.unwrap();
    assert!(needs.pairs > 10, "{needs:?}");
    // A pair takes 20 ms.
    let each = needs.time_ns as f64 / f64::from(needs.pairs);
    assert!((15.0 * MS..25.0 * MS).contains(&each), "{needs:?}");
}

#[test]
fn a_fixed_number_of_pairs_is_looked_at_once() {
    let comparer = compared(&[10.0, 9.8], 0.01, settings(Some(30)), 0);
    assert!(!comparer.is_decided());
    let found = comparer.conclude(sitting(2));
    assert_eq!(found.comparisons[0].pairs.len(), 30);
    assert_eq!(found.comparisons[0].verdict, Change::Less);
}

#[test]
fn each_of_several_is_compared_with_the_first() {
    let comparer = compared(&[10.0, 20.0, 10.0, 5.0], 0.005, settings(None), 400);
    let found = comparer.conclude(sitting(4));
    let verdicts: Vec<_> = found.comparisons.iter().map(|change| (change.b, change.verdict)).collect();
    assert_eq!(verdicts, [(1, Change::More), (2, Change::Same), (3, Change::Less)]);
    // The error is divided: it takes more pairs.
    assert!(pairs_min(&settings(None), 4) > pairs_min(&settings(None), 2));
}

#[test]
fn the_order_is_told_from_the_difference() {
    let mut comparer = Comparer::new(settings(None), 2);
    let mut random = Random::new(3);
    for block in 0..40 {
        let first = u32::from(random.uniform() < 0.5);
        // Whoever is second takes a tenth longer.
        let wall = |command: u32, ms: f64| if command == first { ms * MS } else { ms * MS * 1.1 };
        let place = |command: u32| u32::from(command != first);
        comparer.add(&[run(0, block, place(0), wall(0, 10.0)), run(1, block, place(1), wall(1, 20.0))]);
    }
    let found = comparer.conclude(sitting(2));
    let change = &found.comparisons[0];
    let order = change.second_by_first.unwrap();
    assert!((order.estimate - 1.1).abs() < 0.03, "{order:?}");
    assert!((change.ratio.unwrap().estimate - 2.0).abs() < 0.1);
    assert!(change.pairs.iter().any(|pair| pair.first == Side::A));
    assert!(change.pairs.iter().any(|pair| pair.first == Side::B));
}

#[test]
fn who_fails_more_often_gets_no_verdict() {
    let mut comparer = Comparer::new(settings(None), 2);
    for block in 0..40 {
        let mut b = run(1, block, 1, 5.0 * MS);
        if block % 4 == 1 {
            b.ending = Ending::Code(1);
            b.excluded = Some("it failed".into());
        }
        comparer.add(&[run(0, block, 0, 10.0 * MS), b]);
    }
    let found = comparer.conclude(sitting(2));
    let change = &found.comparisons[0];
    assert_eq!((change.pairs.len(), change.verdict), (29, Change::Undecided));
    assert!(change.no_verdict[0].contains("10 of the other"), "{:?}", change.no_verdict);
    assert_eq!((found.commands[1].runs, found.commands[1].failed), (29, 10));
}

#[test]
fn who_fails_run_after_run_is_found_and_who_fails_at_times_is_not() {
    // What becomes of each run of B: whether it fails.
    let failing = |fails: &dyn Fn(u32) -> bool, blocks: u32| {
        let mut comparer = Comparer::new(settings(None), 2);
        for block in 0..=blocks {
            let mut b = run(1, block, 1, 5.0 * MS);
            b.excluded = fails(block).then(|| "it failed".into());
            comparer.add(&[run(0, block, 0, 10.0 * MS), b]);
        }
        comparer.failing()
    };
    assert_eq!(failing(&|_| true, 6), None);
    assert_eq!(failing(&|_| true, 7), Some((1, 7)));
    // What warms up is no failure.
    assert_eq!(failing(&|block| block == 0, 7), None);
    assert_eq!(failing(&|block| block % 4 != 0, 100), None);
    // From some run on: once it failed as often as it did not.
    assert_eq!(failing(&|block| block > 20, 39), None);
    assert_eq!(failing(&|block| block > 20, 40), Some((1, 20)));
}

#[test]
fn who_was_stopped_has_not_failed_and_its_pause_is_no_time_of_a_pair() {
    let mut comparer = Comparer::new(settings(None), 2);
    let mut random = Random::new(5);
    for block in 0..12 {
        let walls = [10.0, 10.1].map(|ms| ms * MS * (0.03 * normal(&mut random)).exp());
        let [mut a, mut b] = [run(0, block, 0, walls[0]), run(1, block, 1, walls[1])];
        if block >= 8 {
            (a.began_ns, b.began_ns) = (a.began_ns + 600_000_000_000, b.began_ns + 600_000_000_000);
        }
        if [3, 5, 7].contains(&block) {
            b.stopped = true;
            b.excluded = Some("it was stopped".into());
        }
        comparer.add(&[a, b]);
    }
    let found = comparer.conclude(sitting(2));
    assert_eq!((found.commands[1].runs, found.commands[1].failed), (8, 0));
    let change = &found.comparisons[0];
    assert_eq!((change.no_verdict.len(), change.pairs.len()), (0, 8));
    let needs = change.needs.unwrap();
    assert_eq!(needs.time_ns, Ns::from(needs.pairs) * 20_000_000, "{needs:?}");
}

#[test]
fn the_floor_is_a_warning_where_it_is_much_of_the_time() {
    let short = compared(&[2.0, 3.0], 0.01, settings(None), 50).conclude(sitting(2));
    assert!(
        short
            .limits
            .iter()
            .any(|limit| limit.contains("22.5 %") || limit.contains("start and end of a process"))
    );
    let long = compared(&[20.0, 30.0], 0.01, settings(None), 50).conclude(sitting(2));
    assert_eq!(long.limits, Vec::<String>::new());
    assert_eq!(long.floor_ns.value().unwrap().median, 450_000.0);
}

#[test]
fn a_figure_that_only_one_has_is_a_difference_beyond_all_others() {
    let mut comparer = Comparer::new(CompareSettings { on: Figure::Faults, ..settings(None) }, 2);
    for block in 0..10 {
        let mut a = run(0, block, block % 2, 10.0 * MS);
        a.minor_faults = 0;
        comparer.add(&[a, run(1, block, 1 - block % 2, 10.0 * MS)]);
    }
    assert!(comparer.is_decided());
    assert_eq!(comparer.standing()[0].1, Change::More);
}

#[test]
fn one_command_alone_is_summed_up_and_never_decided() {
    let comparer = compared(&[10.0], 0.01, settings(None), 20);
    assert!(!comparer.is_decided());
    let found = comparer.conclude(sitting(1));
    assert_eq!(found.comparisons.len(), 0);
    assert_eq!(found.commands[0].runs, 20);
    assert!((found.commands[0].figure.unwrap().median / MS - 10.0).abs() < 0.2);
}

/// Runs that print this many numbers, of which B's largest ones are larger; all others are as A's.
fn printing(settings: CompareSettings, numbers: [usize; 2], blocks: u32) -> Comparer {
    let mut random = Random::new(17);
    let mut comparer = Comparer::new(CompareSettings { on: Figure::Printed, ..settings }, 2);
    for block in 0..=blocks {
        let first = u32::from(random.uniform() < 0.5);
        let runs = [0, 1].map(|command: u32| {
            let number = |at: usize| {
                let is_large = at >= numbers[command as usize] * 85 / 100;
                let size = if is_large && command == 1 { 20.0 } else { 10.0 };
                size * (0.005 * normal(&mut random)).exp()
            };
            let mut run = run(command, block, u32::from(command != first), 10.0 * MS);
            run.printed = (0..numbers[command as usize]).map(number).collect();
            run
        });
        comparer.add(&runs);
    }
    comparer
}

/// By percent; where there is none, the reason.
type Percentiles = Vec<(u32, Result<PercentileFound, String>)>;

fn percentiles(comparer: Comparer) -> (Change, Percentiles) {
    let found = comparer.conclude(sitting(2));
    let change = &found.comparisons[0];
    let of = |of: &PercentileChange| match &of.found {
        Seen::Value(found) => (of.percent, Ok(*found)),
        Seen::Unseen(why) => (of.percent, Err(why.clone())),
        Seen::Absent => panic!("{of:?}"),
    };
    (change.verdict, change.percentiles.iter().map(of).collect())
}

#[test]
fn percentiles_tell_what_the_median_does_not_and_decide_nothing() {
    for fixed in [None, Some(40)] {
        let comparer = printing(settings(fixed), [200, 200], 40);
        assert_eq!(comparer.is_decided(), fixed.is_none());
        let (verdict, found) = percentiles(comparer);
        assert_eq!(verdict, Change::Same, "the median is that of the smaller ones");
        let [(90, Ok(p90)), (99, Ok(p99))] = &found[..] else { panic!("{found:?}") };
        for of in [p90, p99] {
            assert_eq!(of.change, Change::More, "{of:?}");
            let (ratio, difference) = (of.ratio.unwrap(), of.difference.unwrap());
            assert!(ratio.lo > 1.9 && ratio.hi < 2.1 && ratio.lo < ratio.hi, "{ratio:?}");
            assert!((of.b / of.a - 2.0).abs() < 0.05 && (difference.estimate - 10.0).abs() < 0.5, "{of:?}");
        }
    }
}

#[test]
fn a_percentile_without_enough_numbers_in_each_run_is_left_out_with_the_reason() {
    let (_, found) = percentiles(printing(settings(None), [10, 99], 20));
    assert!(matches!(&found[0], (90, Ok(_))), "{found:?}");
    let why = "it takes 100 numbers in each run, and a run printed 10";
    assert_eq!(found[1], (99, Err(why.to_owned())));
    let (_, found) = percentiles(printing(settings(None), [9, 200], 20));
    assert!(found.iter().all(|(_, found)| found.is_err()), "{found:?}");
    // One number is no distribution.
    assert_eq!(percentiles(printing(settings(None), [1, 1], 20)).1, []);
    assert_eq!(
        compared(&[10.0, 20.0], 0.01, settings(None), 20).conclude(sitting(2)).comparisons[0].percentiles,
        []
    );
}

#[test]
fn runs_that_do_not_count_are_in_no_percentile() {
    let mut comparer = printing(settings(None), [100, 100], 20);
    // Of a failure what was printed before it is nothing.
    let mut failed = run(1, 21, 1, 10.0 * MS);
    failed.excluded = Some("it failed".into());
    failed.printed = vec![1.0];
    let mut other = run(0, 21, 0, 10.0 * MS);
    other.printed = vec![1.0];
    comparer.add(&[other, failed]);
    let (_, found) = percentiles(comparer);
    assert!(found.iter().all(|(_, found)| found.is_ok()), "{found:?}");
}
