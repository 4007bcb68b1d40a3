//! dwell on programs as people run them, with claims that a wrong account would break.
//!
//! What these programs do is known from what they are, not from a clock of their own: each claim is
//! one that a person who knows the program would make before looking.

use crate::support::{BLOCKED, CPU, Claims, MS, Told, alone, fresh, hold, hold_with, run, run_into, utf8};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Share of the wall, in percent.
fn percent(told: &Told, ns: u64) -> f64 {
    ns as f64 * 100.0 / told.wall() as f64
}

/// `ns` is at least so much of the time that was not spent in the run queue, which is the machine's
/// doing.
fn at_least(claims: &mut Claims, told: &Told, what: &str, ns: u64, want_percent: f64) {
    let got = ns as f64 * 100.0 / (told.wall() - told.parts(&["runqueue"])) as f64;
    claims.that(got >= want_percent, format!("{what} is {got:.1} % of the wall, not {want_percent} %"));
}

/// Time on the path in processes of that name.
fn by_name(told: &Told, name: &str, states: &[&str]) -> u64 {
    told.steps(|step| step["process"] == name && states.contains(&step["state"].as_str().unwrap_or_default()))
}

/// A text file of about this many MiB, the same each time, in which every 12 MiB are the same.
fn text_file(mib: usize) -> PathBuf {
    let path = fresh("text");
    let mut text = String::new();
    let mut value = 1u64;
    while text.len() < 12 * 1024 * 1024 {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = writeln!(text, "{} went to {} for {}", value >> 52, (value >> 40) % 977, (value >> 20) % 31);
    }
    std::fs::write(&path, text.repeat(mib / 12)).expect("a file in the scratch directory");
    path
}

#[test]
fn a_long_listing_is_bound_by_the_kernels_stat_calls_and_a_short_one_makes_none() {
    // Once before, so that the names are in memory and no disk is waited for.
    let warm = Command::new("ls").args(["-lR", "/usr"]).stdout(Stdio::null()).status();
    warm.expect("ls starts");
    let listed = |options| {
        let mut launcher = Command::new("timeout");
        run_into(launcher.arg("60"), &["ls", options, "/usr"], Path::new("/dev/null"))
    };
    // One call for each file, by one name or another.
    let stats =
        |told: &Told| ["statx", "newfstatat", "lstat"].map(|call| told.calls(call).0).iter().sum::<u64>();
    let short = {
        let _alone = alone();
        listed("-R")
    };
    hold_with(
        || listed("-lR"),
        |long, claims| {
            claims.class(long, &["kernel"]);
            claims.resource(long, "kernel");
            let by_total = long.run["syscalls"].as_array().into_iter().flatten();
            let first = by_total.max_by_key(|row| row["total_ns"].as_u64()).map(|row| row["name"].clone());
            let stat = ["statx", "newfstatat", "lstat"];
            claims.that(
                first.as_ref().and_then(|name| name.as_str()).is_some_and(|name| stat.contains(&name)),
                format!("the call with the longest total is {first:?}"),
            );
            let (many, few) = (stats(long), stats(&short));
            claims.that(
                many > 10_000 && few < many / 3,
                format!("{many} stat calls against {few} in the short listing"),
            );
            claims.that(
                short.wall() < long.wall(),
                format!("the short listing took {} ns, the long one {} ns", short.wall(), long.wall()),
            );
        },
    );
}

#[test]
fn a_listing_to_a_file_is_the_same_listing() {
    let out = fresh("listing");
    let listed = || run_into(Command::new("timeout").arg("60"), &["ls", "-lR", "/usr/include"], &out);
    hold_with(listed, |told, claims| {
        let kept = std::fs::read_to_string(&out).unwrap_or_default();
        claims.that(kept.starts_with("/usr/include:\ntotal"), "the listing is not in the file");
        claims.that(!kept.contains("dwell"), "dwell wrote into the program's output");
        claims.that(told.calls("write").0 > 5, "the writes are not counted");
    });
    let _ = std::fs::remove_file(out);
}

#[test]
fn a_copy_of_a_large_file_is_the_kernels_work_or_the_disks() {
    let (from, to) = (text_file(192), fresh("copy"));
    hold(&["cp", utf8(&from), utf8(&to)], |told, claims| {
        let (kernel, user) = (told.parts(&["kernel", "fault", "disk"]), told.parts(&["user"]));
        at_least(claims, told, "the kernel and the disk", kernel, 85.0);
        claims.that(percent(told, user) < 10.0, format!("user is {:.1} %", percent(told, user)));
        claims.class(told, &["kernel", "io", "mixed"]);
        let copied = ["copy_file_range", "sendfile", "read", "write"].map(|call| told.calls(call).0);
        claims.that(copied.iter().sum::<u64>() > 0, "no call copied anything");
    });
    let same = Command::new("cmp").arg(&from).arg(&to).status().expect("cmp starts");
    assert!(same.success(), "the copy differs");
    for path in [from, to] {
        std::fs::remove_file(path).expect("the copy can be removed");
    }
}

