//! Comparisons of commands: the page against golden files, the JSON against its schema, the forms
//! of other tools.
//!
//! `BLESS=1 cargo test -p dwell-report` writes the golden files anew; review them as a diff.

// Golden files and the schema are read here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use crate::support::{check_golden, check_lines, close, errors, schema, validator};
use analyse::compare::commands::{CommandDescription, ComparedSitting, Comparer};
use dwell_report::Look;
use dwell_report::compare::{
    commands, commands_csv, commands_hyperfine, commands_hyperfine_1, commands_markdown,
};
use dwell_report::json;
use model::compare::commands::{CompareEnd, CompareSettings, Comparison, PREDICTS_NOTHING};
use model::compare::why::{Came, PredictedSaving};
use model::coverage::Interval;
use model::recording::{Ending, Host};
use model::timing::{Figure, TimedRun};
use model::{Ns, Seen};
use serde_json::{Value, json as literal};
use stats::Random;
use std::collections::BTreeSet;
use std::fs;

const PLAIN: Look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };
const MS: f64 = 1e6;
/// What a user or a program could put there to spoil a terminal.
const HOSTILE: &str = "a\x1b[2J\u{202e}b\nc";

/// What to make a comparison of.
#[derive(Clone, Copy)]
struct Shape<'a> {
    names: &'a [&'a str],
    /// The time of each command, and how much it varies.
    walls: &'a [f64],
    noise: f64,
    pairs: u32,
    on: Figure,
    fixed: bool,
    ended: CompareEnd,
    /// Numbers that each run prints.
    numbers: usize,
}

impl Shape<'_> {
    fn runs(&self, random: &mut Random, block: u32, began_ns: &mut Ns) -> Vec<TimedRun> {
        let mut order: Vec<usize> = (0..self.walls.len()).collect();
        if random.uniform() < 0.5 {
            order.reverse();
        }
        let run = |(place, command): (usize, usize)| {
            let wall = self.walls[command] * (1.0 + self.noise * (random.uniform() + random.uniform() - 1.0));
            // Now and then something else gets in the way.
            let wall = if random.uniform() < 0.03 { wall * 2.5 } else { wall };
            *began_ns += wall as Ns + 300_000;
            let printed = match self.numbers {
                2 => vec![59.94, 60.0],
                // The larger ones vary more.
                many => (0..many).map(|_| wall / MS * (1.0 - random.uniform().ln() / 3.0)).collect(),
            };
            TimedRun {
                command: command as u32,
                block,
                place: place as u32,
                began_ns: *began_ns - wall as Ns,
                wall_ns: wall as Ns,
                user_ns: (wall * 0.7) as Ns,
                kernel_ns: (wall * 0.2) as Ns,
                minor_faults: 130 + command as u64,
                major_faults: 0,
                voluntary_switches: 2,
                involuntary_switches: 1,
                memory_bytes: 3_456_000 + 40_960 * command as u64,
                memory_at_most: command == 0,
                ending: Ending::Code(0),
                left_behind: 0,
                stopped: false,
                steal_ns: Seen::unseen("the run is too short for the host's counters"),
                others_cpu_ns: Seen::Value(12_000),
                printed,
                excluded: None,
            }
        };
        order.into_iter().enumerate().map(run).collect()
    }

    fn made(&self) -> Comparison {
        let settings = CompareSettings {
            on: self.on,
            metric: (self.on == Figure::Printed).then(|| "fps: ([0-9.]+)".to_owned()),
            margin: 0.01,
            alpha: 0.05,
            warmup: 1,
            pairs: self.fixed.then_some(self.pairs),
            for_ns: (!self.fixed).then_some(60_000_000_000),
            shell: None,
            seed: 7,
        };
        let (mut random, mut began_ns) = (Random::new(42), 0);
        let mut comparer = Comparer::new(settings, self.names.len());
        for block in 0..=self.pairs {
            comparer.add(&self.runs(&mut random, block, &mut began_ns));
        }
        let describe = |name: &&str| CommandDescription {
            name: (*name).to_owned(),
            command: name.split(' ').map(str::to_owned).collect(),
            parameters: vec![("n".to_owned(), "1".to_owned())],
            env: vec![("LANG".to_owned(), "C".to_owned())],
        };
        comparer.conclude(ComparedSitting {
            dwell: "0.1.0".to_owned(),
            host: host("vm"),
            started_at: "2026-11-23T05:30:00Z".to_owned(),
            machine: "0123456789abcdef".to_owned(),
            commands: self.names.iter().map(describe).collect(),
            empty_ns: Ok(vec![580_000, 600_000, 610_000, 640_000, 590_000, 600_000]),
            took_ns: began_ns,
            ended: self.ended,
            limits: Vec::new(),
        })
    }
}

