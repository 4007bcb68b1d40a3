//! Results in the formats of other tools: they sum to what the result says, and no name is more
//! than a name in any of them. Whether the tools themselves read them is a test of `dwell`.

use crate::{commands, profiles, samples, wakes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dwell_report::compare::{commands_hyperfine, commands_hyperfine_1};
use dwell_report::export::tables::{Cell, Table, Tables};
use dwell_report::export::{
    csv, hdr_of_waits, hdr_of_wakeups, markdown, otlp, otlp_of_requests, otlp_spans_of_requests, perfetto,
    perfetto_of_requests,
};
use dwell_report::profile::{ProfileMetadata, pprof};
use flate2::read::GzDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use model::timeline::{HandOver, PathPiece, Slice, ThreadLine, Timeline};
use model::{Reason, Run, State};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

fn numbers(table: &Table, column: &str) -> Vec<u64> {
    let at = table.columns.iter().position(|name| name == column).expect("a column of this name");
    let number = |row: &Vec<Cell>| match &row[at] {
        Cell::Plain(text) => text.parse().expect("a number"),
        other => panic!("{other:?} is no number"),
    };
    table.rows.iter().map(number).collect()
}

#[test]
fn slow_requests_are_traces_without_gaps_and_tracks() {
    let run = samples::served();
    let slowest = &run.tables.requests.value().unwrap().slowest;
    let file: Value = serde_json::from_slice(&otlp_of_requests(&run).unwrap().bytes).unwrap();
    let spans = file["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let time = |span: &Value, edge: &str| -> u64 { span[edge].as_str().unwrap().parse().unwrap() };
    let (begin, end) = ("startTimeUnixNano", "endTimeUnixNano");
    let traces: Vec<&[Value]> = spans.chunk_by(|one, next| one["traceId"] == next["traceId"]).collect();
    assert_eq!(traces.len(), slowest.len(), "a trace each");
    for (trace, slow) in traces.iter().zip(slowest) {
        let [whole, parts @ ..] = trace else { panic!("{trace:?}") };
        assert_eq!(whole["name"], "GET /price/{n}");
        assert_eq!((whole["kind"].as_u64(), &whole["parentSpanId"]), (Some(2), &Value::Null), "a server's");
        assert_eq!(time(whole, end) - time(whole, begin), slow.latency_ns);
        let mut at = time(whole, begin);
        for part in parts {
            assert_eq!((time(part, begin), &part["parentSpanId"]), (at, &whole["spanId"]));
            at = time(part, end);
        }
        assert_eq!(at, time(whole, end), "they fill it");
    }
    assert!(spans.iter().any(|span| span["name"].as_str().unwrap().starts_with("lock")));
    // The same as protocol buffers.
    assert_eq!(otlp_spans_of_requests(&run).len(), spans.len());
    // A track for all of them and one for each, with its stretches as slices.
    let trace = perfetto_of_requests(&run).unwrap();
    let packets: Vec<_> = fields(&trace.bytes).into_iter().map(|(_, _, packet)| fields(packet)).collect();
    let having = |field| packets.iter().filter(|packet| packet.iter().any(|(of, ..)| *of == field)).count();
    assert_eq!(having(60), 1 + slowest.len(), "tracks");
    assert_eq!(having(11), 2 * (spans.len() - slowest.len()), "begins and ends of their stretches");
    // None where nothing was served.
    let run = samples::attached();
    assert_eq!((otlp_of_requests(&run), perfetto_of_requests(&run)), (None, None));
}

#[test]
fn the_tables_of_a_run_sum_to_its_wall_clock() {
    for (name, run) in samples::all() {
        let tables = Tables::of(&run);
        for table in ["account", "path"] {
            let Some(table) = tables.named(table) else {
                assert_eq!(run.whole_ns(), 0, "{name} has no {table}");
                continue;
            };
            assert_eq!(numbers(table, "ns").iter().sum::<u64>(), run.whole_ns(), "{name}");
        }
        // As they are written, too.
        let Some(account) = tables.named("account") else { continue };
        let text = String::from_utf8(csv(account).bytes).unwrap();
        let second = |line: &str| line.split(',').nth(1).unwrap().parse::<u64>().unwrap();
        assert_eq!(text.lines().skip(1).map(second).sum::<u64>(), run.whole_ns(), "{name}");
    }
}

#[test]
fn a_histogram_has_all_of_its_wake_ups() {
    let wakeups = wakes::odd();
    let tables = Tables::of(&wakeups);
    let histogram = tables.named("all.histogram").expect("it has wake-ups");
    assert_eq!(histogram.columns, ["from_ns", "to_ns", "count"]);
    let expected: u64 = wakeups.all.histogram.iter().map(|bin| bin.count).sum();
    assert_eq!(numbers(histogram, "count").iter().sum::<u64>(), expected);
}

/// The fields of a message: number, and either a value or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().expect("a number ends");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = varint(&mut bytes);
        let inner = if key & 7 == 2 { bytes.split_at(value as usize) } else { (&bytes[..0], bytes) };
        assert!([0, 2].contains(&(key & 7)), "of the kinds that are read here");
        bytes = inner.1;
        found.push((key >> 3, value, inner.0));
    }
    found
}

