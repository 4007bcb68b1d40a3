//! `dwell push`: to a directory, to web servers of all tempers, and as OTLP; by several at once,
//! and by those that are killed.

mod server;

use crate::support::{dwell, python, text};
use serde_json::{Value, json};
use server::{Asked, Say, Server, certificate};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use store::results::{Filter, NewResult, Store};
use tempfile::TempDir;

/// Names that are commands elsewhere.
const HOSTILE: [&str; 7] = [
    "a\0b\x1b[31m",
    "\u{202e}txt.exe",
    "'; DROP TABLE results; --",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "caf\u{fffd}",
    "",
];

struct Place {
    dir: TempDir,
}

impl Place {
    /// A store with this many results of an older dwell, each of its own time.
    fn new(results: u64) -> Self {
        let place = Self { dir: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        place.add(results);
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn store(&self) -> Store {
        let path = self.at("results.sqlite");
        let owner = self.dir.path().metadata().unwrap().uid();
        Store::open(&path, owner, true, Instant::now() + Duration::from_secs(20)).unwrap()
    }

    /// Adds results: each has another time, and a hostile name.
    fn add(&self, results: u64) {
        let mut result = older("2026-11-28-mutex.json");
        let mut store = self.store();
        for number in 0..results {
            result["started_at"] =
                json!(format!("2026-11-2{}T10:{:02}:{:02}Z", number % 3, number / 60, number % 60));
            let name = HOSTILE[number as usize % HOSTILE.len()];
            result["command"] = json!([format!("./own-{name}")]);
            result["host"]["name"] = json!(format!("{name}{}", number % 2));
            place_of(&mut store, result.to_string());
        }
    }

    /// dwell with this store. It ends.
    fn dwell(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "120", dwell()]).args(words).stdin(Stdio::null());
        command.env("DWELL_STORE", self.at("results.sqlite"));
        for (name, _) in std::env::vars() {
            let name_small = name.to_ascii_lowercase();
            if name.starts_with("OTEL_") || name_small.ends_with("_proxy") {
                command.env_remove(&name);
            }
        }
        command
    }

    fn push(&self, words: &[&str]) -> Output {
        self.dwell(&[&["push"], words].concat()).output().unwrap()
    }

    /// Pushes, which has this exit status, and returns what was said.
    fn pushes(&self, status: i32, words: &[&str]) -> String {
        let output = self.push(words);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        said
    }

    /// What `dwell export --as rows` writes: content by path.
    fn exported(&self) -> BTreeMap<String, Vec<u8>> {
        let lake = self.at("exported");
        let output = self.dwell(&["export", "--as", "rows"]).arg(&lake).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        files(&lake)
    }
}

fn older(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/older").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn place_of(store: &mut Store, json: String) {
    let new = NewResult {
        verb: "run".into(),
        command: "x".into(),
        host: "h".into(),
        machine: "0123456789abcdef".into(),
        kernel: "6.1".into(),
        at_s: 1_800_000_000,
        schema: "dwell.run/1".into(),
        dwell: "0.1.0".into(),
        json: json.into_bytes(),
        ..NewResult::default()
    };
    store.put(&new).unwrap();
}

/// All files below a directory, by their path.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut above = vec![dir.to_owned()];
    while let Some(within) = above.pop() {
        for entry in fs::read_dir(within).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                above.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                all.insert(name, fs::read(path).unwrap());
            }
        }
    }
    all
}

/// What was put there, the last of each path.
fn put(asked: &[Asked]) -> BTreeMap<String, Vec<u8>> {
    let put = asked.iter().filter(|one| one.method == "PUT");
    put.map(|one| (one.path.trim_start_matches('/').to_owned(), one.body.clone())).collect()
}

fn fine() -> Server {
    Server::new(|_, _| Say::status(201))
}

