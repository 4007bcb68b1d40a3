//! A healthy program: it keeps one connection, and all its requests are under way at once.

use crate::peer::{connected, receive, send};
use crate::server::Service;
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "pipeline",
    title: "all requests under way on one connection",
    cause: None,
    size: Size { unit: "requests", usual: 300, least: 120, most: 300 },
    ways: &[Way { name: "plain", what: "all requests, and then all answers", run: Run::Native(plain) }],
    source: include_str!("pipeline.rs"),
    needs: &[Need::Server(Service::Requests)],
    lesson: "The program waits for its server nearly all of the time, and has no more to send: the server has all requests \
             and answers one after the other. What would help is a faster server, or a second one. That it waits is its \
             class; it is no cause of the program's.",
    writing: None,
};

/// What the server takes for each.
const US: u64 = 1_500;

fn plain(setting: &Setting) -> io::Result<()> {
    let peer = connected(setting)?;
    for _ in 0..setting.size {
        send(&peer, US)?;
    }
    (0..setting.size).try_for_each(|_| receive(&peer))
}
