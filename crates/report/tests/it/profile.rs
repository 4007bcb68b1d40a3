//! The views of a profile, against golden files and against what must hold for every profile.
//!
//! `BLESS=1 cargo test -p dwell-report` writes the golden files anew; review them as a diff.

// Golden files and schemas are read and written here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use crate::profiles;
use crate::support::{check_golden, check_lines, strip_colour};
use dwell_report::Look;
use dwell_report::profile::{
    FlameOptions, FoldedOptions, FoldedTime, ProfileMetadata, SourceOptions, firefox, flame, folded,
    source_table, speedscope,
};
use model::profile::{Activity, Profile};
use model::recording::Host;
use model::{Ns, Seen, State};
use proptest::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

const PLAIN: Look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The page without its colours.
fn host() -> Host {
    Host {
        name: "build-1".into(),
        kernel: "6.18.5".into(),
        arch: "x86_64".into(),
        cpus: 2,
        memory_bytes: Seen::Value(8 << 30),
        virtualisation: Seen::Absent,
    }
}

/// A file for another viewer, of a program with a fixed start.
fn export(profile: &Profile, write: fn(&Profile, &ProfileMetadata) -> String) -> String {
    let command = ["./program".to_owned(), "\x1b[2J\"--all\"\u{202e}".to_owned()];
    let wall_ns = profile.moments.last().map_or(0, |moment| moment.at_ns);
    write(
        profile,
        &ProfileMetadata { command: &command, started_at_unix_s: 1_795_171_653, host: &host(), wall_ns },
    )
}

fn time(profile: &Profile, part: FoldedTime) -> Ns {
    let wanted = |doing| match part {
        FoldedTime::All => true,
        FoldedTime::Waiting => matches!(doing, Activity::Waiting(_)),
        FoldedTime::Cpu => !matches!(doing, Activity::Waiting(_)),
    };
    profile.weights.iter().filter(|weight| wanted(weight.doing)).map(|weight| weight.ns).sum()
}

#[test]
fn flames_are_as_they_were() {
    for (name, profile) in profiles::all() {
        for width in [80, 120] {
            let page = flame(&profile, &FlameOptions::new(Look { width, ..PLAIN }));
            check_golden(&format!("flame-{name}-{width}.txt"), &page);
        }
    }
    let parser = profiles::parser();
    check_golden("flame-parser-200.txt", &flame(&parser, &FlameOptions::new(Look { width: 200, ..PLAIN })));
    let ascii = Look { width: 80, unicode: false, ..PLAIN };
    check_golden("flame-parser-ascii-80.txt", &flame(&parser, &FlameOptions::new(ascii)));
    let coloured = flame(&parser, &FlameOptions::new(Look { width: 60, colour: true, ..PLAIN }));
    check_golden("flame-parser-colour-60.txt", &coloured.replace('\x1b', "\\e"));
    let apart = FlameOptions { apart: true, idle: true, ..FlameOptions::new(Look { width: 100, ..PLAIN }) };
    check_golden("flame-server-apart-100.txt", &flame(&profiles::server(), &apart));
}

