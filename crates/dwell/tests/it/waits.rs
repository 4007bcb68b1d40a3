//! Waits say on what, and who ended them: pollers, holders of locks, Python's own lock.

use crate::support::{MS, Told, fresh, hold, python};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn rows<'a>(told: &'a Told, asked: impl Fn(&Value) -> bool + 'a) -> impl Iterator<Item = &'a Value> {
    told.run["waits"].as_array().into_iter().flatten().filter(move |row| asked(row))
}

fn total(rows: impl Iterator<Item = impl std::borrow::Borrow<Value>>, field: &str) -> u64 {
    rows.filter_map(|row| row.borrow()[field].as_u64()).sum()
}

/// Waits for one of two pipes, ten times, by each way there is. A child writes into the second, 10
/// ms apart.
const POLLER: &str = "
import os, select, sys, time
how = sys.argv[1]
pipes = [os.pipe() for _ in range(2)]
if os.fork() == 0:
    for _ in range(10):
        time.sleep(0.01)
        os.write(pipes[1][1], b'x')
    os._exit(0)
fds = [pipe[0] for pipe in pipes]
poller = getattr(select, how)() if how != 'select' else None
for fd in fds if poller else []:
    poller.register(fd, select.EPOLLIN if how == 'epoll' else select.POLLIN)
for _ in range(10):
    ready = poller.poll() if poller else select.select(fds, [], [])[0]
    assert len(ready) == 1
    os.read(pipes[1][0], 1)
os.wait()
";

#[test]
fn a_poll_of_several_waits_for_what_the_waker_wrote_to() {
    for (how, calls) in
        [("epoll", &["epoll_wait"][..]), ("poll", &["poll"]), ("select", &["select", "pselect6"])]
    {
        hold(&[python(), "-c", POLLER, how], |told, claims| {
            let polled = |row: &Value| calls.iter().any(|call| row["call"] == *call);
            let on_pipes = total(
                rows(told, move |row| polled(row) && row["on"]["kind"] == "pipe" && row["reason"] == "pipe"),
                "calls",
            );
            claims.that(on_pipes >= 9, format!("{how}: {on_pipes} of 10 waits are on a pipe"));
        });
    }
}

/// Time that passes in five ways: a poll of a pipe and a lock that reach their limits, a poll of
/// nothing, a sleep, and a condition that nobody makes true.
const LIMITS: &str = "
import select, os, threading, time
ends = os.pipe()
poller = select.poll()
poller.register(ends[0], select.POLLIN)
lock = threading.Lock()
lock.acquire()
never = threading.Event()
for _ in range(5):
    assert not poller.poll(20)
    assert not lock.acquire(timeout=0.03)
    select.select([], [], [], 0.02)
    time.sleep(0.01)
    assert not never.wait(0.02)
";

#[test]
fn limits_that_were_reached_are_of_what_was_waited_for_and_sleeps_of_nothing() {
    hold(&[python(), "-S", "-c", LIMITS], |told, claims| {
        for (call, reason, kind, ms) in [
            ("poll", "pipe", "pipe", 20),
            ("futex", "lock", "futex", 30),
            ("select", "sleep", "timer", 20),
            ("clock_nanosleep", "sleep", "timer", 10),
            ("futex", "sleep", "timer", 20),
        ] {
            let like = move |row: &Value| {
                let of_call = row["call"] == call || call == "select" && row["call"] == "pselect6";
                of_call && row["reason"] == reason && row["on"]["kind"] == kind
            };
            let (calls, ns) = (total(rows(told, like), "calls"), total(rows(told, like), "total_ns"));
            claims.equal(&format!("{call}, {reason}"), calls, 5);
            claims.that(ns >= 5 * ms * MS && ns < 10 * ms * MS, format!("{call}, {reason} took {ns} ns"));
            let by = rows(told, like).flat_map(|row| row["by"].as_array().into_iter().flatten());
            claims.equal("ended by their limits", total(by.filter(|by| by["kind"] == "timer"), "times"), 5);
        }
    });
}

/// Asks a server that takes 250 ms for each answer, and looks for that 100 ms at a time: with a
/// poll of one socket, or in a loop of several.
const POLLS_A_PEER: &str = "
import os, select, selectors, socket, sys, time
listening = socket.create_server(('127.0.0.1', 0))
if os.fork() == 0:
    serves, _ = listening.accept()
    for _ in range(4):
        serves.recv(1)
        time.sleep(0.25)
        serves.send(b'x')
    os._exit(0)
asks = socket.create_connection(listening.getsockname())
other, _ = os.pipe()
if sys.argv[1] == 'one':
    poller = select.poll()
    poller.register(asks, select.POLLIN)
    look = lambda: poller.poll(100)