fn packed(mut bytes: &[u8]) -> Vec<u64> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        let length = bytes.iter().position(|byte| byte & 0x80 == 0).expect("a number ends") + 1;
        let (number, rest) = bytes.split_at(length);
        values.push(number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f)));
        bytes = rest;
    }
    values
}

fn unpacked(run: &Run, profile: &model::Profile) -> Vec<u8> {
    let metadata = ProfileMetadata::of(run);
    let mut bytes = Vec::new();
    GzDecoder::new(&*pprof(run, profile, &metadata).bytes).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_profile_for_pprof_sums_to_the_ledgers_of_the_threads() {
    let runs = samples::all().into_iter().chain([("hostile", samples::hostile())]);
    for ((name, run), (_, profile)) in runs.zip(profiles::all().into_iter().cycle()) {
        // The threads of a profile are those of the run by chance only: else their time has no
        // stack.
        let mut own = profile.clone();
        for (owner, thread) in own.threads.iter_mut().zip(&run.threads) {
            (owner.pid, owner.tid) = (thread.pid, thread.tid);
        }
        for profile in [&profile, &own] {
            let bytes = unpacked(&run, profile);
            let mut sums = [0_u64; 3];
            for (_, _, sample) in fields(&bytes).into_iter().filter(|(field, _, _)| *field == 2) {
                let values = fields(sample).into_iter().find(|(field, _, _)| *field == 2).unwrap().2;
                sums.iter_mut().zip(packed(values)).for_each(|(sum, value)| *sum += value);
            }
            let of = |wanted: fn(model::State) -> bool| -> u64 {
                let states = run.threads.iter().flat_map(|thread| &thread.states);
                states.filter(|(state, _)| wanted(*state)).map(|(_, ns)| ns).sum()
            };
            let expected = [of(model::State::on_cpu), of(model::State::blocked), of(|_| true)];
            assert_eq!(sums, expected, "{name}");
        }
    }
}

/// What a program may call itself, a file, a function, a peer, a parameter.
fn hostile() -> Vec<String> {
    let long = "<b>x".repeat(2_500);
    ["</td><script>alert(1)</script>", "=cmd|' /c calc'!A0", "@SUM(1)", "a\u{1b}[2J\u{7}\r\n\tb", &long]
        .iter()
        .map(|text| format!("{text}\u{202e}\u{200b}| [x](javascript:1) \u{fffd}"))
        .collect()
}

/// Names of the program, and what it wrote, in place of those of a result.
fn renamed(value: &mut Value, name: &str) {
    const NAMES: [&str; 9] =
        ["name", "process", "command", "file", "function", "module", "device", "peer", "where"];
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| match value {
            Value::String(text) if NAMES.contains(&key.as_str()) && key != "kind" => *text = name.to_owned(),
            Value::Array(words) if key == "command" => words.iter_mut().for_each(|word| *word = name.into()),
            value => renamed(value, name),
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| renamed(item, name)),
        _ => {}
    }
}

/// Whether a terminal or a reader of text would act on it.
fn acts(char: char) -> bool {
    (char.is_control() && char != '\n' && char != '\r') || matches!(char, '\u{202e}' | '\u{200b}')
}

