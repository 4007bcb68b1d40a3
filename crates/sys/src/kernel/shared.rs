//! Memory that is shared with the kernel, as words that both sides read and write.
//!
//! The caller defines the words and who may write which of them.
#![allow(unsafe_code)]

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::AtomicU64;

/// A shared mapping of a file that does not shrink, such as a BPF array. It holds the file's memory
/// even when the file is closed.
#[derive(Debug)]
pub struct SharedWords {
    base: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the mapping belongs to this value alone and is reached through atomics only.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps the first `count` words (of 64 bits) of `file`, which must have them for as long as it
    /// is mapped.
    ///
    /// # Errors
    /// The error of `mmap`: `EINVAL` for a BPF map that is smaller, `EPERM` or `EACCES` where it
    /// may not be written.
    pub fn map(file: impl AsFd, count: usize) -> io::Result<Self> {
        let bytes = count.checked_mul(size_of::<AtomicU64>()).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a fresh shared mapping of an open descriptor, placed by the kernel, touches
        // nothing of ours.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_fd().as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { base, count })
    }
}

/// No words, and no mapping.
impl Default for SharedWords {
    fn default() -> Self {
        Self { base: NonNull::dangling(), count: 0 }
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `map` made a readable and writable mapping of at least `count` words,
        // page-aligned, which lives as long as `self`, or there are no words; any bits are a valid
        // AtomicU64, and writes of others are atomic.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.count) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        if self.count == 0 {
            return;
        }
        // SAFETY: exactly the mapping made in `map`; no reference into it outlives `self`. A
        // failure would leave it mapped, which harms nothing.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.count * size_of::<AtomicU64>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn what_is_stored_through_one_mapping_is_seen_through_another() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 * 4096).unwrap();
        let (one, other) = (SharedWords::map(&file, 1500).unwrap(), SharedWords::map(&file, 1500).unwrap());
        drop(file);
        assert_eq!(one.len(), 1500);
        one[1499].store(7, Relaxed);
        assert_eq!((other[1499].load(Relaxed), other[0].load(Relaxed)), (7, 0));
    }

    #[test]
    fn no_words_are_no_mapping() {
        let none = SharedWords::default();
        assert!(none.is_empty());
        drop(none);
    }

    #[test]
    fn what_cannot_be_mapped_is_an_error() {
        let not_writable = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(SharedWords::map(&not_writable, 1).unwrap_err().raw_os_error(), Some(libc::EACCES));
        assert!(SharedWords::map(&not_writable, usize::MAX).is_err());
    }
}
