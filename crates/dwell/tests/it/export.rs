//! `dwell export`: kept recordings and results, read by the tools that the formats are of. What the
//! formats must hold whatever a result has is a test of `report`.

use crate::support::{dwell, scratch, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// What has no end here: everything reads files.
const LIMIT: &str = "120";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn recording(name: &str) -> PathBuf {
    repository().join("crates/golden/recordings").join(name).with_extension("dwell")
}

/// The JSON of the same recording.
fn result(name: &str) -> PathBuf {
    // Tests run at once.
    static MADE: AtomicU32 = AtomicU32::new(0);
    let path = fresh(&format!("{name}-{}.json", MADE.fetch_add(1, Ordering::Relaxed)));
    let mut command = Command::new("timeout");
    command.args([LIMIT, dwell(), "show", "--no-store", "--json"]).arg(&path).arg(recording(name));
    let output = command.output().expect("dwell runs");
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    path
}

fn export(of: &Path, words: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args([LIMIT, dwell(), "export"]).arg(of).args(words).args(["--no-store"]);
    command.output().expect("dwell runs")
}

fn exported(of: &Path, words: &[&str]) -> String {
    let output = export(of, words);
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn refused(of: &Path, words: &[&str]) -> String {
    let output = export(of, words);
    assert_eq!(output.status.code(), Some(125), "{words:?}: {}", text(&output.stdout));
    assert!(output.stdout.is_empty(), "nothing is written");
    text(&output.stderr)
}

fn fresh(name: &str) -> PathBuf {
    let path = scratch().join("export").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    path
}

#[test]
fn a_table_of_each_kind_of_input_is_the_same() {
    let recorded = exported(&recording("hand-overs"), &["--as", "csv", "--table", "account"]);
    assert_eq!(exported(&result("hand-overs"), &["--as", "csv", "--table", "account"]), recorded);
    let run: Value = serde_json::from_str(&fs::read_to_string(result("hand-overs")).unwrap()).unwrap();
    let sum = |text: &str| -> u64 {
        text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!(sum(&recorded), run["wall_ns"].as_u64().unwrap());
    let page = repository().join("docs/pages/run.html");
    let of_page = exported(&page, &["--as", "csv", "--table", "account"]);
    assert!(of_page.starts_with("state,ns,basis,lo_ns,hi_ns\r\n") && sum(&of_page) > 0, "{of_page}");
    // The account is the first table after the fields that are in none.
    let all = exported(&recording("hand-overs"), &["--as", "markdown"]);
    assert!(all.starts_with("## result\n\n| name | value | unseen |\n"), "{all}");
    assert!(all.contains("\n## account\n") && all.contains("\n## waits.by\n"), "{all}");
    let one = exported(&recording("hand-overs"), &["--as", "markdown", "--table", "account"]);
    assert!(all.contains(&one), "{one}");
}

#[test]
fn pprof_reads_what_the_threads_ledgers_say() {
    for name in ["python-lines", "hand-overs", "attach-busy"] {
        let path = fresh(&format!("{name}.pb.gz"));
        let output = export(&recording(name), &["--as", "pprof", "-o", path.to_str().unwrap()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("dwell: pprof: it has sums only"), "{}", text(&output.stderr));
        let run: Value = serde_json::from_str(&fs::read_to_string(result(name)).unwrap()).unwrap();
        let mut states = BTreeMap::<&str, u64>::new();
        for thread in run["threads"].as_array().unwrap() {
            for (state, ns) in thread["states"].as_object().unwrap() {
                *states.entry(state).or_default() += ns.as_u64().unwrap();
            }
        }
        let of = |wanted: &[&str]| -> u64 { wanted.iter().filter_map(|state| states.get(state)).sum() };
        let blocked = ["disk", "network", "lock", "pipe", "sleep", "idle", "other-wait"];
        for (value, ns) in [
            ("cpu", of(&["user", "kernel", "fault", "interrupt"])),
            ("waiting", of(&blocked)),
            ("wall", states.values().sum()),
        ] {
            let index = format!("-sample_index={value}");
            let words = ["tool", "pprof", "-top", "-unit=ns", "-nodefraction=0", &index];
            let output = Command::new("go").args(words).arg(&path).output().expect("go is installed");
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(output.status.success(), "{said}");
            let total = format!("Showing nodes accounting for {ns}ns, 100% of {ns}ns total");
            assert!(ns == 0 || said.contains(&total), "{name} {value} {ns}: {said}");
        }
    }
}

/// What the library of the format finds in an export.
pub(crate) fn read(format: &str, of: &Path) -> Value {
    let path = fresh(&format!("read.{format}"));
    let output = export(of, &["--as", format, "-o", path.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let script = repository().join("crates/dwell/tests/readers/read.py");
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", repository().join("target/readers")).arg(script).arg(format).arg(path);
    let output = command.output().expect("python3 is installed");
    assert!(output.status.success(), "the set-up of cargo xtask test: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn perfetto_has_each_threads_life_and_the_path() {
    for (name, flows) in [("hand-overs", 1000), ("shell-pipeline", 5), ("python-gil", 10)] {
        let run: Value = serde_json::from_str(&fs::read_to_string(result(name)).unwrap()).unwrap();
        let found = read("perfetto", &recording(name));
        assert_eq!((&found["unknown"], &found["gaps"]), (&Value::from(0), &Value::from(0)), "{name}");
        assert_eq!(found["backwards"], 0, "{name}: who lets go on does so before the other goes on");
        let sum = |states: &Value| -> u64 {
            states.as_object().unwrap().values().map(|ns| ns.as_u64().unwrap()).sum()
        };
        assert_eq!(sum(&found["path"]), run["wall_ns"].as_u64().unwrap(), "{name}");
        let lives = |threads: &Value, life: &dyn Fn(&Value) -> (u64, u64)| -> BTreeMap<u64, u64> {
            threads.as_array().unwrap().iter().map(life).collect()
        };
        let own = lives(&run["threads"], &|thread| {
            (thread["tid"].as_u64().unwrap(), thread["life_ns"].as_u64().unwrap())
        });
        let theirs = lives(&found["threads"], &|thread| (thread[0].as_u64().unwrap(), sum(&thread[1])));
        assert_eq!(theirs, own, "{name}: to the nanosecond");
        // Waits are the ledgers' own, by state.
        for state in ["disk", "lock", "pipe", "network", "sleep"] {
            let of = |threads: &Value, states: &dyn Fn(&Value) -> Option<u64>| -> u64 {
                threads.as_array().unwrap().iter().filter_map(states).sum()
            };
            let own = of(&run["threads"], &|thread| thread["states"][state].as_u64());
            assert_eq!(of(&found["threads"], &|thread| thread[1][state].as_u64()), own, "{name} {state}");
        }
        assert!(found["flows"].as_u64().unwrap() >= flows, "{name}: {}", found["flows"]);
        let causes: Vec<&Value> =
            run["findings"].as_array().unwrap().iter().map(|finding| &finding["cause"]).collect();
        assert_eq!(found["instants"].as_array().unwrap().iter().collect::<Vec<_>>(), causes, "{name}");
    }
}

#[test]
fn a_trace_of_opentelemetry_is_the_path() {
    for name in ["hand-overs", "shell-pipeline", "fsync"] {
        let run: Value = serde_json::from_str(&fs::read_to_string(result(name)).unwrap()).unwrap();
        let found = read("otlp", &recording(name));
        assert_eq!(found["wall_ns"], run["wall_ns"], "{name}");
        assert_eq!((&found["path_ns"], &found["traces"]), (&run["wall_ns"], &Value::from(1)));
        assert!(found["spans"].as_u64().unwrap() >= 10, "{name}: {found}");
    }
    let names = read("otlp", &recording("fsync"))["names"].to_string();
    assert!(names.contains("disk: "), "{names}");
}

/// Its library is compiled for x86_64 only; what `report` tests of the format runs everywhere.
#[cfg(target_arch = "x86_64")]
#[test]
fn hdrhistogram_reads_waits_by_reason_and_wake_ups_by_cpu() {
    let number = |value: &Value, field: &str| value[field].as_u64().expect("a number");
    // The format has three digits.
    let near = |value: u64, expected: u64| value.abs_diff(expected) <= expected / 1000;
    for name in ["hand-overs", "shell-pipeline", "python-gil", "locked-sleep"] {
        let run: Value = serde_json::from_str(&fs::read_to_string(result(name)).unwrap()).unwrap();
        let mut expected = BTreeMap::<&str, [u64; 3]>::new();
        for row in run["waits"].as_array().unwrap() {
            let of = expected.entry(row["reason"].as_str().unwrap()).or_default();
            of[0] += number(row, "calls");
            of[1] = of[1].max(number(row, "max_ns"));
            of[2] += number(row, "total_ns");
        }
        for (from, exact) in [(recording(name), true), (result(name), false)] {
            let found = read("hdr", &from);
            let histograms = found["histograms"].as_array().unwrap();
            assert_eq!(histograms.len(), expected.len(), "{name}: {found}");
            for (histogram, (reason, [count, max, total])) in histograms.iter().zip(&expected) {
                assert_eq!(histogram["tag"], *reason, "{name}");
                assert_eq!(number(histogram, "count"), *count, "{name} {reason}");
                assert!(near(number(histogram, "max"), *max), "{name} {reason}: {histogram} {max}");
                let sum = number(histogram, "sum");
                let known = near(sum, *total) || !exact && sum >= *total && sum <= total * 2;
                assert!(known, "{name} {reason}: {sum} {total}");
                let took = histogram["end_ms"].as_f64().unwrap() - histogram["start_ms"].as_f64().unwrap();
                assert!((took - number(&run, "wall_ns") as f64 / 1e6).abs() < 0.01, "{took} ms");
            }
            let said = text(&export(&from, &["--as", "hdr"]).stderr);
            // A wait without an explanation has no length of its own in a timeline either.
            let by_octave = !exact || expected.contains_key("unexplained");
            assert_eq!(said.contains("only the octave is known"), by_octave, "{name}: {said}");
        }
    }
    assert_eq!(read("hdr", &recording("hand-overs"))["start_s"], 1_795_455_310.0);
    let page = repository().join("docs/pages/wake.html");
    let threads = exported(&page, &["--as", "csv", "--table", "threads"]);
    let mut rows = threads.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let at = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let found = read("hdr", &page);
    let mut histograms = found["histograms"].as_array().unwrap().iter();
    for row in rows {
        let histogram = histograms.next().expect("one for each CPU");
        assert_eq!(histogram["tag"], format!("cpu{}", row[at("cpu")]));
        assert_eq!(number(histogram, "count"), row[at("cycles")].parse::<u64>().unwrap());
        assert!(near(number(histogram, "max"), row[at("max_ns")].parse().unwrap()), "{histogram}");
    }
    assert!(histograms.next().is_none());
}

/// HdrHistogram for Java, whose format it is, reads the same log.
#[test]
fn hdrhistogram_for_java_reads_the_waits_too() {
    let log = fresh("java.hlog");
    let output = export(&recording("shell-pipeline"), &["--as", "hdr", "-o", log.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command.args([LIMIT, "java", "-XX:TieredStopAtLevel=1", "-cp", "/usr/share/java/hdrhistogram.jar"]);
        command.args(["org.HdrHistogram.HistogramLogProcessor", "-i"]).arg(&log).args(words);
        let output = command.output().expect("java is installed");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let run: Value = serde_json::from_str(&fs::read_to_string(result("shell-pipeline")).unwrap()).unwrap();
    let mut expected = BTreeMap::<&str, [u64; 3]>::new();
    for row in run["waits"].as_array().unwrap() {
        let number = |field: &str| row[field].as_u64().expect("a number");
        let of = expected.entry(row["reason"].as_str().unwrap()).or_default();
        *of = [of[0] + number("calls"), of[1].max(number("max_ns")), of[2] + number("total_ns")];
    }
    let tags: Vec<String> = said(&["-listtags"]).lines().skip(1).map(str::to_owned).collect();
    assert_eq!(tags, expected.keys().copied().collect::<Vec<_>>());
    for (reason, [count, max, total]) in expected {
        let told = said(&["-tag", reason, "-outputValueUnitRatio", "1"]);
        let figure = |name: &str| -> f64 {
            let at = told.find(name).unwrap_or_else(|| panic!("no {name}: {told}")) + name.len();
            let rest = told[at..].trim_start_matches([' ', '=']);
            let figure = rest.split([',', ']']).next().unwrap().trim();
            figure.parse().unwrap_or_else(|_| panic!("{name}: {figure}"))
        };
        // The format has three digits.
        let near = |value: f64, expected: u64| (value - expected as f64).abs() <= expected as f64 / 1000.0;
        assert_eq!(figure("Total count"), count as f64, "{reason}: {told}");
        assert!(near(figure("#[Max"), max), "{reason} {max}: {told}");
        assert!(near(figure("#[Mean") * count as f64, total), "{reason} {total}: {told}");
    }
}

#[test]
fn what_saw_no_lengths_of_waits_has_no_histograms_of_them() {
    for from in [recording("perf-mutex"), result("perf-mutex")] {
        let said = refused(&from, &["--as", "hdr"]);
        assert!(said.contains("has no lengths of waits") && said.contains("--source bpf"), "{said}");
    }
    // A window, and a run of which not all was kept, have octaves.
    for name in ["attach-python", "keep-limit"] {
        let output = export(&recording(name), &["--as", "hdr"]);
        assert!(output.status.success() && text(&output.stdout).contains("\nTag=sleep,0.000,"));
        assert!(text(&output.stderr).contains("only the octave is known"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_comparison_has_the_json_of_both_hyperfines() {
    let page = repository().join("docs/pages/compare.html");
    let runs = exported(&page, &["--as", "csv", "--table", "runs"]);
    let second: Value = serde_json::from_str(&exported(&page, &["--as", "hyperfine"])).unwrap();
    assert_eq!(second["schema_version"], 2);
    let first: Value = serde_json::from_str(&exported(&page, &["--as", "hyperfine-1"])).unwrap();
    let [one, two] = [&first, &second].map(|json| json["results"].as_array().unwrap());
    assert!(one.len() > 1 && one.len() == two.len());
    for (one, two) in one.iter().zip(two) {
        let times = one["times"].as_array().unwrap();
        let of_two = two["measurements"].as_array().unwrap().iter();
        assert!(of_two.map(|run| &run["time_wall_clock"]["value"]).eq(times.iter()));
        for time in times {
            let ns = (time.as_f64().unwrap() * 1e9).round() as u64;
            assert!(runs.contains(&format!(",{ns},")), "{ns} is a run of the result, to the nanosecond");
        }
    }
}

/// hyperfine's own scripts, those of a version for each version of its JSON.
#[test]
fn hyperfines_scripts_find_the_runs_of_a_comparison() {
    let page = repository().join("docs/pages/compare.html");
    let first: Value = serde_json::from_str(&exported(&page, &["--as", "hyperfine-1"])).unwrap();
    let commands = first["results"].as_array().unwrap();
    for (format, version) in [("hyperfine-1", "1.20.0"), ("hyperfine", "2.0.0")] {
        let json = fresh(&format!("{format}.json"));
        let output = export(&page, &["--as", format, "-o", json.to_str().unwrap()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let readers = repository().join("target/readers");
        let script = readers.join(format!("hyperfine-{version}/advanced_statistics.py"));
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", &readers).arg(script).arg(&json).args(["--time-unit", "millisecond"]);
        let output = command.output().expect("python3 is installed");
        assert!(output.status.success(), "the set-up of cargo xtask test: {}", text(&output.stderr));
        let said = text(&output.stdout);
        let told: Vec<&str> = said.split("Command '").skip(1).collect();
        assert_eq!(told.len(), commands.len(), "{said}");
        for (told, command) in told.iter().zip(commands) {
            assert!(told.starts_with(&format!("{}'\n", command["command"].as_str().unwrap())), "{told}");
            let figure = |name: &str| {
                let line = told.lines().find_map(|line| line.trim().strip_prefix(name));
                line.unwrap_or_else(|| panic!("no {name} in {told}")).trim().to_owned()
            };
            let mut times: Vec<f64> =
                command["times"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
            times.sort_by(f64::total_cmp);
            let (last, middle) = (times.len() - 1, times.len() / 2);
            let median = (times[middle] + times[last - middle]) / 2.0;
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            assert_eq!(figure("runs:"), times.len().to_string(), "{told}");
            for (name, value) in
                [("mean:", mean), ("median:", median), ("min:", times[0]), ("max:", times[last])]
            {
                assert_eq!(figure(name), format!("{:.3} ms", value * 1e3), "{format} {name} {told}");
            }
        }
    }
}

#[test]
fn what_a_result_has_not_is_refused_with_what_it_has() {
    let run = result("hand-overs");
    let said = refused(&run, &["--as", "hyperfine"]);
    assert!(
        said.contains("which has no hyperfine\ntry: json, csv, markdown, pprof, perfetto, otlp"),
        "{said}"
    );
    for format in ["perfetto", "otlp"] {
        assert!(refused(&run, &["--as", format]).contains("--keep run.dwell"), "{format}");
        let said = refused(&recording("attach-busy"), &["--as", format]);
        assert!(said.contains("is a window, which has no critical path"), "{said}");
        let said = refused(&recording("perf-mutex"), &["--as", format]);
        assert!(said.contains("made without BPF"), "{said}");
        let said = refused(&recording("keep-limit"), &["--as", format]);
        assert!(said.contains("--keep-limit"), "{said}");
    }
    let said = refused(&run, &["--as", "pprof"]);
    assert!(said.contains("without its recording") && said.contains("--keep run.dwell"), "{said}");
    let said = refused(&repository().join("docs/pages/wake.html"), &["--as", "pprof"]);
    assert!(said.contains("which has no pprof\ntry: json, csv, markdown"), "{said}");
    let said = refused(&run, &["--as", "csv"]);
    assert!(said.contains("CSV has one table") && said.contains("account, path"), "{said}");
    let said = refused(&run, &["--as", "csv", "--table", "wait"]);
    assert!(said.contains("no table \"wait\"\ntry: waits"), "{said}");
    let said = refused(&recording("hand-overs"), &["--as", "pprof", "--table", "waits"]);
    assert!(said.contains("--table chooses a table of csv and markdown"), "{said}");
    let said = refused(&recording("hand-overs"), &["--as", "xlsx"]);
    assert!(said.contains("invalid value 'xlsx'") && said.contains("markdown"), "{said}");
    assert!(refused(Path::new("no-such-file"), &["--as", "csv"]).contains("no such file"));
    // What is no result, or not a whole one.
    let whole = fs::read(&run).unwrap();
    let log = exported(&recording("shell-pipeline"), &["--as", "hdr"]);
    for (name, content, says) in [
        ("empty.json", &b""[..], "is not a recording"),
        ("cut.json", &whole[..whole.len() / 2], "is cut off: its JSON ends early"),
        ("of-another-tool.hlog", log.as_bytes(), "is no result"),
    ] {
        let path = fresh(name);
        fs::write(&path, content).unwrap();
        let said = refused(&path, &["--as", "csv", "--table", "account"]);
        assert!(said.contains(says) && said.contains("try: "), "{name}: {said}");
    }
}

#[test]
fn what_verbs_write_by_options_is_exported_of_what_was_kept() {
    // The same bytes as `dwell show` writes by its options.
    let of = recording("hand-overs");
    for format in ["firefox", "speedscope", "folded"] {
        let shown = fresh(format);
        let mut command = Command::new("timeout");
        command.args([LIMIT, dwell(), "show"]).arg(&of).arg(format!("--{format}")).arg(&shown);
        let output = command.output().expect("dwell runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(!exported(&of, &["--as", format]).is_empty());
        assert_eq!(exported(&of, &["--as", format]), fs::read_to_string(&shown).unwrap(), "{format}");
        let said = refused(&result("hand-overs"), &["--as", format]);
        assert!(said.contains("without its recording"), "{said}");
    }
    let samples = repository().join("crates/report/tests/samples");
    let (wakes, ladder) = (samples.join("wakes/vm.json"), samples.join("ladders/vm.json"));
    for of in [&wakes, &ladder] {
        assert!(exported(of, &["--as", "svg"]).trim_start().starts_with("<svg"));
        let png = export(of, &["--as", "png"]);
        assert!(png.status.success() && png.stdout.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert!(text(&png.stderr).contains("png: it is a picture"), "{}", text(&png.stderr));
    }
    let said = refused(&ladder, &["--as", "junit"]);
    assert!(said.contains("which has no junit\ntry: json, csv, markdown, svg, png"), "{said}");
    assert!(refused(&of, &["--as", "svg"]).contains("which has no svg"));
    let xml = exported(&wakes, &["--as", "junit"]);
    assert!(xml.starts_with("<?xml") && xml.contains("<testsuite"), "{xml}");
    let mut unjudged: Value = serde_json::from_slice(&fs::read(&wakes).unwrap()).unwrap();
    unjudged["verdict"] = Value::Null;
    let path = fresh("unjudged.json");
    fs::write(&path, unjudged.to_string()).unwrap();
    let said = refused(&path, &["--as", "junit"]);
    assert!(said.contains("has no verdict") && said.contains("--deadline"), "{said}");
}

#[test]
fn no_input_is_overwritten_and_nothing_is_written_by_half() {
    let copy = fresh("copy.json");
    fs::copy(result("hand-overs"), &copy).unwrap();
    let same = copy.to_str().unwrap();
    let said = refused(&copy, &["--as", "markdown", "-o", same]);
    assert!(said.contains("would be overwritten"), "{said}");
    assert_eq!(fs::read(&copy).unwrap(), fs::read(result("hand-overs")).unwrap());
    let store = fresh("store.sqlite");
    let words = ["run", "-q", "--store", store.to_str().unwrap(), "true"];
    assert!(Command::new(dwell()).args(words).output().unwrap().status.success());
    let said = refused(&copy, &["--as", "markdown", "-o", store.to_str().unwrap()]);
    assert!(said.contains("is a store of results"), "{said}");
    let said = refused(&copy, &["--as", "markdown", "-o", "/dev/full"]);
    assert!(said.contains("No space left on device"), "{said}");
    // A file that there is room for in part only: 4 KiB by the limit of the process.
    let part = fresh("part.md");
    let script =
        format!("ulimit -f 4; exec {} export {same} --no-store --as markdown -o {}", dwell(), part.display());
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("File too large"), "{}", text(&output.stderr));
    assert!(!part.exists(), "nothing of it is left");
    // A slip in the name, and a reader that leaves.
    let said = refused(&copy, &["--as", "csv", "--table", "waits", "-o", fresh("x.json").to_str().unwrap()]);
    assert!(said.contains("csv is written as csv"), "{said}");
    let script = format!("{} export {same} --no-store --as markdown | head -c 1", dwell());
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(output.status.success() && !text(&output.stderr).contains("Broken"), "{}", text(&output.stderr));
}
