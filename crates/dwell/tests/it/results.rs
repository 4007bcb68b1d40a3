//! What system calls gave, which programs ran, and how large they were: on programs of which all of
//! that is known.

use crate::support::window::{Alive, attach};
use crate::support::{self, Told, work};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// The results of one call.
fn of<'a>(told: &'a Told, name: &str) -> &'a Value {
    let rows = told.run["syscalls"].as_array().expect("a table of calls");
    let row = rows.iter().find(|row| row["name"] == name);
    &row.unwrap_or_else(|| panic!("no {name}\n{}", told.page))["results"]
}

#[test]
fn bytes_zeros_errors_and_repeats_are_counted() {
    let _alone = support::alone();
    let told = support::run(&[work(), "results"]);
    let truth = told.truth("results");
    let (writes, bytes) = (truth.count("writes"), truth.count("bytes"));
    assert_eq!((writes, bytes), (1000, 100));
    let none = json!([]);
    // 100 bytes are of the octave from 64 on. What moves bytes repeats nothing.
    let expected = json!({
        "bytes": 100_000, "sizes": [[64, writes]], "zeros": 0, "repeats": 0, "errors": none,
    });
    assert_eq!(of(&told, "writev"), &expected);
    let zeros = |bytes: Value, calls: u64| json!({ "bytes": bytes, "sizes": none, "zeros": calls, "repeats": calls - 1, "errors": none });
    assert_eq!(of(&told, "readv"), &zeros(json!(0), truth.count("empty")));
    assert_eq!(of(&told, "ppoll"), &zeros(Value::Null, truth.count("polls")));
    assert_eq!(of(&told, "sched_yield"), &zeros(Value::Null, truth.count("yields")));
    let failed = |errno: i32, name: &str, calls: u64| json!({ "errno": errno, "name": name, "calls": calls });
    let again = truth.count("again");
    let expected = json!({
        "bytes": 0, "sizes": none, "zeros": 0, "repeats": again - 1,
        "errors": [failed(11, "EAGAIN", again)],
    });
    assert_eq!(of(&told, "recvfrom"), &expected);
    // What a path was before is not known.
    let expected = json!({
        "bytes": null, "sizes": none, "zeros": 0, "repeats": null,
        "errors": [
            failed(2, "ENOENT", truth.count("missing")),
            failed(22, "EINVAL", truth.count("invalid")),
        ],
    });
    assert_eq!(of(&told, "unlinkat"), &expected);
}

