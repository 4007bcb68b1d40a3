//! The ladder's page and JSON: against golden files, against the schema, and against what must hold
//! for every page.
//!
//! `BLESS=1 cargo test -p dwell-report` writes the golden files anew; review them as a diff.

// Samples, golden files and the schema are read here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use crate::support::{beside, check_lines, check_page, close, errors, schema, validator};
use ::png as png_crate;
use dwell_report::Look;
use dwell_report::compare::ladders;
use dwell_report::json;
use dwell_report::ladder::{latency, list, png, svg, terminal};
use model::Seen;
use model::compare::ladder::{Compared, LadderComparison, LadderOrigin, SCHEMA_LADDER_DIFF, Uncompared};
use model::compare::{Change, Difference, Side};
use model::ladder::beside::{Reference, ReferenceFigure};
use model::ladder::{Ladder, MedianInterval, Plausibility, Plausible, Rung, RungGroup, Spread};
use serde_json::{Value, json as literal};

const PLAIN: Look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };

/// A ladder that was measured on a virtual machine with two CPUs, as `dwell ladder --json`
/// wrote it.
fn kept() -> Ladder {
    let text = std::fs::read_to_string(beside("samples/ladders/vm.json")).expect("the sample can be read");
    serde_json::from_str(&text).expect("the sample is a ladder")
}

