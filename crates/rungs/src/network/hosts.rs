//! Other hosts, and only those that the user names: their name, a connection, and the way there and
//! back.
//!
//! A few connections, with pauses in between, closed at once, without data.

use super::about;
use crate::bench::{Bench, interrupted};
use crate::{Rung, RungDescription, Samples, Unmeasured};
use model::Ns;
use std::cell::OnceCell;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use sys::clock::monotonic_ns;

/// A host that has not answered by then does not.
const PATIENCE: Duration = Duration::from_secs(2);
const PORT: u16 = 443;
/// Connections to one host, and look-ups of its name.
const TRIES: usize = 10;
const TRIES_QUICK: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);

/// A host as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: String,
    port: u16,
}

/// What was found out about a host, once for all of its rungs.
#[derive(Debug)]
struct HostFindings {
    host: Result<Host, Unmeasured>,
    addresses: OnceCell<Result<Vec<SocketAddr>, Unmeasured>>,
    connections: OnceCell<Result<Connections, Unmeasured>>,
}

/// Connections that were made and closed.
#[derive(Debug, Clone)]
struct Connections {
    to: SocketAddr,
    connect_ns: Vec<Ns>,
    round_trip_ns: Vec<Ns>,
}

pub(super) fn rungs(named: &str) -> [Rung; 3] {
    let known = Rc::new(HostFindings {
        host: host(named).map_err(Unmeasured::Unseen),
        addresses: OnceCell::new(),
        connections: OnceCell::new(),
    });
    let rung = |about: RungDescription,
                measure: fn(&HostFindings, &Bench<'_>) -> Result<Samples, Unmeasured>| {
        let known = Rc::clone(&known);
        let about = RungDescription { needs: "an answer from that host".into(), ..about };
        Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(move |bench| measure(&known, bench)) }
    };
    let library = if cfg!(target_env = "musl") {
        "musl's getaddrinfo: /etc/hosts and the servers of /etc/resolv.conf; other sources of names, as programs that use \
         glibc have them, are not asked"
    } else {
        "the C library's getaddrinfo, with all sources of names that it is set to ask"
    };
    let times = "10 times at most, with pauses of 20 ms";
    [
        rung(
            RungDescription {
                excludes: "a name that is in no cache: after the first lookup, caches mostly answer".into(),
                method: format!("{library}; {times}"),
                source: "getaddrinfo(3)".into(),
                ..about(&format!("resolve@{named}"), "resolving the name of a host")
            },
            resolve,
        ),
        rung(
            RungDescription {
                excludes: "finding its address, and TLS".into(),
                method: format!(
                    "socket and connect to the first address that answers, {times}; port 443 unless another is named"
                ),
                source: "connect(2); curl's time_connect".into(),
                ..about(&format!("connect@{named}"), "a TCP connect to a host")
            },
            |known, bench| {
                let made = known.connections(bench)?;
                Ok(samples(&made.connect_ns, bench.clock_cost_ns, made.said()))
            },
        ),
        rung(
            RungDescription {
                excludes:
                    "what a program on that host takes to answer: its kernel does, or what stands before it"
                        .into(),
                method: format!(
                    "what the kernel measured from its SYN to the answer (TCP_INFO's rtt right after connect), {times}"
                ),
                source: "tcp(7): TCP_INFO".into(),
                ..about(&format!("round-trip@{named}"), "a round trip to a host")
            },
            |known, bench| {
                let made = known.connections(bench)?;
                // The kernel's own times: nothing of our clock is in them.
                Ok(samples(&made.round_trip_ns, 0.0, made.said()))
            },
        ),
    ]
}

/// `NAME`, `NAME:PORT`, an address, or `[ADDRESS]:PORT`.
fn host(named: &str) -> Result<Host, String> {
    let of = |name: &str, port: u16| Host { name: name.to_owned(), port };
    let bare = named.trim_start_matches('[').trim_end_matches(']');
    if bare.is_empty() {
        return Err("the name of the host is empty".to_owned());
    }
    if bare.parse::<IpAddr>().is_ok() {
        return Ok(of(bare, PORT));
    }
    match named.rsplit_once(':') {
        None => Ok(of(named, PORT)),
        Some((name, port)) => match port.parse() {
            Ok(port @ 1..) if !name.is_empty() => {
                Ok(of(name.trim_start_matches('[').trim_end_matches(']'), port))
            }
            _ => Err(format!("{port:?} is not a port\ntry: --host NAME or --host NAME:443")),
        },
    }
}

impl HostFindings {
    fn host(&self) -> Result<&Host, Unmeasured> {
        self.host.as_ref().map_err(Clone::clone)
    }

    /// Its addresses, looked up once.
    fn addresses(&self) -> Result<&[SocketAddr], Unmeasured> {
        let host = self.host()?;
        let found = self.addresses.get_or_init(|| look_up(host).map(|(_, addresses)| addresses));
        found.as_ref().map(Vec::as_slice).map_err(Clone::clone)
    }

    fn connections(&self, bench: &Bench<'_>) -> Result<&Connections, Unmeasured> {
        let host = self.host()?;
        let addresses = self.addresses()?;
        let made = self.connections.get_or_init(|| connect(host, addresses, bench));
        made.as_ref().map_err(Clone::clone)
    }
}

