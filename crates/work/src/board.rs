//! Shared memory through which the processes of a program pass their figures to the one that prints
//! them.
#![allow(unsafe_code)]

use crate::clock::Spent;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const SLOTS: usize = 64;

/// A page of numbers that forked children share with their parent. Never unmapped: programs are
/// short.
#[derive(Clone, Copy)]
pub struct Board(&'static [AtomicU64; SLOTS]);

impl Board {
    /// An empty board, all zeros.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn new() -> std::io::Result<Self> {
        let len = size_of::<[AtomicU64; SLOTS]>();
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping; nothing else knows of it.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: `at` is page-aligned, `len` bytes long, zeroed, and stays mapped until the
        // process ends.
        Ok(Self(unsafe { &*at.cast() }))
    }

    /// Stores a number.
    pub fn set(self, slot: usize, value: u64) {
        self.0[slot].store(value, SeqCst);
    }

    /// Adds to a number.
    pub fn add(self, slot: usize, value: u64) {
        self.0[slot].fetch_add(value, SeqCst);
    }

    /// Reads a number.
    pub fn get(self, slot: usize) -> u64 {
        self.0[slot].load(SeqCst)
    }

    /// Waits in a busy loop until a number is not zero: for short waits.
    pub fn until_set(self, slot: usize) {
        while self.get(slot) == 0 {
            std::hint::spin_loop();
        }
    }

    /// Adds a duration to slots `slot` (wall) and `slot + 1` (CPU).
    pub fn add_spent(self, slot: usize, spent: Spent) {
        self.add(slot, spent.wall_ns);
        self.add(slot + 1, spent.cpu_ns);
    }

    /// Reads what [`Board::add_spent`] added up.
    pub fn spent(self, slot: usize) -> Spent {
        Spent { wall_ns: self.get(slot), cpu_ns: self.get(slot + 1) }
    }
}
