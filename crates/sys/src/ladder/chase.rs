//! Dependent loads (a pointer chase): each gives the address of the next, so that no CPU can start
//! one early.
//!
//! The caller decides in which order the slots are visited.
#![allow(unsafe_code)]

use crate::pages::Pages;
use std::arch::asm;

/// Slots that are linked between two questions whether to go on.
const LINKED_AT_ONCE: usize = 1 << 16;

/// A circular chain of pointers within pages.
#[derive(Debug)]
pub struct Chase {
    pages: Pages,
    at: *const u8,
}

// SAFETY: `at` points into `pages`, which moves with it.
unsafe impl Send for Chase {}

impl Chase {
    /// Links slots in `pages`: slot `i` is at `offset(i)` and leads to slot `next[i]`. Two slots at
    /// the same offset make a wrong chain, but not one that leaves the pages.
    ///
    /// # Panics
    /// For a slot outside the pages or not aligned to a pointer, and for a next slot that does not
    /// exist.
    pub fn link(pages: Pages, next: &[u32], offset: impl Fn(usize) -> usize) -> Self {
        Self::link_while(pages, next, offset, &|| true).expect("nothing ends it early")
    }

    /// The same while `go_on` is true, which is asked every few milliseconds: millions of slots
    /// take seconds where others have the CPU. None if it was false.
    ///
    /// # Panics
    /// As [`Chase::link`].
    pub fn link_while(
        mut pages: Pages,
        next: &[u32],
        offset: impl Fn(usize) -> usize,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let base = pages.as_slice().as_ptr();
        let bytes = pages.bytes();
        let checked = |place: usize| {
            assert!(place < next.len(), "no place has the number {place}");
            let offset = offset(place);
            let fits = offset.is_multiple_of(size_of::<usize>()) && offset <= bytes - size_of::<usize>();
            assert!(fits, "place {place} is not within the pages: {offset}");
            offset
        };
        let memory = pages.as_mut_slice();
        for (place, to) in next.iter().enumerate() {
            if place % LINKED_AT_ONCE == LINKED_AT_ONCE - 1 && !go_on() {
                return None;
            }
            let target = base.wrapping_add(checked(*to as usize)).expose_provenance();
            let from = checked(place);
            memory[from..from + size_of::<usize>()].copy_from_slice(&target.to_ne_bytes());
        }
        let first = if next.is_empty() { None } else { Some(checked(0)) };
        let at = base.wrapping_add(first.expect("a chase has a place"));
        Some(Self { pages, at })
    }

    /// Follows `hops` pointers, one after the other.
    pub fn hop(&mut self, hops: u64) {
        let (rounds, rest) = (hops / 16, hops % 16);
        let mut at = self.at;
        // SAFETY: `link` made every slot that can be reached from `at` a pointer to another such
        // slot, all within `pages`, which are not written while `self` owns them. The loops only
        // read.
        unsafe {
            if rounds > 0 {
                by_sixteen(&mut at, rounds);
            }
            for _ in 0..rest {
                by_one(&mut at);
            }
        }
        self.at = at;
    }

    /// The pages, for another chain.
    pub fn into_pages(self) -> Pages {
        self.pages
    }

    /// The pages of the chain.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }
}

/// A plain load, register to register: an indexed one costs a cycle more on many cores.
///
/// # Safety
/// `at` points to a chain of pointers of at least `16 * rounds` hops; `rounds` is not 0.
#[cfg(target_arch = "x86_64")]
unsafe fn by_sixteen(at: &mut *const u8, rounds: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "2:",
            "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]",
            "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]",
            "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]",
            "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]",
            "dec {rounds}",
            "jnz 2b",
            at = inout(reg) *at,
            rounds = inout(reg) rounds => _,
            options(nostack, readonly)
        );
    }
}

/// # Safety
/// As above, for one hop.
#[cfg(target_arch = "x86_64")]
unsafe fn by_one(at: &mut *const u8) {
    // SAFETY: the caller's.
    unsafe { asm!("mov {at}, [{at}]", at = inout(reg) * at, options(nostack, readonly, preserves_flags)) };
}

