//! A healthy program: it lists directories, and asks for no file in them.

use crate::work::{keep, tree};
use crate::{Pair, Run, Setting, Size, Way};
use std::{fs, io};

pub(super) static PAIR: Pair = Pair {
    name: "plain-listing",
    title: "directories listed without a stat",
    cause: None,
    size: Size { unit: "names", usual: 1_000_000, least: 600_000, most: 1_200_000 },
    ways: &[Way { name: "names", what: "names as they are listed", run: Run::Native(names) }],
    source: include_str!("plain_listing.rs"),
    needs: &[],
    lesson: "Hundreds of names come with each call, with their kinds. There is no call that could be left out.",
    writing: None,
};

/// In the tree, which is listed as often as need be.
const FILES: u64 = 5_000;

fn names(setting: &Setting) -> io::Result<()> {
    tree("tree", FILES)?;
    for _ in 0..setting.size.div_ceil(FILES) {
        for directory in fs::read_dir("tree")? {
            keep(fs::read_dir(directory?.path())?.count());
        }
    }
    fs::remove_dir_all("tree")
}
