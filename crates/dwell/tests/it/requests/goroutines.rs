//! A server in Go: a request goes on with its goroutine, whichever thread runs that.

use super::{asked, holds, ns, part};
use crate::support::window::{Alive, ensure, hold};
use crate::support::{self, MS, utf8};
use std::process::Command;

/// A goroutine for each connection. A request that ends in `s` sleeps for 30 ms with the mutex that
/// each takes; one that ends in `q` waits at a channel for another goroutine, which sleeps for
/// 30 ms.
const SERVER: &str = r#"
package main
import ("fmt"; "net"; "os"; "sync"; "time")
var lock sync.Mutex
var jobs = make(chan chan int)
func work() { for done := range jobs { time.Sleep(30 * time.Millisecond); done <- 1 } }
func serve(c net.Conn) {
	what := make([]byte, 100)
	for {
		n, _ := c.Read(what)
		if n == 0 { return }
		lock.Lock()
		if what[n-1] == 's' { time.Sleep(30 * time.Millisecond) }
		lock.Unlock()
		if what[n-1] == 'q' { done := make(chan int); jobs <- done; <-done }
		c.Write([]byte("y"))
	}
}
func main() {
	s, _ := net.Listen("tcp", "127.0.0.1:0")
	os.WriteFile(os.Args[1], []byte(fmt.Sprint(s.Addr().(*net.TCPAddr).Port)), 0600)
	fmt.Println("ready")
	go work()
	for { c, _ := s.Accept(); go serve(c) }
}
"#;

/// The server, stripped: functions are found in Go's own table.
fn server() -> (Alive, std::path::PathBuf) {
    let (source, program, port) =
        (support::fresh("server.go"), support::fresh("server"), support::fresh("port"));
    std::fs::write(&source, SERVER).unwrap();
    let mut go = Command::new("go");
    go.args(["build", "-ldflags=-s -w", "-o", utf8(&program), utf8(&source)]).env("GO111MODULE", "off");
    go.env("GOCACHE", support::scratch().join("go"));
    assert!(go.status().expect("go is installed").success());
    (Alive::start(utf8(&program), &[utf8(&port)]), port)
}

#[test]
fn a_goroutine_that_sleeps_with_a_lock_makes_its_request_long_and_those_of_others_wait() {
    let _alone = support::alone();
    let (_server, port) = server();
    hold(|| {
        let (told, waited) = asked(&port, |number| if number % 50 == 7 { b's' } else { b'x' });
        holds(&told, &waited)?;
        let (sleep, lock) = (part(&told, "sleep"), part(&told, "lock"));
        let planted = ns(sleep, "slow_ns") + ns(lock, "slow_ns");
        ensure(planted >= 25 * MS, "slow ones sleep, or wait for one that does", &told)?;
        ensure(ns(sleep, "typical_ns") == 0, "and others do not", &told)?;
        let on = lock.map(|part| part["on"].to_string()).unwrap_or_default();
        ensure(on.contains("sync.Mutex"), "what they wait for", &told)?;
        let place = sleep.map(|part| part["place"].to_string()).unwrap_or_default();
        ensure(place.contains("main.serve"), "where they sleep", &told)?;
        let held = lock.map(|part| part["held"][0]["at"].clone());
        ensure(held == Some("other-request".into()), "who had it was at another request", &told)?;
        ensure(ns(part(&told, "no-thread"), "slow_ns") < 2 * MS, "no time is nobody's", &told)
    });
}

#[test]
fn what_another_goroutine_does_behind_a_channel_is_of_the_request_that_waits_for_it() {
    let _alone = support::alone();
    let (_server, port) = server();
    hold(|| {
        let (told, waited) = asked(&port, |number| if number % 50 == 7 { b'q' } else { b'x' });
        holds(&told, &waited)?;
        let sleep = part(&told, "sleep");
        ensure(ns(sleep, "slow_ns") >= 25 * MS, "the other's sleep is in the slow ones", &told)?;
        ensure(told.page.contains("in the time of requests only"), "what is not in tables", &told)
    });
}