#[test]
fn a_flame_fits_its_page_and_leaves_nothing_to_obey() {
    for (name, profile) in profiles::all() {
        for width in (40..=244).step_by(17) {
            for (colour, unicode) in [(false, true), (true, true), (true, false), (false, false)] {
                for rows in [1, 5, 60] {
                    let look = Look { width, colour, unicode, height: Look::HEIGHT };
                    let options = FlameOptions { rows, idle: rows == 5, ..FlameOptions::new(look) };
                    let page = flame(&profile, &options);
                    check_lines(name, &page, look);
                    assert!(
                        strip_colour(&page).lines().count() <= rows + 2 + 3,
                        "{name}: {rows} rows\n{page}"
                    );
                }
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, profile) in profiles::all() {
        let page = |colour| flame(&profile, &FlameOptions::new(Look { colour, ..PLAIN }));
        let coloured = page(true);
        assert_eq!(coloured.matches("\x1b[").count(), coloured.matches("\x1b[0m").count() * 2, "{name}");
        assert_eq!(strip_colour(&coloured), page(false), "{name}");
    }
}

#[test]
fn the_answer_stands_in_the_first_rows() {
    let rows = |profile: &Profile| {
        let page = flame(profile, &FlameOptions::new(PLAIN));
        page.lines().skip(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let grid = rows(&profiles::grid());
    assert!(grid[2].contains("36 %") && grid[2].ends_with("<listcomp>  grid.py:36"), "{grid:#?}");
    // Threads that only wait do not hide those that work …
    let server = rows(&profiles::server());
    assert!(server[1].starts_with("  67 %") && server[1].ends_with("server::handle_request"), "{server:#?}");
    assert!(server.last().unwrap().contains("13 idle threads (259 s) not shown"), "{server:#?}");
    // … but waiting is the answer where nothing else is.
    let sleeper = rows(&profiles::sleeper());
    assert!(
        sleeper[0].starts_with(" 100 %   100 %") && sleeper[0].ends_with("waiting: sleep"),
        "{sleeper:#?}"
    );
    // Recursion is one row, a cycle of two functions too.
    let recursion = rows(&profiles::recursion());
    assert_eq!(recursion.iter().filter(|row| row.contains("fib ↻")).count(), 1, "{recursion:#?}");
    assert_eq!(recursion.len(), 4, "{recursion:#?}");
}

#[test]
fn folded_stacks_are_as_they_were() {
    for (name, profile) in [("parser", profiles::parser()), ("hostile", profiles::hostile())] {
        check_golden(
            &format!("folded-{name}.txt"),
            &folded(&profile, FoldedOptions { part: FoldedTime::All, threads: false }),
        );
    }
    let waiting = FoldedOptions { part: FoldedTime::Waiting, threads: true };
    check_golden("folded-server-waiting.txt", &folded(&profiles::server(), waiting));
}

/// A line as its consumers read it: frames, weight.
fn read_folded(line: &str) -> (Vec<&str>, Ns) {
    let (stack, weight) = line.rsplit_once(' ').expect("a line ends in a weight");
    (stack.split(';').collect(), weight.parse().expect("the weight is a number"))
}

#[test]
fn folded_weights_sum_to_the_time() {
    for (name, profile) in profiles::all() {
        for part in [FoldedTime::Cpu, FoldedTime::Waiting, FoldedTime::All] {
            for threads in [false, true] {
                let text = folded(&profile, FoldedOptions { part, threads });
                let sum: Ns = text.lines().map(|line| read_folded(line).1).sum();
                assert_eq!(sum, time(&profile, part), "{name}");
                for line in text.lines() {
                    let (frames, _) = read_folded(line);
                    assert!(frames.iter().all(|frame| !frame.is_empty()), "{name}: {line:?}");
                    assert!(
                        !line.chars().any(char::is_control) && !line.starts_with('#'),
                        "{name}: {line:?}"
                    );
                }
            }
        }
    }
}

fn schema(name: &str) -> jsonschema::Validator {
    let text = std::fs::read_to_string(data("profiles").join(name)).expect("the schema can be read");
    let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("the schema is one of draft 2020-12");
    jsonschema::draft202012::new(&schema).expect("the schema compiles")
}

fn check_schema(validator: &jsonschema::Validator, name: &str, text: &str) -> Value {
    let obeyed =
        |char: char| (char.is_control() && char != '\n') || "\u{202e}\u{2069}\u{200b}".contains(char);
    assert!(!text.contains(obeyed), "{name}: {text}");
    let value: Value = serde_json::from_str(text).expect("what is written can be read");
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
    value
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().expect("a column").iter().map(|number| number.as_u64().expect("a number")).collect()
}

#[test]
fn speedscope_files_are_valid_and_whole() {
    let validator = schema("speedscope.schema.json");
    for (name, profile) in profiles::all() {
        let value = check_schema(&validator, name, &export(&profile, speedscope));
        let frames = value["shared"]["frames"].as_array().unwrap().len() as u64;
        let mut sums = Vec::new();
        for one in value["profiles"].as_array().unwrap() {
            let weights = numbers(&one["weights"]);
            let samples: Vec<Vec<u64>> = one["samples"].as_array().unwrap().iter().map(numbers).collect();
            assert_eq!(samples.len(), weights.len(), "{name}");
            assert!(samples.iter().flatten().all(|frame| *frame < frames), "{name}");
            assert_eq!(one["endValue"].as_u64().unwrap(), weights.iter().sum::<u64>(), "{name}");
            sums.push(weights.iter().sum::<u64>());
        }
        assert_eq!(sums[0], time(&profile, FoldedTime::All), "{name}: all threads");
        assert_eq!(sums[1..].iter().sum::<u64>(), time(&profile, FoldedTime::All), "{name}: each thread");
    }
    check_golden("speedscope-grid.json", &export(&profiles::grid(), speedscope));
    let mut broken: Value = serde_json::from_str(&export(&profiles::grid(), speedscope)).unwrap();
    broken["profiles"][0]["unit"] = "fortnights".into();
    assert!(!validator.is_valid(&broken));
}

#[test]
fn firefox_files_are_valid_and_whole() {
    let validator = schema("firefox.schema.json");
    for (name, profile) in profiles::all() {
        let value = check_schema(&validator, name, &export(&profile, firefox));
        let shared = &value["shared"];
        // Every column is as long as its table says, and points into the table it should.
        let length = |table: &str| shared[table]["length"].as_u64().unwrap();
        for table in ["stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"] {
            for (column, values) in shared[table].as_object().unwrap() {
                let wide = values.as_array().map_or(length(table), |values| values.len() as u64);
                assert_eq!(wide, length(table), "{name}: {table}.{column}");
            }
        }
        let below = |table: &str, column: &str, limit: u64| {
            let values = shared[table][column].as_array().unwrap();
            assert!(
                values.iter().filter_map(Value::as_u64).all(|value| value < limit),
                "{name}: {table}.{column}"
            );
        };
        let strings = shared["stringArray"].as_array().unwrap().len() as u64;
        below("stackTable", "frame", length("frameTable"));
        below("frameTable", "func", length("funcTable"));
        below("frameTable", "category", 4);
        below("funcTable", "name", strings);
        below("funcTable", "resource", length("resourceTable"));
        below("funcTable", "source", length("sources"));
        below("sources", "filename", strings);
        for (stack, prefix) in shared["stackTable"]["prefix"].as_array().unwrap().iter().enumerate() {
            assert!(
                prefix.as_u64().is_none_or(|prefix| prefix < stack as u64),
                "{name}: a caller stands before"
            );
        }
        let mut ms = 0.0;
        for thread in value["threads"].as_array().unwrap() {
            let samples = &thread["samples"];
            let column = |name: &str| -> Vec<f64> {
                samples[name].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
            };
            let (times, weights, cpu) = (column("time"), column("weight"), column("threadCPUDelta"));
            assert!(
                [times.len(), weights.len(), cpu.len()]
                    .iter()
                    .all(|len| *len as u64 == samples["length"].as_u64().unwrap())
            );
            assert!(times.is_sorted(), "{name}: {times:?}");
            for (pair, cpu) in times.windows(2).zip(cpu.iter().skip(1)) {
                assert!(*cpu <= (pair[1] - pair[0]) * 1e6 + 1.0, "{name}: more CPU time than time");
            }
            assert!(
                samples["stack"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_u64)
                    .all(|stack| stack < length("stackTable"))
            );
            ms += weights.iter().sum::<f64>();
        }
        assert!((ms * 1e6 - time(&profile, FoldedTime::All) as f64).abs() < 1e3, "{name}: {ms} ms");
    }
    check_golden("firefox-stripped.json", &export(&profiles::stripped(), firefox));
}

#[test]
fn inlined_frames_and_waits_are_told_in_firefox_files() {
    let value: Value = serde_json::from_str(&export(&profiles::parser(), firefox)).unwrap();
    let (frames, funcs) = (&value["shared"]["frameTable"], &value["shared"]["funcTable"]);
    let named = |wanted: &str| {
        let frame = (0..frames["length"].as_u64().unwrap() as usize).find(|frame| {
            let func = frames["func"][frame].as_u64().unwrap() as usize;
            value["shared"]["stringArray"][funcs["name"][func].as_u64().unwrap() as usize] == wanted
        });
        frame.unwrap_or_else(|| panic!("no frame {wanted}"))
    };
    let inlined = named("parser::is_space(char)");
    assert_eq!(
        (frames["inlineDepth"][inlined].as_u64(), frames["line"][inlined].as_u64()),
        (Some(1), Some(12))
    );
    let waiting = named("[waiting: disk]");
    let category = frames["category"][waiting].as_u64().unwrap() as usize;
    let category = &value["meta"]["categories"][category];
    assert_eq!(category["name"], "Waiting");
    assert_eq!(category["subcategories"][frames["subcategory"][waiting].as_u64().unwrap() as usize], "disk");
}

#[test]
fn memory_of_the_host_is_in_firefox_files_if_it_is_known() {
    let meta = |host: &Host| {
        let command = ["program".to_owned()];
        let metadata = ProfileMetadata { command: &command, started_at_unix_s: 0, host, wall_ns: 1 };
        let file: Value = serde_json::from_str(&firefox(&profiles::parser(), &metadata)).unwrap();
        file["meta"].as_object().unwrap().get("mainMemory").cloned()
    };
    assert_eq!(meta(&host()), Some(Value::from(8_u64 << 30)));
    assert_eq!(meta(&Host { memory_bytes: Seen::unseen("no meminfo"), ..host() }), None);
}

fn grid_source(file: &str) -> Option<String> {
    let lines = (1..=95).map(|line| match line {
        30 => "def step(grid, rate):".to_owned(),
        34 => "    total = sum(map(sum, grid))".to_owned(),
        36 => "\tgrid = [row + [0] for row in grid]  # allocates anew each time".to_owned(),
        37 => "    \x1b[31mnot coloured\u{202e}".to_owned(),
        38 => "    return normalise(grid, total)".to_owned(),
        _ => format!("    pass  # {line}"),
    });
    (file == "/home/me/grid.py").then(|| lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn source_tables_are_as_they_were() {
    let table = |width, rows, name| {
        let options = SourceOptions { look: Look { width, ..PLAIN }, rows };
        source_table(&profiles::grid(), name, &options, grid_source)
    };
    for width in [50, 80, 120] {
        check_golden(&format!("source-step-{width}.txt"), &table(width, 30, "step").unwrap());
    }
    let cut = table(100, 3, "step").unwrap();
    check_golden("source-step-cut.txt", &cut);
    assert!(cut.contains("grid = [row"), "{cut}");
    assert_eq!(table(80, 30, "no_such_function"), None);
    let without = source_table(&profiles::grid(), "save", &SourceOptions { look: PLAIN, rows: 9 }, |_| None);
    check_golden("source-save-without.txt", &without.unwrap());
}

#[test]
fn a_place_is_the_function_that_has_code_there() {
    let table = |name| {
        let options = SourceOptions { look: PLAIN, rows: 30 };
        source_table(&profiles::grid(), name, &options, grid_source)
    };
    let step = table("step").unwrap();
    for place in ["grid.py:36", "me/grid.py:34", "/home/me/grid.py:36"] {
        assert_eq!(table(place).as_ref(), Some(&step), "{place}");
    }
    // A line that no stack is on is of the function that begins before it, and the page says so.
    let before = table("grid.py:31").unwrap();
    let (head, rest) = before.split_once('\n').unwrap();
    let (said, rest) = rest.split_once('\n').unwrap();
    assert_eq!(format!("{head}\n{rest}"), step);
    assert_eq!(said, "no stack is on line 31: this is the function that begins last before it");
    // Of a whole file, the function with the most time.
    assert!(table("grid.py").is_some());
    for place in ["other.py", "rid.py:36", "grid.py:1", ":36"] {
        assert_eq!(table(place), None, "{place}");
    }
    let names = dwell_report::profile::names(&profiles::grid());
    assert!(names.contains("step") && names.contains("grid.py"), "{names:?}");
}

#[test]
fn a_line_counts_once_in_a_recursion_and_shares_fit() {
    let options = SourceOptions { look: PLAIN, rows: 30 };
    let table = source_table(&profiles::recursion(), "fib", &options, |_| None).unwrap();
    assert!(table.lines().any(|line| line.starts_with("      4  100 % (99–100 %)    100 %")), "{table}");
}

#[test]
fn source_tables_fit_and_leave_nothing_to_obey() {
    for (name, profile) in profiles::all() {
        for function in profile.frames.iter().map(|frame| &frame.function) {
            for (width, unicode) in [(40, true), (61, false), (99, true), (130, false)] {
                let look = Look { width, unicode, colour: false, height: Look::HEIGHT };
                let hostile = |_: &str| Some("a\x1b[2J\u{202e}\tb\r\n".repeat(300));
                let options = SourceOptions { look, rows: 12 };
                let table = source_table(&profile, function, &options, hostile).expect("it has time");
                check_lines(name, &table, look);
                assert!(table.lines().count() <= 2 + 2 * 12 + 2, "{name}: {table}");
            }
        }
    }
}

/// Random profiles: trees of any shape, few names so that recursion and merging occur, any time.
fn any_profile() -> impl Strategy<Value = Profile> {
    let doing = prop_oneof![
        Just(Activity::User),
        Just(Activity::Kernel),
        Just(Activity::Interrupt),
        Just(Activity::Waiting(State::Lock)),
        Just(Activity::Waiting(State::Disk)),
    ];
    let stack = prop::collection::vec(prop_oneof!["[a-d]", "k:[ab]", "i:[ab]", "\\PC{0,20}"], 1..12);
    prop::collection::vec((stack, doing, 0_u64..50, 0_u32..3), 0..40).prop_map(|stacks| {
        let mut build = profiles::Build::default();
        for tid in 0..3 {
            build.thread(1, tid + 1, "thread");
        }
        for (stack, doing, ms, thread) in stacks {
            let frame = |text: &String| profiles::frame(&text.replace(['@', '|'], "_"));
            build.add_frames(thread, stack.iter().map(frame).collect(), doing, ms);
        }
        build.done()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_profile_can_be_shown(profile in any_profile(), width in 40_u16..200, rows in 1_usize..30, unicode: bool) {
        let look = Look { width, colour: false, unicode, height: Look::HEIGHT };
        let page = flame(&profile, &FlameOptions { rows, idle: true, ..FlameOptions::new(look) });
        prop_assert_eq!(page.is_empty(), time(&profile, FoldedTime::All) == 0);
        check_lines("random", &page, look);
        let text = folded(&profile, FoldedOptions { part: FoldedTime::All, threads: true });
        prop_assert_eq!(text.lines().map(|line| read_folded(line).1).sum::<Ns>(), time(&profile, FoldedTime::All));
        let value: Value = serde_json::from_str(&export(&profile, speedscope)).unwrap();
        prop_assert_eq!(numbers(&value["profiles"][0]["weights"]).iter().sum::<u64>(), time(&profile, FoldedTime::All));
        prop_assert!(serde_json::from_str::<Value>(&export(&profile, firefox)).is_ok());
    }

    /// Callees never have more than their callers, and bars stand beneath them.
    #[test]
    fn bars_stand_beneath_their_callers(profile in any_profile(), rows in 1_usize..30) {
        let look = Look { width: 160, ..PLAIN };
        let page = flame(&profile, &FlameOptions { rows, idle: true, ..FlameOptions::new(look) });
        let bar = 16..16 + 48;
        let mut callers: Vec<(usize, usize, usize)> = Vec::new();
        for line in page.lines().skip(2).filter(|line| line.contains('%') && line.starts_with([' ', '>', '<'])) {
            let chars: Vec<char> = line.chars().collect();
            if chars.len() <= bar.end || !line.contains(['█', '▓', '░']) {
                continue;
            }
            let cells: Vec<usize> = bar.clone().filter(|column| "█▓░".contains(chars[*column])).collect();
            prop_assert!(!cells.is_empty(), "{}", page);
            let (start, end) = (cells[0], cells[cells.len() - 1]);
            let indent = chars[bar.end..].iter().take_while(|char| **char == ' ').count();
            callers.retain(|caller| caller.0 < indent);
            if let Some((_, from, to)) = callers.last() {
                prop_assert!(*from <= start && end <= *to, "{}", page);
            }
            callers.push((indent, start, end));
        }
    }
}
