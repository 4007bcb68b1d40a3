//! A copy of a file that has grown over a slow link: all of it, or what is new.

use crate::download::{Progress, Url, download};
use crate::server::Service;
use crate::{Need, Pair, Run, Setting, Size, Way, Writing};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "link-copy",
    title: "a copy over a link at its limit: all of it, or what is new",
    cause: Some("network-throughput"),
    size: Size { unit: "MB", usual: 6, least: 3, most: 11 },
    ways: &[
        Way { name: "whole", what: "the whole file each time", run: Run::Native(whole) },
        Way { name: "new", what: "the third that is new", run: Run::Native(new) },
    ],
    source: include_str!("link_copy.rs"),
    needs: &[Need::Server(Service::Link), Need::Root],
    lesson: "The link carries so many bits a second, here 50 million, and the program waits for them; CPU and disk are idle. \
             More connections or threads would share the same link. What helps is to send less: only what changed \
             (rsync, a range, a delta), compressed (zstd, gzip), or from a copy that is nearer; or a faster link.",
    writing: Some(Writing {
        title: "D. Spinellis, Code Quality, section 4.1",
        theirs: "cp over NFS: 5.68 s real, 0.32 s CPU, 94 % waiting; 7.9 Mb/s of a half-duplex link of 10 Mb/s",
    }),
};

const MB: u64 = 1_000_000;

fn whole(setting: &Setting) -> io::Result<()> {
    fetch(setting, 0)
}

fn new(setting: &Setting) -> io::Result<()> {
    let kept = setting.size * MB * 2 / 3;
    fetch(setting, kept)
}

/// What follows after so many bytes, which the program has from the last time.
fn fetch(setting: &Setting, kept: u64) -> io::Result<()> {
    let bytes = setting.size * MB;
    let url = Url::read(&format!("http://{}:{}/{bytes}", setting.host, setting.port))?;
    download(&url, kept, &Progress::new(1))?;
    Ok(())
}