fn host(name: &str) -> Host {
    Host {
        name: name.to_owned(),
        kernel: "6.18.44".to_owned(),
        arch: "x86_64".to_owned(),
        cpus: 2,
        memory_bytes: Seen::Value(25_000_000_000),
        virtualisation: Seen::Absent,
    }
}

const TWO: Shape<'static> = Shape {
    names: &["./old input", "./new input"],
    walls: &[178.0 * MS, 136.0 * MS],
    noise: 0.04,
    pairs: 24,
    on: Figure::Wall,
    fixed: false,
    ended: CompareEnd::Decided,
    numbers: 2,
};

fn samples() -> Vec<(&'static str, Comparison)> {
    let slower = Shape { walls: &[136.0 * MS, 178.0 * MS], ..TWO };
    let same = Shape { walls: &[20.0 * MS, 20.02 * MS], noise: 0.01, pairs: 60, ..TWO };
    let undecided =
        Shape { noise: 0.3, walls: &[20.0 * MS, 20.3 * MS], pairs: 12, ended: CompareEnd::TimeUp, ..TWO };
    let few = Shape { pairs: 2, ended: CompareEnd::Signal, ..TWO };
    let short = Shape { walls: &[1.2 * MS, 1.1 * MS], pairs: 400, ..TWO };
    let fixed = Shape { pairs: 30, fixed: true, ended: CompareEnd::PairsDone, ..TWO };
    let four = Shape {
        names: &[
            "make -j 1",
            "make -j 2",
            "make -j 4",
            "a command with a name that is too long for any table of any page",
        ],
        walls: &[890.0 * MS, 470.0 * MS, 480.0 * MS, 900.0 * MS],
        pairs: 12,
        ..TWO
    };
    let alone = Shape {
        names: &["sleep 0.02"],
        walls: &[20.4 * MS],
        pairs: 148,
        ended: CompareEnd::PairsDone,
        ..TWO
    };
    let memory = Shape { on: Figure::Memory, ..TWO };
    let printed = Shape { on: Figure::Printed, ..TWO };
    let percentiles = Shape { numbers: 120, ..printed };
    let three = Shape {
        names: &["./serve", "./serve --cached", "./serve --logged"],
        walls: &[17.8 * MS, 13.6 * MS, 17.9 * MS],
        numbers: 40,
        fixed: true,
        ended: CompareEnd::PairsDone,
        ..printed
    };
    let nothing = Shape { pairs: 0, ended: CompareEnd::Signal, ..TWO };
    let mut odd = Shape { names: &[HOSTILE, HOSTILE], ..TWO }.made();
    odd.limits.push(format!("in their first runs {HOSTILE} wrote other standard output"));
    odd.comparisons[0].no_verdict = vec![format!("{HOSTILE} failed")];
    odd.comparisons[0].why = Seen::unseen(HOSTILE);
    odd.commands[1].failed = 7;
    odd.host = host(HOSTILE);
    odd.floor_ns = Seen::unseen(HOSTILE);
    odd.commands[0].range = None;
    odd.commands[0].figure = None;
    odd.commands[0].runs = 0;
    let mut all = vec![
        ("compare-faster", TWO.made()),
        ("compare-slower", slower.made()),
        ("compare-same", same.made()),
        ("compare-undecided", undecided.made()),
        ("compare-few", few.made()),
        ("compare-short", short.made()),
        ("compare-fixed", fixed.made()),
        ("compare-four", four.made()),
        ("compare-alone", alone.made()),
        ("compare-memory", memory.made()),
        ("compare-printed", printed.made()),
        ("compare-percentiles", percentiles.made()),
        ("compare-percentiles-three", three.made()),
        ("compare-nothing", nothing.made()),
        ("compare-odd", odd),
    ];
    all[1].1.comparisons[0].why = Seen::unseen("disabled by --no-why");
    all
}