#[test]
fn no_name_is_more_than_a_name_in_any_format() {
    for name in hostile() {
        let mut value = serde_json::to_value(samples::server()).unwrap();
        renamed(&mut value, &name);
        let run: Run = serde_json::from_value(value).unwrap();
        let mut comparison = commands::sample("compare-odd");
        for command in &mut comparison.commands {
            command.name.clone_from(&name);
            command.command = vec![name.clone()];
            command.parameters.push((name.clone(), name.clone()));
        }
        comparison.limits.push(name.clone());
        for tables in [Tables::of(&run), Tables::of(&comparison)] {
            let text = String::from_utf8(markdown(&tables.tables).bytes).unwrap();
            assert!(!text.chars().any(acts), "{name:?}");
            assert!(!text.contains(['<', '>']) && !text.contains("](javascript:"), "{name:?}");
            // As many cells in each row as in its head.
            let cells = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
            for block in text.split("\n\n").filter(|block| block.starts_with('|')) {
                let mut rows = block.lines().filter(|line| line.starts_with('|')).map(cells);
                let head = rows.next().unwrap();
                assert!(rows.all(|row| row == head), "{name:?}");
            }
            for table in &tables.tables {
                let text = String::from_utf8(csv(table).bytes).unwrap();
                assert!(!text.chars().any(acts), "{name:?}");
                let mut rows = records(&text);
                let head = rows.next().map_or(0, |row| row.len());
                for row in rows {
                    assert_eq!(row.len(), head, "{name:?}: {row:?}");
                    let formula = |cell: &String| {
                        cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err()
                    };
                    assert!(!row.iter().any(formula), "{row:?}");
                }
            }
        }
        for text in [commands_hyperfine(&comparison), commands_hyperfine_1(&comparison).0] {
            assert!(!text.chars().any(acts), "{name:?}");
            let read: Value = serde_json::from_str(&text).unwrap();
            assert!(read.to_string().contains("\u{202e}"), "the name is whole in it");
        }
        let mut profile = profiles::hostile();
        profile.frames.iter_mut().for_each(|frame| frame.function.clone_from(&name));
        profile.threads.iter_mut().for_each(|thread| thread.name.clone_from(&name));
        for (owner, thread) in profile.threads.iter_mut().zip(&run.threads) {
            (owner.pid, owner.tid) = (thread.pid, thread.tid);
        }
        let bytes = unpacked(&run, &profile);
        let texts = fields(&bytes).into_iter().filter(|(field, _, _)| *field == 6);
        let texts: Vec<&str> = texts.map(|(_, _, text)| std::str::from_utf8(text).unwrap()).collect();
        assert!(texts.len() > 5 && !texts.iter().any(|text| text.chars().any(acts) || text.contains('\n')));
    }
}

/// Two threads of a name, and a path through both.
fn timeline(name: &str, wall_ns: u64) -> Timeline {
    let slice = |at_ns, ns, state, reason| Slice { at_ns, ns, state, reason };
    let target = Reason::Text(format!("file {name}"));
    let half = wall_ns / 2;
    let slices = vec![
        slice(0, half, State::User, Reason::None),
        slice(half, wall_ns - half, State::Disk, target.clone()),
    ];
    let thread =
        |tid| ThreadLine { pid: 7, tid, name: name.into(), process: name.into(), slices: slices.clone() };
    Timeline {
        threads: vec![thread(7), thread(8)],
        hand_overs: vec![HandOver { from: 0, from_ns: half, to: 1, to_ns: half }],
        path: vec![
            PathPiece { thread: Some(0), slice: slices[0].clone() },
            PathPiece { thread: Some(1), slice: slices[1].clone() },
        ],
        until_ns: None,
    }
}

/// The fields of this number within a message.
fn within(bytes: &[u8], number: u64) -> Vec<&[u8]> {
    fields(bytes).into_iter().filter(|(field, _, _)| *field == number).map(|(_, _, inner)| inner).collect()
}

#[test]
fn threads_over_time_have_names_and_nothing_more() {
    for name in hostile() {
        let mut run = samples::server();
        run.command = vec![name.clone(), name.clone()];
        let timeline = timeline(&name, run.wall_ns);
        let bytes = perfetto(&samples::result(&run, None), &timeline).bytes;
        assert!(fields(&bytes).iter().all(|(field, _, _)| *field == 1), "a trace has packets only");
        // Names of events; of tracks, with those of their processes and threads.
        let mut found: Vec<&[u8]> = Vec::new();
        for packet in within(&bytes, 1) {
            for names in within(packet, 12) {
                found.extend(within(names, 2).into_iter().flat_map(|name| within(name, 2)));
            }
            for track in within(packet, 60) {
                found.extend(within(track, 2));
                found.extend(within(track, 3).into_iter().flat_map(|process| within(process, 6)));
                found.extend(within(track, 4).into_iter().flat_map(|thread| within(thread, 5)));
            }
        }
        let found: Vec<&str> = found.iter().map(|text| std::str::from_utf8(text).unwrap()).collect();
        let named = found.iter().filter(|text| text.contains("[x](javascript:1)")).count();
        assert!(named >= 5, "{found:?}");
        assert!(!found.iter().any(|text| text.chars().any(acts) || text.contains('\n')), "{name:?}");
        let text = String::from_utf8(otlp(&samples::result(&run, None), &timeline).bytes).unwrap();
        assert!(!text.trim_end().chars().any(|char| acts(char) || char == '\n'), "{name:?}");
        let read: Value = serde_json::from_str(&text).unwrap();
        let spans = read["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        let ns = |span: &Value| -> u64 {
            let at = |field: &str| span[field].as_str().unwrap().parse::<u64>().unwrap();
            at("endTimeUnixNano") - at("startTimeUnixNano")
        };
        assert_eq!(spans[1..].iter().map(ns).sum::<u64>(), run.wall_ns);
        assert_eq!(ns(&spans[0]), run.wall_ns);
    }
}