#[test]
fn a_directory_gets_what_export_writes_and_only_what_it_has_not() {
    let place = Place::new(9);
    let lake = place.at("lake");
    let said = place.pushes(0, &[lake.to_str().unwrap()]);
    assert!(said.starts_with("9 results sent to ") && said.contains("/lake (rows) ("), "{said}");
    let exported = place.exported();
    assert!(exported == files(&lake), "the same files");
    assert_eq!(exported.keys().filter(|path| path.starts_with("results/")).count(), 9);
    // Nothing is written again.
    let times = |lake: &Path| fs::metadata(lake.join("results/day=2026-11-20")).unwrap().mtime_nsec();
    let before = times(&lake);
    assert!(place.pushes(0, &[lake.to_str().unwrap()]).starts_with("0 results sent"));
    assert_eq!(times(&lake), before);
    place.add_at(1);
    assert!(place.pushes(0, &[lake.to_str().unwrap()]).starts_with("1 result sent"));
    // Sent twice, it is there once; and each form is sent on its own.
    place.pushes(0, &[lake.to_str().unwrap(), "--again"]);
    assert!(place.exported() == files(&lake), "the same files");
    place.pushes(0, &[lake.to_str().unwrap(), "--redact"]);
    let all: Vec<u8> = files(&lake).into_values().flat_map(|file| unpacked(&file)).collect();
    assert!(text(&all).contains("taken out by --redact") && !text(&all).contains("./own-"), "names are gone");
    let said = place.pushes(0, &[]);
    assert!(said.contains("/lake (rows)\n  10 results sent") && said.contains("(rows, redacted)"), "{said}");
    let said = text(&place.dwell(&["store"]).output().unwrap().stdout);
    assert!(said.contains("10 results to "), "{said}");
    place.pushes(0, &[lake.to_str().unwrap(), "--redact", "--forget"]);
    assert!(!place.pushes(0, &[]).contains("redacted"));
}

/// The lines of a file of rows.
fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut command = Command::new("gzip");
    let mut child = command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), packed).unwrap();
    child.wait_with_output().unwrap().stdout
}

#[test]
fn a_web_server_gets_the_same_files_with_results_last() {
    let place = Place::new(8);
    let server = fine();
    let token = place.at("token");
    fs::write(&token, "s3cret\n").unwrap();
    let url = format!("{}/deep/lake/", server.url());
    let said = place.pushes(0, &[&url, "--token-file", token.to_str().unwrap()]);
    assert!(said.starts_with("8 results sent to http://127.0.0.1:") && !said.contains("s3cret"), "{said}");
    let asked = server.asked();
    let there: BTreeMap<_, _> =
        put(&asked).into_iter().map(|(path, body)| (path.replacen("deep/lake/", "", 1), body)).collect();
    assert!(there == place.exported());
    for one in &asked {
        assert_eq!((one.method.as_str(), one.header("authorization")), ("PUT", Some("Bearer s3cret")));
        assert_eq!(one.header("content-type"), Some("application/gzip"));
    }
    // All of a result comes before its row in `results`.
    let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let mut whole = BTreeSet::new();
    for one in &asked {
        assert!(!whole.contains(&id(&one.path)), "{}", one.path);
        if one.path.contains("/results/") {
            whole.insert(id(&one.path));
        }
    }
    assert_eq!(whole.len(), 8);
    // The token is in no file of dwell.
    let store = fs::read(place.at("results.sqlite")).unwrap();
    assert!(!store.windows(6).any(|bytes| bytes == b"s3cret"));
}

#[test]
fn directories_of_webdav_are_made_where_they_are_missing() {
    let place = Place::new(2);
    let server = Server::new(|asked, _| {
        // As if none was there before.
        Say::status(if asked.method == "PUT" && !asked.path.contains("day=2026-11-20/") { 409 } else { 201 })
    });
    place.pushes(1, &[&server.url()]);
    let made: Vec<_> =
        server.asked().into_iter().filter(|one| one.method == "MKCOL").map(|one| one.path).collect();
    assert_eq!(made[..2], ["/account/", "/account/day=2026-11-21/"], "{made:?}");
}

