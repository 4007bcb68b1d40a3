//! Verdicts on made-up figures.

use super::*;
use crate::sample;
use model::run::{FunctionRow, Share};
use model::{AccountPart, Basis, Seen};
use std::sync::LazyLock;

static PROGRAM: LazyLock<Program> = LazyLock::new(|| Program {
    name: "it".to_owned(),
    class: vec![Class::Cpu],
    why: "it computes".to_owned(),
    ..Program::default()
});

/// An account of these parts, each with its interval, and one thread with the same time.
fn said(parts: &[(State, u64, u64, u64)]) -> DwellResult {
    let mut run = sample::run();
    let part =
        |&(state, ns, lo_ns, hi_ns): &_| AccountPart { state, ns, basis: Basis::Derived, lo_ns, hi_ns };
    run.account = parts.iter().map(part).collect();
    run.threads.truncate(1);
    run.threads[0].states = parts.iter().map(|&(state, ns, ..)| (state, ns)).collect();
    run.coverage.lost_events = Seen::Absent;
    DwellResult { run, findings: None, page: String::new() }
}

fn kinds(on: f64, runnable: f64, blocked: f64) -> Truth {
    Truth { kinds: Some([on, runnable, blocked].map(Range::exactly)), ..Truth::default() }
}

fn wrong(verdict: &Verdict) -> Vec<&str> {
    verdict.checks.iter().filter(|check| !check.agrees).map(|check| check.what.as_str()).collect()
}

#[test]
fn three_points_beside_the_oracle_are_allowed_and_no_more() {
    let said = said(&[(State::User, 900, 900, 900), (State::Sleep, 100, 100, 100)]);
    assert!(judge(&PROGRAM, &said, &kinds(92.9, 0.0, 7.1)).agrees());
    let verdict = judge(&PROGRAM, &said, &kinds(93.5, 0.0, 6.5));
    assert_eq!(wrong(&verdict), ["on CPU", "blocked"]);
    assert!(!verdict.agrees() && verdict.class_agrees());
}

#[test]
fn an_uncertain_part_may_be_as_far_off_as_it_says() {
    let said = said(&[(State::User, 700, 700, 700), (State::Runqueue, 300, 100, 300)]);
    assert!(judge(&PROGRAM, &said, &kinds(90.0, 10.0, 0.0)).agrees());
    assert_eq!(wrong(&judge(&PROGRAM, &said, &kinds(60.0, 40.0, 0.0))), ["on CPU", "runnable"]);
}

#[test]
fn while_one_runs_and_another_waits_for_a_cpu_the_path_may_be_eithers() {
    let wall = Wall {
        on_alone_ns: 300,
        on_behind_own_ns: 400,
        on_behind_others_ns: 100,
        only_runnable_ns: 100,
        all_blocked_ns: 100,
        beside_disk_ns: 0,
        wakes_unseen: 0,
    };
    let (kinds, starved) = of_wall(&wall);
    // Only what is behind others may starve it.
    assert_eq!(starved, Some(Range { value: 10.0, lo: 10.0, hi: 20.0 }));
    let truth = Truth { kinds, ..Truth::default() };
    for [on, runnable, blocked] in [[800, 100, 100], [300, 600, 100], [500, 400, 100]] {
        let parts = [
            (State::User, on, on, on),
            (State::Runqueue, runnable, runnable, runnable),
            (State::Disk, blocked, blocked, blocked),
        ];
        assert_eq!(wrong(&judge(&PROGRAM, &said(&parts), &truth)), [""; 0]);
    }
    // But it does not rest in a wait meanwhile.
    let resting = said(&[
        (State::User, 500, 500, 500),
        (State::Runqueue, 100, 100, 100),
        (State::Sleep, 400, 400, 400),
    ]);
    assert_eq!(wrong(&judge(&PROGRAM, &resting, &truth)), ["blocked"]);
    // It may be in a wait for a disk.
    let (kinds, _) = of_wall(&Wall { beside_disk_ns: 300, ..wall });
    let truth = Truth { kinds, ..Truth::default() };
    assert_eq!(wrong(&judge(&PROGRAM, &resting, &truth)), [""; 0]);
}

#[test]
fn a_wake_up_that_was_not_traced_was_before_the_thread_got_its_cpu() {
    let wall = Wall { on_alone_ns: 600_000, all_blocked_ns: 400_000, wakes_unseen: 3, ..Wall::default() };
    let (kinds, _) = of_wall(&wall);
    let [on, runnable, blocked] = kinds.unwrap();
    assert_eq!((on.lo, on.hi), (60.0, 60.0));
    assert_eq!((runnable.lo, runnable.hi, blocked.lo, blocked.hi), (0.0, 3.0, 37.0, 40.0));
}