/// The same with what a hostile host could put into it, with figures at both ends of the axis, and
/// with holes.
pub(crate) fn odd() -> Ladder {
    let mut ladder = kept();
    let hostile = "a\x1b[2J\u{202e}b\nc".to_owned();
    ladder.host.name = hostile.clone();
    ladder.machine.cpu = Seen::Value(hostile.clone());
    ladder.asked.hosts = vec![hostile.clone()];
    let template = ladder.rungs[0].clone();
    let rung = |id: &str, group, ns: Seen<f64>| Rung {
        about: model::ladder::RungDescription { id: id.to_owned(), group, ..template.about.clone() },
        ns: match &ns {
            Seen::Value(ns) => Seen::Value(MedianInterval { median: *ns, lo: ns * 0.9, hi: ns * 1.4 }),
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
        plausible: Plausible { verdict: Plausibility::Doubtful, why: hostile.clone() },
        ..template.clone()
    };
    ladder.rungs.extend([
        rung("malloc-small", RungGroup::Allocator, Seen::Value(-0.4)),
        rung("fsync", RungGroup::Files, Seen::Value(4.2e6)),
        rung(&format!("connect@{hostile}"), RungGroup::Network, Seen::Value(2.6e10)),
        rung("handshake", RungGroup::Network, Seen::Absent),
        rung("resolve", RungGroup::Network, Seen::unseen(hostile.clone())),
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

/// What a ladder is shown beside by default.
pub(crate) fn textbook() -> Reference {
    beside_of("textbook", true, &[("l1", 0.5, 0.5), ("dram", 100.0, 100.0), ("fsync", 3e5, 3e5)])
}

fn beside_of(name: &str, textbook: bool, figures: &[(&str, f64, f64)]) -> Reference {
    let figure = |(id, lo_ns, hi_ns): &(&str, f64, f64)| ReferenceFigure {
        id: (*id).into(),
        lo_ns: *lo_ns,
        hi_ns: *hi_ns,
    };
    Reference {
        name: name.to_owned(),
        textbook,
        source: format!("{name}, by somebody who measured it in a year"),
        figures: figures.iter().map(figure).collect(),
    }
}

fn others() -> Vec<Reference> {
    vec![textbook()]
}

/// Machines, with a hostile one and one that has no rung of the page.
pub(crate) fn machines() -> Vec<Reference> {
    let figures =
        [("l1", 1.08, 1.08), ("l3", 13.0, 21.0), ("dram", 110.0, 110.0), ("core-to-core", 28.0, 182.0)];
    vec![
        textbook(),
        beside_of("EPYC 9654", false, &figures),
        beside_of("none", false, &[("warp", 1.0, 1.0)]),
        beside_of("a\x1b[2J\u{202e}b\nc", false, &[("lock", 1e-3, 1e15)]),
        beside_of("i.MX8M Plus", false, &[("l1", 1.67, 1.67), ("l2", 15.0, 21.0)]),
        beside_of("one more", false, &[("l2", 4.0, 4.0)]),
        beside_of("and another", false, &[("l2", 5.0, 5.0)]),
    ]
}

/// A comparison with everything that can be in one, and with what a hostile host could put there.
fn compared() -> LadderComparison {
    let hostile = "a\x1b[2J\u{202e}b\nc".to_owned();
    let interval = |lo: f64, median: f64, hi: f64| MedianInterval { median, lo, hi };
    let rung = |id: &str, group, a_ns: MedianInterval, times: f64, change| Compared {
        id: id.to_owned(),
        group,
        b_ns: interval(a_ns.lo * times, a_ns.median * times, a_ns.hi * times),
        a_ns,
        ratio: (times > 0.0).then(|| interval(times * 0.9, times, times * 1.1)),
        change,
        notes: Vec::new(),
    };
    let mut rungs = vec![
        rung("cycle", RungGroup::Core, interval(0.27, 0.27, 0.27), 1.0, Change::Same),
        rung("l1", RungGroup::Memory, interval(1.09, 1.10, 1.11), 1.31, Change::More),
        rung("dram", RungGroup::Memory, interval(90.0, 98.4, 101.0), 0.8123, Change::Less),
        rung("lock-contended", RungGroup::Memory, interval(6.0, 7.6, 9.0), 1.2, Change::Undecided),
        rung("malloc-small", RungGroup::Allocator, interval(-0.5, 0.4, 1.0), -1.0, Change::Undecided),
        rung("fsync", RungGroup::Files, interval(1e5, 1.2e5, 1.3e5), 123.4, Change::More),
        rung("stat", RungGroup::Files, interval(1e5, 1.2e5, 1.3e5), 0.000_82, Change::Less),
        rung(&format!("connect@{hostile}"), RungGroup::Network, interval(1e9, 2e9, 3e9), 2.0, Change::More),
        rung("tcp", RungGroup::Network, interval(1e4, 2e4, 3e4), 3.0, Change::More),
    ];
    rungs[1].notes = vec!["A: pages of 4 KiB".into(), format!("B: {hostile}")];
    let lone = |id: &str, only, why: &str| Uncompared {
        id: id.into(),
        group: RungGroup::Memory,
        only,
        why: why.into(),
    };
    LadderComparison {
        schema: SCHEMA_LADDER_DIFF.to_owned(),
        a: LadderOrigin { host: "vm".into(), started_at: "2026-11-20T20:20:22Z".into() },
        b: LadderOrigin { host: hostile.clone(), started_at: "2026-11-21T20:20:22Z".into() },
        margin: 0.05,
        differences: vec![Difference { what: "host".into(), a: "vm".into(), b: hostile.clone() }],
        rungs,
        uncompared: vec![
            lone("l2", Some(Side::A), "not requested of the other"),
            lone("atomic-add", Some(Side::A), "not requested of the other"),
            lone("l3", Some(Side::B), "not enough memory\ntry: free some"),
            lone("dram-remote", None, &hostile),
        ],
    }
}

fn nothing_compared() -> LadderComparison {
    LadderComparison { rungs: Vec::new(), uncompared: Vec::new(), differences: Vec::new(), ..compared() }
}

/// All pages that there are, at a width.
fn pages(look: Look) -> Vec<(String, String)> {
    let mut pages: Vec<_> =
        samples().map(|(name, ladder)| (name.to_owned(), terminal(&ladder, &others(), look))).into();
    pages.push(("ladder-beside".into(), terminal(&kept(), &machines(), look)));
    pages.push(("ladder-diff".into(), ladders(&compared(), look)));
    pages.push(("ladder-diff-empty".into(), ladders(&nothing_compared(), look)));
    pages
}

#[test]
fn pages_are_as_they_were() {
    for width in [80, 120] {
        for (name, page) in pages(Look { width, ..PLAIN }) {
            check_page(&format!("{name}-{width}"), &page);
        }
    }
    check_page("ladder-40", &terminal(&kept(), &others(), Look { width: 40, ..PLAIN }));
    check_page(
        "ladder-ascii-100",
        &terminal(&kept(), &others(), Look { width: 100, unicode: false, ..PLAIN }),
    );
    let coloured = terminal(&kept(), &others(), Look { width: 80, colour: true, ..PLAIN });
    check_page("ladder-colour-80", &coloured.replace('\x1b', "\\e"));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_is_left_to_obey() {
    for width in (40..=124).step_by(3) {
        for unicode in [true, false] {
            let look = Look { width, colour: false, unicode, height: Look::HEIGHT };
            for (name, page) in pages(look) {
                check_lines(&name, &page, look);
            }
        }
    }
}

#[test]
fn every_rung_is_on_the_page_with_its_figure_or_its_reason() {
    for (_, ladder) in samples() {
        let page = terminal(&ladder, &others(), Look { width: 120, ..PLAIN });
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
    let drawn = svg(&kept(), &others());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &drawn).expect("cannot write a golden file");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == drawn, "the picture differs from {}; BLESS=1 renews it", path.display());
    let drawn = svg(&kept(), &machines());
    assert!(drawn.contains(">EPYC 9654: EPYC 9654, by somebody") && drawn.is_ascii(), "{drawn}");
    assert!(!drawn.contains(">none: ") && !drawn.contains('\x1b'), "{drawn}");
    let mut hostile = odd();
    hostile.host.name = "</text><script>alert(1)</script>&".to_owned();
    let drawn = svg(&hostile, &others());
    assert!(!drawn.contains("<script") && drawn.contains("&lt;script&gt;") && drawn.is_ascii(), "{drawn}");
    assert!(!drawn.contains(|c: char| c.is_control() && c != '\n'));
}

#[test]
fn the_png_has_the_size_of_the_picture_and_ink_on_it() {
    for (name, ladder) in samples() {
        let bytes = png(&ladder, &others());
        let mut reader = png_reader(&bytes);
        let mut pixels = vec![0; reader.output_buffer_size().expect("it fits in memory")];
        let frame = reader.next_frame(&mut pixels).expect("it can be read");
        // Two pixels a unit.
        let size = format!("width=\"{}\" height=\"{}\"", frame.width / 2, frame.height / 2);
        assert!(svg(&ladder, &others()).contains(&size), "{name}: not {size}");
        let inked = pixels.chunks(4).filter(|pixel| **pixel != [255; 4]).count();
        assert!(inked > 500, "{name}: {inked} pixels");
    }
}

fn png_reader(bytes: &[u8]) -> png_crate::Reader<std::io::Cursor<&[u8]>> {
    png_crate::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("it is a PNG")
}

#[test]
fn a_host_whose_memory_is_unknown_says_so() {
    let mut ladder = kept();
    ladder.host.memory_bytes = Seen::unseen("cannot read /proc/meminfo");
    let page = terminal(&ladder, &[], Look { width: 120, ..PLAIN });
    assert!(page.contains("2 CPUs, unknown memory, Linux "), "{page}");
    assert!(svg(&ladder, &[]).contains("2 CPUs, unknown memory, Linux "));
    assert_eq!(errors(&validator(&schema("ladder")), &written(&ladder)), [""; 0]);
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
        (-2.5e3, "-2.50 us"),
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

fn written(ladder: &Ladder) -> Value {
    serde_json::from_str(&json(ladder)).expect("what is written can be read")
}

#[test]
fn what_is_written_is_valid_and_every_field_is_described() {
    let mut closed = schema("ladder");
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
    let validator = validator(&schema("ladder"));
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

#[test]
fn a_comparison_is_valid_and_every_field_is_described() {
    let mut closed = schema("ladder-diff");
    let open = validator(&closed);
    close(&mut closed);
    let closed = validator(&closed);
    for diff in [compared(), nothing_compared()] {
        let text = json(&diff);
        assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'));
        assert_eq!(serde_json::from_str::<LadderComparison>(&text).unwrap(), diff);
        assert_eq!(errors(&closed, &serde_json::from_str(&text).unwrap()), [""; 0]);
    }
    let good: Value = serde_json::from_str(&json(&compared())).unwrap();
    for (what, at, broken) in [
        ("another version", "/schema", literal!("dwell.ladder-diff/2")),
        ("an unknown verdict", "/rungs/0/change", literal!("nicer")),
        ("half an interval", "/rungs/0/ratio", literal!({"median": 1})),
        ("a third side", "/uncompared/0/only", literal!("c")),
        ("a margin in words", "/margin", literal!("5 %")),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(at).expect(at) = broken;
        assert!(!open.is_valid(&value), "{what} was accepted at {at}");
    }
    let mut value = good;
    value["rungs"][0]["later"] = Value::Null;
    assert!(open.is_valid(&value) && !closed.is_valid(&value));
}

#[test]
fn marks_stand_on_the_axis_and_figures_of_machines_in_a_table() {
    let page = terminal(&kept(), &machines(), Look { width: 120, ..PLAIN });
    let of = |id: &str| -> Vec<&str> {
        page.lines().filter(|line| line.trim_start().starts_with(&format!("{id} "))).collect()
    };
    let l1 = of("l1");
    assert!(l1[0].contains('│') && l1[0].contains('a') && l1[0].contains('c'), "the chart's line: {l1:?}");
    assert!(
        l1.iter().any(|line| line.contains("1.08 ns") && line.contains("1.67 ns")),
        "the table's: {l1:?}"
    );
    assert!(of("l3").iter().any(|line| line.contains("13.0–21.0 ns")), "{page}");
    assert!(page.contains("EPYC 9654, by somebody") && page.contains("none has no figure"), "{page}");
}