/// Each is met at the first requests; later ones are fine.
#[test]
fn what_fails_for_a_while_is_sent_again_until_it_is_there() {
    type Temper = (&'static str, fn() -> Say);
    let tempers: [Temper; 5] = [
        ("503", || Say::This(503, vec![("Retry-After", "1".into())], b"busy".to_vec())),
        ("429", || Say::status(429)),
        ("closed", || Say::Nothing),
        ("half", || Say::Half),
        ("500", || Say::This(500, vec![], b"\x1b[31moops".to_vec())),
    ];
    for (name, says) in tempers {
        let place = Place::new(3);
        let server =
            Server::new(move |_, before| if (4..6).contains(&before) { says() } else { Say::status(201) });
        let said = place.pushes(0, &[&server.url()]);
        assert!(said.starts_with("3 results sent"), "{name}: {said}");
        assert!(put(&server.asked()) == place.exported(), "{name}");
    }
}

#[test]
fn a_far_end_that_is_down_slow_or_elsewhere_takes_nothing_and_nothing_is_lost() {
    let place = Place::new(3);
    let token = place.at("token");
    fs::write(&token, "s3cret").unwrap();
    let elsewhere = std::sync::Arc::new(fine());
    let to = elsewhere.url();
    let redirect = Server::new(move |asked, _| {
        Say::This(307, vec![("Location", format!("{to}{}", asked.path))], vec![])
    });
    let down = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let slow = Server::new(|_, _| Say::Late(Duration::from_secs(3)));
    let long = Server::new(|_, _| Say::This(401, vec![], vec![b'x'; 10 << 20]));
    let none = Server::new(|_, _| Say::status(404));
    for (url, says) in [
        (format!("http://{down}"), "refused"),
        (slow.url(), "does not answer in time"),
        (long.url(), "401 Unauthorized: xxx"),
        (none.url(), "404 Not Found; try: another URL"),
        (redirect.url(), "which is not followed"),
    ] {
        let words = [&url, "--timeout", "200ms", "--for", "1s", "--token-file", token.to_str().unwrap()];
        let said = place.pushes(1, &words);
        assert!(said.contains("0 results sent") && said.contains("3 results not sent"), "{said}");
        assert!(said.contains(says) && said.len() < 2000, "{says:?} is not in {said}");
        assert!(!said.contains("refused\n"), "{said}");
    }
    assert_eq!(elsewhere.asked().len(), 0, "the token is not sent on");
}

#[test]
fn one_bad_result_keeps_nobody_from_being_sent_and_is_not_sent_again() {
    let place = Place::new(40);
    let bad = {
        let mut paths = place.exported().into_keys().filter(|path| path.starts_with("results/"));
        paths.nth(17).unwrap().rsplit('/').next().unwrap().to_owned()
    };
    let its = bad.clone();
    let server = Server::new(move |asked, _| {
        Say::This(if asked.path.ends_with(&its) { 400 } else { 201 }, vec![], b"no \x1b[31m such".to_vec())
    });
    let said = place.pushes(1, &[&server.url()]);
    assert!(said.starts_with("39 results sent") && said.contains("  1 result refused\n"), "{said}");
    let tried = |asked: &[Asked]| asked.iter().filter(|one| one.path.ends_with(&bad)).count();
    assert_eq!(tried(&server.asked()), 1);
    assert!(place.pushes(0, &[&server.url()]).contains("1 result refused"));
    assert_eq!(tried(&server.asked()), 1, "never again");
    let said = place.pushes(0, &[]);
    let why = format!("{}  400 Bad Request: no \\x1b[31m such", bad.trim_end_matches(".jsonl.gz"));
    assert!(said.contains(&why), "{why:?} is not in {said}");
    assert!(place.pushes(1, &[&server.url(), "--again"]).starts_with("39 results sent"));
}

#[test]
fn results_that_cannot_be_read_are_refused_here() {
    let place = Place::new(2);
    let mut store = place.store();
    place_of(&mut store, "{\"schema\": \"dwell.run/1\"}".into());
    place_of(&mut store, "not JSON".into());
    // Of a kind without rows.
    place_of(&mut store, fs::read_to_string(doctor(&place)).unwrap());
    drop(store);
    place.add_at(1);
    let lake = place.at("lake");
    let said = place.pushes(1, &[lake.to_str().unwrap()]);
    assert!(said.starts_with("3 results sent") && said.contains("2 results refused"), "{said}");
    assert!(place.pushes(0, &[]).contains("does not match its schema"));
}

fn doctor(place: &Place) -> PathBuf {
    let path = place.at("doctor.json");
    let output = place.dwell(&["doctor", "--json"]).arg(&path).output().unwrap();
    assert!(output.status.success());
    path
}

#[test]
fn only_an_authority_that_is_known_is_sent_to() {
    let place = Place::new(2);
    let (own, other) = (certificate(), certificate());
    let server = Server::secure(&own, |_, _| Say::status(201));
    let url = format!("https://localhost:{}", server.port);
    let (ours, theirs) = (place.at("ours.pem"), place.at("theirs.pem"));
    fs::write(&ours, own.cert.pem()).unwrap();
    fs::write(&theirs, other.cert.pem()).unwrap();
    for words in [vec![], vec!["--ca", theirs.to_str().unwrap()]] {
        let output =
            place.dwell(&["push", &url]).args(&words).env("SSL_CERT_FILE", &theirs).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("its certificate does not verify") && said.contains("try: --ca FILE"),
            "{said}"
        );
    }
    assert_eq!(server.asked().len(), 0);
    place.pushes(0, &[&url, "--ca", ours.to_str().unwrap()]);
    assert!(put(&server.asked()) == place.exported());
}

