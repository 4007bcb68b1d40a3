//! A memory copy with a checksum, so that what was read can be compared with what had been written.
//!
//! The sum is Fletcher's (as Adler's, without the modulus) of the 32-bit words, in four lanes that
//! never overflow in a block: it detects any one or two flipped bits. The caller handles a
//! difference.
#![allow(unsafe_code)]

/// The largest block to sum: no lane can overflow within it.
pub const BLOCK_BYTES: usize = 4096;
/// The unit of reading: four lanes of 64 bits.
const CHUNK_BYTES: usize = 32;

/// The sum of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum {
    /// The sum of the words of each lane.
    a: [u64; 4],
    /// Of `a` after each word, so that their order counts.
    b: [u64; 4],
}

impl Checksum {
    /// The sum as one number, for printing.
    pub fn folded(&self) -> u64 {
        let mix = |sum: u64, lane: &u64| sum.rotate_left(7) ^ lane;
        self.a.iter().chain(&self.b).fold(0, mix)
    }

    fn add(&mut self, chunk: &[u8; CHUNK_BYTES]) {
        for lane in 0..4 {
            let mut word = [0; 8];
            word.copy_from_slice(&chunk[lane * 8..lane * 8 + 8]);
            let word = u64::from_le_bytes(word);
            self.a[lane] += word & 0xffff_ffff;
            self.b[lane] += self.a[lane];
            self.a[lane] += word >> 32;
            self.b[lane] += self.a[lane];
        }
    }
}

/// The sum of a block.
///
/// # Panics
/// When it is larger than [`BLOCK_BYTES`], or not a multiple of 32 bytes.
pub fn sum(block: &[u8]) -> Checksum {
    let (chunks, rest) = block.as_chunks::<CHUNK_BYTES>();
    assert!(block.len() <= BLOCK_BYTES && rest.is_empty(), "a block of {} bytes", block.len());
    let mut sum = Checksum::default();
    for chunk in chunks {
        sum.add(chunk);
    }
    sum
}

/// Copies a block and sums what was read. On x86_64 it is written with non-temporal stores, which
/// load the memory bus: call [`publish`] before another thread reads it.
///
/// # Panics
/// When the two differ in length, are larger than [`BLOCK_BYTES`], not a multiple of 32 bytes, or
/// `to` is not aligned to 16.
pub fn copy_summed(from: &[u8], to: &mut [u8]) -> Checksum {
    assert_eq!(from.len(), to.len());
    assert!(from.len() <= BLOCK_BYTES && from.len().is_multiple_of(CHUNK_BYTES), "{} bytes", from.len());
    assert!(to.as_ptr().addr().is_multiple_of(16), "not aligned");
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86_64 CPU has SSE2.
    return unsafe { past_the_caches(from, to) };
    #[cfg(not(target_arch = "x86_64"))]
    return through_the_caches(from, to);
}

/// Each chunk is read once, into registers: reading again for the sum could give another value.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn through_the_caches(from: &[u8], to: &mut [u8]) -> Checksum {
    let mut sum = Checksum::default();
    for (from, to) in from.as_chunks::<CHUNK_BYTES>().0.iter().zip(to.as_chunks_mut::<CHUNK_BYTES>().0) {
        let chunk = *from;
        sum.add(&chunk);
        *to = chunk;
    }
    sum
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn past_the_caches(from: &[u8], to: &mut [u8]) -> Checksum {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi64, _mm_and_si128, _mm_loadu_si128, _mm_set1_epi64x, _mm_setzero_si128,
        _mm_srli_epi64, _mm_storeu_si128, _mm_stream_si128,
    };
    let low = _mm_set1_epi64x(0xffff_ffff);
    let (mut a, mut b) = ([_mm_setzero_si128(); 2], [_mm_setzero_si128(); 2]);
    for at in (0..from.len()).step_by(CHUNK_BYTES) {
        for half in 0..2 {
            // SAFETY: the caller made sure that both have whole chunks and the same length, and
            // that `to` is aligned.
            let word = unsafe {
                let word = _mm_loadu_si128(from.as_ptr().add(at + half * 16).cast::<__m128i>());
                _mm_stream_si128(to.as_mut_ptr().add(at + half * 16).cast::<__m128i>(), word);
                word
            };
            a[half] = _mm_add_epi64(a[half], _mm_and_si128(word, low));
            b[half] = _mm_add_epi64(b[half], a[half]);
            a[half] = _mm_add_epi64(a[half], _mm_srli_epi64::<32>(word));
            b[half] = _mm_add_epi64(b[half], a[half]);
        }
    }
    let mut sum = Checksum::default();
    for half in 0..2 {
        // SAFETY: two lanes are left from `half * 2` on, which take the 16 bytes.
        unsafe {
            _mm_storeu_si128(sum.a[half * 2..].as_mut_ptr().cast(), a[half]);
            _mm_storeu_si128(sum.b[half * 2..].as_mut_ptr().cast(), b[half]);
        }
    }
    sum
}

/// Makes the copy visible to other threads: locks do not order non-temporal stores.
pub fn publish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86_64 CPU has SSE; a fence accesses no memory.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{PageKind, Pages};

    fn filled() -> Pages {
        let mut pages = Pages::obtain(BLOCK_BYTES, PageKind::Small).unwrap();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for byte in pages.as_mut_slice() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        pages
    }

    #[test]
    fn a_copy_is_equal_and_its_sum_is_that_of_what_was_read() {
        let from = filled();
        let mut to = Pages::obtain(BLOCK_BYTES, PageKind::Small).unwrap();
        let copied = copy_summed(from.as_slice(), to.as_mut_slice());
        publish();
        assert_eq!(from.as_slice(), to.as_slice());
        assert_eq!(copied, sum(from.as_slice()));
        assert_eq!(copied, sum(to.as_slice()));
        to.as_mut_slice().fill(0);
        assert_eq!(through_the_caches(from.as_slice(), to.as_mut_slice()), copied);
        assert_eq!(from.as_slice(), to.as_slice());
    }

    #[test]
    fn every_flip_and_every_exchange_of_neighbours_changes_the_sum() {
        let mut pages = filled();
        let right = sum(pages.as_slice());
        for bit in (0..BLOCK_BYTES * 8).step_by(13) {
            pages.as_mut_slice()[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(sum(pages.as_slice()), right, "bit {bit}");
            pages.as_mut_slice()[bit / 8] ^= 1 << (bit % 8);
        }
        // The same bit in two words of one lane, one set and one not: `a` does not detect it.
        let mut block = [0_u8; BLOCK_BYTES];
        block[0] = 1;
        let first = sum(&block);
        (block[0], block[CHUNK_BYTES]) = (0, 1);
        assert_ne!(sum(&block), first);
        assert_ne!(sum(&block).folded(), first.folded());
    }

    #[test]
    fn full_blocks_do_not_overflow() {
        // Would panic in a debug build.
        assert_ne!(sum(&[0xff; BLOCK_BYTES]), Checksum::default());
    }
}
