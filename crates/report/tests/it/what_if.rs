//! The page of a replay with edits, and its JSON against the schema.

// The schema is read here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use crate::support::{check_page, close, errors, schema, validator};
use dwell_report::{Look, json, what_if::terminal};
use model::recording::Host;
use model::run::{Bound, Class, Shares};
use model::what_if::{
    EditTimes, Replay, ReplayAssumption, ReplayedPath, ReplayedPlace, SCHEMA_WHAT_IF, SavingEstimate,
    StateTime, WallEstimate, WhatIf,
};
use model::{Ns, Reason, Seen, State};
use serde_json::{Value, json as literal};

const MS: Ns = 1_000_000;

fn place(process: &str, state: State, reason: &str, ms: Ns) -> ReplayedPlace {
    ReplayedPlace { process: process.into(), state, reason: Reason::read(state, reason), ns: ms * MS }
}

fn path(class: Class, resource: State, places: Vec<ReplayedPlace>) -> ReplayedPath {
    let mut account = Vec::<StateTime>::new();
    for place in &places {
        match account.iter_mut().find(|part| part.state == place.state) {
            Some(part) => part.ns += place.ns,
            None => account.push(StateTime { state: place.state, ns: place.ns }),
        }
    }
    let shares = Shares { waiting: 0.5, kernel: 0.1, user: 0.4 };
    ReplayedPath {
        bound: Bound { class, resource, margin_points: 12.0, shares },
        account,
        places,
        rest_ns: 0,
    }
}

/// A program that flushes each record, without its flushes.
fn journal() -> WhatIf {
    let fsync = "fsync, file /var/lib/journal";
    WhatIf {
        schema: SCHEMA_WHAT_IF.into(),
        command: vec!["journal".into(), "--all records".into()],
        started_at: "2026-11-20T10:47:33Z".into(),
        host: Host {
            name: "vm".into(),
            kernel: "6.18".into(),
            arch: "x86_64".into(),
            cpus: 2,
            memory_bytes: Seen::Value(1 << 34),
            virtualisation: Seen::Absent,
        },
        edits: vec![
            EditTimes {
                edit: "fsync=0".into(),
                times: Seen::Value(2000),
                total_ns: Seen::Value(1600 * MS),
                path_ns: Seen::Value(1500 * MS),
            },
            EditTimes {
                edit: "cpus=4".into(),
                times: Seen::Absent,
                total_ns: Seen::Absent,
                path_ns: Seen::Absent,
            },
        ],
        wall_ns: 2000 * MS,
        after: WallEstimate { ns: 480 * MS, lo_ns: 470 * MS, hi_ns: 620 * MS, chance_ns: 4 * MS },
        saving: SavingEstimate { ns: 1520 * MS as i64, lo_ns: 1380 * MS as i64, hi_ns: 1530 * MS as i64 },
        replay: Replay {
            unedited_ns: 2010 * MS,
            edited_ns: 482 * MS,
            rest_ns: 0,
            cpus_recorded: 2,
            cpus: 4,
            threads: 1,
            events: 12_345,
            steps: 20_001,
            until_ns: Seen::Absent,
        },
        path_before: path(
            Class::Io,
            State::Disk,
            vec![place("journal", State::Disk, fsync, 1530), place("journal", State::User, "", 480)],
        ),
        path_after: path(
            Class::Cpu,
            State::User,
            vec![
                place("journal", State::User, "", 460),
                place("journal", State::Runqueue, "make ran", 12),
                place("journal", State::Runqueue, "cc ran", 8),
                place("j\u{1b}[31m", State::Kernel, "write", 2),
            ],
        ),
        assumptions: ReplayAssumption::ALL.to_vec(),
    }
}

