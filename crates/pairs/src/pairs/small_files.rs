//! 10 MB in one file, or in a thousand: written and read back from memory, as often as need be.

use crate::work::{filled, forget, fresh_directory};
use crate::{Pair, Part, Run, Setting, Size, Way, Writing};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::time::Instant;

pub(super) static PAIR: Pair = Pair {
    name: "small-files",
    title: "10 MB as 1,000 files of 10 kB, or as one",
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

/// Bytes of a record.
const BYTES: usize = 10_000;
/// Records that are written and read at a time: 10 MB.
const RECORDS: u64 = 1000;

fn many(setting: &Setting) -> io::Result<()> {
    let (record, mut bytes) = (filled(BYTES), Vec::new());
    for first in (0..setting.size).step_by(RECORDS as usize) {
        let records = fresh_directory(&format!("records-{first}"))?;
        let count = RECORDS.min(setting.size - first);
        for at in 0..count {
            File::create(format!("{records}/{at}"))?.write_all(&record)?;
        }
        for at in 0..count {
            bytes.clear();
            let mut file = File::options().read(true).write(true).open(format!("{records}/{at}"))?;
            file.read_to_end(&mut bytes)?;
            file.set_len(0)?;
        }
    }
    Ok(())
}

fn one(setting: &Setting) -> io::Result<()> {
    let (record, mut bytes) = (filled(BYTES), filled(BYTES));
    for first in (0..setting.size).step_by(RECORDS as usize) {
        let count = RECORDS.min(setting.size - first);
        let mut file = File::create("records")?;
        for _ in 0..count {
            file.write_all(&record)?;
        }
        let mut file = File::open("records")?;
        for _ in 0..count {
            file.read_exact(&mut bytes)?;
        }
        fs::remove_file("records")?;
    }
    Ok(())
}

/// What 10 MB take in each way, warm and cold, each part by itself: a file a record, or one.
pub(super) fn apart(way: &str) -> io::Result<Vec<Part>> {
    let records = fresh_directory("apart")?;
    let (files, in_each) = if way == "many" { (RECORDS, 1) } else { (1, RECORDS) };
    let (record, mut bytes) = (filled(BYTES), filled(BYTES));
    let name = |at: u64| format!("{records}/{at}");
    let mut parts = Vec::new();
    let mut part = |what, does: &mut dyn FnMut() -> io::Result<()>| {
        let begun = Instant::now();
        does()?;
        parts.push(Part { what, ns: begun.elapsed().as_nanos() as u64 });
        Ok::<(), io::Error>(())
    };
    let mut read = || {
        for at in 0..files {
            let mut file = File::open(name(at))?;
            for _ in 0..in_each {
                file.read_exact(&mut bytes)?;
            }
        }
        Ok(())
    };
    part("written, to memory", &mut || {
        for at in 0..files {
            let mut file = File::create(name(at))?;
            for _ in 0..in_each {
                file.write_all(&record)?;
            }
        }
        Ok(())
    })?;
    part("read, from memory", &mut read)?;
    part("written on to the disk", &mut || Ok(rustix::fs::syncfs(File::open(&records)?)?))?;
    for at in 0..files {
        forget(&File::open(name(at))?)?;
    }
    part("read, from the disk", &mut read)?;
    for at in 0..files {
        File::create(name(at))?;
    }
    Ok(parts)
}
