//! A request that is written in two parts, or in one.

use crate::server::Service;
use crate::work::compute;
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io::{self, Read, Write};
use std::net::TcpStream;

pub(super) static PAIR: Pair = Pair {
    name: "parts",
    title: "a request written in two parts, or in one",
    cause: Some("delayed-ack"),
    size: Size { unit: "requests", usual: 20, least: 10, most: 20 },
    ways: &[
        Way { name: "two", what: "head and body written apart", run: Run::Native(two) },
        Way { name: "one", what: "both in one write", run: Run::Native(one) },
    ],
    source: include_str!("parts.rs"),
    needs: &[Need::Server(Service::Requests)],
    lesson: "TCP keeps a small second part back until the first one is acknowledged (Nagle's algorithm), and the other end \
             keeps its acknowledgement back, hoping for an answer to send it with: on Linux for 40 ms at least. Write a \
             request with one call (a buffer, `writev`). `TCP_NODELAY` on the socket also ends the wait, and costs \
             a packet for each part.",
    writing: None,
};

/// Between two requests, as a program that does something with the answer.
const ROUNDS: u64 = 1_000_000;

fn two(setting: &Setting) -> io::Result<()> {
    let mut peer = TcpStream::connect((setting.host, setting.port))?;
    for _ in 0..setting.size {
        peer.write_all(&[0; 4])?;
        peer.write_all(&[0; 4])?;
        peer.read_exact(&mut [0; 8])?;
        compute(ROUNDS);
    }
    Ok(())
}

fn one(setting: &Setting) -> io::Result<()> {
    let mut peer = TcpStream::connect((setting.host, setting.port))?;
    for _ in 0..setting.size {
        peer.write_all(&[0; 8])?;
        peer.read_exact(&mut [0; 8])?;
        compute(ROUNDS);
    }
    Ok(())
}
