//! Requests one after the other, or eight at a time.

use crate::peer::{ask, connected, receive, send};
use crate::server::Service;
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "requests",
    title: "requests to a server one by one, or eight at a time",
    cause: Some("serial-requests"),
    size: Size { unit: "requests", usual: 160, least: 70, most: 160 },
    ways: &[
        Way { name: "one-by-one", what: "each after the answer to the last", run: Run::Native(one_by_one) },
        Way { name: "eight", what: "eight under way at a time", run: Run::Native(eight) },
    ],
    source: include_str!("requests.rs"),
    needs: &[Need::Server(Service::Requests)],
    lesson: "A request that is waited for costs the round trip and the server's own time, here 3 ms, and meanwhile neither \
             side does anything for the next one. If they do not need each other's answers, send several before you \
             wait: k at a time take about a k-th, until the server or the link is busy. One request for many items is \
             better still.",
    writing: None,
};

/// What the server takes for each.
const US: u64 = 3_000;

fn one_by_one(setting: &Setting) -> io::Result<()> {
    let peer = connected(setting)?;
    for _ in 0..setting.size {
        ask(&peer, US)?;
    }
    Ok(())
}

fn eight(setting: &Setting) -> io::Result<()> {
    let peers = (0..8).map(|_| connected(setting)).collect::<io::Result<Vec<_>>>()?;
    for _ in 0..setting.size.div_ceil(8) {
        peers.iter().try_for_each(|peer| send(peer, US))?;
        peers.iter().try_for_each(receive)?;
    }
    Ok(())
}
