//! Writes files with O_DIRECT, reads them back and verifies them.
//!
//! The files have no name, or lose it before anything is written, so nothing is ever left behind.

use crate::room::{WORKER_BYTES, allow_files, enough_memory};
use crate::team::{Stop, together};
use crate::{RunLimit, Tally, Work, while_doing};
use model::wake::load::Mismatch;
use rustix::fs::{Advice, FallocateFlags, Mode, OFlags, fadvise, fallocate, open, statfs, unlink};
use rustix::io::Errno;
use rustix::thread::sched_getcpu;
use std::env;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::pages::{PageKind, Pages};

/// The size of one read or write.
pub(crate) const PIECE_BYTES: usize = 1 << 20;
/// A block; each has a tag of its own, so that a misplaced block is noticed.
const BLOCK_BYTES: usize = 4096;
/// The percentage of free space that is left free.
const LEFT_PERCENT: u64 = 10;
/// `f_type` of statfs(2) for filesystems in memory: tmpfs, ramfs.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];

pub(crate) fn run(
    threads: u32,
    file_bytes: u64,
    dir: Option<&str>,
    mut limit: RunLimit<'_>,
) -> io::Result<Tally> {
    let dir = dir.map_or_else(env::temp_dir, PathBuf::from);
    let pieces = file_bytes / PIECE_BYTES as u64;
    allow_files(threads.into(), "fewer threads")?;
    let buffers_bytes = (2 * PIECE_BYTES as u64 + WORKER_BYTES) * u64::from(threads);
    let mut limits = enough_room(&dir, pieces * PIECE_BYTES as u64 * u64::from(threads), buffers_bytes)?;
    let mut workers = Vec::new();
    for number in 0..u64::from(threads) {
        limit.check_wanted(Duration::ZERO)?;
        let (file, direct) = nameless(&dir, number, pieces * PIECE_BYTES as u64)
            .map_err(|error| while_doing(&format!("cannot write in {}", dir.display()), &error))?;
        if !direct && limits.is_empty() {
            limits.push(format!(
                "{} does not support O_DIRECT: files are written through the page cache, flushed, and dropped \
                 from it before they are read",
                dir.display()
            ));
        }
        let [expected, read] = [(); 2].map(|()| Pages::obtain(PIECE_BYTES, PageKind::Small));
        workers.push(Worker { file, direct, number, pieces, expected: expected?, read: read? });
    }
    let mut tally = together("disk", workers, limit, &|| {}, &|mut worker, stop| {
        let mut work = Work::default();
        // Work done before an error counts.
        if let Err(error) = worker.work(stop, &mut work) {
            work.add(Work::failed(&format!("{}: {error}", dir.display())));
        }
        Ok(work)
    })?;
    tally.work.limits.extend(limits);
    Ok(tally)
}

/// Checks that the files and their buffers fit; gives caveats of the directory.
fn enough_room(dir: &Path, bytes: u64, buffers_bytes: u64) -> io::Result<Vec<String>> {
    let cannot = |error: io::Error| while_doing(&format!("cannot check {}", dir.display()), &error);
    let free = host::memory::disk_free_bytes(dir).map_err(cannot)? / 100 * (100 - LEFT_PERCENT);
    if bytes > free {
        return Err(io::Error::other(format!(
            "{} has {} MiB free, but {} MiB are needed\ntry: disk:dir=DIR on a filesystem with more space",
            dir.display(),
            free >> 20,
            bytes >> 20
        )));
    }
    let kind = statfs(dir).map_err(|error| cannot(error.into()))?.f_type;
    let in_memory = IN_MEMORY.contains(&(kind as i64 & 0xffff_ffff));
    let memory_bytes = buffers_bytes + if in_memory { bytes } else { 0 };
    enough_memory("disk", memory_bytes, "fewer threads, or smaller files")?;
    Ok(in_memory.then(|| format!("{} is in memory, not on a disk", dir.display())).into_iter().collect())
}

