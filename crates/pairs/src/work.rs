//! What programs of several pairs do.

use std::hint::black_box;
use std::{io, thread};

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

/// The same work in so many threads; the first error of any.
pub(crate) fn in_threads(threads: usize, work: &(impl Fn() -> io::Result<()> + Sync)) -> io::Result<()> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        };
        threads.into_iter().map(ended).fold(Ok(()), io::Result::and)
    })
}