const WHOLE_NS: u64 = 1_000_000_000;

/// What the oracles say of a second in which the trace has so much on CPUs.
fn accounted(charged_ns: u64, over_ns: i64, on_ns: u64) -> Truth {
    let wall = Wall {
        on_alone_ns: on_ns,
        only_runnable_ns: 300_000_000,
        all_blocked_ns: WHOLE_NS - 300_000_000 - on_ns,
        ..Wall::default()
    };
    let (kinds, starved) = of_wall(&wall);
    let mut truth = Truth { kinds, starved, ..Truth::default() };
    truth.account(charged_ns, over_ns, on_ns, [WHOLE_NS, WHOLE_NS]);
    truth
}

#[test]
fn cpu_time_that_the_trace_lacks_widens_its_shares() {
    let truth = accounted(700_000_000, 0, 600_000_000);
    let close = |range: Range, lo: f64, hi: f64| {
        assert!((range.lo - lo).abs() < 1e-9 && (range.hi - hi).abs() < 1e-9, "{range:?}");
    };
    let [on, runnable, blocked] = truth.kinds.unwrap();
    close(on, 60.0, 70.0);
    close(runnable, 20.0, 30.0);
    close(blocked, 0.0, 10.0);
    close(truth.starved.unwrap(), 20.0, 30.0);
    // What they are is the trace's.
    assert_eq!((on.value, runnable.value, blocked.value), (60.0, 30.0, 10.0));
    assert_eq!(truth.notes, ["the trace lacks 100 of the 700 ms that the kernel charged"]);
}

#[test]
fn a_trace_that_lacks_nothing_is_not_widened() {
    let alone = accounted(600_000_000, 0, 600_000_000);
    for truth in [
        // It has more than was charged, as where some was stolen.
        accounted(550_000_000, 0, 600_000_000),
        // What was charged for no time on a CPU is not lacking.
        accounted(700_000_000, 100_000_000, 600_000_000),
    ] {
        assert_eq!((truth.kinds, truth.starved, &truth.notes), (alone.kinds, alone.starved, &alone.notes));
    }
}

#[test]
fn cpu_times_are_held_against_what_the_kernel_charged() {
    let said = |ms: u64| {
        let mut said = said(&[(State::User, ms * 1_000_000, 0, WHOLE_NS)]);
        said.run.wall_ns = WHOLE_NS;
        said
    };
    let wrong = |ms, truth: &Truth| {
        let checks = times(&said(ms), truth).into_iter().filter(|check| !check.agrees);
        checks.map(|check| check.what).collect::<Vec<_>>()
    };
    let truth = accounted(700_000_000, 0, 600_000_000);
    // 3 % of a CPU, and as much with what the edges are.
    assert_eq!(wrong(671, &truth), [""; 0]);
    assert_eq!(wrong(668, &truth), ["CPUs"]);
    assert_eq!(wrong(659, &truth), ["CPUs", "CPU ms"]);
    // The trace alone would have it so.
    assert_eq!(wrong(600, &truth), ["CPUs", "CPU ms"]);
    assert_eq!(wrong(741, &truth), ["CPUs", "CPU ms"]);
    // Some of it was charged for no time on a CPU.
    let over = accounted(700_000_000, 70_000_000, 600_000_000);
    assert_eq!([wrong(611, &over), wrong(729, &over)], [[""; 0]; 2]);
    assert_eq!([wrong(589, &over), wrong(741, &over)], [["CPUs", "CPU ms"]; 2]);
    // Less was charged than its turns were long.
    let under = accounted(700_000_000, -50_000_000, 650_000_000);
    assert_eq!(wrong(779, &under), [""; 0]);
    assert_eq!(wrong(659, &under), ["CPUs", "CPU ms"]);
    // What was stolen is only above.
    let stolen = Truth { stolen_ns: 100_000_000, ..truth };
    assert_eq!(wrong(829, &stolen), [""; 0]);
    assert_eq!(wrong(659, &stolen), ["CPUs", "CPU ms"]);
}

#[test]
fn the_programs_own_clock_comes_first_and_leaves_out_what_was_stolen() {
    let said = said(&[(State::User, 8_245_000_000, 0, 0)]);
    let own = |stolen_ns| Truth {
        cpu_ns: Some(7_823_000_000),
        charged_ns: Some(Range::exactly(9e9)),
        stolen_ns,
        ..Truth::default()
    };
    assert_eq!(wrong(&judge(&PROGRAM, &said, &own(0))), ["CPU ms"]);
    assert_eq!(wrong(&judge(&PROGRAM, &said, &own(200_000_000))), [""; 0]);
}