#[test]
fn a_long_path_is_put_together_and_said() {
    let run = samples::ls();
    let mut long = timeline("x", run.wall_ns);
    let piece = |at: u64| PathPiece {
        thread: Some(0),
        slice: Slice { at_ns: at, ns: 1, state: State::User, reason: Reason::Text(at.to_string()) },
    };
    long.path = (0..25_000).map(piece).collect();
    let exported = otlp(&samples::result(&run, None), &long);
    let read: Value = serde_json::from_slice(&exported.bytes).unwrap();
    let spans = read["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 1 + 25_000_usize.div_ceil(3));
    assert!(
        exported.left_out.last().unwrap().contains("25000 parts: 3 neighbours"),
        "{:?}",
        exported.left_out
    );
}

/// The records of CSV, as RFC 4180 has them.
fn records(text: &str) -> impl Iterator<Item = Vec<String>> {
    let mut records = vec![vec![String::new()]];
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let record = records.last_mut().unwrap();
        match char {
            '"' if quoted && chars.peek() == Some(&'"') => record.last_mut().unwrap().extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(String::new()),
            '\r' if !quoted => {}
            '\n' if !quoted => records.push(vec![String::new()]),
            char => record.last_mut().unwrap().push(char),
        }
    }
    assert!(!quoted, "quotes are closed");
    records.into_iter().filter(|record| *record != [String::new()])
}

#[test]
fn the_tables_of_a_comparison_have_each_run() {
    let comparison = commands::sample("compare-faster");
    let tables = Tables::of(&comparison);
    let runs = tables.named("runs").unwrap();
    let walls: Vec<u64> = comparison.runs.iter().map(|run| run.wall_ns).collect();
    assert_eq!(numbers(runs, "wall_ns"), walls);
    let counts: BTreeMap<&str, usize> =
        tables.tables.iter().map(|table| (table.name.as_str(), table.rows.len())).collect();
    assert_eq!(counts["commands"], comparison.commands.len());
    assert_eq!(counts["comparisons.pairs"], comparison.comparisons[0].pairs.len());
}

/// The histograms of a log by tag. All lines are the format's own.
fn histograms(log: &[u8]) -> BTreeMap<String, Histogram<u64>> {
    let text = std::str::from_utf8(log).unwrap();
    assert!(!text.chars().any(|char| acts(char) || char == '\r'), "{text}");
    let interval = |line: &&str| line.starts_with("Tag=") || line.starts_with("0.000,");
    let expected = text.lines().filter(interval).count();
    assert!(text.lines().all(|line| interval(&line) || line.starts_with(['#', '"'])), "{text}");
    let mut found = BTreeMap::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(of) = entry.expect("a line of the format") else { continue };
        let bytes = STANDARD.decode(of.encoded_histogram()).unwrap();
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &*bytes).unwrap();
        assert!(near(histogram.max(), (of.max() * 1e6).round() as u64), "{} {}", histogram.max(), of.max());
        found.insert(of.tag().map_or("", |tag| tag.as_str()).to_owned(), histogram);
    }
    assert_eq!(found.len(), expected, "each line is a histogram, and no tag is there twice");
    found
}

/// Whether a value is this one to three digits.
fn near(value: u64, expected: u64) -> bool {
    value.abs_diff(expected) <= expected / 1000
}