/// # Safety
/// As on x86_64.
#[cfg(target_arch = "aarch64")]
unsafe fn by_sixteen(at: &mut *const u8, rounds: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "2:",
            "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]",
            "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]",
            "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]",
            "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]",
            "subs {rounds}, {rounds}, #1",
            "b.ne 2b",
            at = inout(reg) *at,
            rounds = inout(reg) rounds => _,
            options(nostack, readonly)
        );
    }
}

/// # Safety
/// As above, for one hop.
#[cfg(target_arch = "aarch64")]
unsafe fn by_one(at: &mut *const u8) {
    // SAFETY: the caller's.
    unsafe { asm!("ldr {at}, [{at}]", at = inout(reg) * at, options(nostack, readonly, preserves_flags)) };
}

/// # Safety
/// As on x86_64.
#[cfg(target_arch = "riscv64")]
unsafe fn by_sixteen(at: &mut *const u8, rounds: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "2:",
            "ld {at}, 0({at})", "ld {at}, 0({at})", "ld {at}, 0({at})", "ld {at}, 0({at})",
            "ld {at}, 0({at})", "ld {at}, 0({at})", "ld {at}, 0({at})", "ld {at}, 0({at})",
            "ld {at}, 0({at})", "ld {at}, 0({at})", "ld {at}, 0({at})", "ld {at}, 0({at})",
            "ld {at}, 0({at})", "ld {at}, 0({at})", "ld {at}, 0({at})", "ld {at}, 0({at})",
            "addi {rounds}, {rounds}, -1",
            "bnez {rounds}, 2b",
            at = inout(reg) *at,
            rounds = inout(reg) rounds => _,
            options(nostack, readonly)
        );
    }
}

/// # Safety
/// As above, for one hop.
#[cfg(target_arch = "riscv64")]
unsafe fn by_one(at: &mut *const u8) {
    // SAFETY: the caller's.
    unsafe { asm!("ld {at}, 0({at})", at = inout(reg) * at, options(nostack, readonly, preserves_flags)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::PageKind;

    fn place(chase: &Chase) -> usize {
        (chase.at.addr() - chase.pages.as_slice().as_ptr().addr()) / 64
    }

    #[test]
    fn it_follows_the_links_one_by_one_and_by_sixteen() {
        let pages = Pages::obtain(4096, PageKind::Small).unwrap();
        let next: Vec<u32> = (0..64).map(|place| (place + 5) % 64).collect();
        let mut chase = Chase::link(pages, &next, |place| place * 64);
        for (hops, at) in [(0, 0), (1, 5), (2, 15), (16, 95 % 64), (33, (95 + 165) % 64)] {
            chase.hop(hops);
            assert_eq!(place(&chase), at, "after {hops} more");
        }
    }

    #[test]
    fn a_long_chain_is_not_linked_to_its_end_where_nobody_wants_it() {
        let asked = std::cell::Cell::new(0);
        let next = vec![0; 4 * LINKED_AT_ONCE];
        let link = |most: u32| {
            asked.set(0);
            let pages = Pages::obtain(4096, PageKind::Small).unwrap();
            let go_on = || asked.replace(asked.get() + 1) < most;
            Chase::link_while(pages, &next, |_| 0, &go_on).is_some()
        };
        assert!(!link(1));
        assert_eq!(asked.get(), 2, "it ends where it is told to");
        assert!(link(4));
        assert_eq!(asked.get(), 4);
    }

    #[test]
    #[should_panic(expected = "not within the pages")]
    fn a_place_outside_is_refused() {
        let pages = Pages::obtain(4096, PageKind::Small).unwrap();
        Chase::link(pages, &[1, 0], |place| place * 4096);
    }

    #[test]
    #[should_panic(expected = "no place has the number")]
    fn a_next_that_is_none_is_refused() {
        let pages = Pages::obtain(4096, PageKind::Small).unwrap();
        Chase::link(pages, &[1, 2], |place| place * 64);
    }
}
