//! The ladder's page and JSON: against golden files, against the schema, and against what must hold for every page.
//!
//! `BLESS=1 cargo test -p dwell-report` writes the golden files anew; review them as a diff.

// Samples, golden files and the schema are read here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use ::png as png_crate;
use dwell_report::Look;
use dwell_report::ladder::{json, latency, list, png, svg, terminal};
use jsonschema::Validator;
use model::Seen;
use model::ladder::{Group, Interval, Ladder, Plausible, Rung, Spread, Verdict};
use serde_json::{Value, json as literal};
use std::path::PathBuf;
use unicode_width::UnicodeWidthChar;

const PLAIN: Look = Look { width: 80, colour: false, unicode: true };

fn beside(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A ladder that was measured on a virtual machine with two processors, as `dwell ladder --json` wrote it.
fn kept() -> Ladder {
    let text = std::fs::read_to_string(beside("samples/ladders/vm.json")).expect("the sample can be read");
    serde_json::from_str(&text).expect("the sample is a ladder")
}

/// The same with what a hostile host could put into it, with figures at both ends of the axis, and with holes.
fn odd() -> Ladder {
    let mut ladder = kept();
    let hostile = "a\x1b[2J\u{202e}b\nc".to_owned();
    ladder.host.name = hostile.clone();
    ladder.machine.cpu = Seen::Value(hostile.clone());
    ladder.asked.hosts = vec![hostile.clone()];
    let template = ladder.rungs[0].clone();
    let rung = |id: &str, group, ns: Seen<f64>| Rung {
        about: model::ladder::About { id: id.to_owned(), group, ..template.about.clone() },
        ns: match &ns {
            Seen::Value(ns) => Seen::Value(Interval { median: *ns, lo: ns * 0.9, hi: ns * 1.4 }),
            Seen::Absent => Seen::Absent,
            Seen::Unseen(why) => Seen::Unseen(why.clone()),
        },
        spread_ns: match &ns {
            Seen::Value(ns) => {
                Seen::Value(Spread { min: ns * 0.5, p10: ns * 0.8, p90: ns * 4.0, max: ns * 90.0 })
            }
            _ => Seen::Absent,
        },
        limits: match &ns {
            Seen::Absent => vec!["this machine has no such thing".to_owned()],
            _ => vec![format!("{hostile} did it\ntry: {hostile}")],
        },
        plausible: Plausible { verdict: Verdict::Doubtful, why: hostile.clone() },
        ..template.clone()
    };
    ladder.rungs.extend([
        rung("malloc-small", Group::Allocator, Seen::Value(-0.4)),
        rung("fsync", Group::Files, Seen::Value(4.2e6)),
        rung(&format!("connect@{hostile}"), Group::Network, Seen::Value(2.6e10)),
        rung("handshake", Group::Network, Seen::Absent),
        rung("resolve", Group::Network, Seen::unseen(hostile.clone())),
    ]);
    ladder.curve = Seen::unseen("it was interrupted before its turn");
    ladder
}

/// Nothing was measured at all.
fn empty() -> Ladder {
    Ladder { rungs: Vec::new(), curve: Seen::Absent, limits: Vec::new(), ..kept() }
}

fn samples() -> [(&'static str, Ladder); 3] {
    [("ladder", kept()), ("ladder-odd", odd()), ("ladder-empty", empty())]
}

fn check_golden(name: &str, page: &str) {
    let path = beside("golden").join(format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page).expect("cannot write a golden file");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == page, "{name} differs from {}; BLESS=1 renews it\n{page}", path.display());
}

#[test]
fn pages_are_as_they_were() {
    for (name, ladder) in samples() {
        for width in [80, 120] {
            check_golden(&format!("{name}-{width}"), &terminal(&ladder, Look { width, ..PLAIN }));
        }
    }
    check_golden("ladder-40", &terminal(&kept(), Look { width: 40, ..PLAIN }));
    check_golden("ladder-ascii-100", &terminal(&kept(), Look { width: 100, unicode: false, ..PLAIN }));
    let coloured = terminal(&kept(), Look { width: 80, colour: true, ..PLAIN });
    check_golden("ladder-colour-80", &coloured.replace('\x1b', "\\e"));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_is_left_to_obey() {
    for (name, ladder) in samples() {
        for width in (40..=124).step_by(3) {
            for unicode in [true, false] {
                let page = terminal(&ladder, Look { width, colour: false, unicode });
                assert!(unicode || page.is_ascii(), "{name} at {width}: not ASCII\n{page}");
                for line in page.lines() {
                    let wide: usize = line.chars().map(|char| char.width().unwrap_or(0)).sum();
                    assert!(wide <= usize::from(width), "{name} at {width}: {wide} columns\n{line}");
                    assert!(
                        !line.chars().any(|char| char.is_control() || char == '\u{202e}'),
                        "{name}: {line:?}"
                    );
                    assert!(!line.ends_with(' '), "{name} at {width}: blanks at the end of {line:?}");
                }
            }
        }
    }
}

#[test]
fn every_rung_is_on_the_page_with_its_figure_or_its_reason() {
    for (_, ladder) in samples() {
        let page = terminal(&ladder, Look { width: 120, ..PLAIN });
        for rung in &ladder.rungs {
            let name = dwell_report::clean(&rung.about.id, true);
            let name: String = name.chars().take(20).collect();
            let line = page.lines().find(|line| line.trim_start().starts_with(&name)).unwrap_or_else(|| {
                panic!("{name} is not on the page\n{page}");
            });
            match &rung.ns {
                Seen::Value(ns) => assert!(line.contains(&latency(ns.median)), "{line}"),
                _ => assert!(line.contains("not measured: "), "{line}"),
            }
        }
    }
}

#[test]
fn the_picture_is_as_it_was_and_nothing_in_it_is_markup_of_others() {
    let path = beside("golden/ladder.svg");
    let drawn = svg(&kept());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &drawn).expect("cannot write a golden file");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == drawn, "the picture differs from {}; BLESS=1 renews it", path.display());
    let mut hostile = odd();
    hostile.host.name = "</text><script>alert(1)</script>&".to_owned();
    let drawn = svg(&hostile);
    assert!(!drawn.contains("<script") && drawn.contains("&lt;script&gt;") && drawn.is_ascii(), "{drawn}");
    assert!(!drawn.contains(|c: char| c.is_control() && c != '\n'));
}

