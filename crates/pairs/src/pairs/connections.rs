//! A session for each table that is fetched, or one for all of them.

use crate::peer::{connected, fetch};
use crate::server::Service;
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "connections",
    title: "a connection and a login for each table, or one for all",
    cause: Some("connection-churn"),
    size: Size { unit: "tables", usual: 300, least: 130, most: 300 },
    ways: &[
        Way { name: "new", what: "a connection for each table", run: Run::Native(new) },
        Way { name: "kept", what: "one connection for all", run: Run::Native(kept) },
    ],
    source: include_str!("connections.rs"),
    needs: &[Need::Server(Service::Requests)],
    lesson: "Before the first question a connection takes a round trip, a socket, often a process at the other end, and a \
             login (TLS takes its own round trips): here 1 ms, for tables that take less. None of it is the work. \
             Keep the connection: a session or client object in place of a function, a pool for databases, keep-alive \
             for HTTP.",
    writing: None,
};

const LOGIN: &str = "/0?latency_ms=1";
const TABLE: &str = "/160000";

fn new(setting: &Setting) -> io::Result<()> {
    for _ in 0..setting.size {
        let peer = connected(setting)?;
        fetch(&peer, LOGIN)?;
        fetch(&peer, TABLE)?;
    }
    Ok(())
}

fn kept(setting: &Setting) -> io::Result<()> {
    let peer = connected(setting)?;
    fetch(&peer, LOGIN)?;
    for _ in 0..setting.size {
        fetch(&peer, TABLE)?;
    }
    Ok(())
}
