//! One byte there and back over a connection, and a connection for nothing.

use super::about_loopback;
use super::loopback::{CONNECTIONS, ENDS, PATIENCE, Server, a_few, limits, refused};
use crate::bench::Bench;
use crate::{Rung, RungDescription, Samples, Unmeasured};
use std::io::{self, Read, Write};
use sys::clock::monotonic_ns;

pub(super) fn round_trip() -> Rung {
    let about = RungDescription {
        excludes: "any network; and idle CPUs' deeper sleep, since both ends are woken again at once".into(),
        method: format!(
            "write and read of one byte over blocking sockets with TCP_NODELAY, {ENDS}; there and back"
        ),
        source: "lmbench's lat_tcp; sockperf with --full-rtt".into(),
        ..about_loopback("tcp-round-trip", "one byte over TCP to another thread of this host and back")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(measure_round_trip) }
}

fn measure_round_trip(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let server = Server::start(bench, |mut stream| {
        let mut byte = [0];
        if stream.set_nodelay(true).is_ok() {
            while matches!(stream.read(&mut byte), Ok(1)) && stream.write_all(&byte).is_ok() {}
        }
    })?;
    let mut stream = server.connect()?;
    let mut byte = [1];
    let mut trip = || -> io::Result<()> {
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)
    };
    let samples = bench
        .sample(|ops| (0..ops).try_for_each(|_| trip()).map_err(|error| refused("send and receive", &error)));
    // Before its server, which waits for the end of the connection.
    drop(stream);
    Ok(Samples { limits: limits(bench), ..samples? })
}

pub(super) fn connect() -> Rung {
    let about = RungDescription {
        excludes: "any network, and whatever is then sent".into(),
        method: format!(
            "socket, connect, accept and close by the other end, the end of file here, and close: {ENDS}, {CONNECTIONS} times \
             at most, since ports of closed connections stay taken for a minute"
        ),
        source: "lmbench's lat_connect, with the other end's part".into(),
        ..about_loopback("tcp-connect", "a TCP connection within this host: made, accepted, closed")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(measure_connect) }
}

fn measure_connect(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let server = Server::start(bench, drop)?;
    let once = || -> io::Result<u64> {
        let from = monotonic_ns();
        let mut stream = server.dial()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let end = stream.read(&mut [0])?;
        drop(stream);
        if end != 0 { Err(io::Error::other("unexpected data")) } else { Ok(monotonic_ns() - from) }
    };
    let samples = a_few(bench, CONNECTIONS, || once().map_err(|error| refused("connect", &error)))?;
    Ok(Samples { limits: limits(bench), ..samples })
}