#[test]
fn the_programs_own_clock_counts_charges_for_no_time_on_a_cpu() {
    let said = said(&[(State::User, 2_195_000_000, 0, 0)]);
    let own = |over_ns| Truth { cpu_ns: Some(2_268_000_000), over_ns, ..Truth::default() };
    assert_eq!(wrong(&judge(&PROGRAM, &said, &own(0))), ["CPU ms"]);
    assert_eq!(wrong(&judge(&PROGRAM, &said, &own(60_000_000))), [""; 0]);
    // Not all of the difference is that.
    assert_eq!(wrong(&judge(&PROGRAM, &said, &own(1_000_000))), ["CPU ms"]);
    assert_eq!(accounted(700_000_000, 70_000_000, 600_000_000).over_ns, 70_000_000);
}

#[test]
fn a_window_is_held_against_the_time_of_its_threads() {
    let ledgers = [
        Ledger { on_ns: 900, runnable_ns: 100, behind_others_ns: 100, blocked_ns: 0 },
        Ledger { on_ns: 0, runnable_ns: 100, behind_others_ns: 0, blocked_ns: 900 },
    ];
    let sum: Ledger = ledgers.into_iter().sum();
    let (kinds, starved) = of_ledger(&sum, 1_000);
    assert_eq!(kinds.unwrap().map(|range| range.value), [45.0, 10.0, 45.0]);
    let starved = starved.unwrap();
    assert!((starved.lo - 5.0).abs() < 1e-9 && (starved.hi - 100.0 / 11.0).abs() < 1e-9, "{starved:?}");
    let (_, starved) = of_ledger(&sum, 100_000);
    assert_eq!(starved, Some(Range::exactly(5.0)));
}

#[test]
fn a_window_has_all_cpu_time_whether_its_thread_is_counted_or_not() {
    let window = said(&[(State::User, 900, 900, 900), (State::Idle, 100, 100, 100)]);
    let used = |cpus| Truth { cpus_used: Some(Range::exactly(cpus)), ..Truth::default() };
    assert!(judge(&PROGRAM, &window, &used(0.92)).agrees());
    assert_eq!(wrong(&judge(&PROGRAM, &window, &used(1.0))), ["CPUs"]);
    let mut truth = used(1.0);
    truth.widen(Range::exactly(0.9), None);
    assert!(judge(&PROGRAM, &window, &truth).agrees());
}

#[test]
fn what_is_unexplained_does_not_hide_among_what_is_blocked() {
    let said = said(&[(State::Sleep, 900, 900, 900), (State::Unexplained, 100, 100, 100)]);
    assert_eq!(wrong(&judge(&PROGRAM, &said, &kinds(0.0, 0.0, 100.0))), ["unexplained"]);
}

#[test]
fn functions_holders_and_groups_have_to_be_named() {
    let mut said = said(&[(State::User, 10, 10, 10)]);
    let main = said.run.tables.functions.value().unwrap()[0].clone();
    let function = |name: &str, value| FunctionRow {
        name: name.to_owned(),
        total: Some(Share { value, lo: value, hi: value }),
        ..main.clone()
    };
    said.run.tables.functions = Seen::Value(vec![function("main", 0.99), function("Work.hot(int)", 0.7)]);
    said.page = "held by PID 123\n".to_owned();
    let named = |word: &str| vec![Named { what: "holder", word: word.to_owned() }];
    let right = Truth {
        function: Some(vec!["hot".to_owned(), "JIT".to_owned()]),
        named: named("123"),
        ..Truth::default()
    };
    assert_eq!(wrong(&judge(&PROGRAM, &said, &right)), [""; 0]);
    let other = Truth { function: Some(vec!["cold".to_owned()]), named: named("12"), ..Truth::default() };
    assert_eq!(wrong(&judge(&PROGRAM, &said, &other)), ["function", "holder"]);
    let hostile = DwellResult { page: "\u{1b}[2J".to_owned(), ..said };
    assert_eq!(wrong(&judge(&PROGRAM, &hostile, &Truth::default())), ["control characters"]);
}

#[test]
fn user_time_has_the_intervals_of_both() {
    let said = said(&[(State::User, 200, 100, 250), (State::Kernel, 800, 800, 800)]);
    let truth = |percent| Truth { user_percent: Some((percent, 2.0)), ..Truth::default() };
    // 20 less 10 of its own, and 2 of the samples.
    assert!(judge(&PROGRAM, &said, &truth(8.1)).agrees());
    assert_eq!(wrong(&judge(&PROGRAM, &said, &truth(7.9))), ["user"]);
    // 20 and 5, or the 10 above it; of 40 in the samples, less is user code by what was charged.
    assert_eq!(wrong(&judge(&PROGRAM, &said, &truth(40.0))), ["user"]);
    let charged = |percent| Truth { user_percent_min: Some(percent), ..truth(40.0) };
    assert!(judge(&PROGRAM, &said, &charged(30.0)).agrees());
    assert_eq!(wrong(&judge(&PROGRAM, &said, &charged(33.0))), ["user"]);
}

