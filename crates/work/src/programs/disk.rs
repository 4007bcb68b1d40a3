//! Waits on a disk: synced writes, and reads past the page cache.
#![allow(unsafe_code)]

use crate::clock::{self, Spent};
use crate::{Failure, Program, Truth, number, process};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "disk-write",
        what: "writes [MIB=64] to a new file in DIR, and syncs it",
        truth: "ns.written, ns.synced, ns.removed",
        run: write,
    },
    Program {
        name: "disk-read",
        what: "reads [MIB=16] of a new file in DIR in blocks of 64 KiB, past the cache",
        truth: "ns.written, ns.synced, ns.read, ns.removed; counts.reads",
        run: read,
    },
];

const BLOCK: usize = 64 * 1024;

/// Aligned as every disk wants it.
#[repr(align(4096))]
struct Block([u8; BLOCK]);

fn scratch(args: &[String]) -> Result<std::path::PathBuf, Failure> {
    let dir = args.first().ok_or("it takes a directory on a disk")?;
    Ok(Path::new(dir).join(format!("dwell-work-{}", std::process::id())))
}

/// Writes and syncs: how long each took.
fn fill(path: &Path, mib: u64) -> std::io::Result<(Spent, Spent)> {
    let mut file = File::create(path)?;
    let block = vec![0x5a; 1024 * 1024];
    let (written, writing) = clock::time(|| (0..mib).try_for_each(|_| file.write_all(&block)));
    written?;
    let (synced, syncing) = clock::time(|| file.sync_all());
    synced.map(|()| (writing, syncing))
}

/// Removes the file, for which some filesystems wait until the disk has discarded its blocks.
fn remove(path: &Path) -> std::io::Result<Spent> {
    let (removed, removing) = clock::time(|| std::fs::remove_file(path));
    removed.map(|()| removing)
}

fn write(args: &[String]) -> Result<Option<Truth>, Failure> {
    let path = scratch(args)?;
    let filled = fill(&path, number(args, 1, 64)?);
    let removed = remove(&path)?;
    let (written, synced) = filled?;
    Ok(Some(
        Truth::new()
            .spent("written", written)
            .spent("synced", synced)
            .spent("removed", removed)
            .id("main", process::tid()),
    ))
}

fn read(args: &[String]) -> Result<Option<Truth>, Failure> {
    let path = scratch(args)?;
    let mib = number(args, 1, 16)?;
    let done = fill(&path, mib).and_then(|filled| past_the_cache(&path).map(|read| (filled, read)));
    let removed = remove(&path)?;
    let ((written, synced), (reads, spent)) = done?;
    Ok(Some(
        Truth::new()
            .spent("written", written)
            .spent("synced", synced)
            .spent("read", spent)
            .spent("removed", removed)
            .count("reads", reads)
            .id("main", process::tid()),
    ))
}

fn past_the_cache(path: &Path) -> std::io::Result<(u64, Spent)> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    let mut block = Box::new(Block([0; BLOCK]));
    let (reads, spent) = clock::time(|| {
        let mut reads = 0;
        while file.read(&mut block.0)? > 0 {
            reads += 1;
        }
        Ok(reads)
    });
    reads.map(|reads: u64| (reads, spent))
}
