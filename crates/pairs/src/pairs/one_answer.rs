//! A healthy program: it waits for one answer.

use crate::peer::{ask, connected};
use crate::server::Service;
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "one-answer",
    title: "one request that the server takes long for",
    cause: None,
    size: Size { unit: "ms", usual: 500, least: 200, most: 500 },
    ways: &[Way { name: "plain", what: "a request and its answer", run: Run::Native(plain) }],
    source: include_str!("one_answer.rs"),
    needs: &[Need::Server(Service::Requests)],
    lesson: "One wait, for one answer of another program: nothing here can overlap or be left out. Where the time goes is \
             the server's question. Run dwell there.",
    writing: None,
};

fn plain(setting: &Setting) -> io::Result<()> {
    ask(&connected(setting)?, setting.size * 1_000)
}
