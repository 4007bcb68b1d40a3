//! Memory that is not present yet: the first touch of each page faults.

use super::{HUGE_BYTES, Obtained, PageKind, obtained_at};
use std::io;
use std::ptr::NonNull;

/// A private mapping of untouched pages.
#[derive(Debug)]
pub struct Fresh {
    base: NonNull<u8>,
    bytes: usize,
    mapping: (NonNull<u8>, usize),
}

impl Fresh {
    /// Maps `bytes`; for huge pages aligned to one. Never from the hugetlb pool: those pages are
    /// present already.
    ///
    /// # Errors
    /// The error of `mmap`.
    pub fn map(bytes: usize, wanted: PageKind) -> io::Result<Self> {
        let page = if wanted == PageKind::Small { rustix::param::page_size() } else { HUGE_BYTES };
        // A page with other advice on both sides: the kernel merges adjacent mappings with the same
        // flags, and then reports both as one.
        let mapping = super::map(bytes + 2 * page, 0)?;
        let at = mapping.0.as_ptr().addr();
        let skip = (at + 1).next_multiple_of(page) - at;
        // SAFETY: `skip` is at most a page of the two to spare, so `base` and `bytes` after it are
        // within the mapping.
        let base = unsafe { mapping.0.add(skip) };
        // SAFETY: a range of our own mapping; the advice touches nothing in it. A kernel without
        // transparent huge pages refuses it: then all pages are base pages, as `obtained` shows.
        unsafe { libc::madvise(base.as_ptr().cast(), bytes, wanted.advice()) };
        Ok(Self { base, bytes, mapping })
    }

    /// Writes one byte every `stride` bytes. Returns the number of writes.
    ///
    /// # Panics
    /// For a stride of 0.
    pub fn touch(&mut self, stretch_bytes: usize) -> u64 {
        for offset in (0..self.bytes).step_by(stretch_bytes) {
            // SAFETY: within the mapping, which is writable and ours alone; volatile, so that it is
            // not optimised away.
            unsafe { self.base.as_ptr().add(offset).write_volatile(1) };
        }
        self.bytes.div_ceil(stretch_bytes) as u64
    }

    /// The pages obtained, from `/proc/self/smaps`.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn obtained(&self) -> io::Result<Obtained> {
        obtained_at(self.base, self.bytes)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`, to which there is no reference.
        unsafe { libc::munmap(self.mapping.0.as_ptr().cast(), self.mapping.1) };
    }
}

/// Maps a private page and unmaps it, untouched.
///
/// # Errors
/// The error of `mmap`.
pub fn map_and_unmap(bytes: usize) -> io::Result<()> {
    let (base, bytes) = super::map(bytes, 0)?;
    // SAFETY: the mapping made above, to which there is no reference.
    match unsafe { libc::munmap(base.as_ptr().cast(), bytes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_there_when_they_were_touched_and_not_before() {
        let mut fresh = Fresh::map(1 << 20, PageKind::Small).unwrap();
        assert_eq!(fresh.obtained().unwrap().bytes, 0);
        assert_eq!(fresh.touch(8192), 128);
        let page_bytes = rustix::param::page_size() as u64;
        if page_bytes <= 8192 {
            assert_eq!(
                fresh.obtained().unwrap(),
                Obtained { bytes: 128 * page_bytes, huge_bytes: 0, reserved: false }
            );
        }
    }

    #[test]
    fn a_mapping_goes_as_it_came() {
        map_and_unmap(4096).unwrap();
    }
}