impl Connections {
    fn said(&self) -> String {
        format!("to {}", self.to)
    }
}

fn tries(bench: &Bench<'_>) -> usize {
    if bench.asked.quick { TRIES_QUICK } else { TRIES }
}

fn samples(ns: &[Ns], clock_cost_ns: f64, limit: String) -> Samples {
    let per_op_ns = ns.iter().map(|ns| *ns as f64).collect();
    Samples { per_op_ns, ops_per_sample: 1, clock_cost_ns, limits: vec![limit], ..Samples::default() }
}

fn resolve(known: &HostFindings, bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let host = known.host()?;
    if host.name.parse::<IpAddr>().is_ok() {
        return Err(Unmeasured::Absent("an address needs no name lookup".into()));
    }
    let (mut times, mut first) = (Vec::new(), 0);
    for turn in 0..=tries(bench) {
        if bench.stopped() {
            break;
        }
        let (took, addresses) = look_up(host)?;
        if turn == 0 {
            first = took;
            let _ = known.addresses.set(Ok(addresses));
        } else {
            times.push(took);
        }
        thread::sleep(PAUSE);
    }
    if times.is_empty() {
        return Err(interrupted());
    }
    let limit = format!("the first lookup took {:.3} ms and is excluded", first as f64 / 1e6);
    Ok(samples(&times, bench.clock_cost_ns, limit))
}

/// Asks once for the addresses, which cannot be given up half-way: a thread does it, and where it
/// does not come back in time it is left behind and ends with dwell.
fn look_up(host: &Host) -> Result<(Ns, Vec<SocketAddr>), Unmeasured> {
    let (tell, told) = mpsc::channel();
    let asked = host.clone();
    let ask = move || {
        let from = monotonic_ns();
        let found = (asked.name.as_str(), asked.port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        // The receiver is gone after the time limit.
        let _ = tell.send((monotonic_ns() - from, found));
    };
    let unseen = |why: String| Unmeasured::Unseen(format!("cannot resolve {}: {why}", host.name));
    let thread = thread::Builder::new().name("ladder-resolve".into()).spawn(ask);
    thread.map_err(|error| unseen(error.to_string()))?;
    match told.recv_timeout(PATIENCE) {
        Ok((_, Ok(addresses))) if addresses.is_empty() => Err(unseen("it has no address".into())),
        Ok((took, Ok(addresses))) => Ok((took, addresses)),
        Ok((_, Err(error))) => Err(unseen(error.to_string())),
        Err(_) => Err(unseen(format!("no answer within {} s", PATIENCE.as_secs()))),
    }
}

/// Connects as often as is polite, to the first address that answers.
fn connect(host: &Host, addresses: &[SocketAddr], bench: &Bench<'_>) -> Result<Connections, Unmeasured> {
    let until = monotonic_ns() + PATIENCE.as_nanos() as Ns;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for to in addresses {
        // All of them together have the patience of one.
        let left = Duration::from_nanos(until.saturating_sub(monotonic_ns()));
        if left.is_zero() {
            break;
        }
        let mut made = Connections { to: *to, connect_ns: Vec::new(), round_trip_ns: Vec::new() };
        match one(&mut made, left) {
            Ok(()) => return Ok(more(made, bench)),
            Err(error) => last = error,
        }
    }
    let port = host.port;
    let why = match last.kind() {
        io::ErrorKind::TimedOut => format!("no answer from port {port} within {} s", PATIENCE.as_secs()),
        io::ErrorKind::ConnectionRefused => {
            format!("connection to port {port} refused\ntry: --host NAME:PORT with a port that it listens on")
        }
        _ => last.to_string(),
    };
    Err(Unmeasured::Unseen(format!("{}: {why}", host.name)))
}

/// The others after the first, as long as they are answered.
fn more(mut made: Connections, bench: &Bench<'_>) -> Connections {
    let until = monotonic_ns() + bench.budget_ns;
    while made.connect_ns.len() < tries(bench) && monotonic_ns() < until && !bench.stopped() {
        thread::sleep(PAUSE);
        if one(&mut made, PATIENCE).is_err() {
            break;
        }
    }
    made
}

/// One connection: made, asked for its round trip, closed.
fn one(made: &mut Connections, patience: Duration) -> io::Result<()> {
    let from = monotonic_ns();
    let stream = TcpStream::connect_timeout(&made.to, patience)?;
    made.connect_ns.push(monotonic_ns() - from);
    made.round_trip_ns.push(sys::tcp::round_trip_ns(stream.as_fd())?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_with_and_without_a_port() {
        for (named, name, port) in [
            ("db.example", "db.example", 443),
            ("db.example:5432", "db.example", 5432),
            ("192.0.2.1", "192.0.2.1", 443),
            ("192.0.2.1:80", "192.0.2.1", 80),
            ("2001:db8::1", "2001:db8::1", 443),
            ("[2001:db8::1]:8080", "2001:db8::1", 8080),
        ] {
            assert_eq!(host(named), Ok(Host { name: name.into(), port }), "{named}");
        }
        for wrong in ["", "db.example:", "db.example:0", "db.example:http", ":443", "[]"] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }
}