/// A file without a name, and whether it is open with O_DIRECT; its space is allocated at once
/// where possible.
fn nameless(dir: &Path, number: u64, bytes: u64) -> io::Result<(File, bool)> {
    let direct = OFlags::DIRECT | OFlags::DSYNC;
    let (file, is_direct) = match made(dir, number, direct) {
        // Filesystems without O_DIRECT fail at open.
        Err(Errno::INVAL) => (made(dir, number, OFlags::empty())?, false),
        made => (made?, true),
    };
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok((file.into(), is_direct)),
        Err(error) => Err(error.into()),
    }
}

fn made(dir: &Path, number: u64, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
    match open(dir, flags | OFlags::TMPFILE, Mode::RUSR | Mode::WUSR) {
        // Filesystems without nameless files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => named(dir, number, flags),
        opened => opened,
    }
}

/// A file that is unlinked right after its creation.
fn named(dir: &Path, number: u64, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let path = dir.join(name(number));
    let opened = open(&path, flags | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR);
    match &opened {
        Ok(_) => unlink(&path)?,
        // O_DIRECT is not supported, but the file may have been created.
        Err(Errno::INVAL) => _ = unlink(&path),
        Err(_) => {}
    }
    opened
}

fn name(number: u64) -> String {
    format!(".dwell-load-{}-{number}", std::process::id())
}

/// An error with the offset in the worker's file.
fn at(what: &str, offset: u64, error: &io::Error) -> io::Error {
    while_doing(&format!("{what} {} MiB at {offset:#x} of its file", PIECE_BYTES >> 20), error)
}

/// A thread's file and its buffers.
struct Worker {
    file: File,
    direct: bool,
    number: u64,
    pieces: u64,
    expected: Pages,
    read: Pages,
}

impl Worker {
    /// Writes and reads the whole file, repeatedly.
    fn work(&mut self, stop: &Stop, work: &mut Work) -> io::Result<()> {
        self.paint();
        for pass in 0.. {
            for piece in 0..self.pieces {
                if stop.is_set() {
                    return Ok(());
                }
                self.tag(pass, piece);
                let offset = piece * PIECE_BYTES as u64;
                self.file
                    .write_all_at(self.expected.as_slice(), offset)
                    .map_err(|error| at("cannot write", offset, &error))?;
                work.done += PIECE_BYTES as u64;
            }
            if !self.direct {
                self.file.sync_data().map_err(|error| while_doing("cannot flush its file", &error))?;
                fadvise(&self.file, 0, None, Advice::DontNeed).map_err(|error| {
                    while_doing("cannot drop its file from the page cache", &error.into())
                })?;
            }
            for piece in 0..self.pieces {
                if stop.is_set() {
                    return Ok(());
                }
                self.tag(pass, piece);
                let offset = piece * PIECE_BYTES as u64;
                self.file
                    .read_exact_at(self.read.as_mut_slice(), offset)
                    .map_err(|error| at("cannot read", offset, &error))?;
                self.verify(offset, work);
                work.done += PIECE_BYTES as u64;
            }
        }
        Ok(())
    }

