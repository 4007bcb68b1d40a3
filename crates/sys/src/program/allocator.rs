//! The allocator of dwell: dlmalloc for small blocks, the C library for large ones.
//!
//! musl's takes each block of 128 KiB or more from the kernel and gives it back when it is freed,
//! which was a third of the time of a large analysis. dlmalloc keeps what is freed. For large
//! blocks that is wrong: what an analysis needs once would stay, and a program of the lab that
//! shows what giving back costs would do so in some runs only.
//!
//! Where there is no memory (`ulimit -v`, `ulimit -d`) Rust aborts with the size of the block.
//! dwell then says what to do, and ends with its own status.
#![allow(unsafe_code)]

use dlmalloc::GlobalDlmalloc;
use libc::c_int;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a block could not be had.
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// Ends the process with a sentence where Rust aborts it after a block could not be had. Other
/// aborts have their effect.
pub(crate) fn tell_of_exhaustion() {
    let handler: extern "C" fn(c_int) = exhausted;
    // SAFETY: the handler does what a signal's handler may. Programs inherit what is ignored, and
    // not what is handled.
    unsafe {
        if libc::signal(libc::SIGABRT, handler as *const () as libc::sighandler_t) == libc::SIG_IGN {
            libc::signal(libc::SIGABRT, libc::SIG_IGN);
        }
    }
}

extern "C" fn exhausted(_: c_int) {
    const SAID: &[u8] = b"dwell: there is not enough memory\n\
                          try: higher limits of addresses and data (ulimit -v, ulimit -d)\n";
    const FAILED: c_int = 125;
    if EXHAUSTED.load(Ordering::Relaxed) {
        // SAFETY: writes a text as long as it says, and ends the process.
        unsafe {
            libc::write(libc::STDERR_FILENO, SAID.as_ptr().cast(), SAID.len());
            libc::_exit(FAILED);
        }
    }
}

/// A block, or that there is none.
fn noted(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        EXHAUSTED.store(true, Ordering::Relaxed);
    }
    block
}

/// From this size on a block is the C library's, which asks the kernel for it.
const LARGE_BYTES: usize = 1 << 20;

/// Both. The size of a block, which is known when it is freed, says whose it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Allocator;

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE_BYTES
}

// SAFETY: each block is freed and resized by the allocator that made it, since both are chosen by
// the size in its layout, and the caller keeps the contract of each.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        noted(unsafe { if is_large(layout) { System.alloc(layout) } else { GlobalDlmalloc.alloc(layout) } })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        noted(unsafe {
            if is_large(layout) { System.alloc_zeroed(layout) } else { GlobalDlmalloc.alloc_zeroed(layout) }
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract; it was made by the same one.
        unsafe {
            if is_large(layout) {
                System.dealloc(block, layout)
            } else {
                GlobalDlmalloc.dealloc(block, layout)
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        noted(match (is_large(layout), size >= LARGE_BYTES) {
            // SAFETY: the caller's contract; it was made by the same one, and stays with it.
            (true, true) => unsafe { System.realloc(block, layout, size) },
            // SAFETY: likewise.
            (false, false) => unsafe { GlobalDlmalloc.realloc(block, layout, size) },
            // SAFETY: the caller promises that `size` makes a layout; the new block has room for
            // what is copied, and the old one is freed with its layout.
            _ => unsafe {
                let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !new.is_null() {
                    ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                new
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_bytes_across_the_limit_in_both_directions() {
        let layout = |size| Layout::from_size_align(size, 64).unwrap();
        let sizes = [8, LARGE_BYTES - 1, LARGE_BYTES, 4 * LARGE_BYTES, LARGE_BYTES, LARGE_BYTES - 1, 8];
        // SAFETY: each block is used within its size, and resized and freed with its layout.
        unsafe {
            let mut block = Allocator.alloc(layout(sizes[0]));
            block.copy_from(b"the same".as_ptr(), 8);
            for pair in sizes.windows(2) {
                block = Allocator.realloc(block, layout(pair[0]), pair[1]);
                assert!(!block.is_null() && block.addr() % 64 == 0, "{pair:?}");
                assert_eq!(std::slice::from_raw_parts(block, 8), b"the same", "{pair:?}");
                block.add(pair[1] - 1).write(1);
            }
            Allocator.dealloc(block, layout(8));
        }
    }

    #[test]
    fn zeroed_blocks_are_zero() {
        for size in [4096, LARGE_BYTES] {
            let layout = Layout::from_size_align(size, 8).unwrap();
            // SAFETY: read within its size, and freed with its layout.
            unsafe {
                let block = Allocator.alloc_zeroed(layout);
                assert!(std::slice::from_raw_parts(block, size).iter().all(|byte| *byte == 0));
                Allocator.dealloc(block, layout);
            }
        }
    }
}
