//! Two results with known differences.

use super::*;
use crate::wake::tests::{measured, thread};
use crate::wake::{comparable, comparable_sheet, wakeups};
use model::compare::Side;
use model::wake::load::Load;
use model::wake::sheet::{Case, SCHEMA_SHEET, Sheet};
use model::wake::{Policy, Wakeups};

/// A run at 1 kHz whose latency is exponential, with this mean beyond 4 us.
fn run(seed: u64, cycles: usize, mean_ns: f64) -> Wakeups {
    let mut random = stats::Random::new(seed);
    let late: Vec<Ns> = (0..cycles).map(|_| 4_000 + (-mean_ns * random.uniform().ln()) as Ns).collect();
    wakeups(&measured(vec![thread(1, &late)]))
}

fn of(a: &Wakeups, b: &Wakeups) -> WakeComparison {
    compare(&comparable(a), &comparable(b))
}

fn changes(diff: &WakeComparison) -> Vec<Change> {
    diff.cases[0].quantiles.iter().map(|quantile| quantile.change).collect()
}

#[test]
fn a_result_against_itself_is_the_same_and_has_no_differences() {
    let one = run(1, 50_000, 2_000.0);
    let found = of(&one, &one);
    assert_eq!((found.differences.len(), found.uncompared.len(), found.cases.len()), (0, 0, 1));
    let case = &found.cases[0];
    assert_eq!((case.differences.len(), case.notes.len()), (0, 0));
    assert_eq!(changes(&found)[..3], [Change::Same; 3]);
    assert_eq!(
        (case.maxima.beyond, &case.maxima.chance, case.maxima.change),
        (0, &Seen::Value(1.0), Change::Undecided)
    );
    assert!(
        case.quantiles
            .iter()
            .filter(|one| one.change != Change::Undecided)
            .all(|one| one.later_ns == Seen::Value(0))
    );
    // 50,000 wake-ups are too few for one in a million.
    assert!(matches!(&case.quantiles[5].a, Seen::Unseen(why) if why.contains("at least 1,000,000 needed")));
}

#[test]
fn twice_the_latency_is_later_and_the_reverse_earlier() {
    let (a, b) = (run(1, 50_000, 10_000.0), run(2, 50_000, 20_000.0));
    let (there, back) = (of(&a, &b), of(&b, &a));
    assert_eq!(changes(&there)[..3], [Change::More; 3]);
    assert_eq!(changes(&back)[..3], [Change::Less; 3]);
    assert_eq!((there.cases[0].maxima.change, back.cases[0].maxima.change), (Change::More, Change::Less));
    let p50 = &there.cases[0].quantiles[0];
    // The medians are apart by 10 us times ln 2.
    let (lo, hi) = (*p50.later_lo_ns.value().unwrap(), *p50.later_hi_ns.value().unwrap());
    assert!(lo <= 6_931 && 6_931 <= hi && hi - lo < 1_000, "{lo} {hi}");
}

#[test]
fn intervals_of_percentiles_have_their_coverage() {
    let held = (0..200).filter(|seed| {
        let all = run(*seed, 5_000, 20_000.0).all;
        let Seen::Value(found) = within(&all, 0.99, &all.p99_ns) else { panic!("5,000 are enough") };
        let truth = 4_000.0 + 20_000.0 * 100_f64.ln();
        (found.lo_ns as f64..=found.hi_ns as f64).contains(&truth)
    });
    // Whole bins make it a little more than 95 %.
    assert!((180..=200).contains(&held.count()));
}

#[test]
fn alike_runs_rarely_differ_in_the_maximum() {
    let wrong = (0..100).filter(|seed| {
        let (a, b) = (run(2 * seed, 10_000, 9_000.0), run(2 * seed + 1, 20_000, 9_000.0));
        of(&a, &b).cases[0].maxima.change != Change::Undecided
    });
    let wrong = wrong.count();
    assert!(wrong <= 11, "{wrong} of 100, expected five");
}

#[test]
fn blocks_without_a_wake_up_do_not_count() {
    let (mut a, b) = (run(1, 10_000, 9_000.0), run(2, 10_000, 9_000.0));
    let (all, none) = (blocks(&a.all, &b.all).unwrap(), LatencyBlock { at_ns: 0, cycles: 0, max_ns: 0 });
    a.all.timeline[3] = LatencyBlock { at_ns: a.all.timeline[3].at_ns, ..none };
    assert_eq!(blocks(&a.all, &b.all), Some((all.0 - 1.0, all.1)));
    assert_eq!(blocks(&b.all, &a.all), Some((all.1, all.0 - 1.0)));
}

#[test]
fn crafted_counts_have_no_probability_and_take_no_time() {
    let mut a = run(1, 1_000, 9_000.0);
    a.all.timeline = Vec::new();
    let mut b = a.clone();
    b.all.cycles = u64::MAX;
    b.all.max_ns = Seen::Value(u64::MAX);
    b.all.histogram = vec![Bin { from_ns: 1 << 40, to_ns: 0, count: u64::MAX }; 3];
    // Many beyond: each makes it less likely.
    let found = of(&a, &b);
    assert_eq!(found.cases[0].maxima.beyond, u64::MAX);
    assert!(found.cases[0].maxima.chance.value().is_some_and(|chance| *chance < 1e-9));
    a.all.cycles = 0;
    let found = of(&a, &b);
    assert_eq!(found.cases[0].maxima.chance, Seen::unseen("one of the two has no wake-up"));
    assert_eq!(found.cases[0].maxima.change, Change::Undecided);
}