    /// Fills the buffer with bytes that cannot be compressed.
    fn paint(&mut self) {
        let mut state = self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for word in self.expected.as_mut_slice().as_chunks_mut::<8>().0 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *word = (state ^ (state >> 29)).to_le_bytes();
        }
    }

    /// Tags each block of the piece, different from every block in this file now or before.
    fn tag(&mut self, pass: u64, piece: u64) {
        for (at, block) in self.expected.as_mut_slice().chunks_exact_mut(BLOCK_BYTES).enumerate() {
            let place = piece * (PIECE_BYTES / BLOCK_BYTES) as u64 + at as u64;
            block[..8].copy_from_slice(&pass.to_le_bytes());
            block[8..16].copy_from_slice(&place.to_le_bytes());
        }
    }

    fn verify(&self, offset: u64, work: &mut Work) {
        let (expected, read) = (self.expected.as_slice(), self.read.as_slice());
        if expected == read {
            return;
        }
        let words = expected.as_chunks::<8>().0.iter().zip(read.as_chunks::<8>().0).enumerate();
        for (at, (expected, read)) in words.filter(|(_, (expected, read))| expected != read) {
            work.mismatch(Mismatch {
                at: offset + at as u64 * 8,
                expected: u64::from_le_bytes(*expected),
                actual: u64::from_le_bytes(*read),
                cpu: sched_getcpu() as u32,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(dir: &Path, number: u64) -> Worker {
        let (file, direct) = nameless(dir, number, 2 * PIECE_BYTES as u64).unwrap();
        let [expected, read] = [(); 2].map(|()| Pages::obtain(PIECE_BYTES, PageKind::Small).unwrap());
        Worker { file, direct, number, pieces: 2, expected, read }
    }

    #[test]
    fn what_comes_back_otherwise_is_found_with_its_place() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut worker = worker(dir.path(), 3);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        worker.paint();
        for piece in 0..2 {
            worker.tag(9, piece);
            worker.file.write_all_at(worker.expected.as_slice(), piece * PIECE_BYTES as u64).unwrap();
        }
        let mut work = Work::default();
        worker.file.read_exact_at(worker.read.as_mut_slice(), PIECE_BYTES as u64).unwrap();
        worker.verify(PIECE_BYTES as u64, &mut work);
        assert_eq!(work.mismatches_total, 0);
        // One flipped bit.
        worker.read.as_mut_slice()[5_000] ^= 1;
        worker.verify(PIECE_BYTES as u64, &mut work);
        assert_eq!((work.mismatches_total, work.mismatches[0].at), (1, PIECE_BYTES as u64 + 5_000));
        assert_eq!(work.mismatches[0].expected ^ work.mismatches[0].actual, 1);
        // A misplaced piece: each of its blocks has the wrong tag.
        worker.file.read_exact_at(worker.read.as_mut_slice(), 0).unwrap();
        worker.verify(PIECE_BYTES as u64, &mut work);
        assert_eq!(work.mismatches_total, 1 + (PIECE_BYTES / BLOCK_BYTES) as u64);
    }

    #[test]
    fn too_little_space_is_an_error_before_anything_is_written() {
        let error = enough_room(Path::new("/"), 1 << 60, 0).unwrap_err().to_string();
        assert!(error.contains("MiB free, but") && error.contains("try: disk:dir="), "{error}");
        let error = enough_room(Path::new("/no/such/directory"), 1, 0).unwrap_err().to_string();
        assert!(error.contains("/no/such/directory"), "{error}");
        assert_eq!(enough_room(Path::new("/dev/shm"), 1, 0).unwrap().len(), 1);
        let error = enough_room(Path::new("/"), 1, 1 << 60).unwrap_err().to_string();
        assert!(error.contains("disk needs") && error.contains("try: fewer threads"), "{error}");
    }

    #[test]
    fn a_worker_that_cannot_go_on_says_where_it_was() {
        let failed = |file: &str, pieces| {
            let file = File::options().read(true).write(true).open(file).unwrap();
            let [expected, read] = [(); 2].map(|()| Pages::obtain(PIECE_BYTES, PageKind::Small).unwrap());
            let mut worker = Worker { file, direct: true, number: 0, pieces, expected, read };
            let mut work = Work::default();
            (worker.work(&Stop::default(), &mut work).unwrap_err().to_string(), work.done)
        };
        let (full, done) = failed("/dev/full", 2);
        assert!(full.starts_with("cannot write 1 MiB at 0x0 of its file: No space left"), "{full}");
        assert_eq!(done, 0);
        // It accepts writes and returns no data.
        let (gone, done) = failed("/dev/null", 2);
        assert!(gone.starts_with("cannot read 1 MiB at 0x0 of its file: "), "{gone}");
        assert_eq!(done, 2 * PIECE_BYTES as u64);
    }

    #[test]
    fn a_file_with_a_name_loses_it_whatever_comes_of_it() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert!(named(dir.path(), 7, OFlags::RDWR).is_ok());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        // The file of another process stays.
        let theirs = dir.path().join(name(7));
        std::fs::write(&theirs, "theirs").unwrap();
        assert!(matches!(named(dir.path(), 7, OFlags::RDWR), Err(Errno::EXIST)));
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
    }
}
