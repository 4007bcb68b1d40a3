//! Another program that is slow to answer: asked for each record, or for a hundred at a time.

use crate::local;
use crate::server::Service;
use crate::work::compute;
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "local-peer",
    title: "another program takes 2 ms for a piece, or for a hundred",
    cause: Some("pipe-peer"),
    size: Size { unit: "pieces", usual: 300, least: 150, most: 300 },
    ways: &[
        Way { name: "each", what: "each piece is asked for", run: Run::Native(each) },
        Way { name: "hundreds", what: "a hundred pieces are asked for at once", run: Run::Native(hundreds) },
    ],
    source: include_str!("local_peer.rs"),
    needs: &[Need::Server(Service::Requests)],
    lesson: "This program has nothing to do while the other one works, and making it faster changes nothing. Look at the other \
             end: whether it can be faster, work ahead, or give more for each question, as here.",
    writing: None,
};

/// Pieces that the other end has ready after one question, in the fast way.
const AT_ONCE: u64 = 100;

fn each(setting: &Setting) -> io::Result<()> {
    let mut peer = local::connect(setting.port)?;
    for _ in 0..setting.size {
        local::ask(&mut peer, 2000)?;
        compute(500_000);
    }
    Ok(())
}

fn hundreds(setting: &Setting) -> io::Result<()> {
    let mut peer = local::connect(setting.port)?;
    for at in 0..setting.size {
        if at % AT_ONCE == 0 {
            local::ask(&mut peer, 2000)?;
        }
        compute(500_000);
    }
    Ok(())
}