/// It would take longer, and only a part was replayed.
fn longer() -> WhatIf {
    let mut what_if = journal();
    what_if.edits.truncate(1);
    what_if.edits[0].edit = "fsync=2".into();
    what_if.after = WallEstimate { ns: 3500 * MS, lo_ns: 3480 * MS, hi_ns: 3520 * MS, chance_ns: 0 };
    what_if.saving =
        SavingEstimate { ns: -1500 * MS as i64, lo_ns: -1520 * MS as i64, hi_ns: -1480 * MS as i64 };
    what_if.replay.until_ns = Seen::Value(1500 * MS);
    what_if.replay.rest_ns = 500 * MS;
    (what_if.replay.unedited_ns, what_if.replay.edited_ns) = (2010 * MS, 2010 * MS);
    what_if.path_after = what_if.path_before.clone();
    what_if.assumptions = vec![ReplayAssumption::SameOrder];
    what_if
}

fn value(what_if: &WhatIf) -> Value {
    serde_json::from_str(&json(what_if)).expect("what is written can be read")
}

#[test]
fn the_page() {
    for (name, width) in [("what-if-120", 120), ("what-if-80", 80), ("what-if-40", 40)] {
        check_page(
            name,
            &terminal(&journal(), Look { width, colour: false, unicode: true, height: Look::HEIGHT }),
        );
    }
    check_page(
        "what-if-longer-80",
        &terminal(&longer(), Look { width: 80, colour: false, unicode: false, height: Look::HEIGHT }),
    );
}

#[test]
fn a_saving_that_may_be_none_says_so() {
    let mut what_if = journal();
    what_if.saving = SavingEstimate { ns: 5 * MS as i64, lo_ns: -3 * MS as i64, hi_ns: 20 * MS as i64 };
    let page = terminal(&what_if, Look { width: 100, colour: false, unicode: false, height: Look::HEIGHT });
    assert!(page.contains("takes 5.00 ms less: from 3.00 ms longer to 20.0 ms less"), "{page}");
    assert!(!page.contains('\x1b'), "{page}");
    what_if.saving = SavingEstimate { ns: 0, lo_ns: 0, hi_ns: 0 };
    let page = terminal(&what_if, Look { width: 100, colour: false, unicode: false, height: Look::HEIGHT });
    assert!(page.contains("saves nothing\n"), "{page}");
    what_if.saving.hi_ns = 7 * MS as i64;
    what_if.saving.lo_ns = -2 * MS as i64;
    let page = terminal(&what_if, Look { width: 100, colour: false, unicode: false, height: Look::HEIGHT });
    assert!(page.contains("takes as long: from 2.00 ms longer to 7.00 ms less"), "{page}");
}

#[test]
fn what_is_written_is_valid_and_comes_back() {
    let validator = validator(&schema("what-if"));
    for what_if in [journal(), longer()] {
        assert_eq!(errors(&validator, &value(&what_if)), [""; 0]);
        assert_eq!(serde_json::from_str::<WhatIf>(&json(&what_if)).unwrap(), what_if);
    }
}

#[test]
fn every_field_is_described() {
    let mut closed = schema("what-if");
    close(&mut closed);
    let validator = validator(&closed);
    assert_eq!(errors(&validator, &value(&journal())), [""; 0]);
    let mut more = value(&journal());
    more["replay"]["later"] = Value::Null;
    assert!(!validator.is_valid(&more), "closing the schema closed nothing");
}

#[test]
fn what_is_broken_is_refused() {
    let validator = validator(&schema("what-if"));
    for (what, at, broken) in [
        ("negative wall clock", "/after/ns", literal!(-1)),
        ("fraction of a nanosecond", "/saving/ns", literal!(0.5)),
        ("unknown state", "/path_after/account/0/state", literal!("thinking")),
        ("unknown assumption", "/assumptions/0", literal!("luck")),
        ("unseen without a reason", "/edits/0/times", literal!({"unseen": null})),
        ("no CPU", "/replay/cpus", literal!(0)),
        ("another version", "/schema", literal!("dwell.what-if/2")),
    ] {
        let mut value = value(&journal());
        *value.pointer_mut(at).expect(at) = broken;
        assert!(!validator.is_valid(&value), "{what} was accepted at {at}");
    }
    let named = schema("what-if")["$defs"]["ReplayAssumption"]["oneOf"].clone();
    let named = named.as_array().unwrap().iter().map(|one| &one["const"]);
    assert!(named.eq(ReplayAssumption::ALL.map(|one| literal!(one)).iter()));
}
