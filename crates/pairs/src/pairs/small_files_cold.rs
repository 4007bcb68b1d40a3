//! The same bytes in one file, or in thousands: read from the disk.

use crate::work::{filled, forget, fresh_directory};
use crate::{Pair, Run, Setting, Size, Way, Writing};
use std::fs::{self, File};
use std::io::{self, Read, Write};

pub(super) static PAIR: Pair = Pair {
    name: "small-files-cold",
    title: "10 MB as 1,000 files or as one, read from the disk and not from memory",
    cause: Some("small-files"),
    size: Size { unit: "files", usual: 1_000, least: 1_000, most: 2_000 },
    ways: &[
        Way { name: "many", what: "a file for each 10 kB", run: Run::Native(many) },
        Way { name: "one", what: "all of it in one file", run: Run::Native(one) },
    ],
    source: include_str!("small_files_cold.rs"),
    needs: &[],
    lesson: "The kernel reads ahead within a file, and not from one file to the next: each small file is a request to the disk \
             of its own, and the program waits for it. From one file the same bytes come in large pieces, asked for before \
             they are needed.",
    writing: Some(Writing {
        title: "Understanding latency, a course on optimising Python",
        theirs: "reading 10 MB as 1,000 files took 524 times as long as one file (SSD)",
    }),
};

/// Bytes of a record.
const BYTES: usize = 10_000;

fn many(setting: &Setting) -> io::Result<()> {
    let (record, mut bytes) = (filled(BYTES), Vec::new());
    let records = fresh_directory("records")?;
    for at in 0..setting.size {
        File::create(format!("{records}/{at}"))?.write_all(&record)?;
    }
    rustix::fs::syncfs(File::open(&records)?)?;
    for at in 0..setting.size {
        let mut file = File::options().read(true).write(true).open(format!("{records}/{at}"))?;
        forget(&file)?;
        bytes.clear();
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
    rustix::fs::syncfs(&file)?;
    let mut file = File::open("records")?;
    forget(&file)?;
    for _ in 0..setting.size {
        file.read_exact(&mut bytes)?;
    }
    fs::remove_file("records")
}