/// In mounts of its own.
fn mounted(place: &Place, options: &str, script: &str, words: &[&str]) -> Output {
    let target = place.at("mount");
    fs::create_dir_all(&target).unwrap();
    let script = format!("mount -t tmpfs -o {options} none \"$0\" && {script}");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).arg(&target).arg(dwell()).args(words);
    command.env("DWELL_STORE", place.at("results.sqlite")).output().unwrap()
}

#[test]
fn a_full_disk_leaves_whole_files_and_the_rest_for_later() {
    let place = Place::new(30);
    let kept = place.at("kept");
    let script = format!(
        "\"$1\" push \"$0\"; status=$?; cp -r \"$0\" {}; mount -o remount,size=100m none \"$0\"; \
         \"$1\" push \"$0\"; echo \"$status $?\"; \"$1\" push",
        kept.display()
    );
    let output = mounted(&place, "size=128k", &script, &[]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("No space left on device") && said.contains("\n1 0\n"), "{said}");
    assert!(said.contains("  30 results sent\n"), "{said}");
    let (all, there) = (place.exported(), files(&kept));
    assert!(there.len() > 8 && there.len() < all.len(), "{}", there.len());
    assert!(there.iter().all(|(path, file)| all.get(path) == Some(file)), "each is whole");
}

#[test]
fn a_store_that_may_only_be_read_is_said() {
    let place = Place::new(2);
    let script = "cp \"$DWELL_STORE\" \"$0/s\" && mount -o remount,ro none \"$0\" && \
                  export DWELL_STORE=\"$0/s\"; \"$1\" list >&2; exec \"$1\" push \"$0/../lake\"";
    let output = mounted(&place, "size=10m,mode=700", script, &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("mount/s\": "), "{said}");
    assert!(files(&place.at("lake")).is_empty());
}

#[test]
fn two_at_once_send_each_result_once() {
    let place = Place::new(150);
    let server = Server::new(|_, _| {
        std::thread::sleep(Duration::from_micros(300));
        Say::status(201)
    });
    let start = || place.dwell(&["push", &server.url()]).stdout(Stdio::piped()).spawn().unwrap();
    let both = [start(), start()].map(|child| child.wait_with_output().unwrap());
    for one in &both {
        assert_eq!(one.status.code(), Some(0), "{}", text(&one.stdout));
    }
    assert_eq!(put(&server.asked()).len(), server.asked().len(), "nothing came twice");
    assert!(put(&server.asked()) == place.exported());
    assert!(place.pushes(0, &[]).contains("  150 results sent\n"));
}

