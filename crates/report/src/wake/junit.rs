//! Verdicts as JUnit XML for CI systems: a suite for each case, a test for each CPU.
//!
//! JUnit XML has no standard; this follows the schema of the Jenkins xUnit plugin. Undecided is an
//! `error`: the deadline is neither met nor missed, so a pipeline must not go on.

use crate::clean::xml as escaped;
use crate::units::{counted, duration};
use crate::wake::words;
use model::wake::Wakeups;
use model::wake::sheet::Sheet;
use model::wake::verdict::{Answer, CpuVerdict, Verdict};
use model::{Ns, Seen};
use std::fmt::Write;

/// The suite of a plain result.
const ALL: &str = "wake";

/// The document of one result.
pub fn junit(wakeups: &Wakeups) -> String {
    document(&[(ALL.to_owned(), Some(wakeups))])
}

/// The document of a sheet: cases not measured are skipped.
pub fn sheet_junit(sheet: &Sheet) -> String {
    let cases = sheet.cases.iter().enumerate();
    document(&cases.map(|(at, case)| (case.name.clone(), sheet.results.get(at))).collect::<Vec<_>>())
}

fn document(cases: &[(String, Option<&Wakeups>)]) -> String {
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"dwell wake\">\n".to_owned();
    for (name, wakeups) in cases {
        suite(&mut text, name, *wakeups);
    }
    text.push_str("</testsuites>\n");
    text
}

fn suite(text: &mut String, name: &str, wakeups: Option<&Wakeups>) {
    let tests = match wakeups {
        None => vec![Test::plain("all CPUs", Outcome::Skipped("not measured".to_owned()))],
        Some(wakeups) => tests(wakeups),
    };
    let count = |kind: fn(&Outcome) -> bool| tests.iter().filter(|test| kind(&test.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failure(_)));
    let errors = count(|outcome| matches!(outcome, Outcome::Error(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let took = seconds(wakeups.map_or(0, |wakeups| wakeups.took_ns));
    let name = escaped(name);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{took}\"",
        tests.len()
    );
    if let Some(wakeups) = wakeups {
        let host = escaped(&wakeups.host.name);
        let _ = write!(text, " hostname=\"{host}\" timestamp=\"{}\"", escaped(&wakeups.started_at));
    }
    text.push_str(">\n");
    if let Some(wakeups) = wakeups {
        properties(text, wakeups);
    }
    for test in tests {
        let _ = write!(
            text,
            "    <testcase classname=\"dwell.{name}\" name=\"{}\" time=\"{took}\"",
            escaped(&test.name)
        );
        let (element, kind, message) = match &test.outcome {
            Outcome::Pass => {
                let _ = writeln!(text, "><system-out>{}</system-out></testcase>", escaped(&test.figures));
                continue;
            }
            Outcome::Failure(message) => ("failure", " type=\"missed\"", message),
            Outcome::Error(message) => ("error", " type=\"undecided\"", message),
            Outcome::Skipped(message) => ("skipped", "", message),
        };
        let _ = writeln!(
            text,
            "><{element}{kind} message=\"{}\"/><system-out>{}</system-out></testcase>",
            escaped(message),
            escaped(&test.figures)
        );
    }
    text.push_str("  </testsuite>\n");
}

fn properties(text: &mut String, wakeups: &Wakeups) {
    let asked = &wakeups.settings.asked;
    let mut properties = vec![
        ("kernel", wakeups.host.kernel.clone()),
        ("policy", words::policy(asked.policy)),
        ("interval", duration(asked.interval_ns)),
    ];
    if let Seen::Value(verdict) = &wakeups.verdict {
        properties.push(("limit", duration(verdict.limit_ns)));
        properties.push(("verdict", verdict.why.clone()));
    }
    properties.extend(wakeups.limits.iter().map(|limit| ("caveat", limit.clone())));
    text.push_str("    <properties>\n");
    for (name, value) in properties {
        let _ = writeln!(text, "      <property name=\"{name}\" value=\"{}\"/>", escaped(&value));
    }
    text.push_str("    </properties>\n");
}

struct Test {
    name: String,
    figures: String,
    outcome: Outcome,
}

enum Outcome {
    Pass,
    Failure(String),
    Error(String),
    Skipped(String),
}

impl Test {
    fn plain(name: &str, outcome: Outcome) -> Self {
        Self { name: name.to_owned(), figures: String::new(), outcome }
    }
}

fn tests(wakeups: &Wakeups) -> Vec<Test> {
    let verdict = match &wakeups.verdict {
        Seen::Value(verdict) => verdict,
        Seen::Absent => {
            return vec![Test::plain("all CPUs", Outcome::Skipped("no deadline given".to_owned()))];
        }
        Seen::Unseen(why) => return vec![Test::plain("all CPUs", Outcome::Error(why.clone()))],
    };
    let mut tests: Vec<Test> = verdict.of_processor.iter().map(|one| of_processor(one, verdict)).collect();
    // What holds of all CPUs together only: the estimate of the maximum, or a fault of the load.
    let worst = verdict.of_processor.iter().all(|one| one.answer == Answer::Pass);
    if tests.is_empty() || (worst && verdict.answer != Answer::Pass) {
        let outcome = match verdict.answer {
            Answer::Pass => Outcome::Pass,
            Answer::Fail => Outcome::Failure(verdict.why.clone()),
            Answer::Undecided => Outcome::Error(verdict.why.clone()),
        };
        tests.push(Test::plain("all CPUs", outcome));
    }
    tests
}

fn of_processor(one: &CpuVerdict, verdict: &Verdict) -> Test {
    let limit = duration(verdict.limit_ns);
    let max = one.max_ns.value().map_or_else(|| "none".to_owned(), |ns| duration(*ns));
    let wake_ups = counted(one.cycles, "wake-up");
    let rarer = duration(one.one_in_ns);
    let outcome = match one.answer {
        Answer::Pass => Outcome::Pass,
        Answer::Fail => {
            Outcome::Failure(format!("{} of {wake_ups} exceeded {limit}: maximum latency {max}", one.beyond))
        }
        Answer::Undecided if one.cycles == 0 => Outcome::Error("no wake-up was measured".to_owned()),
        Answer::Undecided => {
            let asked = duration(verdict.deadline.one_in_ns);
            Outcome::Error(format!(
                "none of {wake_ups} exceeded {limit}: fewer than one in {rarer}, but fewer than one in \
                 {asked} is required"
            ))
        }
    };
    Test {
        name: one.cpu.map_or_else(|| "all CPUs".to_owned(), |cpu| format!("CPU {cpu}")),
        figures: format!("{wake_ups}, maximum latency {max}; fewer than one in {rarer} exceeds {limit}"),
        outcome,
    }
}

fn seconds(ns: Ns) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}