#[test]
fn a_log_of_histograms_has_each_wait_of_a_result_by_reason() {
    let mut waits = 0;
    for (name, mut run) in samples::all().into_iter().chain([("hostile", samples::hostile())]) {
        // Every other one has octaves: the last is that of the longest.
        for row in run.waits.iter_mut().step_by(2) {
            row.histogram = vec![(16, 1), ((row.max_ns + 1).next_power_of_two(), row.calls)];
        }
        let mut expected = BTreeMap::<String, (u64, u64)>::new();
        for row in run.waits.iter().filter(|row| !row.histogram.is_empty()) {
            let (count, max) = expected.entry(row.reason.name().to_owned()).or_default();
            *count += row.histogram.iter().map(|(_, count)| count).sum::<u64>();
            let last = row.histogram.iter().map(|(beyond, _)| beyond - 1).max().unwrap();
            *max = (*max).max(last.min(row.max_ns));
        }
        let exported = hdr_of_waits(&run, None);
        let found = histograms(&exported.bytes);
        assert!(found.keys().eq(expected.keys()), "{name}");
        for (tag, (count, max)) in &expected {
            assert_eq!(found[tag].len(), *count, "{name} {tag}");
            assert!(near(found[tag].max(), *max), "{name} {tag}: {} {max}", found[tag].max());
            waits += count;
        }
        let said = exported.left_out.join("\n");
        assert_eq!(said.contains("only the octave is known"), !expected.is_empty(), "{name}: {said}");
        let without = run.waits.iter().filter(|row| row.histogram.is_empty()).map(|row| row.calls);
        let without: u64 = without.sum();
        assert_eq!(said.contains(&format!("{without} waits have no lengths")), without > 0, "{name}: {said}");
    }
    assert!(waits > 100, "{waits}");
}

#[test]
fn a_log_of_histograms_has_the_lengths_of_a_timeline() {
    for name in hostile() {
        let mut run = samples::server();
        run.command = vec![name.clone(), "[StartTime: 1\n#[StartTime: 1 ".to_owned()];
        let exported = hdr_of_waits(&run, Some(&timeline(&name, run.wall_ns)));
        let found = histograms(&exported.bytes);
        let blocked = run.wall_ns - run.wall_ns / 2;
        assert_eq!(found["disk"].len(), 2, "{name:?}");
        assert!(near(found["disk"].max(), blocked) && near(found["disk"].min(), blocked));
        let text = String::from_utf8(exported.bytes).unwrap();
        assert_eq!(text.matches("\n#[StartTime: ").count(), 1, "{text}");
        // Of a result that somebody wrote.
        run.started_at = format!("{name}\n#[StartTime: 1");
        run.waits[0].histogram = vec![(4096, 3)];
        let exported = hdr_of_waits(&run, None);
        assert_eq!(histograms(&exported.bytes)[run.waits[0].reason.name()].len(), 3);
        assert!(!String::from_utf8(exported.bytes).unwrap().contains("\n#[StartTime"));
        assert!(exported.left_out.join("\n").contains("the result has no date"), "{:?}", exported.left_out);
    }
    let mut run = samples::server();
    run.waits.truncate(1);
    run.waits[0].max_ns = u64::MAX;
    run.waits[0].histogram = vec![(8, 1), (u64::MAX, 2)];
    let found = histograms(&hdr_of_waits(&run, None).bytes);
    let histogram = found.values().next().unwrap();
    assert_eq!((histogram.len(), histogram.min()), (3, 7));
    run.waits[0].histogram = vec![(8, u64::MAX), (16, u64::MAX)];
    let exported = hdr_of_waits(&run, None);
    assert!(histograms(&exported.bytes).is_empty());
    assert!(
        exported.left_out.join("\n").contains("more than the format can hold"),
        "{:?}",
        exported.left_out
    );
}

#[test]
fn a_log_of_histograms_has_all_wake_ups_by_cpu() {
    for (name, wakeups) in wakes::all() {
        let exported = hdr_of_wakeups(&wakeups);
        let found = histograms(&exported.bytes);
        let measured = wakeups.threads.iter().filter(|wakes| !wakes.histogram.is_empty());
        assert_eq!(found.len(), measured.clone().count(), "{name}");
        for wakes in measured {
            let histogram = &found[&format!("cpu{}", wakes.cpu.unwrap())];
            let count: u64 = wakes.histogram.iter().map(|bin| bin.count).sum();
            assert_eq!(histogram.len(), count, "{name}");
            assert!(near(histogram.max(), *wakes.max_ns.value().unwrap()), "{name}");
        }
        // One that has them together only.
        let mut together = wakeups.clone();
        together.threads.clear();
        let found = histograms(&hdr_of_wakeups(&together).bytes);
        assert!(found.keys().all(String::is_empty), "{name}");
        let count: u64 = wakeups.all.histogram.iter().map(|bin| bin.count).sum();
        assert_eq!(found.values().map(Histogram::len).sum::<u64>(), count, "{name}");
    }
}
