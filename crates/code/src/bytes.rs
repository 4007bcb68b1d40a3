//! The bytes of a file that may be very large and may change: read page by page, never mapped.
//!
//! With a mapping, SIGBUS would kill dwell if the program truncated the file, and reading a whole
//! debug file can take gigabytes. Pages are cached up to a common limit, so the hot parts of unwind
//! tables and symbols stay in memory. A deadline can be set; after it every further page is
//! refused, which makes each parser that reads through here stop soon, whatever the file contains;
//! and also when its file system ceases to answer.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustc_hash::FxHashMap;
use sys::apart::ApartFile;
use sys::patience;
use sys::untrusted_file::Opened;

use crate::room::Room;

/// The size of a page.
const PAGE: u64 = 16 << 10;

/// The limit of cached bytes of all files. A file that needs another page beyond it drops its own
/// first.
const KEPT_MAX: usize = 64 << 20;

/// Bytes of pages kept by all files.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// The source of bytes.
enum Backing {
    File(Arc<File>),
    Apart(ApartFile),
    Memory { bytes: Arc<Vec<u8>>, _room: Option<Room> },
}

/// A part of a file.
#[derive(Clone)]
pub(crate) struct FilePage {
    /// Its offset in the file.
    pub(crate) start: u64,
    /// Its content is a part of these. Where it was read to: what is made of a slice would be a
    /// copy.
    pub(crate) bytes: Arc<Vec<u8>>,
    /// Which part.
    part: Range<usize>,
}

impl FilePage {
    /// The bytes from file offset `at` to the end of the page; none when `at` is not on it.
    pub(crate) fn from(&self, at: u64) -> Option<&[u8]> {
        let skip = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.bytes[self.part.clone()].get(skip..).filter(|rest| !rest.is_empty())
    }
}

/// State that changes while a file is read.
#[derive(Default)]
struct Reading {
    pages: FxHashMap<u64, FilePage>,
    deadline: Option<Instant>,
    expired: bool,
    /// Its file system has ceased to answer: it is not asked again.
    silent: bool,
}

/// The bytes of a file, or of memory that is treated like one.
pub(crate) struct Bytes {
    backing: Backing,
    len: u64,
    reading: Mutex<Reading>,
}

