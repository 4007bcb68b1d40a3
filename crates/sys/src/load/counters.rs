//! Counters that a process shares with the children it forks.
//!
//! Each has its own cache line, so that counting does not slow others down. The caller decides what
//! they count.
#![allow(unsafe_code)]

use std::io;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::AtomicU64;

/// A counter on its own cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct Counter(AtomicU64);

impl Deref for Counter {
    type Target = AtomicU64;

    fn deref(&self) -> &AtomicU64 {
        &self.0
    }
}

/// Counters, zero at first, shared with forked children. They exist until the last process that
/// maps them ends.
#[derive(Debug)]
pub struct SharedCounters {
    base: NonNull<Counter>,
    count: usize,
}

// SAFETY: the mapping belongs to this value alone and is reached through atomics only.
unsafe impl Send for SharedCounters {}
// SAFETY: as above.
unsafe impl Sync for SharedCounters {}

impl SharedCounters {
    /// Maps `count` of them.
    ///
    /// # Errors
    /// The error of `mmap`: no memory.
    pub fn new(count: usize) -> io::Result<Self> {
        let bytes = count.max(1).checked_mul(size_of::<Counter>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh mapping without a file, placed by the kernel, touches nothing of ours.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, access, shared, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?, count })
    }
}

impl Deref for SharedCounters {
    type Target = [Counter];

    fn deref(&self) -> &[Counter] {
        // SAFETY: `new` made a readable and writable mapping of at least `count` counters,
        // page-aligned, which lives as long as `self`; zeros are a valid counter, and writes of
        // others are atomic.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.count) }
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; no reference into it outlives `self`. A
        // failure would leave it mapped, which harms nothing.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.count.max(1) * size_of::<Counter>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn they_begin_at_zero_and_each_is_its_own() {
        let counters = SharedCounters::new(300).unwrap();
        assert!(counters.iter().all(|counter| counter.load(Relaxed) == 0));
        counters[299].fetch_add(7, Relaxed);
        assert_eq!((counters[298].load(Relaxed), counters[299].load(Relaxed)), (0, 7));
        let apart = (&raw const counters[1]).addr() - (&raw const counters[0]).addr();
        assert_eq!(apart, 128);
        assert!(SharedCounters::new(usize::MAX).is_err());
    }
}
