//! `dwell export --as parquet|rows`: results of a made fleet, read by DuckDB with the queries of
//! the documents. What was planted is found, and nothing else.

use crate::support::{dwell, fresh, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LIMIT: &str = "300";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn export(results: &[PathBuf], words: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args([LIMIT, dwell(), "export", "--no-store"]).args(words).args(results);
    command.output().expect("dwell runs")
}

fn exported(results: &[PathBuf], form: &str, lake: &Path) {
    let all: Vec<PathBuf> = results.iter().chain([&lake.to_owned()]).cloned().collect();
    let output = export(&all, &["--as", form, "--detail"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// The JSON of a file.
fn json_of(path: &Path) -> Value {
    let output = export(&[repository().join(path)], &["--as", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The rows of each query, by its name.
fn asked(form: &str, lake: &Path, queries: &[&str]) -> BTreeMap<String, Vec<Value>> {
    let docs = repository().join("docs/fleet");
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", repository().join("target/readers"));
    command.arg(repository().join("crates/dwell/tests/readers/fleet.py")).arg(form).arg(lake);
    command.arg(docs.join("schema.sql"));
    for query in queries {
        let path = docs.join(format!("{query}.sql"));
        command.arg(if path.exists() { path.into_os_string() } else { query.into() });
    }
    let output = command.output().expect("python3 is installed");
    assert!(output.status.success(), "the set-up of cargo xtask test: {}", text(&output.stderr));
    let lines = text(&output.stdout);
    let answers = lines.lines().map(|line| serde_json::from_str::<(String, Vec<Value>)>(line).unwrap());
    answers.map(|(name, rows)| (name.trim_end_matches(".sql").to_owned(), rows)).collect()
}

/// A directory in which results are made.
struct Fleet {
    dir: PathBuf,
    results: Vec<PathBuf>,
}

impl Fleet {
    fn new(name: &str) -> Self {
        let dir = fresh(name);
        fs::create_dir_all(&dir).unwrap();
        Self { dir, results: Vec::new() }
    }

    /// Adds a result of another host and time: its number is that of what it has then.
    fn add(&mut self, mut result: Value, host: &str, kernel: &str, started_at: &str) {
        result["host"]["name"] = json!(host);
        result["host"]["kernel"] = json!(kernel);
        result["started_at"] = json!(started_at);
        result["id"] = Value::Null;
        let path = self.dir.join(format!("{}.json", self.results.len()));
        fs::write(&path, result.to_string()).unwrap();
        self.results.push(path);
    }
}

/// Latencies of a host, some of which are late.
fn latencies(host: u64, scale: u64, late: bool) -> Vec<u64> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ (host + 1).wrapping_mul(0x2545_f491_4f6c_dd1d);
    let mut values: Vec<u64> = (0..12_000)
        .map(|_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            scale * (2_000 + (random >> 20) % (3_000 + 100 * host))
        })
        .collect();
    if late {
        values[17] = 3_000_000 + host;
    }
    values
}

/// The value that this many of a thousand do not exceed.
fn percentile(values: &[u64], per_mille: usize) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    values[(values.len() * per_mille).div_ceil(1000) - 1]
}

fn histogram(values: &[u64]) -> Value {
    let mut bins = BTreeMap::<usize, u64>::new();
    values.iter().for_each(|value| *bins.entry(stats::fine::index(*value)).or_default() += 1);
    let bin = |(index, count): (usize, u64)| {
        let (lo, beyond) = stats::fine::bounds(index);
        json!([lo, beyond, count])
    };
    bins.into_iter().map(bin).collect()
}

/// Requests of a service: 96 took 1 ms, and four waited for a lock for as many more.
fn requests(ms: u64) -> Value {
    let (typical, slow) = (1_000_000_u64, ms * 1_000_000);
    let part = |at: &str, typical_ns: u64, slow_ns: u64, p99_without: u64| {
        json!({"at": at, "call": null, "on": null, "place": null, "mean_ns": typical_ns, "typical_ns": typical_ns,
            "slow_ns": slow_ns, "more_ns": [0, slow_ns], "without": {"p50_ns": typical, "p99_ns": p99_without}, "held": []})
    };
    let bin = |ns: u64, times: u64| {
        let (lo, beyond) = stats::fine::bounds(stats::fine::index(ns));
        json!({"ns_min": lo, "ns_max": beyond, "times": times})
    };
    json!({"times": 100, "began_before": 0, "under_way": 0, "abandoned": 0, "typical": 20, "slow": 4,
        "latency": {"mean_ns": typical, "p50_ns": typical, "p50_range_ns": [typical, typical], "p90_ns": typical,
            "p99_ns": slow + typical, "p99_range_ns": [typical, slow + typical], "max_ns": slow + typical},
        "bins": [bin(typical, 96), bin(slow + typical, 4)], "slow_ns_min": slow + typical, "slowest": [],
        "parts": [part("lock", 0, slow, typical), part("on-cpu", typical, typical, slow)]})
}

const HOSTS: u64 = 12;

/// What the fleet has: latencies of all its wake-ups by kernel, and its results.
fn fleet(name: &str) -> (Fleet, BTreeMap<&'static str, Vec<u64>>) {
    let mut fleet = Fleet::new(name);
    let mut pooled = BTreeMap::<&str, Vec<u64>>::new();
    let wake = json_of(Path::new("docs/pages/wake.html"));
    for host in 0..HOSTS {
        for (kernel, day, scale) in [("6.1.0", 1, 1), ("6.12.0", 10, if host % 4 == 1 { 5 } else { 1 })] {
            let values = latencies(host, scale, host == 3 && day == 10);
            let mut of = wake.clone();
            of["all"]["histogram"] = histogram(&values);
            of["all"]["cycles"] = json!(values.len());
            of["all"]["p999_ns"] = json!(percentile(&values, 999));
            of["threads"] = json!([]);
            let spike = json!({"at_ns": 5, "cpu": 0, "ns": 3_000_003, "cause": "softirq", "who": "net_rx", "stack": null,
                "shares": [{"cause": "softirq", "who": "net_rx", "ns": 3_000_000}, {"cause": "switching", "who": null, "ns": 3}]});
            of["spikes"] = if host == 3 && day == 10 { json!([spike]) } else { json!([]) };
            fleet.add(
                of,
                &format!("host-{host}"),
                kernel,
                &format!("2026-12-{day:02}T03:00:{host:02}.000000001Z"),
            );
            pooled.entry(kernel).or_default().extend(values);
        }
    }
    // Readings of the clock, which are no wake-ups: there are many more of them.
    let mut gaps = wake.clone();
    gaps["settings"]["asked"]["mode"] = json!("gap");
    gaps["all"]["histogram"] = json!([[40, 41, 400_000_000], [2_998_272, 3_014_656, 1_000_000]]);
    gaps["threads"] = json!([]);
    fleet.add(gaps, "host-7", "6.12.0", "2026-12-10T04:00:00Z");
    let ladder = json_of(Path::new("docs/pages/ladder.html"));
    for host in 0..HOSTS {
        let with = |slow: &str| {
            let mut of = ladder.clone();
            let rungs = of["rungs"].as_array_mut().unwrap();
            for (peer, ns) in [("near", 1e3), ("far", 1e6)] {
                let mut rung = rungs[0].clone();
                rung["id"] = json!(format!("connect@{peer}"));
                rung["ns"]["median"] = json!(ns);
                rungs.push(rung);
            }
            if let Some(rung) = rungs.iter_mut().find(|rung| rung["id"] == slow) {
                let median = rung["ns"]["median"].as_f64().unwrap();
                rung["ns"]["median"] = json!(median * 20.0);
            }
            of
        };
        let name = format!("host-{host}");
        let mut last = with(if host == 4 { "dram" } else { "" });
        if host == 6 {
            // A level that its last ladder no longer has.
            fleet.add(with("dram-loaded"), &name, "6.12.0", "2026-12-10T01:00:00Z");
            last["rungs"].as_array_mut().unwrap().retain(|rung| rung["id"] != "dram-loaded");
        }
        fleet.add(last, &name, "6.12.0", "2026-12-11T01:00:00Z");
    }
    let compare = json_of(Path::new("docs/pages/compare.html"));
    for day in 11..16 {
        let mut of = compare.clone();
        let (verdict, ratio) = if day == 14 { ("slower", 1.5) } else { ("same", 1.0) };
        of["comparisons"][0]["verdict"] = json!(verdict);
        of["comparisons"][0]["ratio"] = json!({"estimate": ratio, "lo": ratio - 0.01, "hi": ratio + 0.01});
        of["commands"][0]["command"] = json!(["/ci/bin/parse", "big.json"]);
        fleet.add(of, "ci", "6.12.0", &format!("2026-12-{day}T05:00:00Z"));
    }
    let window = json_of(Path::new("crates/golden/recordings/attach-idle.dwell"));
    let run = json_of(Path::new("crates/golden/recordings/connection-churn.dwell"));
    for day in 12..=15 {
        for host in 0..3 {
            for (of, service) in [(&window, "api.service"), (&run, "db.service")] {
                let mut of = of.clone();
                of["service"] = json!(service);
                if service == "api.service" {
                    of["requests"] = requests(if day == 15 { 40 } else { 10 });
                }
                fleet.add(of, &format!("host-{host}"), "6.12.0", &format!("2026-12-{day}T06:0{host}:00Z"));
            }
        }
    }
    (fleet, pooled)
}

#[test]
fn duckdb_answers_every_query_from_both_forms() {
    let (mut fleet, pooled) = fleet("fleet");
    // Real results, and those of older versions beside them.
    for folder in ["crates/golden/recordings", "crates/golden/older"] {
        let files = fs::read_dir(repository().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let older = folder.ends_with("older");
        fleet.results.extend(
            files.filter(|path| {
                path.extension().is_some_and(|end| end == if older { "json" } else { "dwell" })
            }),
        );
    }
    let queries = fs::read_dir(repository().join("docs/fleet")).unwrap();
    let queries =
        queries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    let mut queries: Vec<String> = queries.filter(|name| name != "schema" && name != "duckdb").collect();
    queries.sort();
    assert_eq!(queries.len(), 12, "{queries:?}");
    let counts = "SELECT COUNT(*) AS results, COUNT(DISTINCT result_id) AS different FROM results";
    let queries: Vec<&str> = queries.iter().map(String::as_str).chain([counts]).collect();
    let mut answers = Vec::new();
    for form in ["parquet", "rows"] {
        let lake = fresh(form);
        exported(&fleet.results, form, &lake);
        answers.push(asked(form, &lake, &queries));
        // Whoever exports a result again changes nothing.
        exported(&fleet.results[..20], form, &lake);
        assert_eq!(asked(form, &lake, &queries), answers[answers.len() - 1], "{form}");
        fs::remove_dir_all(lake).unwrap();
    }
    assert_eq!(answers[0], answers[1]);
    let rows = |name: &str| &answers[0][name];
    let column =
        |name: &str, of: &str| -> Vec<Value> { rows(name).iter().map(|row| row[of].clone()).collect() };
    assert_eq!(rows(counts)[0]["results"], rows(counts)[0]["different"]);

    assert_eq!(rows("not-closed").len(), 0, "{:?}", rows("not-closed"));
    assert_eq!(column("late-hosts", "host"), ["host-3"]);
    assert_eq!(rows("late-hosts")[0]["late"], 1);
    assert_eq!(column("worse-with-kernel", "host"), ["host-1", "host-5", "host-9"]);
    for row in rows("percentiles-by-kernel") {
        let values = &pooled[row["kernel"].as_str().unwrap()];
        assert_eq!(row["wakeups"].as_f64().unwrap() as usize, values.len());
        for (name, per_mille) in [("p50_ns", 500), ("p99_ns", 990), ("p999_ns", 999), ("at_most_ns", 1000)] {
            let exact = percentile(values, per_mille) as f64;
            let found = row[name].as_f64().unwrap();
            assert!(found >= exact && found <= exact * 1.008, "{name}: {found} of {exact}");
        }
    }
    assert_eq!(rows("percentiles-by-kernel").len(), 2);
    assert_eq!(column("spikes-by-cause", "cause"), ["softirq", "switching"]);
    assert_eq!(rows("spikes-by-cause")[0]["ns"].as_f64(), Some(3_000_000.0));
    assert_eq!(column("ladders-apart", "host"), ["host-4"]);
    assert_eq!(column("ladders-apart", "rung"), ["dram"]);
    assert_eq!(column("ci-trend", "program"), ["parse"; 5]);
    assert_eq!(column("ci-trend", "slower"), [0, 0, 0, 1, 0].map(f64::from).map(|n| json!(n as i64)));
    assert_eq!(column("ci-trend", "ratio_thousandths"), [1000, 1000, 1000, 1500, 1000]);
    let silent = column("silent-hosts", "host");
    for (host, is_silent) in
        [("host-3", true), ("host-11", true), ("vm", true), ("host-0", false), ("ci", false)]
    {
        assert_eq!(silent.contains(&json!(host)), is_silent, "{host}: {silent:?}");
    }
    let days: Vec<_> = column("waits-of-service", "day");
    assert!(days.contains(&json!("2026-12-12")) && days.contains(&json!("2026-12-15")), "{days:?}");
    assert!(rows("waits-of-service").iter().any(|row| row["p99_at_most_ns"].as_f64().unwrap() > 0.0));
    let of_requests = rows("requests-by-service");
    assert_eq!(of_requests.len(), 4, "one service, on four days: {of_requests:?}");
    for (row, ms) in of_requests.iter().zip([10.0, 10.0, 10.0, 40.0]) {
        let p99 = row["p99_at_most_ns"].as_f64().unwrap() / 1e6;
        assert!((ms + 1.0..(ms + 1.0) * 1.008).contains(&p99), "{row}");
        let said = (row["times"].as_i64(), row["part"].as_str(), row["hosts"].as_i64());
        assert_eq!(said, (Some(300), Some("lock"), Some(3)), "{row}");
        assert_eq!(row["p99_without_ns"].as_i64(), Some(1_000_000));
    }
    assert!(column("account-by-day", "service").contains(&json!("db.service")));
    assert!(
        rows("account-by-day").iter().all(|row| (50..=1000).contains(&row["thousandths"].as_i64().unwrap()))
    );
    for row in rows("findings") {
        let of = |name: &str| row[name].as_f64().unwrap();
        assert!(of("saving_lo_ns") <= of("saving_hi_ns") && of("alone_lo_ns") <= of("saving_lo_ns"), "{row}");
        assert!(of("alone_lo_ns") <= of("alone_expected_ns"), "{row}");
        assert!(of("alone_expected_ns") <= of("alone_hi_ns"), "{row}");
    }
    assert!(rows("findings").len() > 5);
}

#[test]
fn what_is_newer_or_broken_is_left_out_and_said() {
    let mut fleet = Fleet::new("newer");
    let mut newer = json_of(Path::new("crates/golden/recordings/attach-busy.dwell"));
    newer["later_field"] = json!({"of": [1, 2]});
    fleet.add(newer.clone(), "newer", "7.0", "2026-11-20T00:00:00.5Z");
    // A clock that was set back, and one that never was set.
    fleet.add(newer.clone(), "back", "7.0", "1970-01-01T00:00:03Z");
    fleet.add(newer.clone(), "odd", "7.0", "yesterday");
    newer["schema"] = json!("dwell.run/2");
    fleet.add(newer, "unknown", "7.0", "2026-11-20T00:00:00Z");
    let broken = fleet.dir.join("broken.json");
    fs::write(&broken, b"{\"schema\": \"dwell.run/1\", \"command\": [\"\xff\"]}").unwrap();
    fleet.results.push(broken);
    let lake = fresh("lake");
    let all: Vec<PathBuf> = fleet.results.iter().chain([&lake]).cloned().collect();
    let output = export(&all, &["--as", "parquet"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    for part in ["\"yesterday\", which is no time", "dwell.run/2", "broken.json"] {
        assert!(said.contains(part), "{said}");
    }
    let query = "SELECT host, day FROM results ORDER BY day";
    let rows = &asked("parquet", &lake, &[query])[query];
    assert_eq!(
        *rows,
        [json!({"host": "back", "day": "1970-01-01"}), json!({"host": "newer", "day": "2026-11-20"})]
    );
}

#[test]
fn a_forged_number_is_no_path() {
    let mut fleet = Fleet::new("forged");
    let mut result = json_of(Path::new("crates/golden/recordings/attach-busy.dwell"));
    result["host"]["name"] = json!("../../../../tmp");
    fleet.add(result, "../..", "6.1", "2026-11-20T00:00:00Z");
    let path = &fleet.results[0];
    let mut forged: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    forged["id"] = json!("../../../../etc/passwd");
    fs::write(path, forged.to_string()).unwrap();
    let lake = fleet.dir.join("lake");
    exported(&fleet.results, "rows", &lake);
    let mut names: Vec<_> =
        fs::read_dir(&fleet.dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["0.json", "lake"]);
    let files = fs::read_dir(lake.join("results/day=2026-11-20")).unwrap();
    let files: Vec<String> = files.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let id = files[0].strip_suffix(".jsonl.gz").unwrap();
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
}

#[test]
fn a_directory_that_cannot_be_written_is_said_and_nothing_half_is_left() {
    let result = [repository().join("crates/golden/recordings/attach-busy.dwell")];
    let refused = |dir: &Path, words: &[&str]| {
        let all: Vec<PathBuf> = result.iter().cloned().chain([dir.to_owned()]).collect();
        let output = export(&all, words);
        assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    // `/proc` takes no directories, whoever asks; `/dev/full` is no directory.
    let said = refused(Path::new("/proc/lake"), &["--as", "parquet"]);
    assert!(said.contains("cannot make the directory"), "{said}");
    let said = refused(Path::new("/dev/full"), &["--as", "parquet"]);
    assert!(said.contains("the directory of the tables is missing"), "{said}");
    let lake = fresh("read-only");
    fs::create_dir_all(lake.join("account")).unwrap();
    fs::set_permissions(lake.join("account"), fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write all the same.
    let mut command = Command::new("timeout");
    command.args([LIMIT, dwell(), "export", "--no-store", "--as", "rows"]).args(&result).arg(&lake);
    let output = command.output().unwrap();
    if !output.status.success() {
        assert!(text(&output.stderr).contains("Permission denied"), "{}", text(&output.stderr));
        assert!(!lake.join("results").exists(), "results come last");
    }
}

/// Who calls dwell with sudo can put results of their own beside those of root.
#[test]
fn under_sudo_directories_and_files_are_the_callers() {
    const CALLER: u32 = 65_534;
    let lake = fresh("of-sudo");
    let mut command = Command::new("timeout");
    command.env("SUDO_UID", CALLER.to_string()).env("SUDO_GID", CALLER.to_string());
    command.args([LIMIT, dwell(), "export", "--no-store", "--as", "rows"]);
    command.arg(repository().join("crates/golden/recordings/fsync.dwell")).arg(&lake);
    let output = command.output().unwrap();
    assert!(output.status.success(), "root is needed: {}", text(&output.stderr));
    let files = files_below(&lake);
    assert!(files.len() > 5);
    for path in files.iter().flat_map(|file| file.ancestors().take(4)) {
        assert_eq!(path.metadata().unwrap().uid(), CALLER, "{}", path.display());
    }
}

/// A file system with room for a few files: what is there is whole, and `results` is not.
#[test]
fn a_full_disk_leaves_whole_files_only() {
    let lake = fresh("full");
    fs::create_dir_all(&lake).unwrap();
    let mounted =
        |words: &[&str]| Command::new("mount").args(words).arg(&lake).output().expect("mount is installed");
    let output = mounted(&["-t", "tmpfs", "-o", "size=24k", "tmpfs"]);
    assert!(output.status.success(), "root is needed: {}", text(&output.stderr));
    let all = [repository().join("crates/golden/recordings/fsync.dwell"), lake.clone()];
    let output = export(&all, &["--as", "parquet", "--detail"]);
    let files = files_below(&lake);
    let whole = files.iter().all(|path| fs::read(path).unwrap().ends_with(b"PAR1"));
    let results = lake.join("results").exists();
    assert!(Command::new("umount").arg(&lake).status().unwrap().success());
    assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("No space left on device"), "{}", text(&output.stderr));
    assert!(!files.is_empty() && whole && !results, "{files:?}");
    assert!(files.iter().all(|path| path.extension().is_some_and(|end| end == "parquet")), "{files:?}");
}

/// What is exported again has nothing left of before: no table, no other form.
#[test]
fn an_export_replaces_all_that_was_there_of_a_result() {
    let result = repository().join("crates/golden/recordings/fsync.dwell");
    let (lake, fresh_lake) = (fresh("again"), fresh("once"));
    let of = |lake: &Path, words: &[&str]| {
        let output = export(&[result.clone(), lake.to_owned()], words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let mut files = files_below(lake);
        files.sort();
        let of_file = |path: PathBuf| (path.strip_prefix(lake).unwrap().to_owned(), fs::read(path).unwrap());
        files.into_iter().map(of_file).collect::<Vec<_>>()
    };
    let before = of(&lake, &["--as", "parquet", "--detail"]).len();
    let of_another = files_below(&lake.join("path"))[0].with_file_name("x.parquet");
    fs::write(&of_another, "of another result").unwrap();
    let again = of(&lake, &["--as", "rows", "--redact"]);
    fs::remove_file(of_another).unwrap();
    let once = of(&fresh_lake, &["--as", "rows", "--redact"]);
    assert!(once.len() < before);
    assert_eq!(again.len(), once.len() + 1);
    assert!(once.iter().all(|file| again.contains(file)));
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn options_and_names_that_do_not_fit_are_refused() {
    let result = repository().join("crates/golden/recordings/attach-busy.dwell");
    let result = result.to_str().unwrap();
    for (words, part) in [
        (vec![result, "--as", "parquet"], "the directory of the tables is missing"),
        (vec!["last", "--as", "rows"], "the directory of the tables is missing"),
        (vec!["--as", "rows"], "the directory of the tables is missing"),
        (vec![result, "x", "--as", "rows", "-o", "y"], "below a directory"),
        (vec![result, "--as", "folded", "--redact"], "--detail and --redact are of parquet and rows"),
        (vec![result, result, "--as", "folded"], "folded is of one result"),
        (vec!["--as", "json"], "json is of one result"),
    ] {
        let output = export(&[], &words);
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(125) && said.contains(part) && said.contains("try: "),
            "{words:?}: {said}"
        );
    }
}
