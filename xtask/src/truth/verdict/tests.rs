//! Verdicts on made-up figures.

use super::super::program::PLAIN;
use super::super::said::{Part, Thread};
use super::*;

const PROGRAM: Program = Program { name: "it", class: &[Class::Cpu], why: "it computes", ..PLAIN };

/// An account of these parts, each with its interval, and one thread with the same time.
fn said(parts: &[(&str, u64, u64, u64)]) -> Said {
    let part = |&(state, ns, lo_ns, hi_ns): &(&str, u64, u64, u64)| Part {
        state: state.to_owned(),
        ns,
        lo_ns,
        hi_ns,
    };
    let states = parts.iter().map(|&(state, ns, ..)| (state.to_owned(), ns)).collect();
    Said {
        class: "cpu".to_owned(),
        account: parts.iter().map(part).collect(),
        threads: vec![Thread { tid: 1, idle: false, states }],
        ..Said::default()
    }
}

fn kinds(on: f64, runnable: f64, blocked: f64) -> Truth {
    Truth { kinds: Some([on, runnable, blocked].map(Range::exactly)), ..Truth::default() }
}

fn wrong(verdict: &Verdict) -> Vec<&str> {
    verdict.checks.iter().filter(|check| !check.agrees).map(|check| check.what.as_str()).collect()
}

#[test]
fn three_points_beside_the_oracle_are_allowed_and_no_more() {
    let said = said(&[("user", 900, 900, 900), ("sleep", 100, 100, 100)]);
    assert!(judge(&PROGRAM, &said, &kinds(92.9, 0.0, 7.1), false).agrees());
    let verdict = judge(&PROGRAM, &said, &kinds(93.5, 0.0, 6.5), false);
    assert_eq!(wrong(&verdict), ["on CPU", "blocked"]);
    assert!(!verdict.agrees() && verdict.class_agrees());
}

#[test]
fn an_uncertain_part_may_be_as_far_off_as_it_says() {
    let said = said(&[("user", 700, 700, 700), ("runqueue", 300, 100, 300)]);
    assert!(judge(&PROGRAM, &said, &kinds(92.0, 8.0, 0.0), false).agrees());
    assert_eq!(wrong(&judge(&PROGRAM, &said, &kinds(60.0, 40.0, 0.0), false)), ["on CPU", "runnable"]);
}

#[test]
fn while_one_runs_and_another_waits_for_a_cpu_the_path_may_be_eithers() {
    let wall = Wall { on_alone_ns: 300, on_contended_ns: 500, only_runnable_ns: 100, all_blocked_ns: 100 };
    let truth = Truth { kinds: Some(of_wall(&wall)), ..Truth::default() };
    for [on, runnable, blocked] in [[800, 100, 100], [300, 600, 100], [500, 400, 100]] {
        let parts = [
            ("user", on, on, on),
            ("runqueue", runnable, runnable, runnable),
            ("disk", blocked, blocked, blocked),
        ];
        assert_eq!(wrong(&judge(&PROGRAM, &said(&parts), &truth, false)), [""; 0]);
    }
    // But it does not rest in a wait meanwhile.
    let resting = said(&[("user", 500, 500, 500), ("runqueue", 100, 100, 100), ("sleep", 400, 400, 400)]);
    assert_eq!(wrong(&judge(&PROGRAM, &resting, &truth, false)), ["blocked"]);
}

#[test]
fn a_window_is_held_against_the_time_of_its_threads() {
    let ledgers = [
        Ledger { on_ns: 900, runnable_ns: 100, blocked_ns: 0 },
        Ledger { on_ns: 100, runnable_ns: 0, blocked_ns: 900 },
    ];
    let values = of_ledgers(ledgers.iter()).map(|range| range.value);
    assert_eq!(values, [50.0, 5.0, 45.0]);
}

#[test]
fn user_time_has_the_intervals_of_both() {
    let said = said(&[("user", 200, 100, 250), ("kernel", 800, 800, 800)]);
    let truth = |percent| Truth { user_percent: Some((percent, 2.0)), ..Truth::default() };
    // 20 less 10 of its own, 3 points, and 2 of the samples.
    assert!(judge(&PROGRAM, &said, &truth(5.1), false).agrees());
    assert_eq!(wrong(&judge(&PROGRAM, &said, &truth(4.9), false)), ["user"]);
}

#[test]
fn counts_are_within_what_is_said_or_near_it() {
    let exact = Calls { calls: 970, lo: 970, hi: Some(970) };
    assert!(count("read", Some(&exact), 1_000).agrees);
    assert!(!count("read", Some(&Calls { calls: 960, lo: 960, hi: Some(960) }), 1_000).agrees);
    assert!(count("read", Some(&Calls { calls: 771, lo: 771, hi: None }), 1_000).agrees);
    assert!(!count("read", None, 1_000).agrees);
}

#[test]
fn throttling_locks_and_the_programs_own_clock() {
    let said = said(&[("user", 1_000, 1_000, 1_000), ("throttled", 9_000, 9_000, 9_000)]);
    let truth = Truth { throttled_ns: Some(9_400), lock_percent: Some(50.0), ..Truth::default() };
    assert_eq!(wrong(&judge(&PROGRAM, &said, &truth, false)), ["throttled", "lock"]);
    let own = |cpu_ns| Truth { cpu_ns: Some(cpu_ns), ..Truth::default() };
    assert!(judge(&PROGRAM, &said, &own(1_030), false).agrees());
    assert_eq!(wrong(&judge(&PROGRAM, &said, &own(1_050), false)), ["CPU ms"]);
}

#[test]
fn a_wrong_class_comes_with_the_reason_for_the_right_one() {
    let wrong = Said { class: "io".to_owned(), ..said(&[("user", 10, 10, 10)]) };
    let notes = |runnable| judge(&PROGRAM, &wrong, &kinds(0.0, runnable, 0.0), false).notes;
    assert_eq!(notes(20.0), ["the class: it computes"]);
    assert_eq!(notes(80.0), ["the class: it waited for a CPU behind other programs"]);
    let right = judge(&PROGRAM, &said(&[("user", 10, 10, 10)]), &Truth::default(), false);
    assert_eq!(right.notes, [""; 0]);
}

#[test]
fn beside_others_a_program_may_be_starved() {
    let judged = |runnable, is_window, busy| {
        let said = Said { is_window, ..Said::default() };
        right_classes(&PROGRAM, &said, &kinds(0.0, runnable, 0.0), busy)
    };
    assert_eq!(judged(80.0, false, false), [Class::Starved]);
    assert_eq!(judged(49.0, false, false), [Class::Cpu, Class::Starved]);
    assert_eq!(judged(20.0, false, true), [Class::Cpu]);
    // Threads of a window may wait behind each other.
    assert_eq!(judged(80.0, true, false), [Class::Cpu]);
    assert_eq!(judged(80.0, true, true), [Class::Starved]);
}
