//! Runs and comparisons beside each other: pages and JSON.

// Golden files and schemas are read here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use crate::samples;
use crate::support::{check_lines, check_page, close, errors, schema, validator};
use dwell_report::compare::{runs, sittings};
use dwell_report::{Look, json};
use jsonschema::Validator;
use model::compare::runs::RunComparison;
use model::compare::sittings::{
    Sitting, SittingDifference, SittingResult, SittingSpread, Sittings, SittingsRow,
};
use model::compare::{Change, Difference, EstimateInterval};
use model::coverage::Extent;
use model::requests::RequestKind;
use model::timing::Figure;
use model::{Run, Seen};
use serde_json::{Value, json as literal};

const PLAIN: Look = Look::PLAIN;

/// A schema by its name, and the same where a field without a description is an error.
fn validators(what: &str) -> [Validator; 2] {
    let open = schema(what);
    let mut closed = open.clone();
    close(&mut closed);
    [open, closed].map(|schema| validator(&schema))
}

fn named(name: &str) -> Run {
    let (_, run) = samples::all().into_iter().find(|(of, _)| *of == name).expect(name);
    run
}

/// Each sample with the next one.
fn all() -> Vec<(String, RunComparison)> {
    let samples = samples::all();
    let next = samples.iter().cycle().skip(1);
    let pairs = samples.iter().zip(next);
    pairs.map(|((a, of_a), (b, of_b))| (format!("{a} {b}"), analyse::compare::runs(of_a, of_b))).collect()
}

fn kept() -> Sittings {
    let ratio = |estimate: f64| EstimateInterval { estimate, lo: estimate - 0.01, hi: estimate + 0.012 };
    let result = |estimate: f64, verdict| SittingResult { pairs: 31, ratio: Some(ratio(estimate)), verdict };
    let hostile = "a\x1b[2J\u{202e}b\nc".to_owned();
    let sitting = |file: &str| Sitting {
        file: file.into(),
        host: hostile.clone(),
        started_at: "2026-11-23T05:00:00Z".into(),
        on: Figure::Wall,
    };
    let none = SittingResult { pairs: 3, ratio: None, verdict: Change::Undecided };
    Sittings {
        schema: model::compare::sittings::SCHEMA_COMPARE_DIFF.to_owned(),
        sittings: ["monday.json", "tuesday.json", "friday.json"].map(sitting).to_vec(),
        differences: vec![SittingDifference {
            sitting: 2,
            difference: Difference { what: "kernel".into(), a: "6.12".into(), b: hostile.clone() },
        }],
        rows: vec![
            SittingsRow {
                a: "old".into(),
                b: hostile.clone(),
                results: vec![result(0.981, Change::Less), result(1.043, Change::More), none.clone()],
                spread: Some(SittingSpread {
                    median: 1.012,
                    lo: 0.981,
                    hi: 1.043,
                    between_by_within: Some(7.7),
                }),
            },
            SittingsRow { a: "old".into(), b: "c".into(), results: vec![none; 3], spread: None },
        ],
    }
}

#[test]
fn pages_are_as_they_were() {
    let pairs =
        [("journal", "sleep"), ("crunch", "python"), ("server", "pipeline"), ("served", "served-faster")];
    for width in [80, 120] {
        let look = Look { width, ..PLAIN };
        for (a, b) in pairs {
            let diff = analyse::compare::runs(&named(a), &named(b));
            check_page(&format!("runs-{a}-{b}-{width}"), &runs(&diff, look));
        }
        check_page(&format!("sittings-{width}"), &sittings(&kept(), look));
    }
}

#[test]
fn no_line_is_wider_than_the_page_and_nothing_is_left_to_obey() {
    for width in [40, 60, 80, 120] {
        for look in [PLAIN, Look { unicode: false, ..PLAIN }].map(|look| Look { width, ..look }) {
            let mut pages: Vec<_> =
                all().iter().map(|(name, diff)| (name.clone(), runs(diff, look))).collect();
            pages.push(("sittings".into(), sittings(&kept(), look)));
            for (name, page) in pages {
                check_lines(&name, &page, look);
            }
        }
    }
}

