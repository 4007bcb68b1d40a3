//! Pages of a file that come from the disk one by one, or many at a time.

use crate::work::{forget, keep};
use crate::{Pair, Run, Setting, Size, Way};
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::thread;

pub(super) static PAIR: Pair = Pair {
    name: "scattered-reads",
    title: "pages from a disk one by one, or 32 at a time",
    cause: Some("disk-latency"),
    size: Size { unit: "reads", usual: 6_000, least: 3_000, most: 6_000 },
    ways: &[
        Way { name: "one-by-one", what: "one read after the other", run: Run::Native(one_by_one) },
        Way { name: "at-once", what: "reads by 32 threads", run: Run::Native(at_once) },
    ],
    source: include_str!("scattered_reads.rs"),
    needs: &[],
    lesson: "Most disks take about as long to answer a question for a page as for many at the same time: they have a \
             queue, and work on all that are in it. Who asks for the next page only when the one before is there has \
             one in the queue. Several threads, io_uring, or a hint of what is needed next (posix_fadvise, WILLNEED) \
             fill it. What files in memory would save is tried by dwell run --probe=warm-files, of programs whose files \
             stay; this one makes its own anew.",
    writing: None,
};

const PAGE: u64 = 4096;
/// Pages of the file.
const PAGES: u64 = 16_384;
const THREADS: u64 = 32;

fn one_by_one(setting: &Setting) -> io::Result<()> {
    let file = cold()?;
    read(&file, 0..setting.size)?;
    fs::remove_file("pages")
}

fn at_once(setting: &Setting) -> io::Result<()> {
    let file = cold()?;
    let each = setting.size.div_ceil(THREADS);
    let parts = (0..THREADS).map(|at| at * each..((at + 1) * each).min(setting.size));
    thread::scope(|scope| {
        let threads: Vec<_> = parts.map(|part| scope.spawn(|| read(&file, part))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    fs::remove_file("pages")
}

/// Pages that lie apart, each of them once.
fn read(file: &File, which: impl Iterator<Item = u64>) -> io::Result<()> {
    let mut page = [0; PAGE as usize];
    for at in which {
        // An odd factor: every page comes once before one comes again.
        file.read_exact_at(&mut page, at * 7919 % PAGES * PAGE)?;
        keep(page[0]);
    }
    Ok(())
}

/// A file that is on the disk and not in memory, and of which nothing is read ahead.
fn cold() -> io::Result<File> {
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open("pages")?;
    let some = crate::work::filled(1 << 20);
    for _ in 0..PAGES * PAGE / some.len() as u64 {
        file.write_all(&some)?;
    }
    file.sync_all()?;
    forget(&file)?;
    fadvise(&file, 0, None, Advice::Random)?;
    Ok(file)
}