#[test]
fn paths_that_are_asked_for_again_are_counted() {
    let _alone = support::alone();
    let told = support::run(&[work(), "paths"]);
    let truth = told.truth("paths");
    let paths = |call| &of(&told, call)["paths"];
    let figure =
        |row: &Value, field: &str| row[field].as_u64().unwrap_or_else(|| panic!("no {field} in {row}"));
    // All of these are in the sample.
    let (missing, row) = (truth.count("missing"), paths("faccessat"));
    let first = [json!("/nowhere/again"), json!(missing - 1), json!(missing - 1)];
    let most = &row["most"][0];
    assert_eq!([&most["path"], &most["again"], &most["again_failed"]], first.each_ref(), "{row}");
    let others = figure(row, "again") - (missing - 1);
    assert!(others <= 2 && figure(row, "sample") >= missing + truth.count("once"), "{row}");
    let row = paths("readlinkat");
    assert_eq!(figure(row, "again"), 2 * (truth.count("each") - 1), "one in each directory is new: {row}");
    // More paths than are remembered, and none of them again.
    let row = paths("lgetxattr");
    assert_eq!((figure(row, "again"), &row["most"]), (0, &json!([])), "{row}");
    let sample = figure(row, "sample");
    assert!(sample >= 2000 && sample < truth.count("distinct") / 4, "{row}");
    // 100 of 40,000 are new, and each that is so in the sample stands for 32.
    let row = paths("statx");
    let (calls, new) = (truth.count("rounds") * truth.count("paths"), truth.count("paths"));
    let again = figure(row, "again");
    assert!(again <= calls && again + 40 * new >= calls, "{again} of {calls}: {row}");
    assert_eq!(figure(row, "again_failed"), again, "none of them is there: {row}");
    assert!(of(&told, "read").get("paths").is_none());
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_through_the_32_bit_table_repeat_by_their_own_registers() {
    let _alone = support::alone();
    let told = support::run(&[work(), "calls-32", "1000"]);
    let truth = told.truth("calls-32");
    assert_eq!(of(&told, "32:getpid")["repeats"], truth.count("getpid") - 1);
    let close = of(&told, "32:close");
    assert_eq!(close["errors"], json!([{ "errno": 9, "name": "EBADF", "calls": truth.count("close") }]));
    assert_eq!(close["repeats"], truth.count("close") - 1);
}

#[test]
fn the_largest_process_has_the_peak_of_its_own() {
    let _alone = support::alone();
    let script = format!("{} fault 20; {} fault 200; true", work(), work());
    let told = support::run(&["sh", "-c", &script]);
    let peak = &told.run["memory_peak"];
    let bytes = peak["bytes"].as_u64().unwrap_or_else(|| panic!("{peak}"));
    assert!((200 << 20..230 << 20).contains(&bytes), "{peak}");
    assert_eq!((&peak["at_most"], &peak["name"]), (&json!(false), &json!("dwell-work")));
    let threads = told.run["threads"].as_array().expect("threads");
    let pages = |row: &&Value| row["minor_faults"].as_u64();
    let most = threads.iter().max_by_key(pages).expect("a thread");
    assert_eq!(peak["pid"], most["pid"], "{peak}\n{}", told.account());
    let named = format!("dwell-work, PID {}", most["pid"]);
    assert!(told.page.contains("largest process: ") && told.page.contains(&named), "{}", told.page);
}

#[test]
fn page_faults_have_their_mapping_and_line() {
    let _alone = support::alone();
    let (program, data) = (support::fresh("faults"), support::fresh("faults.data"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/faults.c");
    let made = Command::new("cc").args(["-g", "-O1", "-pthread", source, "-o"]).arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()), "cc cannot compile {source}");
    let [program, data] = [&program, &data].map(|path| path.to_str().expect("plain"));
    let told = support::run(&[program, data]);
    let all = &told.run["fault_places"];
    let process = &all["processes"][0];
    let rows = process["rows"].as_array().unwrap_or_else(|| panic!("{all}"));
    for (kind, function) in [
        ("heap", "touch_heap (faults.c:"),
        ("anonymous", "touch_anonymous (faults.c:"),
        ("file", "touch_file (faults.c:"),
        ("stack", "touch_stack (faults.c:"),
    ] {
        let is_at = |row: &&Value| row["place"].as_str().is_some_and(|place| place.starts_with(function));
        let row = rows.iter().find(is_at).unwrap_or_else(|| panic!("no {function} in {all}"));
        assert_eq!(row["kind"], kind, "{all}");
        // 33 of 8,192 pages; of a file several come with one fault.
        assert!(row["samples"].as_u64() >= Some(3), "{all}");
        assert_eq!(row["path"] == data, kind == "file", "{all}");
    }
    let [counted, faults] = ["counted", "faults"].map(|figure| process[figure].as_f64().unwrap_or(0.0));
    assert!((faults / counted - 1.0).abs() < 0.2, "{all}");
    assert!(told.page.contains("page faults in"), "{}", told.page);
    let _ = std::fs::remove_file(data);
}

#[test]
fn a_process_smaller_than_dwell_is_at_most_as_large() {
    let _alone = support::alone();
    // The static one touches less memory than a copy of dwell has.
    let told = support::run(&["true"]);
    let peak = &told.run["memory_peak"];
    let bytes = peak["bytes"].as_u64().unwrap_or_else(|| panic!("{peak}"));
    assert!(bytes > 100 << 10 && bytes < 64 << 20, "{peak}");
    assert_eq!(peak["name"], "true");
    assert_eq!(peak["at_most"] == true, told.page.contains("largest process: at most "), "{}", told.page);
}

#[test]
fn processes_are_counted_by_program() {
    let _alone = support::alone();
    let script = "for i in 1 2 3 4 5 6 7; do /bin/true; done; (:; exit 3); sleep 0.2";
    let told = support::run(&["sh", "-c", script]);
    let rows = told.run["programs"]["rows"].as_array().unwrap_or_else(|| panic!("{}", told.run["programs"]));
    assert_eq!(told.run["programs"]["rest"], Value::Null);
    let row = |name: &str| {
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"))
    };
    let figures = |name: &str| ["processes", "started"].map(|figure| row(name)[figure].as_u64());
    assert_eq!(figures("true"), [Some(7), Some(7)]);
    assert_eq!(figures("sleep"), [Some(1), Some(1)]);
    // The one in parentheses executes nothing.
    assert_eq!(figures("sh"), [Some(2), Some(1)]);
    let sum = |figure: &str| rows.iter().filter_map(|row| row[figure].as_u64()).sum::<u64>();
    assert!(row("sleep")["life_ns"].as_u64() >= Some(200 * support::MS), "{rows:?}");
    assert!(row("true")["startup_ns"].as_u64() > Some(0), "{rows:?}");
    assert!(row("sh")["command"].as_str().is_some_and(|line| line.starts_with("sh -c")), "{rows:?}");
    // All time on a CPU is some program's.
    let all = ["user_ns", "kernel_ns"].map(|figure| told.run[figure].as_u64().unwrap()).iter().sum::<u64>();
    assert_eq!(sum("user_ns") + sum("kernel_ns"), all, "{rows:?}");
}

#[test]
fn below_bpf_they_are_unseen_but_for_the_largest_size() {
    let _alone = support::alone();
    for source in ["perf", "proc"] {
        let output = Command::new(support::dwell())
            .args(["run", "-q", "--json", "-", "--source", source, "--", work(), "fault", "200"])
            .stdin(Stdio::null())
            .output()
            .expect("dwell starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let json = &text[text.find("{\n").unwrap_or_else(|| panic!("no JSON in {text}"))..];
        let run: Value = serde_json::from_str(json).unwrap();
        assert!(run["syscalls"]["unseen"].is_string(), "{source}: {}", run["syscalls"]);
        assert!(run["programs"]["unseen"].is_string(), "{source}: {}", run["programs"]);
        let peak = &run["memory_peak"];
        let bytes = peak["bytes"].as_u64().unwrap_or_else(|| panic!("{source}: {peak}"));
        assert!((200 << 20..230 << 20).contains(&bytes) && peak["at_most"] == false, "{source}: {peak}");
        assert!(peak["pid"]["unseen"].is_string(), "{source}: {peak}");
    }
}

#[test]
fn of_a_window_it_is_what_the_kernel_says_of_a_living_process() {
    let _alone = support::alone();
    let script = "import time; x = bytearray(90 << 20); print('ready', flush=True); time.sleep(60)";
    let program = Alive::start(support::python(), &["-c", script]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    for source in ["bpf", "proc"] {
        let mut command = Command::new(support::dwell());
        command.args(["attach", "--source", source, "--for", "300ms"]);
        let told = attach(&mut command, &support::fresh("window.json"), &[&program.name()], |_| ());
        let peak = &told.run["memory_peak"];
        assert_eq!(peak["bytes"], kib * 1024, "{source}: {peak}");
        assert_eq!((&peak["pid"], &peak["at_most"]), (&json!(program.pid()), &json!(false)), "{source}");
        assert!(peak["name"].as_str().is_some_and(|name| name.starts_with("python")), "{source}: {peak}");
    }
}