else:
    loop = selectors.DefaultSelector()
    loop.register(asks, selectors.EVENT_READ)
    loop.register(other, selectors.EVENT_READ)
    look = lambda: loop.select(0.1)
for _ in range(4):
    asks.send(b'x')
    while not look(): pass
    asks.recv(1)
os.wait()
";

#[test]
fn who_looks_for_an_answer_with_a_limit_waits_for_the_peer() {
    for how in ["one", "several"] {
        hold(&[python(), "-S", "-c", POLLS_A_PEER, how], |told, claims| {
            let polls = |row: &Value| row["call"] == "poll" || row["call"] == "epoll_wait";
            let on_peer =
                |row: &Value| polls(row) && row["reason"] == "network" && row["on"]["kind"] == "tcp";
            let (calls, ns) = (total(rows(told, on_peer), "calls"), total(rows(told, on_peer), "total_ns"));
            claims.that(calls >= 12, format!("{how}: {calls} polls are of the peer"));
            claims.that(ns >= 980 * MS, format!("{how}: {ns} ns of a second"));
            let slept = total(rows(told, |row| polls(row) && row["reason"] == "sleep"), "total_ns");
            claims.that(slept < 20 * MS, format!("{how}: {slept} ns are sleep"));
        });
    }
}

/// Sleeps in two places, 0.4 s in one and 0.2 s in the other: of one thread, or of two.
const TWO_PLACES: &str = "
import sys, threading, time
def long():
    for _ in range(20): time.sleep(0.02)
def short():
    for _ in range(20): time.sleep(0.01)
if sys.argv[1] == 'one':
    for _ in range(20):
        time.sleep(0.02)
        (lambda: time.sleep(0.01))()
else:
    other = threading.Thread(target=short)
    other.start()
    long()
    other.join()
";

#[test]
fn two_places_that_sleep_are_two_lines_of_the_account() {
    for (how, places) in [("two", &["long", "short"][..]), ("one", &["<module>", "<lambda>"])] {
        hold(&[python(), "-S", "-c", TWO_PLACES, how], |told, claims| {
            let sleeps = rows(told, |row| row["call"] == "clock_nanosleep");
            let stacks: String =
                sleeps.map(|row| row["stack"].to_string() + &row["places"].to_string()).collect();
            for place in places {
                claims.that(stacks.contains(place), format!("{how}: {place} is not in {stacks}"));
            }
            let lines: Vec<&str> =
                told.page.lines().filter(|line| line.contains("clock_nanosleep")).collect();
            let first = lines.iter().position(|line| line.contains(places[0]));
            claims.that(first.is_some(), format!("{how}: {lines:#?}"));
        });
    }
}

/// Four threads make and remove files of a directory that is in memory: they wait for its lock.
const IN_MEMORY: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *work(void *number)
{
    char path[100];
    snprintf(path, sizeof path, "/dev/shm/dwell-%d-%ld", getpid(), (long)number);
    for (int i = 0; i < 60000; i++) {
        close(open(path, O_CREAT | O_RDWR, 0600));
        unlink(path);
    }
    return 0;
}
int main(void)
{
    pthread_t all[4];
    for (long i = 0; i < 4; i++) pthread_create(&all[i], 0, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
}
"#;

#[test]
fn a_directory_in_memory_has_a_lock_and_no_disk() {
    let (source, program) = (fresh("in_memory.c"), fresh("in_memory"));
    std::fs::write(&source, IN_MEMORY).expect("room on the disk");
    let built = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(&source).status();
    assert!(built.expect("a C compiler").success(), "it does not compile");
    hold(&[program.to_str().expect("a path of plain characters")], |told, claims| {
        let names = ["open", "openat", "unlink", "close"];
        let files = |row: &Value| names.iter().any(|name| row["call"] == *name);
        let of = |reason: &'static str| {
            total(rows(told, move |row| files(row) && row["reason"] == reason), "total_ns")
        };
        let (lock, disk) = (of("lock"), of("disk"));
        claims.that(disk * 20 <= lock, format!("{disk} ns for a disk, {lock} ns for locks"));
        claims.that(lock > MS, format!("they hardly met: {lock} ns"));
    });
    let _ = (std::fs::remove_file(program), std::fs::remove_file(source));
}

/// Has io_uring read from a pipe that a child fills late, then from a file, past the page cache and
/// through it.
const RING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/ring.c");

fn ring() -> PathBuf {
    let program = fresh("ring");
    let built = Command::new("cc").args(["-O1", "-g", "-o"]).arg(&program).arg(RING).status();
    assert!(built.expect("a C compiler").success(), "{RING} does not compile");
    program
}