#[test]
fn the_png_has_the_size_of_the_picture_and_ink_on_it() {
    for (name, ladder) in samples() {
        let bytes = png(&ladder);
        let mut reader = png_reader(&bytes);
        let mut pixels = vec![0; reader.output_buffer_size().expect("it fits in memory")];
        let frame = reader.next_frame(&mut pixels).expect("it can be read");
        let size = format!("width=\"{}\" height=\"{}\"", frame.width, frame.height);
        assert!(svg(&ladder).contains(&size), "{name}: not {size}");
        let inked = pixels.chunks(3).filter(|pixel| **pixel != [255, 255, 255]).count();
        assert!(inked > 500, "{name}: {inked} pixels");
    }
}

fn png_reader(bytes: &[u8]) -> png_crate::Reader<std::io::Cursor<&[u8]>> {
    png_crate::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("it is a PNG")
}

#[test]
fn latencies_keep_three_digits_below_a_nanosecond_too() {
    for (ns, text) in [
        (0.2707, "0.27 ns"),
        (1.084, "1.08 ns"),
        (98.44, "98.4 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 us"),
        (4.2e6, "4.20 ms"),
        (-0.4, "-0.40 ns"),
        (0.0, "0.00 ns"),
    ] {
        assert_eq!(latency(ns), text);
    }
}

#[test]
fn the_list_names_groups_once() {
    let abouts: Vec<_> = kept().rungs.into_iter().map(|rung| rung.about).collect();
    let text = list(&abouts, PLAIN);
    assert_eq!(text.lines().filter(|line| *line == "memory").count(), 1, "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("l1 ")), "{text}");
}

fn schema() -> Value {
    let text = std::fs::read_to_string(beside("../../../docs/schema/dwell.ladder.1.json"));
    serde_json::from_str(&text.expect("the schema can be read")).expect("the schema is JSON")
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::meta::validate(schema).expect("the schema is one of draft 2020-12");
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(schema)
        .expect("the schema compiles")
}

fn errors(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn written(ladder: &Ladder) -> Value {
    serde_json::from_str(&json(ladder)).expect("what is written can be read")
}

/// Closes every described object, so that a field without a description is an error.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if object.get("properties").is_some_and(Value::is_object) && object.contains_key("type") {
                object.insert("additionalProperties".into(), Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn what_is_written_is_valid_and_every_field_is_described() {
    let mut closed = schema();
    close(&mut closed);
    let validator = validator(&closed);
    for (name, ladder) in samples() {
        let errors = errors(&validator, &written(&ladder));
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
    let mut value = written(&kept());
    value["rungs"][0]["later"] = Value::Null;
    assert!(!validator.is_valid(&value), "closing the schema closed nothing");
}

#[test]
fn what_is_broken_is_refused_and_what_is_new_is_not() {
    let validator = validator(&schema());
    let good = written(&kept());
    for (what, at, broken) in [
        ("another version", "/schema", literal!("dwell.ladder/2")),
        ("a figure in words", "/rungs/0/ns", literal!("1 ns")),
        ("half an interval", "/rungs/0/ns", literal!({"median": 1})),
        ("unseen without a reason", "/rungs/0/ns", literal!({"unseen": null})),
        ("an unknown group", "/rungs/0/group", literal!("space")),
        ("a name with blanks", "/rungs/0/id", literal!("first cache")),
        ("an unknown verdict", "/rungs/0/plausible/verdict", literal!("nice")),
        ("negative samples", "/rungs/0/samples", literal!(-1)),
        ("local time", "/started_at", literal!("2026-11-20 10:47:33")),
        ("a point without a size", "/curve/points/0", literal!({"ns": {"median": 1, "lo": 1, "hi": 1}})),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(at).expect(at) = broken;
        assert!(!validator.is_valid(&value), "{what} was accepted at {at}");
    }
    let mut value = good;
    value["rungs"][0]["later"] = literal!({"any": ["thing"]});
    assert_eq!(errors(&validator, &value), [""; 0]);
}

#[test]
fn json_comes_back_as_it_was_and_is_safe_to_look_at() {
    for (name, ladder) in samples() {
        let text = json(&ladder);
        assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{name}");
        assert_eq!(serde_json::from_str::<Ladder>(&text).unwrap(), ladder, "{name}");
    }
}
