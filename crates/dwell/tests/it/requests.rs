//! The requests of a server: every one is counted, its time is what its client waited, and what was
//! planted in a few of them is what these have more.

mod goroutines;

use crate::export;
use crate::support::window::{self, Alive, ensure, hold};
use crate::support::{self, MS, Told};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A thread for each connection. A request that ends in `s` sleeps for 30 ms with the lock that
/// each takes; one that ends in `q` waits for a worker behind a queue, which sleeps for 30 ms.
const SERVER: &str = r#"
import queue, socket, threading, time
lock, jobs = threading.Lock(), queue.SimpleQueue()
def worker():
    while True:
        done = jobs.get()
        time.sleep(0.03)
        done.release()
def serve(c):
    while what := c.recv(100):
        with lock:
            if what.endswith(b's'):
                time.sleep(0.03)
        if what.endswith(b'q'):
            done = threading.Semaphore(0)
            jobs.put(done)
            done.acquire()
        c.sendall(b'y')
threading.Thread(target=worker, daemon=True).start()
s = socket.create_server(('127.0.0.1', 0))
open(PATH, 'w').write(str(s.getsockname()[1]))
print('ready', flush=True)
while True:
    threading.Thread(target=serve, args=[s.accept()[0]], daemon=True).start()
"#;

/// As many requests on one connection, one after the other, each of the kind that `kind` gives for
/// its number; how long each took, in nanoseconds.
fn asks(port: u16, times: u64, kind: impl Fn(u64) -> u8) -> Vec<u64> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    let ask = |number| {
        let begin = Instant::now();
        stream.write_all(&[b'x', kind(number)]).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 1);
        begin.elapsed().as_nanos() as u64
    };
    (0..times).map(ask).collect()
}

/// A window on the server while two clients ask; what they waited, sorted.
fn served(kind: fn(u64) -> u8) -> (Told, Vec<u64>) {
    let path = support::fresh("port");
    let script = SERVER.replace("PATH", &format!("{path:?}"));
    let _server = Alive::start("python3", &["-c", &script]);
    asked(&path, kind)
}

/// The same of a server that runs and has written its port to this file.
fn asked(path: &Path, kind: fn(u64) -> u8) -> (Told, Vec<u64>) {
    let port: u16 = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let mut waited = Vec::new();
    let mut command = Command::new(support::dwell());
    let target = format!(":{port}");
    let args = [target.as_str(), "--for", "4s"];
    let told = window::attach(command.arg("attach"), &support::fresh("requests.json"), &args, |dwell| {
        window::until_it_records(dwell);
        let other = std::thread::spawn(move || asks(port, 300, |_| b'x'));
        waited.extend(asks(port, 300, kind));
        waited.extend(other.join().unwrap());
    });
    waited.sort_unstable();
    (told, waited)
}

/// The row of what was spent at this.
fn part<'a>(told: &'a Told, at: &str) -> Option<&'a Value> {
    told.run["requests"]["parts"].as_array()?.iter().find(|part| part["at"] == at)
}

/// A time of a row; 0 where there is none.
fn ns(part: Option<&Value>, column: &str) -> u64 {
    part.and_then(|part| part[column].as_u64()).unwrap_or(0)
}

