//! Catching what a command prints, in files of memory, so that the command waits for no reader.
//!
//! A file holds what was printed since it was last looked at: that is taken into a checksum, its
//! beginning is kept, and the memory is given back. So a command may print more than the machine
//! has memory.

use crc32fast::Hasher;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// What is read of a file beyond the blocks that it has.
const HOLE_MOST: u64 = 1 << 20;

/// What is kept of each stream for the caller.
const HEAD_MOST: usize = 1 << 20;

/// What is kept where it is searched for numbers.
pub(crate) const SEARCHED_MOST: usize = 64 << 20;

/// What a run printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOutput {
    /// Its standard output.
    pub stdout: Caught,
    /// Its standard error.
    pub stderr: Caught,
}

/// What it printed to one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caught {
    /// The first MiB of it.
    pub head: Vec<u8>,
    /// How long it is in all.
    pub bytes: u64,
    /// The checksum of all: CRC-32.
    pub crc32: u32,
}

/// A file that a command prints to.
#[derive(Debug)]
pub(crate) struct Catch {
    file: File,
    head: Vec<u8>,
    keep: usize,
    taken: u64,
    checksum: Hasher,
}

impl Catch {
    /// A new one that keeps the beginning, and more of it where it is to be searched.
    pub(crate) fn new(searched: bool) -> io::Result<Self> {
        // Without files of memory: one that has no name.
        let file = match memfd_create("dwell-output", MemfdFlags::CLOEXEC) {
            Ok(file) => file.into(),
            Err(_) => tempfile::tempfile()?,
        };
        let keep = if searched { SEARCHED_MOST } else { HEAD_MOST };
        Ok(Self { file, head: Vec::new(), keep, taken: 0, checksum: Hasher::new() })
    }

    /// What the command prints to.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Takes what was printed since, and gives its memory back.
    pub(crate) fn take(&mut self) -> io::Result<()> {
        let from = self.taken;
        let metadata = self.file.metadata()?;
        let end = metadata.len();
        // A command may make its output any length without printing anything: of what has no
        // blocks no more is read than a hole of this size.
        let printed = (metadata.blocks() * 512).saturating_add(HOLE_MOST);
        let to = end.min(from.saturating_add(printed));
        let mut chunk = vec![0; to.saturating_sub(from).min(1 << 18) as usize];
        while self.taken < to {
            let most = chunk.len().min((to - self.taken) as usize);
            let read = self.file.read_at(&mut chunk[..most], self.taken)?;
            if read == 0 {
                break;
            }
            self.checksum.update(&chunk[..read]);
            let kept = read.min(self.keep - self.head.len());
            self.head.extend(&chunk[..kept]);
            self.taken += read as u64;
        }
        if to < end {
            self.taken = end;
        }
        if self.taken > from {
            // Where a file system cannot, the file stays as it is.
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&self.file, hole, from, self.taken - from);
        }
        Ok(())
    }

    /// What is kept for a search, and whether that is all.
    pub(crate) fn searched(&self) -> (&[u8], bool) {
        (&self.head, self.head.len() as u64 == self.taken)
    }

    /// All of it, after the last [`Catch::take`].
    pub(crate) fn caught(mut self) -> Caught {
        self.head.truncate(HEAD_MOST);
        self.head.shrink_to_fit();
        Caught { head: self.head, bytes: self.taken, crc32: self.checksum.finalize() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_printed_in_parts_is_one_text_and_its_memory_is_given_back() {
        let mut catch = Catch::new(false).unwrap();
        let part = b"0123456789abcdef".repeat(40_000);
        for _ in 0..3 {
            (&mut &catch.file).write_all(&part).unwrap();
            catch.take().unwrap();
        }
        catch.take().unwrap();
        assert!(catch.file.metadata().unwrap().blocks() * 512 < 20_000);
        let whole = part.repeat(3);
        let caught = catch.caught();
        assert_eq!((caught.bytes, caught.crc32), (whole.len() as u64, crc32fast::hash(&whole)));
        assert_eq!(caught.head, whole[..HEAD_MOST]);
    }

    #[test]
    fn a_length_that_nothing_was_printed_for_is_not_read() {
        let mut catch = Catch::new(false).unwrap();
        (&mut &catch.file).write_all(b"printed").unwrap();
        catch.file.set_len(1 << 50).unwrap();
        catch.take().unwrap();
        let caught = catch.caught();
        assert_eq!((caught.bytes, &caught.head[..7]), (1 << 50, &b"printed"[..]));
    }

    #[test]
    fn a_search_sees_more_than_is_given_back() {
        let mut catch = Catch::new(true).unwrap();
        (&mut &catch.file).write_all(&vec![b'a'; HEAD_MOST + 9]).unwrap();
        catch.take().unwrap();
        assert_eq!((catch.searched().0.len(), catch.searched().1), (HEAD_MOST + 9, true));
        assert_eq!(catch.caught().head.len(), HEAD_MOST);
    }
}