#[test]
fn io_uring_says_what_became_ready() {
    let (program, file) = (ring(), fresh("ring.data"));
    std::fs::write(&file, vec![1; 16 << 20]).expect("room on the disk");
    let [program_, file_] = [&program, &file].map(|path| path.to_str().expect("a path of plain characters"));
    // As it is by default, with all work done by the one that submits, and with each request done
    // by a worker.
    for how in ["0", "0x3000", "worker"] {
        hold(&[program_, how, file_], |told, claims| {
            let truth = told.truth("ring");
            let of = |reason: &'static str, kind: &'static str| {
                rows(told, move |row| {
                    row["call"] == "io_uring_enter" && row["reason"] == reason && row["on"]["kind"] == kind
                })
            };
            claims.equal("waits on the pipe", total(of("pipe", "pipe"), "calls"), 10);
            // A name that the program's file has.
            let name = told.run["threads"][0]["name"].as_str().unwrap_or_default().to_owned();
            let waited = total(of("pipe", "pipe"), "total_ns");
            claims.waited("pipe", waited, truth.ns("pipe"), told.queued(&name));
            claims.that(total(of("disk", "device"), "requests") > 0, "no request to a disk ended a wait");
            let external = total(of("other-wait", "external"), "calls");
            claims.equal("waits on what is not known", external, 0);
            // What a worker waited for the disk is on its own account.
            let workers: Vec<_> = told.run["threads"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|thread| thread["name"].as_str().is_some_and(|name| name.starts_with("iou-wrk-")))
                .collect();
            claims.that(how != "worker" || !workers.is_empty(), "its worker is no thread of the tree");
        });
    }
    let _ = (std::fs::remove_file(program), std::fs::remove_file(file));
}

/// Two threads that hold one lock for 20 ms in turn, five times each.
const HOLDERS: &str = "
import threading, time
lock = threading.Lock()
def work():
    for _ in range(5):
        with lock:
            time.sleep(0.02)
        time.sleep(0.001)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
";

#[test]
fn a_wait_for_a_lock_names_its_address_and_who_held_it() {
    hold(&[python(), "-c", HOLDERS], |told, claims| {
        let named = |row: &Value| {
            row["reason"] == "lock" && row["on"]["name"].as_str().is_some_and(|name| name.starts_with("0x"))
        };
        let longest = rows(told, named).max_by_key(|row| row["max_ns"].as_u64());
        let Some(row) = longest else {
            claims.that(false, "no lock has an address");
            return;
        };
        let by = row["by"].as_array().cloned().unwrap_or_default();
        let thread = by.iter().find(|waker| waker["kind"] == "thread");
        claims.that(
            thread.is_some_and(|waker| waker["name"].as_str().is_some_and(|name| name.starts_with("python"))),
            format!("it was ended by {by:?}"),
        );
        claims.equal(
            "times of all who ended it",
            total(by.iter(), "times"),
            row["calls"].as_u64().unwrap_or(0),
        );
        claims.equal(
            "time of all who ended it",
            total(by.iter(), "ns"),
            row["total_ns"].as_u64().unwrap_or(0),
        );
        let octaves = row["histogram"].as_array().cloned().unwrap_or_default();
        let counted: u64 = octaves.iter().filter_map(|pair| pair[1].as_u64()).sum();
        claims.equal("waits of all octaves", counted, row["calls"].as_u64().unwrap_or(0));
        let longest = octaves.last().and_then(|pair| pair[0].as_u64()).unwrap_or(0);
        claims
            .that(longest > row["max_ns"].as_u64().unwrap_or(u64::MAX), "the longest is in the last octave");
    });
}

/// Two threads of Python that both want to run.
const INTERPRETERS: &str = "
import threading
def work():
    x = 0
    for i in range(3_000_000): x += i
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
";

#[test]
fn pythons_own_lock_is_told_from_others() {
    hold(&[python(), "-c", INTERPRETERS], |told, claims| {
        let own = |row: &Value| row["on"]["name"] == "Python's interpreter lock";
        let timed = |row: &Value| row["on"]["kind"] == "timer" && row["call"] == "futex";
        // The waiting thread asks for it each 5 ms: such a wait ends by its timeout, and is for the
        // lock all the same.
        let waited = total(rows(told, own), "total_ns");
        claims.that(waited > 50 * MS, format!("both wanted it, and waited {waited} ns"));
        claims.equal("waits for it that are sleeps", total(rows(told, timed), "calls"), 0);
        let held = |waker: &&Value| waker["kind"] == "thread" && waker["tid"].as_u64().is_some();
        let by: Vec<_> = rows(told, own).flat_map(|row| row["by"].as_array().into_iter().flatten()).collect();
        let named = total(by.iter().copied().filter(held), "ns");
        // Who gives the lock away before the next wait for it has begun wakes nobody.
        claims.that(named * 6 > waited, format!("of {waited} ns {named} have a holder: {by:?}"));
        let slept = told.run["threads"].as_array().into_iter().flatten();
        let slept = total(slept.map(|thread| &thread["states"]), "sleep");
        claims.that(slept < 10 * MS, format!("threads that compute slept {slept} ns"));
    });
}

