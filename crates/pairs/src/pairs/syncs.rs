//! Records that the disk confirms one by one, or all together.

use crate::work::{compute, filled};
use crate::{Pair, Run, Setting, Size, Way};
use std::fs::{self, File};
use std::io::{self, Write};

pub(super) static PAIR: Pair = Pair {
    name: "syncs",
    title: "an fdatasync for each record, or one for all",
    cause: Some("sync-writes"),
    size: Size { unit: "records", usual: 1_500, least: 1_000, most: 2_000 },
    ways: &[
        Way { name: "each", what: "an fdatasync for each record", run: Run::Native(each) },
        Way { name: "all", what: "one fdatasync for all records", run: Run::Native(all) },
    ],
    source: include_str!("syncs.rs"),
    needs: &[],
    lesson: "fsync and fdatasync return when the disk has confirmed what was written: a flush of its cache, and often a commit \
             of the file system's journal. That takes as long for one record as for a thousand, so records that may be lost \
             together are confirmed together: one transaction around many statements, group commit.",
    writing: None,
};

fn each(setting: &Setting) -> io::Result<()> {
    let record = filled(200);
    let mut file = File::create("records")?;
    for _ in 0..setting.size {
        compute(100_000);
        file.write_all(&record)?;
        file.sync_data()?;
    }
    fs::remove_file("records")
}

fn all(setting: &Setting) -> io::Result<()> {
    let record = filled(200);
    let mut file = File::create("records")?;
    for _ in 0..setting.size {
        compute(100_000);
        file.write_all(&record)?;
    }
    file.sync_data()?;
    fs::remove_file("records")
}