#[test]
fn a_compression_in_a_pipeline_is_the_compressors_user_time() {
    let (from, to) = (text_file(12), fresh("gz"));
    let script = format!("gzip -c {} | cat > {}", utf8(&from), utf8(&to));
    hold(&["sh", "-c", &script], |told, claims| {
        at_least(claims, told, "gzip's own code", by_name(told, "gzip", &["user"]), 80.0);
        claims.class(told, &["cpu"]);
        claims
            .that(percent(told, told.parts(&["pipe"])) < 2.0, "cat's or the shell's waiting is on the path");
        let names: Vec<_> =
            told.run["threads"].as_array().into_iter().flatten().map(|row| &row["name"]).collect();
        claims.that(names.iter().any(|name| *name == "cat"), format!("cat is not among {names:?}"));
    });
    for path in [from, to] {
        std::fs::remove_file(path).expect("the files can be removed");
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

#[test]
fn a_build_is_the_compilers_work_and_not_the_drivers() {
    let (from, to) = (source("words.c"), fresh("words"));
    hold(&["cc", "-O3", utf8(&from), "-o", utf8(&to), "-lm"], |told, claims| {
        at_least(claims, told, "cc1 on a CPU", by_name(told, "cc1", CPU), 50.0);
        claims.class(told, &["cpu", "mixed", "kernel"]);
        // The driver waits for each of its children, which is their time and not its own.
        let driver = by_name(told, "cc", BLOCKED) + by_name(told, "gcc", BLOCKED);
        claims.that(
            percent(told, driver) < 2.0,
            format!("the driver's waiting is {:.1} %", percent(told, driver)),
        );
        for name in ["cc1", "as", "ld"] {
            let threads = told.run["threads"].as_array().into_iter().flatten();
            let seen =
                threads.filter(|row| row["name"].as_str().is_some_and(|n| n == name || n.ends_with(name)));
            claims.that(seen.count() > 0, format!("{name} is not among the threads"));
        }
    });
    std::fs::remove_file(to).expect("the program can be removed");
}

/// Each step of the grid is a new one, too large for the allocator to keep.
const GRID: &str = "
from array import array
n = 2400
for step in range(12):
    grid = array('d', bytes(8 * n * n))
    grid[step * n + step] = 1.0
print(len(grid))
";

#[test]
fn a_python_grid_that_reallocates_is_the_kernels_faults() {
    hold(&["python3", "-c", GRID], |told, claims| {
        // 46 MB twice a step: the bytes, which the array then copies.
        let minor = told.run["faults"]["minor"].as_u64().unwrap_or(0);
        claims.that(minor > 12 * 11_000, format!("{minor} faults"));
        claims.class(told, &["kernel"]);
        let faults = told.parts(&["fault"]);
        at_least(claims, told, "the faults", faults, 30.0);
        claims
            .that(told.calls("munmap").0 >= 12 && told.calls("mmap").0 >= 12, "the allocations are not seen");
    });
}

#[test]
fn a_program_that_sleeps_is_idle() {
    hold(&["sleep", "0.2"], |told, claims| {
        claims.class(told, &["idle"]);
        claims.that(told.parts(&["sleep"]).abs_diff(200 * MS) < 5 * MS, "it did not sleep 200 ms");
        claims.equal("sleeps", told.calls("clock_nanosleep").0, 1);
    });
}

#[test]
fn a_threaded_program_with_a_lock_is_the_work_under_the_lock() {
    let program = fresh("queue");
    let mut cc = Command::new("cc");
    let status = cc.arg("-O1").arg(source("queue.c")).arg("-o").arg(&program).arg("-pthread").status();
    assert!(status.is_ok_and(|status| status.success()), "cc cannot compile queue.c");
    hold(&[utf8(&program)], |told, claims| {
        // 30 items of 4 ms, one at a time: that is the path, whichever thread does it.
        // It asks for its own CPU time all along, which is the kernel's work.
        claims
            .that(told.parts(&["user", "kernel"]) >= 118 * MS, "the work under the lock is not on the path");
        claims.that(
            percent(told, told.parts(&["lock"])) < 5.0,
            "waiting for a holder in the tree is on the path",
        );
        let waits = told.run["waits"].as_array().into_iter().flatten();
        let locks = waits.filter(|row| row["reason"] == "lock" && row["on"]["kind"] == "futex");
        let blocked: u64 = locks.filter_map(|row| row["total_ns"].as_u64()).sum();
        claims.that(blocked > 20 * MS, format!("two threads on one lock waited {blocked} ns for it"));
        claims.class(told, &["cpu"]);
    });
    std::fs::remove_file(program).expect("the program can be removed");
}

/// Answers each request after 60 ms; prints its port first.
const SERVER: &str = "
import http.server, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.06)
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(('127.0.0.1', 0), Slow)
print(server.server_port, flush=True)
for _ in range(5):
    server.handle_request()
";

const CLIENT: &str = "
import socket, sys
for _ in range(5):
    with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as s:
        s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
        while s.recv(4096):
            pass
";

#[test]
fn a_program_behind_a_slow_local_server_waits_for_the_network() {
    let behind = || {
        let mut server = Command::new("python3");
        let mut server = server.args(["-c", SERVER]).stdout(Stdio::piped()).spawn().expect("python3 starts");
        let mut port = String::new();
        let out = server.stdout.take().expect("a pipe was asked for");
        BufReader::new(out).read_line(&mut port).expect("the server prints its port");
        let told = run(&["python3", "-c", CLIENT, port.trim()]);
        server.wait().expect("the server ends after five requests");
        told
    };
    hold_with(behind, |told, claims| {
        claims.that(told.parts(&["network"]) >= 295 * MS, "five answers took 60 ms each");
        // Beside busy programs it may wait longer for a CPU than for its peer.
        if told.parts(&["runqueue"]) < told.parts(&["network"]) / 4 {
            claims.class(told, &["io"]);
            claims.resource(told, "network");
        }
        let port = told.run["command"][3].as_str().unwrap_or_default().to_owned();
        let waits = told.run["waits"].as_array().into_iter().flatten();
        let mut named = waits.filter(|row| row["on"]["kind"] == "tcp");
        let named = named.any(|row| row["on"]["name"].as_str().is_some_and(|name| name.contains(&port)));
        claims.that(named, format!("no wait names the server's port {port}: {}", told.run["waits"]));
    });
}