/// Killed at any moment, while results come: what was sent is known, or sent once more.
#[test]
fn what_is_killed_loses_nothing() {
    let place = Place::new(40);
    let server = Server::new(|_, _| Say::status(201));
    let words = ["push", &server.url(), "--timeout", "300ms", "--for", "20s"];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..50 {
        let mut command = Command::new(dwell());
        command.args(words).env("DWELL_STORE", place.at("results.sqlite"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(1_000 + (random >> 33) % 900_000));
        let _ = child.kill();
        child.wait().unwrap();
        if round % 5 == 0 {
            place.add_at(round);
        }
    }
    place.pushes(0, &[&server.url(), "--for", "100s"]);
    let there = put(&server.asked());
    assert!(there == place.exported());
    let store = place.store();
    let all = store.list(&Filter::default(), 999).unwrap().0.len() as u64;
    let to = store.destinations().unwrap().remove(0);
    assert_eq!((to.sent, to.refused, to.unsent, to.batches), (all, 0, 0, 0));
    assert_eq!(all, 50);
}

impl Place {
    /// Adds a result of its own time.
    fn add_at(&self, second: u64) {
        let mut result = older("2026-11-28-attach-busy.json");
        result["started_at"] = json!(format!("2026-11-27T10:00:{second:02}Z"));
        place_of(&mut self.store(), result.to_string());
    }
}

#[test]
fn what_the_limit_removes_before_it_was_sent_is_said() {
    let place = Place::new(3);
    let down = Server::new(|_, _| Say::status(401));
    place.pushes(1, &[&down.url()]);
    (1..40).for_each(|second| place.add_at(second));
    let output = place.dwell(&["store", "--limit", "100kB"]).output().unwrap();
    let said = text(&output.stdout);
    let gone = said.split_whitespace().next().unwrap().parse::<u64>().unwrap();
    // Three were in a batch.
    let unsent = format!("{} of them before they were sent", gone - 3);
    let shown = format!("{} results deleted by the limit before they were sent", gone - 3);
    assert!(said.contains(&unsent) && said.contains(&shown), "{said}");
    let said = place.pushes(0, &[]);
    assert!(said.contains(&shown) && said.contains("last: 401 Unauthorized"), "{said}");
}

/// What the requests of OpenTelemetry hold, by its own library.
fn decoded(asked: &[Asked]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/otlp.py");
    let lines: Vec<String> = asked
        .iter()
        .map(|one| {
            let hex: String = one.body.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} {hex}\n", one.path)
        })
        .collect();
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers");
    let mut child = Command::new(python())
        .arg(script)
        .env("PYTHONPATH", readers)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.concat().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the set-up of cargo xtask test");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn opentelemetry_gets_logs_gauges_and_histograms() {
    let place = Place::new(3);
    let wake = place.at("wake.json");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pages/wake.html");
    let words = ["export", page.to_str().unwrap(), "--as", "json", "-o", wake.to_str().unwrap()];
    assert!(place.dwell(&words).status().unwrap().success());
    place_of(&mut place.store(), fs::read_to_string(&wake).unwrap());
    let server = Server::new(|_, _| Say::status(200));
    let output = place
        .dwell(&["push", "--otlp"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{}/", server.url()))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-scope-orgid=fleet%201")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab")
        .env("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stdout));
    let asked = server.asked();
    assert!(asked.iter().all(|one| {
        one.method == "POST"
            && one.header("content-type") == Some("application/x-protobuf")
            && one.header("x-scope-orgid") == Some("fleet 1")
    }));
    let paths: Vec<_> = asked.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["/v1/logs", "/v1/metrics", "/v1/metrics"], "several results are one request");
    let all = decoded(&asked);
    assert_eq!(all["unknown"], 0);
    // Gauges are alone.
    assert_eq!(
        all["metrics"],
        json!([["dwell.time.share"], ["dwell.wait.duration", "dwell.wakeup.latency"]])
    );
    let resources = all["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 4);
    for of in resources {
        for key in ["service.name", "service.instance.id", "host.name", "os.version"] {
            assert!(of[key].is_string(), "{key} of {of}");
        }
        assert_eq!(of["deployment.environment.name"], "lab");
    }
    let names: BTreeSet<_> =
        all["events"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["dwell.result", "dwell.finding", "dwell.spike"]));
    for share in all["shares"].as_array().unwrap() {
        assert!((share.as_f64().unwrap() - 1.0).abs() < 1e-9, "{share}");
    }
    // As many waits and wake-ups as the results have.
    let mutex = older("2026-11-28-mutex.json");
    let calls =
        |rows: &Value| rows.as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(all["counts"]["dwell.wait.duration"].as_u64(), Some(3 * calls(&mutex["waits"])));
    let wake: Value = serde_json::from_str(&fs::read_to_string(&wake).unwrap()).unwrap();
    assert_eq!(all["counts"]["dwell.wakeup.latency"], wake["all"]["cycles"]);
    assert_eq!(all["temporality"], json!([1]), "delta");
    // Metrics have kinds only.
    let keys = &all["metric_keys"];
    assert_eq!(*keys, json!(["dwell.state", "dwell.target.kind"]));
    // The median is where dwell has it.
    let median = all["medians"]["dwell.wakeup.latency"].as_f64().unwrap();
    let own = wake["all"]["p50_ns"].as_f64().unwrap() / 1e9;
    assert!((median / own - 1.0).abs() < 0.008, "{median} {own}");
    // Redacted, no name of a command is sent.
    place.pushes(0, &["--otlp", &server.url(), "--redact"]);
    let later: Vec<u8> = server.asked()[asked.len()..].iter().flat_map(|one| one.body.clone()).collect();
    let first: Vec<u8> = asked.iter().flat_map(|one| one.body.clone()).collect();
    let has = |bytes: &[u8], what: &str| bytes.windows(what.len()).any(|some| some == what.as_bytes());
    assert!(has(&first, "./own-") && !has(&later, "./own-"));
}

#[test]
fn the_path_of_a_kept_run_is_a_trace_where_it_is_asked_for() {
    let place = Place::new(0);
    let keep = place.at("run.dwell");
    let words = ["run", "-q", "--keep", keep.to_str().unwrap(), "sh", "-c", "sleep 0.05"];
    assert!(place.dwell(&words).status().unwrap().success());
    let server = Server::new(|_, _| Say::status(200));
    place.pushes(0, &["--otlp", &server.url(), "--traces"]);
    let asked = server.asked();
    let all = decoded(&asked);
    assert_eq!((all["unknown"].as_u64(), asked.last().unwrap().path.as_str()), (Some(0), "/v1/traces"));
    // The parts of the path sum to the run.
    let ns: Vec<u64> =
        all["spans"].as_array().unwrap().iter().map(|span| span[1].as_u64().unwrap()).collect();
    assert!(ns.len() > 2 && ns[0] > 50_000_000, "{ns:?}");
    assert_eq!(ns[0], ns[1..].iter().sum::<u64>());
}

#[test]
fn what_opentelemetry_refuses_is_counted_and_the_rest_is_there() {
    let place = Place::new(4);
    let partly = Server::new(|asked, _| match asked.path.as_str() {
        // partial_success { rejected: 3, error_message: "too old" }
        "/v1/logs" => Say::This(200, vec![], b"\x0a\x0b\x08\x03\x12\x07too old".to_vec()),
        _ => Say::status(200),
    });
    let said = place.pushes(1, &["--otlp", &partly.url()]);
    assert!(
        said.starts_with("4 results sent") && said.contains("3 records of accepted ones refused"),
        "{said}"
    );
    assert!(place.pushes(0, &[]).contains("3 refused of what it took: too old"));
    assert_eq!(partly.asked().len(), 3, "it is not sent again");
    // A Prometheus that knows no differences says 500 to histograms: shares are there all the same.
    let shares = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let taken = std::sync::Arc::clone(&shares);
    let whole = Server::new(move |asked, _| {
        let is_histogram = asked.body.windows(19).any(|bytes| bytes == b"dwell.wait.duration");
        if is_histogram {
            return Say::This(500, vec![], b"invalid temporality".to_vec());
        }
        taken.lock().unwrap().push(asked.clone());
        Say::status(200)
    });
    let said = place.pushes(1, &["--otlp", &whole.url()]);
    assert!(said.contains("4 results refused"), "{said}");
    let there = decoded(&shares.lock().unwrap());
    assert_eq!(there["metrics"], json!([["dwell.time.share"]]));
    assert_eq!(there["shares"].as_array().unwrap().len(), 4);
    // One that takes no logs.
    let metrics = Server::new(|asked, _| Say::status(if asked.path == "/v1/metrics" { 200 } else { 404 }));
    let said = place.pushes(1, &["--otlp", &metrics.url()]);
    assert!(said.contains("4 results not sent") && said.contains("or --only metrics"), "{said}");
    assert!(place.pushes(0, &["--otlp", &metrics.url(), "--only", "metrics"]).starts_with("4 results sent"));
}

#[test]
fn what_is_wrong_on_the_command_line_is_said() {
    let place = Place::new(1);
    let bad = place.at("bad");
    fs::write(&bad, "two words").unwrap();
    let bad = bad.to_str().unwrap();
    let lake = place.at("lake");
    let lake = lake.to_str().unwrap();
    for (words, says) in [
        (vec!["http://me:secret@a/"], "has a user in it"),
        (vec!["ftp://a/"], "try: http:// or https://"),
        (vec!["--otlp"], "try: --otlp http://localhost:4318"),
        (vec!["--otlp", "lake"], "is no URL"),
        (vec!["http://a", "--token-file", bad], "holds no token"),
        (vec!["https://a", "--ca", bad], "has no certificate"),
        (vec![lake, "--token-file", bad], "a directory has none"),
        (vec![lake, "--traces"], "are of --otlp"),
        (vec![lake, "--only", "logs"], "are of --otlp"),
        (vec!["/proc/nowhere"], "cannot make the directory"),
        (vec!["http://a", "--forget"], "nothing was sent to"),
        (vec![], "nothing was sent yet"),
    ] {
        let output = place.push(&words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{words:?}: {said}");
        assert!(said.contains(says), "{words:?}: {said}");
    }
    let output = place.dwell(&["push", lake, "--no-store"]).env_remove("DWELL_STORE").output().unwrap();
    assert!(text(&output.stderr).contains("there is no store"));
}
