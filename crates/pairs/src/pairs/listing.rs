//! A recursive listing, with and without a question for each file.

use crate::work::{keep, tree};
use crate::{Pair, Run, Setting, Size, Way, Writing};
use std::path::Path;
use std::{fs, io};

pub(super) static PAIR: Pair = Pair {
    name: "listing",
    title: "a recursive listing with a stat for each file, or without",
    cause: Some("metadata-calls"),
    size: Size { unit: "names", usual: 300_000, least: 150_000, most: 300_000 },
    ways: &[
        Way { name: "long", what: "each file is asked for its size", run: Run::Native(long) },
        Way { name: "names", what: "names and kinds as they are listed", run: Run::Native(names) },
    ],
    source: include_str!("listing.rs"),
    needs: &[],
    lesson: "A directory is listed hundreds of names at a time, each with its kind: no question is needed to know where there \
             are directories to go on to. Sizes, times and owners are in the inodes, and each of these is a system call of its \
             own. Ask for them where they are shown.",
    writing: Some(Writing {
        title: "Code Quality, chapter 4.1 (Spinellis)",
        theirs: "a long recursive listing of 7,263 files made 18,289 calls and took 4.59 s, without -l 1.08 s",
    }),
};

/// In the tree, which is listed as often as need be.
const FILES: u64 = 5_000;

fn long(setting: &Setting) -> io::Result<()> {
    tree("tree", FILES)?;
    for _ in 0..setting.size.div_ceil(FILES) {
        keep(sizes(Path::new("tree"))?);
    }
    fs::remove_dir_all("tree")
}

fn names(setting: &Setting) -> io::Result<()> {
    tree("tree", FILES)?;
    for _ in 0..setting.size.div_ceil(FILES) {
        keep(files(Path::new("tree"))?);
    }
    fs::remove_dir_all("tree")
}

/// The bytes of all files.
fn sizes(directory: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += if metadata.is_dir() { sizes(&entry.path())? } else { metadata.len() };
    }
    Ok(sum)
}

/// How many there are.
fn files(directory: &Path) -> io::Result<u64> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        count += if entry.file_type()?.is_dir() { files(&entry.path())? } else { 1 };
    }
    Ok(count)
}
