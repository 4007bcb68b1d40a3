//! The same bytes in one file, or in thousands: written and read back from memory.

use crate::work::{filled, fresh_directory};
use crate::{Pair, Run, Setting, Size, Way, Writing};
use std::fs::{self, File};
use std::io::{self, Read, Write};

pub(super) static PAIR: Pair = Pair {
    name: "small-files",
    title: "records of 10 kB in a file each, or all in one",
    cause: Some("small-files"),
    size: Size { unit: "files", usual: 4000, least: 2500, most: 5000 },
    ways: &[
        Way { name: "many", what: "a file for each 10 kB", run: Run::Native(many) },
        Way { name: "one", what: "all of it in one file", run: Run::Native(one) },
    ],
    source: include_str!("small_files.rs"),
    needs: &[],
    lesson: "A file is a name in a directory, an inode, and pages. To create, open and close one takes the kernel as \
             long as to copy tens of kilobytes, and each is paid again for the next file. One file with an index, an archive, \
             or a database holds the same records and is opened once.",
    writing: Some(Writing {
        title: "Understanding latency, a course on optimising Python",
        theirs: "writing 10 MB as 1,000 files took 75 times as long as one file, reading 524 times (SSD)",
    }),
};

/// Of a record.
const BYTES: usize = 10_000;

fn many(setting: &Setting) -> io::Result<()> {
    let (record, mut bytes) = (filled(BYTES), Vec::new());
    let records = fresh_directory("records")?;
    for at in 0..setting.size {
        File::create(format!("{records}/{at}"))?.write_all(&record)?;
    }
    for at in 0..setting.size {
        bytes.clear();
        let mut file = File::options().read(true).write(true).open(format!("{records}/{at}"))?;
        file.read_to_end(&mut bytes)?;
        file.set_len(0)?;
    }
    Ok(())
}

fn one(setting: &Setting) -> io::Result<()> {
    let (record, mut bytes) = (filled(BYTES), filled(BYTES));
    let mut file = File::create("records")?;
    for _ in 0..setting.size {
        file.write_all(&record)?;
    }
    let mut file = File::open("records")?;
    for _ in 0..setting.size {
        file.read_exact(&mut bytes)?;
    }
    fs::remove_file("records")
}
