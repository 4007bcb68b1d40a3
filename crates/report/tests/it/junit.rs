//! Verdicts as JUnit XML: read back by an XML parser, counted, and safe to show.

use crate::wakes::{HOSTILE, board, sheet};
use dwell_report::wake::{junit, sheet_junit};
use model::Seen;
use model::wake::Wakeups;
use model::wake::verdict::{Answer, CpuVerdict};
use roxmltree::Document;

fn judged(mut wakeups: Wakeups, answers: &[Answer]) -> Wakeups {
    let Seen::Value(verdict) = &mut wakeups.verdict else { panic!("the sample has a verdict") };
    let one = |(cpu, answer): (usize, &Answer)| CpuVerdict {
        cpu: Some(cpu as u32),
        answer: *answer,
        cycles: 1_000,
        beyond: u64::from(*answer == Answer::Fail),
        max_ns: Seen::Value(140_000),
        exceedance_bound: 0.003,
        one_in_ns: 333_000_000,
    };
    verdict.of_processor = answers.iter().enumerate().map(one).collect();
    wakeups
}

/// How many elements there are of a name, and that what the suites count is what they have.
fn counts(text: &str) -> [usize; 5] {
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let names = ["testsuite", "testcase", "failure", "error", "skipped"];
    for suite in document.descendants().filter(|node| node.has_tag_name("testsuite")) {
        for (attribute, name) in
            [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
        {
            let many = suite.descendants().filter(|node| node.has_tag_name(name)).count();
            assert_eq!(suite.attribute(attribute), Some(many.to_string().as_str()), "{attribute}\n{text}");
        }
    }
    names.map(|name| document.descendants().filter(|node| node.has_tag_name(name)).count())
}

#[test]
fn each_cpu_is_a_test_and_each_answer_its_outcome() {
    let text = junit(&judged(board(), &[Answer::Pass, Answer::Fail, Answer::Undecided]));
    assert_eq!(counts(&text), [1, 3, 1, 1, 0]);
    let document = Document::parse(&text).unwrap();
    let failed = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert_eq!(failed.parent().unwrap().attribute("name"), Some("CPU 1"));
    let message = failed.attribute("message").unwrap();
    assert!(message.starts_with("1 of 1,000 wake-ups exceeded 100 us"), "{message}");
}

#[test]
fn a_cpu_without_a_wake_up_is_an_error_that_says_so() {
    let mut wakeups = judged(board(), &[Answer::Pass, Answer::Undecided]);
    let Seen::Value(verdict) = &mut wakeups.verdict else { unreachable!() };
    verdict.of_processor[1].cycles = 0;
    let text = junit(&wakeups);
    let document = Document::parse(&text).unwrap();
    let error = document.descendants().find(|node| node.has_tag_name("error")).unwrap();
    assert_eq!(error.attribute("message"), Some("no wake-up was measured"));
}

#[test]
fn what_is_undecided_for_all_together_is_no_pass() {
    let mut wakeups = judged(board(), &[Answer::Pass]);
    let Seen::Value(verdict) = &mut wakeups.verdict else { unreachable!() };
    verdict.answer = Answer::Undecided;
    assert_eq!(counts(&junit(&wakeups)), [1, 2, 0, 1, 0]);
}

#[test]
fn without_a_deadline_nothing_is_said_to_have_passed() {
    let mut wakeups = board();
    wakeups.verdict = Seen::Absent;
    assert_eq!(counts(&junit(&wakeups)), [1, 1, 0, 0, 1]);
    wakeups.verdict = Seen::unseen("nobody looked");
    assert_eq!(counts(&junit(&wakeups)), [1, 1, 0, 1, 0]);
}

#[test]
fn a_sheet_is_a_suite_for_each_case_and_those_not_measured_are_skipped() {
    let (whole, part) = (counts(&sheet_junit(&sheet(5))), counts(&sheet_junit(&sheet(2))));
    assert_eq!((whole[0], whole[4]), (5, 0));
    assert_eq!((part[0], part[4]), (5, 3));
}

#[test]
fn hostile_text_stays_text() {
    let mut wakeups = judged(board(), &[Answer::Fail]);
    wakeups.host.name = format!("{HOSTILE}\u{1}\u{ffff}\"'<&>]]>");
    wakeups.limits.push(HOSTILE.to_owned());
    // A line's end, a tag, a soft hyphen, a filler: not of the control characters, and not to be
    // seen.
    wakeups.limits.push("\u{2028}\u{e0041}\u{ad}\u{3164}".to_owned());
    let text = junit(&wakeups);
    counts(&text);
    assert!(!text.contains(|char: char| char.is_control() && char != '\n'), "{text}");
    assert!(text.contains("value=\"\u{fffd}\u{fffd}\u{fffd}\u{fffd}\""), "{text}");
    let document = Document::parse(&text).unwrap();
    let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert!(suite.attribute("hostname").unwrap().ends_with("\"'<&>]]>"));
}