impl Bytes {
    /// The bytes of an open file, as long as it is now.
    pub(crate) fn of_file(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self::of_file_of_len(file, len))
    }

    /// The first bytes of an open file, which is as long.
    pub(crate) fn of_file_of_len(file: File, len: u64) -> Self {
        Bytes { backing: Backing::File(Arc::new(file)), len, reading: Mutex::default() }
    }

    /// The bytes of an open file, as long as it is now, however it is read.
    pub(crate) fn of_opened(file: Opened) -> io::Result<Self> {
        match file {
            Opened::Here(file) => Self::of_file(file),
            Opened::Apart(file) => Ok(Self::of_apart(file)),
        }
    }

    /// The bytes of an open file whose file system may never answer.
    pub(crate) fn of_apart(file: ApartFile) -> Self {
        let len = file.len;
        Bytes { backing: Backing::Apart(file), len, reading: Mutex::default() }
    }

    /// Bytes in memory.
    pub(crate) fn of_memory(bytes: Vec<u8>) -> Self {
        let len = bytes.len() as u64;
        Bytes {
            backing: Backing::Memory { bytes: bytes.into(), _room: None },
            len,
            reading: Mutex::default(),
        }
    }

    /// Bytes in memory that count among those of all unpacked ones.
    pub(crate) fn unpacked(bytes: Vec<u8>, room: Room) -> Self {
        let len = bytes.len() as u64;
        Bytes {
            backing: Backing::Memory { bytes: bytes.into(), _room: Some(room) },
            len,
            reading: Mutex::default(),
        }
    }

    /// Length.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// From now on pages are refused after `deadline`.
    pub(crate) fn set_deadline(&self, deadline: Option<Instant>) {
        let mut reading = self.reading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        reading.deadline = deadline;
        reading.expired = false;
    }

    /// Whether a page has been refused since the deadline was set.
    pub(crate) fn expired(&self) -> bool {
        self.reading.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).expired
    }

    /// Whether its file system has ceased to answer.
    pub(crate) fn silent(&self) -> bool {
        self.reading.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).silent
    }

    /// Drops all pages: nobody is expected to read them again soon.
    pub(crate) fn forget(&self) {
        self.reading.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).forget();
    }

    /// The page with the byte at `at`.
    ///
    /// # Errors
    /// When `at` is beyond the end, the file cannot be read, or the deadline has passed.
    pub(crate) fn page(&self, at: u64) -> io::Result<FilePage> {
        let mut reading = self.reading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if reading.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            reading.expired = true;
            return Err(io::ErrorKind::TimedOut.into());
        }
        if at >= self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let start = at / PAGE * PAGE;
        let len = PAGE.min(self.len - start);
        let read = || match &self.backing {
            Backing::File(file) => patience::read_at(file, start, len as usize),
            Backing::Apart(file) => file.read_at(start, len as usize),
            Backing::Memory { .. } => Ok(Vec::new()),
        };
        if let Backing::Memory { bytes, .. } = &self.backing {
            // By pages also here, so that a deadline ends whoever reads on.
            let part = start as usize..(start + len) as usize;
            return Ok(FilePage { start, bytes: Arc::clone(bytes), part });
        }
        if let Some(page) = reading.pages.get(&start) {
            return Ok(page.clone());
        }
        if reading.silent {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let bytes = read().inspect_err(|error| {
            reading.silent = error.kind() == io::ErrorKind::TimedOut;
        })?;
        let read = bytes.len();
        let page = FilePage { start, bytes: bytes.into(), part: 0..read };
        if KEPT.fetch_add(read, Ordering::Relaxed) > KEPT_MAX {
            reading.forget();
        }
        reading.pages.insert(start, page.clone());
        Ok(page)
    }

    /// `len` bytes from `at` on, at most `max` of them.
    ///
    /// # Errors
    /// When there are fewer, `len` is above `max`, or as [`Bytes::page`].
    pub(crate) fn read(&self, at: u64, len: u64, max: u64) -> io::Result<Vec<u8>> {
        let end = at.checked_add(len).filter(|end| *end <= self.len && len <= max);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut bytes = Vec::with_capacity(len as usize);
        let mut at = at;
        while at < end {
            let page = self.page(at)?;
            let rest = page.from(at).ok_or(io::ErrorKind::UnexpectedEof)?;
            let taken = rest.len().min((end - at) as usize);
            bytes.extend_from_slice(&rest[..taken]);
            at += taken as u64;
        }
        Ok(bytes)
    }
}

impl Reading {
    /// Drops all pages; readers keep their current ones.
    fn forget(&mut self) {
        let kept: usize = self.pages.values().map(|page| page.bytes.len()).sum();
        KEPT.fetch_sub(kept, Ordering::Relaxed);
        self.pages = FxHashMap::default();
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.forget();
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({})", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn bytes_across_pages_are_read_in_order_and_a_shortened_file_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..50_000u32).map(|n| n as u8).collect();
        file.write_all(&content).unwrap();
        let bytes = Bytes::of_file(file.try_clone().unwrap()).unwrap();
        assert_eq!(bytes.read(16_000, 20_000, 1 << 20).unwrap(), content[16_000..36_000]);
        assert!(bytes.read(0, 20_000, 10_000).is_err());
        assert!(bytes.read(49_999, 2, 10).is_err());
        file.set_len(40_000).unwrap();
        assert!(bytes.read(41_000, 10, 10).is_ok(), "its page was kept before");
        let bytes = Bytes { backing: Backing::File(Arc::new(file)), len: 50_000, reading: Mutex::default() };
        assert!(bytes.read(41_000, 10, 10).is_err());
    }

    #[test]
    fn after_the_deadline_no_page_is_given() {
        let bytes = Bytes::of_memory(vec![1, 2, 3]);
        bytes.set_deadline(Some(Instant::now()));
        assert!(bytes.page(0).is_err());
        assert!(bytes.expired());
        bytes.set_deadline(None);
        assert!(bytes.page(0).is_ok());
        assert!(!bytes.expired());
    }
}
