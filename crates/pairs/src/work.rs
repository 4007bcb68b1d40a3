//! What programs of several pairs do.

use std::hint::black_box;

/// Work that no compiler leaves out: about 1 ms for each million rounds.
#[inline(never)]
pub(crate) fn compute(rounds: u64) {
    let mut x = 88_172_645_463_325_252_u64;
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep(x);
}

/// So many bytes that are not all the same.
pub(crate) fn filled(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8).collect()
}

/// Takes a result, so that what made it is not left out.
pub(crate) fn keep<T>(result: T) {
    black_box(result);
}
