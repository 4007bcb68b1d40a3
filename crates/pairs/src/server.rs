//! The peers of programs that need one, outside of their own processes, until their standard input
//! ends.
//!
//! On a TCP connection a request of 8 bytes, a number of microseconds in the byte order of the
//! machine, is answered with the same 8 bytes after that time; one that begins with `GET ` is HTTP
//! ([`http`]). Names are answered over UDP ([`names`]), and a server may be behind a link of its
//! own ([`link`]).

pub mod http;
mod link;
mod names;

use crate::{Served, local};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::process;
use std::thread;
use std::time::Duration;

/// Longest that a request may ask for.
const LONGEST_US: u64 = 5_000_000;

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Requests and downloads, on loopback.
    Requests,
    /// Requests and downloads, on any address of the namespace: the far end of [`Service::Link`].
    Anywhere,
    /// Requests and downloads, behind a link of a known rate. Needs root.
    Link,
    /// Names of addresses, on loopback; on the port of DNS where that is allowed.
    Names,
}

impl Service {
    /// All of them.
    pub const ALL: [Service; 4] = [Service::Requests, Service::Anywhere, Service::Link, Service::Names];

    /// On the command line.
    pub fn name(self) -> &'static str {
        match self {
            Service::Requests => "requests",
            Service::Anywhere => "anywhere",
            Service::Link => "link",
            Service::Names => "names",
        }
    }

    /// The programs in `$PATH` that it needs.
    pub fn programs(self) -> &'static [&'static str] {
        if self == Service::Link { link::PROGRAMS } else { &[] }
    }
}

/// Serves until standard input ends; names after the chosen latency. At this address and port, or
/// where there is room; `say` gets the line that tells where.
///
/// # Errors
/// If there is no such port, or no link.
pub fn serve(
    service: Service,
    how: Served,
    at: Option<SocketAddrV4>,
    say: impl FnOnce(&str) -> io::Result<()>,
) -> io::Result<()> {
    let port = at.map_or(0, |at| at.port());
    match service {
        Service::Requests => requests(Ipv4Addr::LOCALHOST, port, say),
        Service::Anywhere => requests(Ipv4Addr::UNSPECIFIED, port, say),
        Service::Link => link::serve(at, say),
        Service::Names => names::serve(how.latency_ms, at, say),
    }
}

fn requests(at: Ipv4Addr, port: u16, say: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
    let listener = TcpListener::bind((at, port))?;
    until_input_ends();
    let told_at = listener.local_addr()?;
    local::serve(told_at.port(), plain)?;
    told(told_at, say)?;
    for connection in listener.incoming().flatten() {
        thread::spawn(move || answer(connection));
    }
    Ok(())
}

fn told(at: SocketAddr, say: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
    say(&format!("{at}\n"))
}

fn until_input_ends() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0);
    });
}

fn answer(connection: TcpStream) -> io::Result<()> {
    let mut seen = [0; 4];
    if connection.peek(&mut seen)? == seen.len() && seen == *b"GET " {
        return http::answer(&connection);
    }
    plain(connection)
}

fn plain(mut connection: impl Read + Write) -> io::Result<()> {
    let mut request = [0; 8];
    loop {
        connection.read_exact(&mut request)?;
        let us = u64::from_ne_bytes(request).min(LONGEST_US);
        if us > 0 {
            thread::sleep(Duration::from_micros(us));
        }
        connection.write_all(&request)?;
    }
}