/// The run that predicted was slowed down by others; each finding has another end.
fn predicted() -> Comparison {
    let mut made = TWO.made();
    made.comparisons[0].predicted = [
        ("cpu-contention", 60, 190, Came::Undecided, false),
        ("hot-code", 40, 80, Came::Held, true),
        ("small-io", 2, 4, Came::More, true),
    ]
    .into_iter()
    .map(|(cause, lo, hi, came, tested)| PredictedSaving {
        cause: cause.to_owned(),
        saving_ns: Seen::Value(Interval { lo: lo * MS as u64, hi: hi * MS as u64 }),
        came,
        wall_ns: Some(200 * MS as u64),
        tested,
    })
    .collect();
    made
}

#[test]
fn what_was_predicted_is_told_below_the_headline() {
    let look = Look { width: 100, colour: false, unicode: true, height: Look::HEIGHT };
    let page = commands(&predicted(), look);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}:\n{page}"));
    assert!(at("B is faster") < at("predicted: hot-code, 20–40 % of the wall clock; saved "), "{page}");
    let headline = page.split("\n\n").next().unwrap();
    for text in [
        ": as predicted (parts, not times: that run took 200 ms, A takes ",
        "predicted: if the change was of small-io, 1–2 % of the wall clock: it saved more\n",
        "predicted: cpu-contention, 30–95 % of the wall clock: not tested: the change stops no other program",
    ] {
        assert!(headline.replace("\n  ", " ").contains(text), "{text}:\n{headline}");
    }
    let mut nothing = TWO.made();
    nothing.limits.push(PREDICTS_NOTHING.to_owned());
    let page = commands(&nothing, look);
    let first = page.split("\n\n").next().unwrap();
    assert!(
        first.contains("predicted: nothing, since the run shows none")
            && !page.contains("limits: the run of"),
        "{page}"
    );
}

pub(crate) fn sample(name: &str) -> Comparison {
    samples().into_iter().find(|(of, _)| *of == name).expect(name).1
}