#[test]
fn a_change_needs_separate_intervals_and_more_than_the_margin() {
    for (a_ns, later, lo, hi, expected) in [
        (10_000, 0.0, -900.0, 900.0, Change::Same),
        (100_000, 4_000.0, 3_000.0, 5_000.0, Change::Same),
        (100_000, 4_000.0, 3_000.0, 6_000.0, Change::Undecided),
        (100_000, 9_000.0, 3_000.0, 12_000.0, Change::More),
        (100_000, -9_000.0, -12_000.0, -3_000.0, Change::Less),
        (100_000, 9_000.0, -1_000.0, 20_000.0, Change::Undecided),
        (3_000, 900.0, 800.0, 1_000.0, Change::Same),
    ] {
        let interval = MedianInterval { median: later, lo, hi };
        assert_eq!(change(a_ns, &interval), expected, "{a_ns} {later} {lo} {hi}");
    }
}

#[test]
fn different_settings_and_caveats_of_one_side_are_listed() {
    let a = run(1, 1_000, 2_000.0);
    let mut b = a.clone();
    b.host.kernel = "6.12.0".into();
    b.environment.preemption = Seen::Value("voluntary".into());
    b.environment.smt = Seen::unseen("not there");
    b.settings.asked.interval_ns = 200_000;
    b.settings.asked.loads = vec![Load::Cpu { threads: 2 }];
    b.settings.in_force[0].policy = Policy::Other(50_000);
    b.limits.push("a virtual machine\ntry: another".into());
    // The same of both is left out; with other figures it is not the same.
    b.limits.push("the CPUs share cores".into());
    b.limits.push("the hypervisor gave 20.0 ms of CPUs 0-1 to others (steal)".into());
    let mut a = a;
    a.limits.push("the CPUs share cores".into());
    a.limits.push("the hypervisor gave 7.00 s of CPU 3 to others (steal)".into());
    let found = of(&a, &b);
    let listed = |all: &[Difference]| {
        all.iter().map(|one| format!("{}: {} {}", one.what, one.a, one.b)).collect::<Vec<_>>()
    };
    assert_eq!(listed(&found.differences), ["kernel: 6.18.1-rt 6.12.0", "preemption: rt voluntary"]);
    assert_eq!(
        listed(&found.cases[0].differences),
        [
            "interval: 1.00 ms 200 us",
            "policy: fifo:80 other, timer slack 50.0 us",
            "load: none cpu:threads=2"
        ]
    );
    assert_eq!(
        found.cases[0].notes,
        [
            "A: the hypervisor gave 7.00 s of CPU 3 to others (steal)",
            "B: a virtual machine",
            "B: the hypervisor gave 20.0 ms of CPUs 0-1 to others (steal)"
        ]
    );
}

#[test]
fn sheets_are_compared_by_case_and_a_plain_result_with_the_case_of_its_load() {
    let idle = run(1, 1_000, 2_000.0);
    let mut busy = run(2, 1_000, 4_000.0);
    busy.settings.asked.loads = vec![Load::Cpu { threads: 2 }];
    let named = |name: &str| Case { name: name.into(), loads: Vec::new() };
    let sheet = |names: &[&str], results: Vec<Wakeups>| Sheet {
        schema: SCHEMA_SHEET.into(),
        name: "s".into(),
        for_ns: 1,
        cases: names.iter().map(|name| named(name)).collect(),
        results,
    };
    let whole = comparable_sheet(&sheet(&["idle", "cpu", "late"], vec![idle.clone(), busy.clone()])).unwrap();
    let part = comparable_sheet(&sheet(&["idle"], vec![idle.clone()])).unwrap();
    let found = compare(&whole, &part);
    let lone = |name: &str, only| UnmatchedCase { name: CaseName::OfSheet(name.into()), only };
    assert_eq!((found.cases.len(), found.cases[0].name.as_str()), (1, "idle"));
    assert_eq!(found.uncompared, [lone("cpu", Side::A)]);
    let found = compare(&comparable(&busy), &whole);
    assert_eq!((found.cases.len(), found.cases[0].name.as_str()), (1, "cpu"));
    assert_eq!(found.uncompared, [lone("idle", Side::B)]);
    // A case that is called as that of a plain result is in JSON is still one of a sheet.
    let all = comparable_sheet(&sheet(&["all"], vec![busy.clone()])).unwrap();
    assert_eq!(compare(&comparable(&busy), &all).cases[0].name, CaseName::OfSheet("all".into()));
    assert_eq!(compare(&comparable(&idle), &all).uncompared[1], lone("all", Side::B));
    assert_eq!(compare(&all, &whole).cases, []);
    assert_eq!(comparable_sheet(&sheet(&["idle"], Vec::new())), None);
}
