//! One datagram there and one back.

use super::about_loopback;
use super::loopback::{ANY_PORT, ENDS, PATIENCE, limits, other_cpu, refused};
use crate::bench::Bench;
use crate::cpu::pin::Pinned;
use crate::{Rung, RungDescription, Samples, Unmeasured};
use std::io;
use std::net::UdpSocket;
use std::thread;

pub(super) fn round_trip() -> Rung {
    let about = RungDescription {
        excludes: "any network; and idle CPUs' deeper sleep, since both ends are woken again at once".into(),
        method: format!("send and recv of one byte over connected, blocking sockets, {ENDS}; there and back"),
        source: "lmbench's lat_udp; sockperf with --full-rtt".into(),
        ..about_loopback("udp-round-trip", "one byte over UDP to another thread of this host and back")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(measure) }
}

fn sockets() -> io::Result<(UdpSocket, UdpSocket)> {
    let (ours, theirs) = (UdpSocket::bind(ANY_PORT)?, UdpSocket::bind(ANY_PORT)?);
    ours.connect(theirs.local_addr()?)?;
    theirs.connect(ours.local_addr()?)?;
    ours.set_read_timeout(Some(PATIENCE))?;
    theirs.set_read_timeout(Some(PATIENCE))?;
    Ok((ours, theirs))
}

fn measure(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let (ours, theirs) = sockets().map_err(|error| refused("make sockets", &error))?;
    let cpu = other_cpu(bench);
    let echo = move || {
        let _pinned = Pinned::to(cpu);
        let mut byte = [0];
        // An empty datagram ends it, or nothing for as long as anybody would wait.
        while matches!(theirs.recv(&mut byte), Ok(1)) && theirs.send(&byte).is_ok() {}
    };
    let other = thread::Builder::new().name("ladder-echo".into()).spawn(echo);
    let other = other.map_err(|error| refused("start a thread", &error))?;
    let mut byte = [1];
    let mut trip = || -> io::Result<()> {
        ours.send(&byte)?;
        ours.recv(&mut byte).map(drop)
    };
    let samples = bench.sample(|ops| {
        (0..ops).try_for_each(|_| trip()).map_err(|error| refused("send and receive datagrams", &error))
    });
    // If it does not arrive, the echo's own patience ends it.
    let _ = ours.send(&[]);
    let _ = other.join();
    Ok(Samples { limits: limits(bench), ..samples? })
}
