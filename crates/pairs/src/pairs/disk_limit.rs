//! As many bytes as a disk can take, or fewer.

use crate::work::filled;
use crate::{Pair, Run, Setting, Size, Way};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::thread;

pub(super) static PAIR: Pair = Pair {
    name: "disk-limit",
    title: "a log written to the disk as it is, or packed",
    cause: Some("disk-throughput"),
    // What a disk does is told step by step, of 100 ms each: a run of less than three has none.
    size: Size { unit: "MiB", usual: 2_000, least: 1_500, most: 3_000 },
    ways: &[
        Way { name: "plain", what: "all bytes to the disk", run: Run::Native(plain) },
        Way { name: "packed", what: "an eighth of the bytes to the disk", run: Run::Native(packed) },
    ],
    source: include_str!("disk_limit.rs"),
    needs: &[],
    lesson: "A disk moves a limited number of bytes a second, whoever asks: more threads and larger requests only wait longer. What \
             helps is to move fewer bytes. A log packs to an eighth as a rule; here that much is written.",
    writing: None,
};

const PIECE: usize = 1 << 20;
/// Pieces of the file, which is written from its beginning to its end again and again.
const PIECES: u64 = 64;
const THREADS: u64 = 4;

fn plain(setting: &Setting) -> io::Result<()> {
    write(setting.size)
}

fn packed(setting: &Setting) -> io::Result<()> {
    write(setting.size / 8)
}

/// Writes this many pieces past the page cache, four at a time.
fn write(pieces: u64) -> io::Result<()> {
    let direct = OFlags::DIRECT.bits() as i32;
    let file = File::options().create(true).write(true).custom_flags(direct).open("log")?;
    let (file, of) = (&file, |thread: u64| (thread..pieces).step_by(THREADS as usize));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || write_some(file, of(at)))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    fs::remove_file("log")
}

fn write_some(file: &File, which: impl Iterator<Item = u64>) -> io::Result<()> {
    // Such writes are from whole pages.
    let bytes = filled(PIECE + 4096);
    let from = bytes.as_ptr().align_offset(4096);
    for at in which {
        file.write_all_at(&bytes[from..from + PIECE], at % PIECES * PIECE as u64)?;
    }
    Ok(())
}