#[test]
fn the_page_of_two_runs_has_the_sign_and_no_verdict() {
    let (mut a, b) = (named("sleep"), named("sleep"));
    let page = runs(&analyse::compare::runs(&a, &b), PLAIN);
    assert!(page.contains("B took as long as A") && page.contains("No verdict"), "{page}");
    // Half a second less of the first place.
    let step = &mut a.path[0];
    step.ns += 500_000_000;
    let state = step.state;
    a.account.iter_mut().filter(|part| part.state == state).for_each(|part| part.ns += 500_000_000);
    a.wall_ns += 500_000_000;
    let page = runs(&analyse::compare::runs(&a, &b), PLAIN);
    assert!(page.contains("B took 500 ms less than A") && page.contains("-500 ms"), "{page}");
    assert!(page.contains("████████│"), "the bar goes to the left: {page}");
    let other = runs(&analyse::compare::runs(&b, &a), PLAIN);
    assert!(other.contains("│████████") && other.contains("+500 ms"), "{other}");
}

#[test]
fn the_page_of_two_windows_on_a_service_has_its_kinds_and_says_what_was_lost() {
    let (mut a, mut b) = (named("served"), named("served-faster"));
    a.coverage.lost_events = Seen::Value(1_206_349);
    a.coverage.sources[0].name = "tasks".into();
    a.coverage.sources[0].seen = Extent::None;
    b.coverage.sources[0].name = "tasks".into();
    b.coverage.sources[0].seen = Extent::Partial;
    let all = b.tables.requests.value_mut().unwrap();
    all.kinds[1].latency.mean_ns += 1_000_000;
    let one = all.kinds[1].clone();
    all.kinds.extend((0..12).map(|at| RequestKind {
        kind: Seen::Value(format!("GET /new/{at}")),
        times: 1,
        ..one.clone()
    }));
    let mut diff = analyse::compare::runs(&a, &b);
    diff.b.id = Some("6ce2a5f5".into());
    let page = runs(&diff, PLAIN);
    for said in [
        "B  6ce2a5f5  ",
        "! A lost 1,206,349 events: its requests seem longer, and some may be missing",
        "differs: the source tasks saw nothing in A and a part in B",
        "\n  p90  ",
        "\n  max  ",
        "; with 95 % the change is in the range given",
        "requests by kind",
        "… 6 more kinds",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let rows: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("requests by kind")).collect();
    assert!(rows[1].starts_with("  GET /health") && rows.len() > 9, "{page}");
    assert!(!page.contains("B lost"), "{page}");
}

#[test]
fn two_runs_are_valid_and_every_field_is_described() {
    let [open, closed] = validators("run-diff");
    for (name, diff) in all() {
        let text = json(&diff);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(errors(&closed, &value), [""; 0], "{name}");
        let back: RunComparison = serde_json::from_str(&text).unwrap();
        assert_eq!((back.why.wall, &back.why.states), (diff.why.wall, &diff.why.states), "{name}");
    }
    let good: Value = serde_json::from_str(&json(&all()[0].1)).unwrap();
    for (what, at, broken) in [
        ("another version", "/schema", literal!("dwell.run-diff/2")),
        ("half an interval", "/why/wall/interval", literal!({"lo": 1})),
        ("an unknown state", "/why/states/0/state", literal!("busy")),
        ("a time in words", "/why/states/0/ns", literal!("1 ms")),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(at).expect(at) = broken;
        assert!(!open.is_valid(&value), "{what} was accepted at {at}");
    }
    let mut value = good;
    value["why"]["later"] = Value::Null;
    assert!(open.is_valid(&value) && !closed.is_valid(&value));
}

#[test]
fn several_comparisons_are_valid_and_every_field_is_described() {
    let [open, closed] = validators("compare-diff");
    let text = json(&kept());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(errors(&closed, &value), [""; 0]);
    assert_eq!(serde_json::from_str::<Sittings>(&text).unwrap(), kept());
    let mut broken = value;
    broken["rows"][0]["results"][0]["verdict"] = literal!("nicer");
    assert!(!open.is_valid(&broken));
}
