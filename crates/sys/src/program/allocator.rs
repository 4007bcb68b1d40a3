//! The allocator of dwell: dlmalloc for small blocks, the C library for large ones.
//!
//! musl's takes each block of 128 KiB or more from the kernel and gives it back when it is freed,
//! which was a third of the time of a large analysis. dlmalloc keeps what is freed. For large
//! blocks that is wrong: what an analysis needs once would stay, and a program of the lab that
//! shows what giving back costs would do so in some runs only.
#![allow(unsafe_code)]

use dlmalloc::GlobalDlmalloc;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

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
        unsafe { if is_large(layout) { System.alloc(layout) } else { GlobalDlmalloc.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        unsafe {
            if is_large(layout) { System.alloc_zeroed(layout) } else { GlobalDlmalloc.alloc_zeroed(layout) }
        }
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
        match (is_large(layout), size >= LARGE_BYTES) {
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
        }
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
