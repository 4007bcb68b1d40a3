//! A new connection for each query, or one that is kept.

use crate::peer::{ask, connected};
use crate::server::Service;
use crate::work::in_threads;
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "connections",
    title: "a connection and a login for each query, or one that is kept",
    cause: Some("connection-churn"),
    size: Size { unit: "queries", usual: 1_000, least: 500, most: 3_000 },
    ways: &[
        Way { name: "new", what: "a connection for each query", run: Run::Native(new) },
        Way { name: "kept", what: "one connection for all queries of a thread", run: Run::Native(kept) },
    ],
    source: include_str!("connections.rs"),
    needs: &[Need::Server(Service::Requests)],
    lesson: "Before the first query a connection takes a round trip, a socket and often a process at the other end, and a \
             login (TLS takes its own round trips): here 1 ms, for queries of 0.2 ms. None of it is the work. Keep the \
             connection: a session or client object in place of a function, a pool for databases, keep-alive for HTTP.",
    writing: None,
};

/// What the server takes.
const LOGIN_US: u64 = 1_000;
const QUERY_US: u64 = 200;
const THREADS: usize = 4;

fn new(setting: &Setting) -> io::Result<()> {
    in_threads(THREADS, &|| {
        for _ in 0..setting.size / THREADS as u64 {
            let peer = connected(setting)?;
            ask(&peer, LOGIN_US)?;
            ask(&peer, QUERY_US)?;
        }
        Ok(())
    })
}

fn kept(setting: &Setting) -> io::Result<()> {
    in_threads(THREADS, &|| {
        let peer = connected(setting)?;
        ask(&peer, LOGIN_US)?;
        for _ in 0..setting.size / THREADS as u64 {
            ask(&peer, QUERY_US)?;
        }
        Ok(())
    })
}
