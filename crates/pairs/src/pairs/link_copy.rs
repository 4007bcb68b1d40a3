//! A report over a log that has grown, copied over a slow link: all of it, or what is new.

use crate::download::{Progress, Url, download};
use crate::server::Service;
use crate::work::compute;
use crate::{Need, Pair, Run, Setting, Size, Way, Writing};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "link-copy",
    title: "a log copied over a link at its limit: all of it, or what is new",
    cause: Some("network-throughput"),
    // A rate that does not change takes a second to tell, at 50 Mbit/s 6 MB.
    size: Size { unit: "MB", usual: 7, least: 6, most: 9 },
    ways: &[
        Way { name: "whole", what: "the whole file each time", run: Run::Native(whole) },
        Way { name: "new", what: "the fiftieth that is new", run: Run::Native(new) },
    ],
    source: include_str!("link_copy.rs"),
    needs: &[Need::Server(Service::Link), Need::Root],
    lesson: "The link carries no more than its speed, here 50 million bits a second, and the program waits for them; CPU and disk are idle. \
             More connections or threads would share the same link. What helps is to send less: only what changed \
             (rsync, a range, a delta), compressed (zstd, gzip), or from a copy that is nearer; or a faster link. With a \
             fiftieth of the bytes the link has most of the time nothing to do, and what is left is the report itself.",
    writing: Some(Writing {
        title: "D. Spinellis, Code Quality, section 4.1",
        theirs: "cp over NFS: 5.68 s real, 0.32 s CPU, 94 % waiting; 7.9 Mb/s of a half-duplex link of 10 Mb/s",
    }),
};

const MB: u64 = 1_000_000;

fn whole(setting: &Setting) -> io::Result<()> {
    copy(setting, 0)?;
    report(setting);
    Ok(())
}

fn new(setting: &Setting) -> io::Result<()> {
    let kept = setting.size * MB * 49 / 50;
    copy(setting, kept)?;
    report(setting);
    Ok(())
}

/// What follows after this many bytes, which the program has from the last time.
fn copy(setting: &Setting, kept: u64) -> io::Result<()> {
    let bytes = setting.size * MB;
    let url = Url::read(&format!("http://{}:{}/{bytes}", setting.host, setting.port))?;
    download(&url, kept, &Progress::new(1))?;
    Ok(())
}

/// Over the whole log: some 5 ns for a byte, as to count its lines and words takes.
fn report(setting: &Setting) {
    compute(setting.size * 5_000_000);
}
