//! Records of a file that is larger than the memory there is for it, and that is checked: as they
//! are asked for after that, or block by block meanwhile.

use crate::group::Group;
use crate::work::{filled, forget, keep, random};
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

pub(super) static PAIR: Pair = Pair {
    name: "short-memory",
    title: "lookups in a file larger than memory, as they come or in one pass",
    cause: Some("memory-pressure"),
    // How often pages come back is counted from look to look, of which there are eleven a second.
    size: Size { unit: "lookups", usual: 12_000, least: 8_000, most: 16_000 },
    ways: &[
        Way { name: "as-they-come", what: "in the order of the questions", run: Run::Native(as_they_come) },
        Way { name: "one-pass", what: "all of a block while it is there", run: Run::Native(one_pass) },
    ],
    source: include_str!("short_memory.rs"),
    needs: &[Need::Root],
    lesson: "A control group may use 8 MiB here, and the file has 32: most of what is asked for was in memory once, when \
             the file was checked, had to make room, and comes from the disk again. More memory than the file has would help. \
             So does another order: who does all work on a block while it is there reads each block once, and the kernel reads \
             ahead. What is read once need not stay: with posix_fadvise(POSIX_FADV_DONTNEED) the kernel never has to look for \
             memory.",
    writing: None,
};

const LIMIT: &str = "8388608";
const BLOCK: usize = 4096;
const BLOCKS: u64 = 8192;
const A_MIB: u64 = 256;

fn as_they_come(setting: &Setting) -> io::Result<()> {
    let (file, _group) = short()?;
    for block in 0..BLOCKS {
        check(&file, block)?;
    }
    for block in questions(setting.size) {
        look_up(&file, block)?;
    }
    fs::remove_file("blocks")
}

fn one_pass(setting: &Setting) -> io::Result<()> {
    let (file, _group) = short()?;
    let mut all: Vec<u64> = questions(setting.size).collect();
    all.sort_unstable();
    let mut asked = all.into_iter().peekable();
    for block in 0..BLOCKS {
        check(&file, block)?;
        while asked.next_if_eq(&block).is_some() {
            look_up(&file, block)?;
        }
        if block % A_MIB == 0 {
            forget(&file)?;
        }
    }
    fs::remove_file("blocks")
}

/// The blocks that are asked for.
fn questions(many: u64) -> impl Iterator<Item = u64> {
    random().take(many as usize).map(|number| number % BLOCKS)
}

fn check(file: &File, block: u64) -> io::Result<()> {
    look_up(file, block)
}

fn look_up(file: &File, block: u64) -> io::Result<()> {
    let mut bytes = [0; BLOCK];
    file.read_exact_at(&mut bytes, block * BLOCK as u64)?;
    keep(bytes[7]);
    Ok(())
}

/// The file, of which nothing is in memory, and the group that this process is in.
fn short() -> io::Result<(File, Group)> {
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open("blocks")?;
    let some = filled(BLOCK * 256);
    for _ in 0..BLOCKS / 256 {
        file.write_all(&some)?;
    }
    file.sync_all()?;
    forget(&file)?;
    let group = Group::new("memory")?;
    group.limit(("memory.limit_in_bytes", LIMIT), ("memory.max", LIMIT))?;
    group.enter()?;
    Ok((file, group))
}
