//! Records that are written one by one, or through a buffer.

use crate::work::filled;
use crate::{Pair, Run, Setting, Size, Way};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};

pub(super) static PAIR: Pair = Pair {
    name: "small-writes",
    title: "a call for each record of 16 bytes, or for 64 KiB",
    cause: Some("small-io"),
    size: Size { unit: "records", usual: 600_000, least: 300_000, most: 600_000 },
    ways: &[
        Way { name: "each", what: "a call for each record", run: Run::Native(each) },
        Way { name: "buffered", what: "records through a buffer", run: Run::Native(buffered) },
    ],
    source: include_str!("small_writes.rs"),
    needs: &[],
    lesson: "A system call takes about the same for sixteen bytes as for a page: into the kernel, to the file, into its page cache, \
             and back. A buffer in the program makes one call of thousands. What it costs: others see a record later, and \
             records in it are lost if the program crashes.",
    writing: None,
};

fn each(setting: &Setting) -> io::Result<()> {
    let record = filled(16);
    let mut file = File::create("records")?;
    for _ in 0..setting.size {
        file.write_all(&record)?;
    }
    fs::remove_file("records")
}

fn buffered(setting: &Setting) -> io::Result<()> {
    let record = filled(16);
    let mut file = BufWriter::with_capacity(65_536, File::create("records")?);
    for _ in 0..setting.size {
        file.write_all(&record)?;
    }
    file.flush()?;
    fs::remove_file("records")
}