#[test]
fn pages_are_as_they_were() {
    for (name, comparison) in samples() {
        for width in [80, 120] {
            check_golden(&format!("{name}-{width}.txt"), &commands(&comparison, Look { width, ..PLAIN }));
        }
    }
    let faster = sample("compare-faster");
    check_golden("compare-faster-40.txt", &commands(&faster, Look { width: 40, ..PLAIN }));
    let ascii = Look { width: 100, unicode: false, ..PLAIN };
    check_golden("compare-faster-ascii-100.txt", &commands(&faster, ascii));
    let coloured = commands(&faster, Look { colour: true, ..PLAIN });
    check_golden("compare-faster-colour-80.txt", &coloured.replace('\x1b', "\\e"));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_is_left_to_obey() {
    for width in (40..=124).step_by(7) {
        for unicode in [true, false] {
            for (name, comparison) in samples() {
                let look = Look { width, colour: false, unicode, height: Look::HEIGHT };
                check_lines(name, &commands(&comparison, look), look);
            }
        }
    }
}

#[test]
fn the_verdict_is_the_first_sentence() {
    for (name, begins) in [
        ("compare-faster", "B is faster, 1.3"),
        ("compare-slower", "B is slower than A: it takes 1.3"),
        ("compare-same", "B is the same as A within 1 %: it takes "),
        ("compare-undecided", "B is undecided against A"),
        ("compare-few", "B is undecided against A, by 2 pairs in "),
        ("compare-alone", "A takes 20.5 ms ("),
        ("compare-odd", "B has no verdict: "),
    ] {
        let page = commands(&sample(name), Look { width: 120, ..PLAIN });
        assert!(page.starts_with(begins), "{name}: {page}");
    }
}

fn written(comparison: &Comparison) -> Value {
    serde_json::from_str(&json(comparison)).expect("what is written can be read")
}

#[test]
fn what_is_written_is_described_and_comes_back() {
    let mut closed = schema("compare");
    close(&mut closed);
    let validator = validator(&closed);
    for (name, comparison) in samples() {
        let value = written(&comparison);
        assert_eq!(errors(&validator, &value), [""; 0], "{name}");
        let back: Comparison = serde_json::from_value(value).expect(name);
        assert_eq!(back, comparison, "{name}");
    }
}

#[test]
fn what_is_broken_is_refused() {
    let validator = validator(&schema("compare"));
    let good = written(&sample("compare-faster"));
    for (what, at, broken) in [
        ("an unknown verdict", "/comparisons/0/verdict", literal!("better")),
        ("an unknown figure", "/settings/on", literal!("luck")),
        ("a negative time", "/runs/0/wall_ns", literal!(-1)),
        (
            "an unknown percentile",
            "/comparisons/0/percentiles",
            literal!([{"percent": 95, "found": {"unseen": "x"}}]),
        ),
        ("an interval without an end", "/comparisons/0/ratio", literal!({"estimate": 1.0, "lo": 0.9})),
        ("half a range", "/commands/0/range", literal!([1.0])),
        ("a pair without an order", "/comparisons/0/pairs/0", literal!({"block": 1, "a": 1.0, "b": 2.0})),
        ("another version", "/schema", literal!("dwell.compare/2")),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(at).expect(at) = broken;
        assert!(!validator.is_valid(&value), "{what} was accepted at {at}");
    }
}

#[test]
fn csv_has_a_row_for_each_run() {
    let comparison = sample("compare-odd");
    let text = commands_csv(&comparison);
    let mut rows = text.split("\r\n").filter(|row| !row.is_empty());
    let head: Vec<&str> = rows.next().unwrap().split(',').collect();
    let mut seen = 0;
    for row in rows {
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(cells.len(), head.len(), "{row}");
        assert_eq!(cells[1], r"a\x1b[2J\u{202e}b\nc");
        seen += 1;
    }
    assert_eq!(seen, comparison.runs.len());
    let mut comma = sample("compare-faster");
    comma.commands[0].name = "say \"a, b\"".to_owned();
    assert!(commands_csv(&comma).contains(r#","say ""a, b""","#));
}

#[test]
fn markdown_is_a_table() {
    for name in ["compare-four", "compare-percentiles-three"] {
        check_golden(&format!("{name}.md"), &commands_markdown(&sample(name)));
    }
    for (name, comparison) in samples() {
        let text = commands_markdown(&comparison);
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut tables = text.split("\n\n");
        assert!(tables.next().unwrap().lines().all(|line| bars(line) == 9), "{name}\n{text}");
        assert!(tables.flat_map(str::lines).all(|line| bars(line) == 7), "{name}\n{text}");
    }
}

/// The places of a document that hold something other than objects and lists, with its type. Names
/// that are values (of parameters and variables) are `*`.
fn shape(value: &Value, at: String, into: &mut BTreeSet<String>) {
    let named = at.ends_with(".parameters") || at.ends_with(".environment");
    let what = match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                shape(field, format!("{at}.{}", if named { "*" } else { name.as_str() }), into);
            }
            return;
        }
        Value::Array(items) => return items.iter().for_each(|item| shape(item, format!("{at}[]"), into)),
        Value::Number(_) => "number",
        Value::String(text) if at.ends_with(".unit") => text.as_str(),
        Value::String(_) => "text",
        Value::Bool(_) => "truth",
        Value::Null => "null",
    };
    into.insert(format!("{at}: {what}"));
}

#[test]
fn what_is_written_for_hyperfines_scripts_has_the_shape_of_its_own() {
    // hyperfine 2.0.0 -N -r 2 -n 'nap {t}' --env LANG=C -L t 0.01,0.02 'sleep {t}'
    let theirs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/hyperfine-2.0.0.json");
    let theirs: Value = serde_json::from_str(&fs::read_to_string(theirs).unwrap()).unwrap();
    let mut comparison = sample("compare-faster");
    comparison.commands.iter_mut().for_each(|command| command.name = "a name".to_owned());
    let ours: Value = serde_json::from_str(&commands_hyperfine(&comparison)).unwrap();
    let [theirs, ours] = [&theirs, &ours].map(|document| {
        let mut found = BTreeSet::new();
        shape(document, String::new(), &mut found);
        found
    });
    let of_theirs: Vec<&String> = theirs.difference(&ours).collect();
    assert_eq!(of_theirs, [".metadata.hyperfine_version: text"]);
    let of_ours: Vec<&String> = ours.difference(&theirs).collect();
    assert_eq!(of_ours, [".metadata.dwell_version: text"]);
}

