//! Waits for any of several things: `poll` and `epoll`, which end by readiness or by timeout.
#![allow(unsafe_code)]

use crate::board::Board;
use crate::clock::{self, MS};
use crate::{Failure, Program, Truth, number, process};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "epoll-server",
        what: "[N=10] requests to a child over loopback that sleeps [MS=20] on each, awaited by epoll",
        truth: "ns.waited, ns.served; ids main, server",
        run: epoll_server,
    },
    Program {
        name: "epoll-timeout",
        what: "epoll on a silent pipe until its timeout [MS=100]",
        truth: "ns.waited",
        run: epoll_timeout,
    },
    Program {
        name: "poll-timeout",
        what: "poll on nothing until its timeout [MS=100]",
        truth: "ns.waited",
        run: poll_timeout,
    },
    Program {
        name: "poll-pipe",
        what: "poll on a pipe that a child feeds after it slept [MS=100]",
        truth: "ns.waited, ns.passed; ids main, feeder",
        run: poll_pipe,
    },
];

fn epoll_of(what: &impl AsRawFd) -> std::io::Result<OwnedFd> {
    // SAFETY: takes and keeps no memory.
    let epoll = process::descriptor(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    // SAFETY: both are open descriptors; the kernel copies `event`.
    process::check(unsafe {
        libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, what.as_raw_fd(), &raw mut event)
    })?;
    Ok(epoll)
}

/// Waits on an epoll, and returns how many descriptors were ready.
fn epoll_wait(epoll: &OwnedFd, timeout_ms: i32) -> std::io::Result<i32> {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event, and one is asked for.
    process::check(unsafe { libc::epoll_wait(epoll.as_raw_fd(), &raw mut event, 1, timeout_ms) })
}

fn poll(fds: &mut [libc::pollfd], timeout_ms: i32) -> std::io::Result<i32> {
    // SAFETY: the pointer and the length are of one slice.
    process::check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout_ms) })
}

fn epoll_server(args: &[String]) -> Result<Option<Truth>, Failure> {
    let (requests, ns) = (number(args, 0, 10)?, number(args, 1, 20)? * MS);
    let board = Board::new()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let server = process::fork(|| {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let _ = stream.set_nodelay(true);
        for _ in 0..requests {
            if stream.read_exact(&mut [0]).is_err() {
                return;
            }
            board.add_spent(0, clock::sleep(ns));
            let _ = stream.write_all(b"x");
        }
    })?;
    let mut stream = TcpStream::connect(listener.local_addr()?)?;
    stream.set_nodelay(true)?;
    let epoll = epoll_of(&stream)?;
    let mut waited = clock::Spent::default();
    for _ in 0..requests {
        stream.write_all(b"x")?;
        let (ready, spent) = clock::time(|| epoll_wait(&epoll, -1));
        ready?;
        stream.read_exact(&mut [0])?;
        waited.wall_ns += spent.wall_ns;
        waited.cpu_ns += spent.cpu_ns;
    }
    process::wait(server)?;
    Ok(Some(
        Truth::new()
            .spent("waited", waited)
            .spent("served", board.spent(0))
            .id("main", process::tid())
            .id("server", server as u64),
    ))
}

fn epoll_timeout(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ms = number(args, 0, 100)? as i32;
    let (reader, _writer) = process::pipe()?;
    let epoll = epoll_of(&reader)?;
    let (ready, waited) = clock::time(|| epoll_wait(&epoll, ms));
    if ready? != 0 {
        return Err("a silent pipe was ready".into());
    }
    Ok(Some(Truth::new().spent("waited", waited).id("main", process::tid())))
}

fn poll_timeout(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ms = number(args, 0, 100)? as i32;
    let (ready, waited) = clock::time(|| poll(&mut [], ms));
    ready?;
    Ok(Some(Truth::new().spent("waited", waited).id("main", process::tid())))
}

fn poll_pipe(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 100)? * MS;
    let board = Board::new()?;
    let (reader, mut writer) = process::pipe()?;
    let feeder = process::fork(|| {
        board.add_spent(0, clock::sleep(ns));
        let _ = writer.write_all(b"x");
    })?;
    let mut fds = [libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
    let (ready, waited) = clock::time(|| poll(&mut fds, -1));
    ready?;
    process::wait(feeder)?;
    Ok(Some(
        Truth::new()
            .spent("waited", waited)
            .spent("passed", board.spent(0))
            .id("main", process::tid())
            .id("feeder", feeder as u64),
    ))
}
