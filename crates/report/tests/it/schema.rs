//! The JSON against its schema: what dwell writes is valid, what is broken is not, and every field
//! is described.

use crate::samples;
use crate::support::{close, errors, schema, validator};
use dwell_report::json;
use model::Seen;
use serde_json::{Value, json as literal};

fn sample(run: &model::Run) -> Value {
    let text = dwell_report::result::without_stacks(&samples::result(run, None));
    serde_json::from_str(&text).expect("what is written can be read")
}

#[test]
fn what_is_written_is_valid() {
    let validator = validator(&schema("run"));
    for (name, run) in samples::all() {
        let errors = errors(&validator, &sample(&run));
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn what_is_broken_is_refused() {
    let validator = validator(&schema("run"));
    let good = sample(&samples::server());
    assert!(validator.is_valid(&good));
    for (what, at, broken) in [
        ("missing wall_ns", "/wall_ns", None),
        ("missing coverage", "/coverage", None),
        ("missing state of a part", "/account/0/state", None),
        ("missing unit of a wait", "/waits/0/path_ns", None),
        ("missing shares", "/bound/shares/user", None),
        ("unknown state", "/account/0/state", Some(literal!("thinking"))),
        ("unknown state of a thread", "/threads/0/states", Some(literal!({"thinking": 1}))),
        ("unknown state of a slice", "/phases/slices/0", Some(literal!({"thinking": 1}))),
        ("a wait that is none", "/waits/0/reason", Some(literal!("user"))),
        ("unknown kind of object", "/waits/0/on/kind", Some(literal!("dream"))),
        ("unknown class", "/bound/class", Some(literal!("lazy"))),
        ("unknown basis", "/account/0/basis", Some(literal!("guessed"))),
        ("unknown extent", "/coverage/sources/0/seen", Some(literal!("mostly"))),
        ("negative time", "/wall_ns", Some(literal!(-1))),
        ("negative time by state", "/threads/0/states/user", Some(literal!(-5))),
        ("negative time that may be missing", "/user_ns", Some(literal!(-1))),
        ("fraction of a nanosecond", "/path/0/ns", Some(literal!(0.5))),
        ("time as text", "/wall_ns", Some(literal!("12 ms"))),
        ("share above one", "/coverage/host_busy", Some(literal!(1.5))),
        ("command as text", "/command", Some(literal!("ls -l"))),
        ("both ends", "/exit", Some(literal!({"code": 0, "signal": 9}))),
        ("no end", "/exit", Some(literal!({}))),
        ("unseen without a reason", "/syscalls", Some(literal!({"unseen": null}))),
        ("half seen", "/faults", Some(literal!({"minor": 1}))),
        ("local time", "/started_at", Some(literal!("2026-11-20 10:47:33"))),
        ("no such day", "/started_at", Some(literal!("2026-13-41T10:47:33Z"))),
        ("another version", "/schema", Some(literal!("dwell.run/2"))),
    ] {
        let mut value = good.clone();
        match broken {
            Some(broken) => *value.pointer_mut(at).expect(at) = broken,
            None => {
                let (parent, field) = at.rsplit_once('/').expect(at);
                let parent = value.pointer_mut(parent).and_then(Value::as_object_mut).expect(at);
                parent.remove(field).expect(at);
            }
        }
        assert!(!validator.is_valid(&value), "{what} was accepted at {at}");
    }
}

#[test]
fn broken_series_are_refused() {
    let validator = validator(&schema("run"));
    let good = sample(&samples::download());
    for (what, at, broken) in [
        ("a share above one", "/series/disks/0/busy_share/3", literal!(1.5)),
        ("a negative rate", "/series/links/0/sent_bytes_per_s/0", literal!(-1)),
        ("a latency in words", "/series/nfs/0/latency_ns_mean/0", literal!("1 ms")),
        ("an unknown verdict", "/series/verdicts/0/kind", literal!("link-sad")),
        ("a verdict on nothing", "/series/verdicts/0/name", Value::Null),
        ("no reason", "/series/links/1/limit_share", literal!({"unseen": 7})),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(at).expect(at) = broken;
        assert!(!validator.is_valid(&value), "{what} was accepted at {at}");
    }
}

#[test]
fn readers_of_this_schema_accept_fields_of_later_versions() {
    let validator = validator(&schema("run"));
    let mut value = sample(&samples::ls());
    for at in ["", "/account/0", "/path/0", "/waits/0", "/coverage", "/bound/shares", "/host"] {
        let object = value.pointer_mut(at).and_then(Value::as_object_mut).expect(at);
        object.insert("later".into(), literal!({"any": ["thing"]}));
    }
    assert_eq!(errors(&validator, &value), [""; 0]);
}

#[test]
fn every_field_is_described() {
    let mut closed = schema("run");
    close(&mut closed);
    let validator = validator(&closed);
    for (name, run) in samples::all() {
        let errors = errors(&validator, &sample(&run));
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
    let mut value = sample(&samples::ls());
    value["coverage"]["later"] = Value::Null;
    assert!(!validator.is_valid(&value), "closing the schema closed nothing");
}

#[test]
fn json_comes_back_as_it_was_and_is_safe_to_look_at() {
    let run = samples::hostile();
    let text = dwell_report::result::without_stacks(&samples::result(&run, None));
    let obeyed =
        |char: char| (char.is_control() && char != '\n') || "\u{202e}\u{2066}\u{200b}\u{feff}".contains(char);
    assert!(!text.contains(obeyed), "{text}");
    let value = sample(&run);
    assert_eq!(value["command"], literal!(run.command));
    assert_eq!(value["host"]["name"], literal!(run.host.name));
    assert_eq!(value["coverage"]["notes"], literal!(run.coverage.notes));
    let sum = |list: &str| {
        value[list].as_array().unwrap().iter().map(|one| one["ns"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!([sum("account"), sum("path")], [run.wall_ns; 2]);
}

#[test]
fn zero_absent_and_unseen_are_told_apart() {
    let value = sample(&samples::degraded());
    assert_eq!(value["faults"], Value::Null);
    assert_eq!(value["syscalls"]["unseen"], "BPF was refused (operation not permitted)");
    assert_eq!(sample(&samples::ls())["coverage"]["lost_events"], 0);
    let mut run = samples::ls();
    run.host.memory_bytes = Seen::unseen("cannot read /proc/meminfo");
    let value = sample(&run);
    assert_eq!(value["host"]["memory_bytes"]["unseen"], "cannot read /proc/meminfo");
    assert_eq!(errors(&validator(&schema("run")), &value), [""; 0]);
}

#[test]
fn a_comparison_of_scores_is_valid_and_every_field_is_described() {
    let total = literal!({
        "sittings": 1, "cause_first": 1, "first_again": 0, "measured": 1, "held": 1, "healthy": 0,
        "healthy_right": 0, "score": 0.5, "rule_score": 1.0, "counted": 0, "counted_narrow": 0,
        "unseen": 0, "saving_shown": 1, "saving_shown_first": 1,
    });
    let figures = literal!({
        "total": total, "beside": 0, "predicted": {"lo": 0.1, "hi": 0.2}, "width": 0.1, "saved": null,
        "instead": ["nothing"],
    });
    let origin = literal!({"host": "board", "dwell": "0.1.0", "started_at": "2026-01-02T03:04:05Z"});
    let both = literal!({"a": figures, "b": figures});
    let good = literal!({
        "schema": "dwell.lab-diff/1", "a": origin, "b": origin, "total": both,
        "differences": [{"what": "seed", "a": "7", "b": "8"}],
        "scores": {"pairs": 9, "by": {"estimate": -0.1, "lo": -0.2, "hi": -0.0625}, "change": "better"},
        "rows": [{
            "name": "copy", "cause": "small-io", "a": figures, "b": figures,
            "changes": [{"what": "found-first", "better": false}],
        }],
        "uncompared": [{"name": "quota", "only": "a", "why": "it takes root"}],
    });
    let diff: model::compare::lab::LabComparison = serde_json::from_value(good.clone()).expect("it is one");
    let written: Value = serde_json::from_str(&json(&diff)).expect("what is written can be read");
    assert_eq!(written, good);
    let mut closed = schema("lab-diff");
    close(&mut closed);
    let validator = validator(&closed);
    assert_eq!(errors(&validator, &good), [""; 0]);
    for (at, broken) in [
        ("/schema", literal!("dwell.lab-diff/2")),
        ("/scores/change", literal!("nicer")),
        ("/rows/0/changes/0/what", literal!("luck")),
        ("/uncompared/0/only", literal!("c")),
        ("/total/a/width", literal!("10 %")),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(at).expect(at) = broken;
        assert!(!validator.is_valid(&value), "{at}");
    }
}