/// Two processes that hold a lock for 20 ms in turn, five times each: a semaphore in memory that
/// both have, or a file.
const PROCESSES: &str = "
import fcntl, multiprocessing, os, sys, tempfile, time
how = sys.argv[1]
lock = multiprocessing.get_context('fork').Semaphore(1)
path = tempfile.mktemp()
def work():
    file = open(path, 'w')
    for _ in range(5):
        lock.acquire() if how == 'semaphore' else fcntl.flock(file, fcntl.LOCK_EX)
        time.sleep(0.02)
        lock.release() if how == 'semaphore' else fcntl.flock(file, fcntl.LOCK_UN)
        time.sleep(0.001)
child = os.fork()
work()
if child == 0: os._exit(0)
os.waitpid(child, 0)
os.unlink(path)
";

#[test]
fn a_lock_between_processes_is_a_lock_with_its_holders_pid() {
    for (how, call) in [("semaphore", "futex"), ("file", "flock")] {
        hold(&[python(), "-S", "-c", PROCESSES, how], |told, claims| {
            let locks: Vec<_> = rows(told, |row| row["reason"] == "lock" && row["call"] == call).collect();
            let waited = total(locks.iter().copied(), "total_ns");
            claims.that(waited > 60 * MS, format!("{how}: waited {waited} ns"));
            let by: Vec<_> =
                locks.iter().flat_map(|row| row["by"].as_array().into_iter().flatten()).collect();
            let pids: std::collections::BTreeSet<u64> = by
                .iter()
                .filter(|waker| waker["kind"] == "thread")
                .filter_map(|waker| waker["pid"].as_u64())
                .collect();
            claims.equal(&format!("{how}: processes that ended waits"), pids.len() as u64, 2);
        });
    }
}

/// Threads that sleep in two functions of their own for as long.
const SLEEPERS: &str = "
import threading, time
def pace():
    for _ in range(20): time.sleep(0.01)
def beat():
    for _ in range(20): time.sleep(0.01)
threads = [threading.Thread(target=of) for of in (pace, beat)]
for thread in threads: thread.start()
for thread in threads: thread.join()
";

#[test]
fn waits_from_two_functions_are_two_rows_with_their_threads() {
    hold(&[python(), "-S", "-c", SLEEPERS], |told, claims| {
        let sleeps: Vec<_> = rows(told, |row| row["call"] == "clock_nanosleep").collect();
        let threads: Vec<_> =
            sleeps.iter().map(|row| row["threads"].as_array().map_or(0, Vec::len)).collect();
        claims.that(threads == [1, 1], format!("rows have {threads:?} threads"));
        for function in ["pace", "beat"] {
            let names = |row: &&&Value| row["stack"].to_string().contains(function);
            claims.equal(&format!("rows of {function}"), sleeps.iter().filter(names).count() as u64, 1);
        }
    });
}

/// Three threads wait for their connections, 0.3 s all and 0.2 s more the last one.
const AT_ONCE: &str = "
import socket, threading, time
listening = socket.create_server(('127.0.0.1', 0))
clients = [socket.create_connection(listening.getsockname()) for _ in range(3)]
servers = [listening.accept()[0] for _ in range(3)]
threads = [threading.Thread(target=client.recv, args=(1,)) for client in clients]
for thread in threads: thread.start()
time.sleep(0.3)
for server in servers[:2]: server.send(b'x')
time.sleep(0.2)
servers[2].send(b'x')
for thread in threads: thread.join()
";

#[test]
fn waits_that_are_under_way_at_once_are_told_apart_from_one_alone() {
    hold(&[python(), "-c", AT_ONCE], |told, claims| {
        let network = &told.run["waits_at_once"]["network"];
        let figure = |field: &str| network[field].as_u64().unwrap_or(0);
        claims.equal("the most", figure("most"), 3);
        claims.between("with any", figure("any_ns"), 490 * MS, 700 * MS);
        claims.between("with one", figure("one_ns"), 190 * MS, 350 * MS);
        let mean = network["mean"].as_f64().unwrap_or(0.0);
        claims.that((1.8..2.5).contains(&mean), format!("the mean: {network}"));
        claims.equal("untold", figure("untold_ns"), 0);
    });
}