/// What holds of any requests: all are there, and took what their clients waited.
fn holds(told: &Told, waited: &[u64]) -> Result<(), String> {
    let all = &told.run["requests"];
    ensure(all["times"] == 600, "each is counted", told)?;
    let latency = |column: &str| all["latency"][column].as_u64().unwrap_or(0);
    for (column, rank) in [("p50_ns", 299), ("p99_ns", 593), ("max_ns", 599)] {
        // The client waits for its own wake-up too.
        let (ours, client) = (latency(column), waited[rank]);
        let near = ours <= client + client / 50 && client <= ours + ours / 5 + 3 * MS;
        ensure(near, &format!("{column}: {ours} is what the client waited, {client}"), told)?;
    }
    let parts = all["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| ns(Some(part), "mean_ns")).sum();
    ensure(sum.abs_diff(latency("mean_ns")) <= parts.len() as u64, "the parts sum to the mean", told)?;
    for slow in all["slowest"].as_array().unwrap() {
        let spans = slow["spans"].as_array().unwrap();
        let sum: u64 = spans.iter().map(|span| ns(Some(span), "ns")).sum();
        ensure(sum == slow["latency_ns"], "the spans of a request sum to it", told)?;
    }
    Ok(())
}

#[test]
fn what_a_few_requests_sleep_with_a_lock_is_theirs_and_a_wait_of_others() {
    let _alone = support::alone();
    hold(|| {
        let (told, waited) = served(|number| if number % 50 == 7 { b's' } else { b'x' });
        holds(&told, &waited)?;
        let sleep = part(&told, "sleep");
        let lock = part(&told, "lock");
        let planted = ns(sleep, "slow_ns") + ns(lock, "slow_ns");
        ensure(planted >= 25 * MS, "slow ones sleep, or wait for one that does", &told)?;
        ensure(ns(sleep, "typical_ns") == 0, "and others do not", &told)?;
        let place = sleep.map(|part| part["place"].to_string()).unwrap_or_default();
        ensure(place.contains("serve"), "where they do", &told)?;
        // Who waits for one that sleeps takes as long as that: half of the slowest may be either.
        let more = |part: Option<&Value>| part.and_then(|part| part["more_ns"][0].as_i64());
        ensure(more(sleep).max(more(lock)) > Some(0), "and have more of it", &told)?;
        let without = ns(sleep.map(|part| &part["without"]), "p99_ns");
        let p99 = told.run["requests"]["latency"]["p99_ns"].as_u64();
        ensure(Some(without) < p99, "without it they were faster", &told)?;
        ensure(told.page.contains("a request's time"), "the page has them", &told)
    });
}

/// A service at a UNIX socket that asks another one for each request: every tenth time that one
/// takes 30 ms. A thread for each connection, of both.
const LOCALLY: &str = r#"
import os, socket, sys, threading, time
def bound(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(64)
    return s
def serves(s, answers):
    def serve(c):
        while what := c.recv(100):
            c.sendall(answers(what))
    while True:
        threading.Thread(target=serve, args=[s.accept()[0]], daemon=True).start()
def asks(what):
    with socket.socket(socket.AF_UNIX) as c:
        c.connect(BACK)
        c.sendall(what)
        return c.recv(100)
def backend(what):
    if what.endswith(b's'):
        time.sleep(0.03)
    return b'y'
front, back = bound(FRONT), bound(BACK)
child = os.fork()
threading.Thread(target=serves, args=[(back, backend), (front, asks)][child == 0], daemon=True).start()
if child:
    print('ready', flush=True)
else:
    open(PID, 'w').write(str(os.getpid()))
sys.stdin.read()
"#;

#[test]
fn requests_over_local_sockets_are_counted_and_name_the_socket_of_the_peer() {
    let _alone = support::alone();
    hold(|| {
        let [front, back, pid] = ["front.sock", "back.sock", "front.pid"].map(support::fresh);
        let with = |script: String, (name, path): (&str, &Path)| script.replace(name, &format!("{path:?}"));
        let script = [("FRONT", &*front), ("BACK", &*back), ("PID", &*pid)];
        let script = script.into_iter().fold(LOCALLY.to_owned(), with);
        let _servers = Alive::start("python3", &["-c", &script]);
        let pid = std::fs::read_to_string(pid).unwrap();
        let mut waited = Vec::new();
        let mut command = Command::new(support::dwell());
        let args = [pid.as_str(), "--for", "4s"];
        let told = window::attach(command.arg("attach"), &support::fresh("local.json"), &args, |dwell| {
            window::until_it_records(dwell);
            // Each on a connection of its own, the first of which shows who serves.
            for number in 0..=300 {
                let mut stream = UnixStream::connect(&front).unwrap();
                let begin = Instant::now();
                stream.write_all(if number % 10 == 7 { b"xs" } else { b"xx" }).unwrap();
                assert_eq!(stream.read(&mut [0]).unwrap(), 1);
                waited.push(begin.elapsed().as_nanos() as u64);
            }
        });
        waited.sort_unstable();
        let all = &told.run["requests"];
        ensure(all["times"] == 300 && all["began_before"] == 1, "all but the first are counted", &told)?;
        let p99 = all["latency"]["p99_ns"].as_u64().unwrap_or(0);
        let client = waited[297];
        let near = p99 <= client + client / 50 && client <= p99 + p99 / 5 + 3 * MS;
        ensure(near, &format!("{p99} is what the client waited, {client}"), &told)?;
        let parts = all["parts"].as_array().into_iter().flatten();
        let peer = parts.max_by_key(|part| ns(Some(part), "slow_ns"));
        let on = peer.map(|part| part["on"].to_string()).unwrap_or_default();
        let named = on.contains(back.to_str().unwrap()) && ns(peer, "slow_ns") >= 25 * MS;
        ensure(named, "slow ones wait for the socket behind", &told)
    });
}

#[test]
fn what_a_worker_does_behind_a_queue_is_of_the_request_that_it_is_done_for() {
    let _alone = support::alone();
    hold(|| {
        let (told, waited) = served(|number| if number % 50 == 7 { b'q' } else { b'x' });
        holds(&told, &waited)?;
        let sleep = part(&told, "sleep");
        ensure(ns(sleep, "slow_ns") >= 25 * MS, "the worker's sleep is in the slow ones", &told)?;
        let place = sleep.map(|part| part["place"].to_string()).unwrap_or_default();
        ensure(place.contains("worker"), "where it sleeps", &told)
    });
}

/// A port that is higher than those of clients, on which the rule of the lower port fails.
const HIGH_PORT: u16 = 64_123;

/// HTTP over connections that are kept, in one process, on a high port: `/sleep/N` sleeps for 20
/// ms.
const HTTP: &str = r#"
import socket, time
s = socket.create_server(('127.0.0.1', PORT))
print('ready', flush=True)
while True:
    c = s.accept()[0]
    while what := c.recv(1000):
        if b'/sleep' in what:
            time.sleep(0.02)
        c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny')
"#;

/// Asks for a path on a connection.
fn get(stream: &mut TcpStream, path: &str) {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
    assert!(stream.read(&mut [0; 100]).unwrap() > 0);
}

/// A window in which one connection that was open before asks for 200 objects, and for 10 that
/// sleep.
fn asked_for(options: &[&str]) -> Told {
    let script = HTTP.replace("PORT", &HIGH_PORT.to_string());
    let _server = Alive::start("python3", &["-c", &script]);
    let mut stream = TcpStream::connect(("127.0.0.1", HIGH_PORT)).unwrap();
    stream.set_nodelay(true).unwrap();
    get(&mut stream, "/before");
    let mut command = Command::new(support::dwell());
    let target = format!(":{HIGH_PORT}");
    let args = [&[target.as_str(), "--for", "3s"], options].concat();
    window::attach(command.arg("attach"), &support::fresh("kinds.json"), &args, |dwell| {
        window::until_it_records(dwell);
        for number in 0..210 {
            let what = if number % 21 == 20 { "sleep" } else { "orders" };
            get(&mut stream, &format!("/{what}/{}?token=secret", 1000 + number));
        }
    })
}

#[test]
fn requests_are_told_by_what_they_ask_for_and_nothing_else_is_kept() {
    let _alone = support::alone();
    hold(|| {
        let told = asked_for(&[]);
        let kinds = told.run["requests"]["kinds"].as_array().cloned().unwrap_or_default();
        let of = |kind: &str| kinds.iter().find(|row| row["kind"] == kind).cloned().unwrap_or_default();
        let (orders, sleep) = (of("GET /orders/{n}"), of("GET /sleep/{n}"));
        // The first one of a connection that was open before has begun at no known time.
        ensure(orders["times"].as_u64() >= Some(199) && sleep["times"] == 10, "each is counted", &told)?;
        ensure(sleep["latency"]["p50_ns"].as_u64() >= Some(20 * MS), "with its own time", &told)?;
        ensure(sleep["parts"][0]["at"] == "sleep", "and what that is spent at", &told)?;
        ensure(told.page.contains("GET /sleep/{n}"), "the page has them", &told)?;
        ensure(!told.run.to_string().contains("secret"), "nothing else is kept", &told)?;
        let finding = &told.run["requests"]["findings"][0];
        ensure(finding["of"] == "slow", "what slow ones have more is found", &told)?;
        // Slow ones are traces and tracks in the libraries of those who show them.
        let path = support::fresh("kinds-kept.json");
        std::fs::write(&path, told.run.to_string()).unwrap();
        let slowest = told.run["requests"]["slowest"].as_array().map_or(0, Vec::len);
        let (otlp, perfetto) = (export::read("otlp", &path), export::read("perfetto", &path));
        ensure(otlp["traces"] == slowest, &format!("a trace each: {otlp}"), &told)?;
        let names = perfetto["names"].to_string();
        ensure(names.contains("GET /sleep/{n}, ") && perfetto["unknown"] == 0, &names, &told)
    });
}

/// One thread, one connection: as fast as it goes.
const FAST: &str = r#"
import socket
s = socket.create_server(('127.0.0.1', PORT))
print('ready', flush=True)
while True:
    c, _ = s.accept()
    while c.recv(100):
        c.sendall(b'y')
"#;

#[test]
fn of_very_many_requests_each_is_counted_and_a_random_part_is_followed() {
    let _alone = support::alone();
    hold(|| {
        let script = FAST.replace("PORT", &HIGH_PORT.to_string());
        let _server = Alive::start("python3", &["-c", &script]);
        let (begin, mut asked) = (Instant::now(), 0_u64);
        let mut command = Command::new(support::dwell());
        let target = format!(":{HIGH_PORT}");
        let args = [target.as_str(), "--for", "4s", "--max-overhead", "2%"];
        let mut took = begin.elapsed();
        let told = window::attach(command.arg("attach"), &support::fresh("many.json"), &args, |dwell| {
            window::until_it_records(dwell);
            let mut stream = TcpStream::connect(("127.0.0.1", HIGH_PORT)).unwrap();
            stream.set_nodelay(true).unwrap();
            let begin = Instant::now();
            while begin.elapsed().as_millis() < 1500 {
                stream.write_all(b"x").unwrap();
                assert_eq!(stream.read(&mut [0]).unwrap(), 1);
                asked += 1;
            }
            took = begin.elapsed();
        });
        let all = &told.run["requests"];
        let of = |column: &str| all[column].as_u64().unwrap_or(0);
        let (times, left_out) = (of("times"), of("left_out"));
        ensure(times + left_out == asked, &format!("{times} and {left_out} are {asked}"), &told)?;
        // 5,000 a second are always followed.
        let many = asked as f64 > 8_000.0 * took.as_secs_f64();
        ensure(!many || left_out > 0, &format!("{asked} in {took:?} are too many"), &told)?;
        ensure(times > 1000, "enough are followed", &told)?;
        ensure(left_out == 0 || told.page.contains("drawn at random"), "the page says so", &told)
    });
}

#[test]
fn what_requests_ask_for_is_not_read_where_nobody_wants_it() {
    let _alone = support::alone();
    hold(|| {
        let told = asked_for(&["--no-text"]);
        ensure(told.run["requests"]["times"].as_u64() >= Some(209), "they are counted", &told)?;
        ensure(told.run["requests"]["kinds"] == serde_json::json!([]), "without kinds", &told)?;
        ensure(!told.run.to_string().contains("orders"), "nothing of them is kept", &told)
    });
}

/// Every 5 ms; each 20th cycle computes for 12 ms.
const LOOP: &str = r#"
import time
at = time.monotonic()
for cycle in range(201):
    at += 0.005
    time.sleep(max(0.001, at - time.monotonic()))
    until = time.monotonic() + (0.012 if cycle % 20 == 10 else 0.0002)
    while time.monotonic() < until:
        pass
    at = max(at, time.monotonic())
"#;

#[test]
fn cycles_of_a_control_loop_that_miss_their_deadline_are_told_with_what_they_did() {
    let _alone = support::alone();
    hold(|| {
        let options = ["--unit", "cycle=python3", "--deadline", "10ms"];
        let (told, _) = support::kit::coded(&options, &["python3", "-c", LOOP]);
        let all = &told.run["requests"];
        ensure(all["unit"] == "cycle" && all["times"] == 200, "each is counted", &told)?;
        ensure(all["deadline"]["missed"].as_u64() >= Some(10), "those that are late too", &told)?;
        ensure(all["latency"]["max_ns"].as_u64() >= Some(12 * MS), "for as long as they took", &told)?;
        let finding = &all["findings"][0];
        let part = &all["parts"][finding["part"].as_u64().unwrap_or(0) as usize];
        ensure(part["at"] == "on-cpu" || part["at"] == "runqueue", "why they are", &told)?;
        ensure(told.page.contains("took longer than 10.0 ms"), "on the page", &told)
    });
}