#[test]
fn counts_are_within_what_is_said_or_near_it() {
    let calls = |calls, lo, hi| Calls { calls, lo, hi };
    assert!(count("read", Some(calls(970, 970, Some(970))), 1_000).agrees);
    assert!(!count("read", Some(calls(960, 960, Some(960))), 1_000).agrees);
    assert!(count("read", Some(calls(900, 800, Some(1_000))), 1_000).agrees);
    // A lower bound is one: it is not above.
    assert!(count("read", Some(calls(771, 771, None)), 1_000).agrees);
    assert!(!count("read", Some(calls(1_010, 1_010, None)), 1_000).agrees);
    assert!(!count("read", None, 1_000).agrees);
}

#[test]
fn throttling_locks_and_the_programs_own_clock() {
    let said = said(&[(State::User, 1_000, 1_000, 1_000), (State::Throttled, 9_000, 9_000, 9_000)]);
    let truth = Truth { throttled_ns: Some(9_400), lock_percent: Some(50.0), ..Truth::default() };
    assert_eq!(wrong(&judge(&PROGRAM, &said, &truth)), ["throttled", "lock"]);
    let own = |cpu_ns| Truth { cpu_ns: Some(cpu_ns), ..Truth::default() };
    assert!(judge(&PROGRAM, &said, &own(1_030)).agrees());
    assert_eq!(wrong(&judge(&PROGRAM, &said, &own(1_050))), ["CPU ms"]);
}

#[test]
fn a_wrong_class_comes_with_the_reason_for_the_right_one() {
    let mut wrong = said(&[(State::User, 10, 10, 10)]);
    wrong.run.bound.class = Class::Io;
    let notes = |percent| {
        let truth = Truth { starved: Some(Range::exactly(percent)), ..Truth::default() };
        judge(&PROGRAM, &wrong, &truth).notes
    };
    assert_eq!(notes(20.0), ["why this class is right: it computes"]);
    assert_eq!(notes(80.0), ["why this class is right: it waited for a CPU behind other programs"]);
    let right = judge(&PROGRAM, &said(&[(State::User, 10, 10, 10)]), &Truth::default());
    assert_eq!(right.notes, [""; 0]);
}

#[test]
fn behind_others_a_program_may_be_starved() {
    let starved = |starved| Truth { starved, ..Truth::default() };
    let judged = |lo, hi| class::right(&PROGRAM, &starved(Some(Range { value: lo, lo, hi })));
    assert_eq!(judged(80.0, 80.0), [Class::Starved]);
    assert_eq!(judged(49.0, 49.0), [Class::Cpu, Class::Starved]);
    assert_eq!(judged(20.0, 20.0), [Class::Cpu]);
    // On the path or not: the trace does not know.
    assert_eq!(judged(20.0, 80.0), [Class::Cpu, Class::Starved]);
    assert_eq!(class::right(&PROGRAM, &starved(None)), [Class::Cpu]);
}

#[test]
fn a_device_that_answers_in_the_time_of_asking_does_not_bound() {
    let flushes = Program { class: vec![Class::Io], ..PROGRAM.clone() };
    let right = |shares: [f64; 3]| {
        let kinds = Some(shares.map(Range::exactly));
        class::right(&flushes, &Truth { kinds, user_percent: Some((10.0, 1.0)), ..Truth::default() })
    };
    assert_eq!(right([30.0, 2.0, 68.0]), [Class::Io]);
    assert_eq!(right([54.0, 8.0, 38.0]), [Class::Io, Class::Kernel, Class::Mixed]);
    assert_eq!(right([70.0, 0.0, 30.0]), [Class::Io, Class::Kernel]);
    // What was judged otherwise does not rest on a device.
    let computes = Truth { kinds: Some([90.0, 0.0, 10.0].map(Range::exactly)), ..Truth::default() };
    assert_eq!(class::right(&PROGRAM, &computes), [Class::Cpu]);
}

#[test]
fn where_samples_have_both_alike_mixed_is_right_as_well() {
    let right = |percent, half| {
        let truth = Truth { user_percent: Some((percent, half)), ..Truth::default() };
        class::right(&PROGRAM, &truth)
    };
    assert_eq!(right(61.0, 6.5), [Class::Cpu, Class::Mixed]);
    assert_eq!(right(61.0, 5.9), [Class::Cpu], "55 of 100 or more");
    assert_eq!(right(52.0, 1.0), [Class::Cpu, Class::Mixed], "as good as equal");
}