#[test]
fn the_older_json_has_the_shape_that_hyperfine_1_writes() {
    // hyperfine 1.15.0 -N -r 2 -n 'nap {t}' -L t 0.01,0.02 'sleep {t}'
    let theirs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/hyperfine-1.15.0.json");
    let theirs: Value = serde_json::from_str(&fs::read_to_string(theirs).unwrap()).unwrap();
    let comparison = sample("compare-faster");
    let (text, missing) = commands_hyperfine_1(&comparison);
    assert_eq!(missing, 0);
    let ours: Value = serde_json::from_str(&text).unwrap();
    let [of_theirs, of_ours] = [&theirs, &ours].map(|document| {
        let mut found = BTreeSet::new();
        shape(document, String::new(), &mut found);
        found
    });
    assert!(of_theirs.is_subset(&of_ours), "{of_theirs:?} {of_ours:?}");
    let more: Vec<&String> = of_ours.difference(&of_theirs).collect();
    assert_eq!(more, [".results[].memory_usage_byte[]: number"], "later ones have it");
    // Each run of the result, to the nanosecond.
    for (at, result) in ours["results"].as_array().unwrap().iter().enumerate() {
        let runs = comparison.runs.iter().filter(|run| run.command as usize == at);
        let counted = runs.filter(|run| comparison.settings.counts(run)).map(|run| run.wall_ns);
        let times = result["times"].as_array().unwrap().iter();
        let times: Vec<u64> = times.map(|time| (time.as_f64().unwrap() * 1e9).round() as u64).collect();
        assert_eq!(times, counted.collect::<Vec<u64>>());
    }
    let (nothing, missing) = commands_hyperfine_1(&sample("compare-nothing"));
    assert_eq!(serde_json::from_str::<Value>(&nothing).unwrap(), literal!({"results": []}));
    assert!(missing > 0);
}

#[test]
fn hyperfines_scripts_find_what_they_read() {
    let comparison = sample("compare-faster");
    let value: Value = serde_json::from_str(&commands_hyperfine(&comparison)).unwrap();
    assert_eq!(
        (&value["schema_version"], &value["primary_metric"]),
        (&literal!(2), &literal!("time_wall_clock"))
    );
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let first = &results[0];
    assert_eq!(first["command"], "./old input");
    assert_eq!(first["parameters"]["n"], literal!({"value": "1"}));
    assert_eq!(first["environment"], literal!({"LANG": "C"}));
    let runs = first["measurements"].as_array().unwrap();
    assert_eq!(runs.len(), 24);
    assert_eq!(runs[0]["exit_code"], 0);
    assert_eq!(runs[0]["time_wall_clock"]["unit"], "second");
    assert_eq!(runs[0]["memory_peak_resident"]["unit"], "byte");
    let mean = first["summary"]["time_wall_clock"]["mean"].as_f64().unwrap();
    let sum: f64 = runs.iter().map(|run| run["time_wall_clock"]["value"].as_f64().unwrap()).sum();
    assert!((sum / 24.0 - mean).abs() < 1e-9 && (0.1..0.3).contains(&mean), "{mean}");
    assert_eq!(first["summary"]["time_user"]["count"], 24);
    // A signal is the status that a shell has for it.
    let mut killed = sample("compare-faster");
    killed.runs.iter_mut().for_each(|run| run.ending = Ending::Signal(9));
    let value: Value = serde_json::from_str(&commands_hyperfine(&killed)).unwrap();
    assert_eq!(value["results"][0]["measurements"][0]["exit_code"], 137);
    // Without runs there is nothing to sum up.
    let nothing: Value = serde_json::from_str(&commands_hyperfine(&sample("compare-nothing"))).unwrap();
    assert_eq!(nothing["results"][0]["summary"], literal!({}));
}
